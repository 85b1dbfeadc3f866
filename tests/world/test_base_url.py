"""The base URL in the user's settings: on, around, through again and off, and the file is what it was."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tenon.base.errors import TenonError
from tenon.world import base_url, claude_settings, guard, machine, record
from tenon.world.machine import Machine
from tests.world.test_claude_settings import ODD, there

URL = "http://127.0.0.1:9000"
UPSTREAM = "https://api.anthropic.com"
OWN = "https://gateway.example/anthropic"
ENTRY = {"hooks": [{"type": "command", "command": "true"}]}
# As a user may have them, with a base URL of their own.
FORMER = {
    "plain": f'{{\n  "env": {{\n    "ANTHROPIC_BASE_URL": "{OWN}"\n  }}\n}}\n',
    "comments": f'// mine\n{{\n  "env": {{ // of the company\n    "ANTHROPIC_BASE_URL":   "{OWN}", // "ANTHROPIC_BASE_URL": "{URL}"\n  }},\n}}',
    "Windows": f'\ufeff{{\r\n\t"env": {{"A": "1", "ANTHROPIC_BASE_URL": "{OWN}"}},\r\n\t"model": "opus"\r\n}}',
    "escaped": '{"env":{"ANTHROPIC_BASE_URL":"https:\\/\\/gateway.example\\/anthropic"}}',
    "with hooks": f'{{\n  "hooks": {{\n    "SessionStart": [\n      {json.dumps(ENTRY)}\n    ]\n  }},\n  "env": {{"ANTHROPIC_BASE_URL": "{OWN}"}}\n}}\n',
    "tool search": f'{{\n  "env": {{"ENABLE_TOOL_SEARCH": "false", "ANTHROPIC_BASE_URL": "{OWN}"}}\n}}\n',
}
SHAPES = {**{name: text for name, text in ODD.items() if name != "twice the same key"}, **FORMER}


@pytest.fixture
def here() -> Machine:
    """The machine of the test's home."""
    return machine.here()


def written(here: Machine, text: str | None) -> Path:
    """The user's settings with that text."""
    path = Path(here.settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    if text is not None:
        path.write_bytes(text.encode("utf-8"))
    return path


def turned_on(here: Machine, upstream: str = UPSTREAM, no_proxy: str = "") -> None:
    """The proxy is on."""
    base_url.on(here, record.load(here.tenon_home), URL, upstream, no_proxy)


def turned_off(here: Machine) -> list[str]:
    """The proxy is off; what was said."""
    return base_url.off(here, record.load(here.tenon_home))


def said(here: Machine) -> object:
    """The base URL in the settings."""
    return base_url.value(here.settings)


@pytest.mark.parametrize("name", SHAPES)
def test_on_and_off_leave_the_settings_as_they_were(here: Machine, name: str) -> None:
    """Every shape of file; between them the URL, the hook and tool search are there and all else is as before."""
    path = written(here, SHAPES[name])
    before, meant = there(path), claude_settings.read(str(path))
    turned_on(here)
    now = claude_settings.read(str(path))
    told = turned_off(here)

    env = {"ENABLE_TOOL_SEARCH": "true", **meant.get("env", {}), "ANTHROPIC_BASE_URL": URL}
    starts = [*meant.get("hooks", {}).get("SessionStart", []), guard.entry(UPSTREAM)]
    assert {**meant, "env": env, "hooks": {**meant.get("hooks", {}), "SessionStart": starts}} == now
    assert before == there(path)
    assert {"as it was before, byte for byte", "what stood there before is back"} >= {line.partition(": ")[2] for line in told}
    assert [] == os.listdir(here.tenon_home)


@pytest.mark.parametrize("name", SHAPES)
def test_around_and_through_again_change_one_value_alone(here: Machine, name: str) -> None:
    """In one write each, to the byte; off gives back the file from either."""
    path = written(here, SHAPES[name])
    before = there(path)
    turned_on(here)
    on = there(path)
    around = base_url.direct("the port is taken")
    away = there(path)
    assert on is not None
    assert (True, "the port is taken", UPSTREAM) == (around, base_url.why_direct(), said(here))
    assert away == on[: on.rindex(URL.encode())] + UPSTREAM.encode() + on[on.rindex(URL.encode()) + len(URL) :] or name == "comments"

    assert (True, on, None) == (base_url.through(), there(path), base_url.why_direct())
    base_url.direct("again")
    turned_off(here)
    assert (before, []) == (there(path), os.listdir(here.tenon_home))


@pytest.mark.parametrize("name", [*SHAPES, "with a list", "with something else for a list"])
def test_a_list_of_what_needs_no_proxy_comes_and_goes_with_it(here: Machine, name: str) -> None:
    """Where one stood, to the byte; around and through it stays."""
    listed = f'{{"env": {{"no_proxy":  "corp\\u002eexample", "ANTHROPIC_BASE_URL": "{OWN}"}},\n"model": "opus"}}'
    path = written(here, {**SHAPES, "with a list": listed, "with something else for a list": '{"env": {"no_proxy": null, "A": "1"}} // mine'}[name])
    before, meant = there(path), claude_settings.read(str(path))
    turned_on(here, no_proxy="corp.example,127.0.0.1")
    base_url.direct("x")
    around = claude_settings.read(str(path))
    base_url.through()
    now = claude_settings.read(str(path))
    base_url.direct("again")
    told = turned_off(here)

    env = {"ENABLE_TOOL_SEARCH": "true", **meant.get("env", {}), "no_proxy": "corp.example,127.0.0.1"}
    assert [{**env, "ANTHROPIC_BASE_URL": UPSTREAM}, {**env, "ANTHROPIC_BASE_URL": URL}] == [around["env"], now["env"]]
    assert 1 == len([line for line in told if line.startswith("env.no_proxy: ")])
    assert (before, []) == (there(path), os.listdir(here.tenon_home))


def test_a_list_that_the_user_has_changed_since_is_theirs(here: Machine) -> None:
    """Whether or not one stood there before."""
    for text in ("{}", '{"env": {"no_proxy": "corp.example"}}'):
        path = written(here, text)
        turned_on(here, no_proxy="corp.example,127.0.0.1")
        path.write_text(path.read_text(encoding="utf-8").replace("example,127", "example,10.0.0.1,127"), encoding="utf-8")
        assert "env.no_proxy: has been changed since and stays" in turned_off(here)
        assert {"no_proxy": "corp.example,10.0.0.1,127.0.0.1"} == claude_settings.read(str(path))["env"]


def test_twice_around_is_once(here: Machine) -> None:
    """The second time there is nothing to do; through again likewise."""
    written(here, "{}")
    turned_on(here)

    assert [True, False, True, False] == [base_url.direct("x"), base_url.direct("x"), base_url.through(), base_url.through()]


def test_what_the_user_has_changed_since_is_theirs(here: Machine) -> None:
    """Another URL stays, around or off; keys of theirs stay too."""
    path = written(here, "{}")
    turned_on(here)
    path.write_text(path.read_text(encoding="utf-8").replace(URL, OWN).replace('"env"', '"model": "opus",\n  "env"'), encoding="utf-8")

    assert [False, False] == [base_url.direct("x"), base_url.through()]
    told = turned_off(here)
    assert {"model": "opus", "env": {"ANTHROPIC_BASE_URL": OWN}} == {key: value for key, value in claude_settings.read(str(path)).items() if value}
    assert "env.ANTHROPIC_BASE_URL: has been changed since and stays" in told


def test_what_was_installed_before_and_since_stays(here: Machine) -> None:
    """A status line before, a rule since: off takes its own out from between them, and uninstall still finds the others' bytes."""
    path = written(here, '{\n  "model": "opus" // keep\n}\n')
    before = there(path)
    kept = record.load(here.tenon_home)
    kept.root = here.root
    for plan in (
        lambda: claude_settings.put(here.settings, ["statusLine"], "ours"),
        lambda: base_url.on(here, kept, URL, UPSTREAM),
        lambda: claude_settings.add(here.settings, ["permissions", "allow"], "rule"),
    ):
        edit = plan()
        if isinstance(edit, claude_settings.Edit):
            kept.edits.append(edit)
            kept.save()
    turned_off(here)
    left = record.load(here.tenon_home)

    assert {"model": "opus", "statusLine": "ours", "permissions": {"allow": ["rule"]}} == claude_settings.read(str(path))
    assert ["restored", "restored"] == [claude_settings.take(edit) for edit in reversed(left.edits)]
    assert before == there(path)


def test_off_finds_its_way_without_the_record(here: Machine) -> None:
    """The record of what was written is lost; the meaning of the file is as before."""
    path = written(here, '{"model": "opus"}\n')
    turned_on(here, no_proxy="127.0.0.1")
    os.remove(os.path.join(here.tenon_home, record.NAME))
    turned_off(here)

    assert {"model": "opus", "env": {"ENABLE_TOOL_SEARCH": "true"}} == claude_settings.read(str(path))
    assert base_url.load() is None


@pytest.mark.parametrize("upstream", [UPSTREAM, OWN])
def test_what_is_on_is_found_again_when_the_whole_folder_is_lost(here: Machine, upstream: str) -> None:
    """By the settings alone; a base URL that stood there before comes back with off."""
    own = upstream == OWN
    path = written(here, f'{{"env": {{"ANTHROPIC_BASE_URL": "{OWN}"}}}}' if own else "{}")
    turned_on(here, upstream)
    shutil.rmtree(here.tenon_home)
    switch = base_url.found_again(here)
    assert switch is not None
    assert (URL, upstream, True) == (switch.url, switch.upstream, guard.is_current())
    assert base_url.direct("x")
    turned_off(here)

    assert {"env": {"ENABLE_TOOL_SEARCH": "true", **({"ANTHROPIC_BASE_URL": OWN} if own else {})}} == claude_settings.read(str(path))


@pytest.mark.parametrize("text", [None, "{}", f'{{"env": {{"ANTHROPIC_BASE_URL": "{URL}"}}}}', f'{{"env": {{"ANTHROPIC_BASE_URL": "{URL}"}}, "hooks": 1}}'])
def test_somebody_else_s_address_on_this_machine_is_none_of_ours(here: Machine, text: str | None) -> None:
    """Without the guard's hook nothing is on."""
    written(here, text)

    assert (None, False) == (base_url.found_again(here), os.path.exists(here.tenon_home))


def test_settings_that_cannot_be_changed_leave_nothing_behind(here: Machine) -> None:
    """Neither a sign that it is on, nor the guard, nor half of the keys."""
    path = written(here, '{"hooks": {"SessionStart": "mine"}}')
    before = there(path)
    with pytest.raises(TenonError, match=r"hooks\.SessionStart"):
        turned_on(here)

    assert (before, []) == (there(path), os.listdir(here.tenon_home))


def test_a_choice_of_tool_search_in_the_environment_is_left(here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings would go before it."""
    monkeypatch.setenv("ENABLE_TOOL_SEARCH", "false")
    written(here, "{}")
    turned_on(here)

    assert {"ANTHROPIC_BASE_URL": URL} == claude_settings.read(here.settings)["env"]


def test_a_settings_file_that_is_a_link_stays_one(here: Machine, tmp_path: Path) -> None:
    """Into a folder of dotfiles, with its mode."""
    target = tmp_path / "dotfiles é.json"
    target.write_text("{}\n", encoding="utf-8")
    target.chmod(0o640)
    written(here, None).symlink_to(target)
    turned_on(here)
    base_url.direct("x")
    turned_off(here)

    assert (True, "{}\n") == (os.path.islink(here.settings), target.read_text(encoding="utf-8"))
    if os.name == "posix":
        assert 0o640 == target.stat().st_mode & 0o777


def test_a_sign_that_cannot_be_read_is_a_sentence_and_off_mends_it(here: Machine) -> None:
    """By the record."""
    path = written(here, '{"model": "opus"}')
    turned_on(here)
    Path(base_url.path()).write_text("{", encoding="utf-8")
    with pytest.raises(TenonError, match="tenon proxy off"):
        base_url.load()
    turned_off(here)

    assert ('{"model": "opus"}', None) == (path.read_text(encoding="utf-8"), base_url.load())
