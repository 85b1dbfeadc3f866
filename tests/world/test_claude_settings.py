"""The user's settings file: changed by one key, given back byte for byte, never touched when it is not understood."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenon.base import jsonc
from tenon.base.errors import TenonError
from tenon.world import claude_settings

LINE = {"type": "command", "command": "python3 -I -S '/home/zoë b/.tenon/bin/tenon' statusline"}
RULE = "mcp__plugin_tenon_memory__*"

ODD = {
    "missing": None,
    "empty": "",
    "blank": " \n\n",
    "byte order mark alone": "\ufeff",
    "no members": "{}",
    "no members, open": "{\n}\n",
    "no members, a comment": "{\n  // nothing yet\n}\n",
    "no members, a comment beside": "{ /* nothing\n yet */ }",
    "one line": '{"model": "opus"}',
    "one line, tight": '{"model":"opus"}',
    "one line, comma at the end": '{"model": "opus",}',
    "one line, comment": '{"model": "opus" /* for now */}',
    "one line, then a line comment": '{"model": "opus" // for now\n}',
    "two spaces": '{\n  "model": "opus",\n  "env": {\n    "A": "1"\n  }\n}\n',
    "four spaces, no end of line": '{\n    "model": "opus"\n}',
    "tabs": '{\n\t"model": "opus"\n}\n',
    "Windows": '\ufeff{\r\n  "model": "opus",\r\n  "permissions": {\r\n    "allow": [\r\n      "Bash(ls)"\r\n    ]\r\n  }\r\n}\r\n',
    "comments": '// mine\n{\n  // the model\n  "model": "opus", // keep\n  "permissions": {\n    "allow": [\n      "Bash(ls)", // safe\n      "Read(//etc/**)" // a path\n    ],\n  }, /* end */\n}\n// eof',
    "empty list": '{\n  "permissions": {"allow": []}\n}\n',
    "empty object": '{\n  "permissions": {}\n}\n',
    "closing on the line": '{\n  "model": "opus" }',
    "comma first": '{ "model": "opus"\n, "x": 1\n}\n',
    "a key that looks like the end": '{"}": "{ // no comment", "model": "\\"}"}',
    "other scripts": '{\n  "语言": "日本語 \\u00e9",\n  "emoji": "🦊"\n}\n',
    "twice the same key": '{"permissions": 1, "permissions": {"allow": ["x"]}}',
    "mixed line ends": '{\r\n  "a": 1,\n  "b": 2\r\n}\n',
    "no space at all": '{"permissions":{"allow":["x","y"]},"b":{}}',
}  # fmt: skip


def there(path: Path) -> bytes | None:
    """What is in the file."""
    return path.read_bytes() if path.exists() else None


def written(folder: Path, text: str | None) -> Path:
    """A settings file with that text, in a folder with a blank and an accent."""
    path = folder / "a höme" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    if text is not None:
        path.write_bytes(text.encode("utf-8"))
    return path


@pytest.mark.parametrize("name", ODD)
def test_what_was_put_in_is_taken_back_to_the_byte(tmp_path: Path, name: str) -> None:
    """Both kinds of change, and the file means the same plus what was put in."""
    path = written(tmp_path, ODD[name])
    before, meant = there(path), claude_settings.read(str(path))

    line = claude_settings.put(str(path), ["statusLine"], LINE)
    rule = claude_settings.add(str(path), ["permissions", "allow"], RULE)
    assert line is not None
    assert rule is not None
    allowed = [*meant.get("permissions", {}).get("allow", []), RULE]

    assert {**meant, "statusLine": LINE, "permissions": {**meant.get("permissions", {}), "allow": allowed}} == claude_settings.read(str(path))
    assert ["restored", "restored"] == [claude_settings.take(rule), claude_settings.take(line)]
    assert before == there(path)


@pytest.mark.parametrize("name", ODD)
def test_later_changes_of_others_stay(tmp_path: Path, name: str) -> None:
    """Taken in any order, after somebody added a key of their own."""
    path = written(tmp_path, ODD[name])
    meant = claude_settings.read(str(path))
    line = claude_settings.put(str(path), ["statusLine"], LINE)
    rule = claude_settings.add(str(path), ["permissions", "allow"], RULE)
    claude_settings.put(str(path), ["theirs"], [1, {"a": None}])
    assert line is not None
    assert rule is not None

    assert ["removed", "removed"] == [claude_settings.take(line), claude_settings.take(rule)]
    assert {**meant, "theirs": [1, {"a": None}]} == claude_settings.read(str(path))


@pytest.mark.parametrize("name", ODD)
def test_comments_outlive_a_removal_among_changes(tmp_path: Path, name: str) -> None:
    """Every comment that was there is there again."""
    text = ODD[name] or ""
    path = written(tmp_path, ODD[name])
    line = claude_settings.put(str(path), ["statusLine"], LINE)
    claude_settings.put(str(path), ["theirs"], True)
    assert line is not None

    claude_settings.take(line)
    after = path.read_text(encoding="utf-8")

    assert [] == [
        word
        for word in ("// mine", "// the model", "// keep", "// safe", "// a path", "/* end */", "// eof", "// nothing yet")
        if word in text and word not in after
    ]


def test_a_new_key_follows_the_style_of_the_file(tmp_path: Path) -> None:
    """Indented as its neighbours, behind their comments."""
    path = written(tmp_path, '{\n    "model": "opus" // keep\n}\n')

    claude_settings.put(str(path), ["statusLine"], {"type": "command"})

    assert '{\n    "model": "opus", // keep\n    "statusLine": {\n        "type": "command"\n    }\n}\n' == path.read_text(encoding="utf-8")


def test_a_new_rule_follows_the_style_of_the_list(tmp_path: Path) -> None:
    """With the file's line ends."""
    path = written(tmp_path, ODD["Windows"])

    claude_settings.add(str(path), ["permissions", "allow"], RULE)

    assert b'      "Bash(ls)",\r\n      "mcp__plugin_tenon_memory__*"\r\n    ]\r\n' in path.read_bytes()


def test_a_file_made_for_the_key_is_removed_again(tmp_path: Path) -> None:
    """Owner-only while it is there."""
    path = written(tmp_path, None)
    edit = claude_settings.put(str(path), ["a"], 1)
    assert edit is not None
    mode = stat.S_IMODE(path.stat().st_mode)
    text = path.read_text(encoding="utf-8")
    claude_settings.take(edit)

    assert ('{\n  "a": 1\n}\n', False) == (text, path.exists())
    assert 0o600 == mode or os.name == "nt"


def test_putting_twice_is_putting_once(tmp_path: Path) -> None:
    """The second time there is nothing to do."""
    path = written(tmp_path, ODD["comments"])
    claude_settings.put(str(path), ["statusLine"], LINE)
    claude_settings.add(str(path), ["permissions", "allow"], RULE)
    once = there(path)

    assert (None, None) == (claude_settings.put(str(path), ["statusLine"], LINE), claude_settings.add(str(path), ["permissions", "allow"], RULE))
    assert once == there(path)


def test_another_value_is_never_replaced(tmp_path: Path) -> None:
    """The refusal names the key."""
    path = written(tmp_path, '{"statusLine": {"type": "command", "command": "mine"}}')
    before = there(path)

    with pytest.raises(TenonError, match="another value for statusLine"):
        claude_settings.put(str(path), ["statusLine"], LINE)
    assert before == there(path)


def test_a_value_that_somebody_changed_is_theirs(tmp_path: Path) -> None:
    """It is kept."""
    path = written(tmp_path, "{}")
    edit = claude_settings.put(str(path), ["statusLine"], LINE)
    assert edit is not None
    path.write_text('{"statusLine": {"type": "command", "command": "mine"}}', encoding="utf-8")

    assert "kept" == claude_settings.take(edit)
    assert {"statusLine": {"type": "command", "command": "mine"}} == claude_settings.read(str(path))


def test_a_reprinted_file_gives_the_value_back(tmp_path: Path) -> None:
    """Claude Code itself writes the file anew when a plugin is installed."""
    path = written(tmp_path, ODD["comments"])
    meant = claude_settings.read(str(path))
    rule = claude_settings.add(str(path), ["permissions", "allow"], RULE)
    line = claude_settings.put(str(path), ["statusLine"], LINE)
    assert line is not None
    assert rule is not None
    path.write_text(json.dumps({**claude_settings.read(str(path)), "enabledPlugins": {"x@y": True}}, indent=2), encoding="utf-8")

    assert ["removed", "removed"] == [claude_settings.take(line), claude_settings.take(rule)]
    assert {**meant, "enabledPlugins": {"x@y": True}} == claude_settings.read(str(path))


def test_containers_made_for_a_rule_go_with_it_when_they_are_empty(tmp_path: Path) -> None:
    """And stay when somebody uses them."""
    path = written(tmp_path, '{"model": "opus"}')
    rule = claude_settings.add(str(path), ["permissions", "allow"], RULE)
    claude_settings.put(str(path), ["theirs"], 1)
    assert rule is not None
    claude_settings.take(rule)
    alone = claude_settings.read(str(path))
    rule = claude_settings.add(str(path), ["permissions", "allow"], RULE)
    claude_settings.put(str(path), ["permissions", "deny"], ["WebFetch"])
    assert rule is not None
    claude_settings.take(rule)

    assert {"model": "opus", "theirs": 1} == alone
    assert {"model": "opus", "theirs": 1, "permissions": {"deny": ["WebFetch"]}} == claude_settings.read(str(path))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"a": 1', "a comma or } is expected"),
        (b'{"a": 1} x', "line 1: something follows"),
        (b"{'a': 1}", "a key in double quotes"),
        (b"[1]", "not a JSON object"),
        (b'{"a": \n\n nope}', "line 3: a value is expected"),
        (b"{" * 500, "cannot be parsed"),
        (b'{"a": ' * 300, "too deep"),
        (b'{"a": "\xe9"}', "not UTF-8"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8"),
        (b'{"permissions": []}', "permissions is not an object"),
        (b'{"permissions": {"allow": "all"}}', "another value for permissions.allow"),
        (b"{} /*", "a comment does not end"),
        (b'{"a": "\n"}', "no JSON string may"),
        (b"{,}", "a key in double quotes"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_understood_is_never_touched(tmp_path: Path, data: bytes, said: str) -> None:
    """The refusal says where and what to do."""
    path = written(tmp_path, "")
    path.write_bytes(data)

    with pytest.raises(TenonError, match=said):
        claude_settings.add(str(path), ["permissions", "allow"], RULE)
    assert (data, ["settings.json"]) == (path.read_bytes(), os.listdir(path.parent))


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    """The plan is made anew by trying again."""
    path = written(tmp_path, "{}")
    edit = claude_settings.plan_put(str(path), ["a"], 1)
    assert edit is not None
    path.write_text('{"b": 2}', encoding="utf-8")

    with pytest.raises(TenonError, match="changed by somebody else"):
        claude_settings.apply(edit)
    assert {"b": 2} == claude_settings.read(str(path))


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_into_dotfiles_stays_a_link(tmp_path: Path) -> None:
    """Its target is edited, with its mode."""
    target = tmp_path / "dotfiles" / "claude.json"
    target.parent.mkdir()
    target.write_text('{"a": 1}', encoding="utf-8")
    target.chmod(0o640)
    path = written(tmp_path, None)
    path.symlink_to(target)

    edit = claude_settings.put(str(path), ["b"], 2)

    assert edit is not None
    assert (True, '{"a": 1, "b": 2}', 0o640) == (path.is_symlink(), target.read_text(encoding="utf-8"), stat.S_IMODE(target.stat().st_mode))
    assert ("restored", '{"a": 1}') == (claude_settings.take(edit), target.read_text(encoding="utf-8"))


def test_an_edit_survives_being_kept_as_json(tmp_path: Path) -> None:
    """It is taken back by another process."""
    path = written(tmp_path, ODD["comments"])
    before = there(path)
    edit = claude_settings.add(str(path), ["permissions", "allow"], RULE)
    assert edit is not None
    kept = claude_settings.from_fields(json.loads(json.dumps(edit.fields())))

    assert ("restored", before) == (claude_settings.take(kept), there(path))


gaps = st.sampled_from(["", " ", "\n", "\r\n", "\n\t", "/* ✓ */", " // c\n", "\n  ", " /*\n*/ "])
scalars = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=4))


@st.composite
def printed(draw: st.DrawFn, depth: int = 2) -> str:
    """A settings object as somebody odd would write it."""
    members = []
    for key in draw(st.lists(st.sampled_from(["a", "b", "permissions", "é"]), max_size=3, unique=True)):
        inner = draw(printed(depth - 1)) if key == "permissions" and depth else json.dumps(draw(scalars))
        if key == "permissions" and not depth:
            inner = "{}"
        members.append(draw(gaps) + json.dumps(key) + draw(gaps) + ":" + draw(gaps) + inner + draw(gaps))
    if depth < 2 and draw(st.booleans()):
        items = [draw(gaps) + json.dumps(item) + draw(gaps) for item in draw(st.lists(scalars, max_size=3))]
        members.append(draw(gaps) + '"allow":' + draw(gaps) + "[" + (",".join(items) or draw(gaps)) + "]" + draw(gaps))
    comma = "," + draw(gaps) if draw(st.booleans()) and members else ""
    return "{" + (",".join(members) or draw(gaps)) + comma + "}"


@given(text=printed(), before=gaps, after=gaps)
def test_any_settings_text_comes_back_to_the_byte(tmp_path_factory: pytest.TempPathFactory, text: str, before: str, after: str) -> None:
    """Or is refused untouched; and a removal among changes leaves what was meant."""
    path = tmp_path_factory.mktemp("any") / "settings.json"
    whole = (before + text + after).encode("utf-8")
    path.write_bytes(whole)
    meant = jsonc.parse(whole.decode("utf-8")).value

    edits = [claude_settings.put(str(path), ["statusLine"], LINE), claude_settings.add(str(path), ["permissions", "allow"], RULE)]
    changed = path.read_bytes()
    assert ["restored", "restored"] == [claude_settings.take(edit) for edit in reversed(edits) if edit]
    assert whole == path.read_bytes()

    path.write_bytes(changed + b"\n// later")
    assert ["removed", "removed"] == [claude_settings.take(edit) for edit in edits if edit]
    assert meant == claude_settings.read(str(path))
