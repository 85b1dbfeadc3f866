"""Settings: environment before file before default, and a broken one never stops anything."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tenon.base import paths, settings


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even what every other test says."""
    monkeypatch.delenv("TENON_EMBED_OLLAMA")


def put(content: Any) -> None:
    """Writes the settings file: an object as JSON, bytes as they are."""
    path = Path(paths.settings_path())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())


def test_without_a_file_everything_is_as_the_table_says() -> None:
    """And nothing is wrong."""
    chosen = settings.load()
    assert ({name: default for name, (default, _) in settings.KNOWN.items()}, "") == (chosen.values, chosen.problem)
    assert {"default"} == set(chosen.origin.values())


def test_the_environment_comes_before_the_file_and_the_file_before_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """And each value says where it is from."""
    put({"inject.hits": 3, "recall.floor": 0.5, "agent": "ada"})
    monkeypatch.setenv("TENON_INJECT_HITS", "4")
    chosen = settings.load()
    assert (4.0, 0.5, "ada", True) == (chosen.number("inject.hits"), chosen.number("recall.floor"), chosen.text("agent"), chosen.flag("inject.prompt"))
    assert ("TENON_INJECT_HITS", "settings.json", "default") == tuple(chosen.origin[name] for name in ("inject.hits", "recall.floor", "inject.prompt"))


@pytest.mark.parametrize(
    ("raw", "value"), [("1", True), ("true", True), ("YES", True), ("on", True), ("0", False), ("False", False), ("no", False), ("OFF", False)]
)
def test_a_switch_in_the_environment(monkeypatch: pytest.MonkeyPatch, raw: str, value: bool) -> None:
    """In the ways people write it."""
    monkeypatch.setenv("TENON_INJECT_PROMPT", raw)
    assert (value, "") == (settings.load().flag("inject.prompt"), settings.load().problem)


def test_a_list_in_the_environment_is_as_long_as_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parted as PATH is."""
    monkeypatch.setenv("TENON_ARCHIVE_EXCLUDE", os.pathsep.join(["/a b", "", "/c"]))
    assert ["/a b", "/c"] == settings.load().names("archive.exclude")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "cannot be read"), (b"{", "cannot be read"), (b"[1]", "is not a JSON object"), (b"\xff\xfe", "cannot be read"), ({"no.such": 1}, "there is no setting 'no.such'"),
        ({"inject.hits": "many"}, "'inject.hits' must be a number like 6, not 'many'"), ({"inject.hits": True}, "must be a number like 6"), ({"inject.prompt": 1}, "must be on or off"),
        ({"agent": ["x"]}, "must be a text like 'default'"), ({"archive.exclude": "x"}, "must be a list of folders"), ({"recall.floor": None}, "must be a number like 0.34"),
    ],
)  # fmt: skip
def test_a_broken_file_or_value_is_left_out_and_named(content: Any, says: str) -> None:
    """The defaults hold."""
    put(content)
    chosen = settings.load()
    assert says in chosen.problem
    doubt = isinstance(content, bytes) or "archive.exclude" in content
    assert {**{name: default for name, (default, _) in settings.KNOWN.items()}, "archive.enabled": not doubt} == chosen.values
    assert doubt == bool(chosen.doubt)


def test_the_environment_adds_to_what_is_excluded(monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot take a folder back that the file excludes."""
    put({"archive.exclude": ["/a"]})
    monkeypatch.setenv("TENON_ARCHIVE_EXCLUDE", "/b")
    assert ["/a", "/b"] == settings.load().names("archive.exclude")


@pytest.mark.parametrize(
    ("name", "value", "used", "says"),
    [
        ("proxy.max_context", 5, 20_000, "must be from 20,000 to 10,000,000, not 5; 20000 is used"), ("proxy.trace_tokens", -1, 0, "must be from 0 to"), ("recall.floor", 7, 1, "from 0 to 1"),
        ("inject.max_chars", 20_000, 9900, "from 0 to 9,900"), ("proxy.port", 99_999, 9000, "from 1 to 65535"), ("proxy.port", 0, 9000, "9000 is used"),
        ("proxy.scope", "world", "agent", "agent or repository, not 'world'; agent is used"), ("recall.floor", float("nan"), 0.34, "0.34 is used"),
        ("recall.ranking", "best", "fused", "fused or classic, not 'best'; fused is used"), ("embed.ollama", "maybe", "auto", "auto or on or off, not 'maybe'; auto is used"),
        ("embed.model", "a b", "qwen3-embedding:0.6b", "the name of a model like"), ("embed.model", "", "qwen3-embedding:0.6b", "the name of a model like"),
        ("embed.url", "", "http://127.0.0.1:11434", "an address like http://127.0.0.1:11434; http://127.0.0.1:11434 is used"), ("embed.url", "gpu:1", "http://127.0.0.1:11434", "an address like"),
        ("upstream", "not a url", "not a url", "must be an address like https://gateway.example; the proxy does not start with it"), ("upstream", "ftp://h", "ftp://h", "an address"),
        ("upstream", "http://", "http://", "an address"), ("upstream", "https://h:x", "https://h:x", "an address"),
        ("upstream", "http://localhost:9000/", "http://localhost:9000/", "another address than the proxy's own"), ("upstream", "http://[::1]:9000", "http://[::1]:9000", "proxy's own"),
    ],
)  # fmt: skip
def test_a_value_out_of_bounds_is_named_and_not_used(name: str, value: object, used: object, says: str) -> None:
    """The limit or the default holds; an upstream stays, since nothing may go to another place than the one that was meant."""
    put({name: value})
    chosen = settings.load()
    assert (used, True) == (chosen.values[name], says in chosen.problem), chosen.problem


@pytest.mark.parametrize("url", ["https://me:pw@gateway.example:8443/base", "http://127.0.0.1:9001", "http://[::1]:8080/x", "HTTPS://h", " https://h "])
def test_an_upstream_is_an_address(url: str) -> None:
    """With or without port, path and name."""
    put({"upstream": url})
    assert "" == settings.load().problem


@pytest.mark.parametrize(("said", "meant"), [(False, "off"), (True, "on"), ("off", "off")])
def test_off_in_json_is_off(said: object, meant: str) -> None:
    """Who switches Ollama off with false is understood."""
    put({"embed.ollama": said})
    assert (meant, "") == (settings.load().text("embed.ollama"), settings.load().problem)


def test_a_password_in_a_wrong_address_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for the upstream; neither one that stands in the file when the environment's is refused."""
    put({"embed.url": "ftp://me:hush@gpu"})
    assert (True, False) == ("embed.url" in settings.load().problem, "hush" in settings.load().problem)
    put({"embed.url": "http://me:hush@gpu"})
    monkeypatch.setenv("TENON_EMBED_URL", "http://you:secret@gpu")
    problem = settings.load().problem
    assert (True, False, False) == ("TENON_EMBED_URL: 'embed.url'" in problem, "hush" in problem, "secret" in problem)


def test_the_environment_cannot_send_texts_to_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A project can set variables for its sessions; what the file says holds, and the refusal is named."""
    monkeypatch.setenv("TENON_EMBED_OLLAMA", "on")
    monkeypatch.setenv("TENON_EMBED_URL", "http://gpu.example:11434")
    chosen = settings.load()
    names = ("embed.ollama", "embed.url")
    assert [("auto", "default"), ("http://127.0.0.1:11434", "default")] == [(chosen.text(name), chosen.origin[name]) for name in names]
    assert "TENON_EMBED_OLLAMA: 'embed.ollama' must be auto or off; texts are sent to another machine by settings.json alone" in chosen.problem
    assert "TENON_EMBED_URL: 'embed.url' must be an address of this machine" in chosen.problem
    put({"embed.ollama": "on", "embed.url": "https://gpu.example"})
    chosen = settings.load()
    assert [("on", "settings.json"), ("https://gpu.example", "settings.json")] == [(chosen.text(name), chosen.origin[name]) for name in names]
    monkeypatch.delenv("TENON_EMBED_OLLAMA")
    monkeypatch.delenv("TENON_EMBED_URL")
    assert "" == settings.load().problem


@pytest.mark.parametrize(("raw", "meant"), [("off", "off"), ("0", "off"), ("False", "off"), ("no", "off"), ("auto", "auto"), ("perhaps", "on"), ("true", "on")])
def test_the_environment_can_switch_ollama_off(monkeypatch: pytest.MonkeyPatch, raw: str, meant: str) -> None:
    """In the ways people write it; what is not understood leaves what the file says."""
    put({"embed.ollama": "on"})
    monkeypatch.setenv("TENON_EMBED_OLLAMA", raw)
    chosen = settings.load()
    assert (meant, meant == "on") == (chosen.text("embed.ollama"), "TENON_EMBED_OLLAMA" in chosen.problem)
    assert ("settings.json" if meant == "on" else "TENON_EMBED_OLLAMA") == chosen.origin["embed.ollama"]


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("http://127.0.0.1:11434", True), ("http://localhost", True), ("HTTPS://LocalHost:1/x", True), ("http://[::1]:8080/x/y", True), (" http://127.1.2.3 ", True),
        ("http://127.0.0.1.example", False), ("http://127.0.0.1@gpu.example", False), ("http://gpu.example#@127.0.0.1", False), ("http://gpu.example?127.0.0.1", False),
        ("http://gpu\\@127.0.0.1", False), ("http://127.0.0.1\t.gpu.example", False), ("http://[::1].gpu", False), ("http://[::2]", False), ("http://127.0.0.256", False),
        ("http://127.0.0.²", False), ("http://localhost:x", False), ("http://lоcalhost", False), ("http://0.0.0.0", False), ("ftp://127.0.0.1", False), ("127.0.0.1", False), ("", False),
    ],
)  # fmt: skip
def test_this_machine_is_known_by_its_address_alone(url: str, own: bool) -> None:
    """Whatever another reader could take for another host is not it."""
    assert own == settings.is_own(url)


def test_a_broken_value_does_not_cost_its_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is taken or left by itself, from the file and from the environment."""
    put({"inject.hits": "x", "recall.floor": 0.5})
    monkeypatch.setenv("TENON_INJECT_MAX_CHARS", "lots")
    chosen = settings.load()
    assert (6.0, 0.5, 9500.0) == (chosen.number("inject.hits"), chosen.number("recall.floor"), chosen.number("inject.max_chars"))
    assert "settings.json: 'inject.hits'" in chosen.problem
    assert "TENON_INJECT_MAX_CHARS: 'inject.max_chars'" in chosen.problem


def test_a_byte_order_mark_is_no_fault() -> None:
    """As Windows editors write it."""
    put(b"\xef\xbb\xbf" + json.dumps({"inject.hits": 2}).encode())
    assert (2.0, "") == (settings.load().number("inject.hits"), settings.load().problem)


def test_a_folder_where_the_file_should_be_is_named(tmp_path: Path) -> None:
    """And stops nothing."""
    Path(paths.settings_path()).mkdir(parents=True)
    assert "is not a file" in settings.load().problem


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=60)
    | st.dictionaries(st.sampled_from(sorted(settings.KNOWN)), st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers()))
)
def test_whatever_the_file_has_there_are_settings(content: Any) -> None:
    """Every name has a value of its own type."""
    put(content)
    chosen = settings.load()
    assert set(chosen.values) == set(settings.KNOWN)
    for name, (default, _) in settings.KNOWN.items():
        value = chosen.values[name]
        assert isinstance(value, bool) == isinstance(default, bool)
        assert isinstance(value, (int, float) if isinstance(default, (int, float)) else type(default))


@pytest.mark.parametrize("name", sorted(settings.KNOWN))
def test_every_setting_says_what_it_means_and_has_a_variable(name: str) -> None:
    """TENON_ and the name with underscores."""
    assert len(settings.KNOWN[name][1]) > 15
    assert "TENON_" + name.upper().replace(".", "_") == settings.variable(name)


@pytest.mark.parametrize("home", [".tn", "sub/.tn", "./", ""])
def test_a_relative_home_is_no_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str) -> None:
    """It is another in each folder; nor is HOME then."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TENON_HOME", home)
    if not home:
        for name in ("HOME", "USERPROFILE"):
            monkeypatch.setenv(name, "here")

    assert "TENON_HOME is not an absolute path" == settings.stranger([])


def test_settings_in_the_sessions_project_are_not_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither in its folder, nor elsewhere in its repository, nor by a link into it; beside it they are."""
    project, beside = tmp_path / "project", tmp_path / "project2"
    for folder in ("objects", "refs"):
        (project / ".git" / folder).mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (project / "deep").mkdir()
    beside.mkdir()
    monkeypatch.setenv("TENON_HOME", str(beside))
    put({"digest.auto": True})
    assert "" == settings.stranger([str(project), ""])
    for home in (project, project / ".tn"):
        monkeypatch.setenv("TENON_HOME", str(home))
        put({"digest.auto": True})
        assert "lies in the session's project" in settings.stranger([str(project)])
        assert "lies in the session's project" in settings.stranger(["", str(project / "deep")])
    monkeypatch.setenv("TENON_HOME", str(beside))
    os.remove(beside / "settings.json")
    os.symlink(project / ".tn" / "settings.json", beside / "settings.json")
    assert "lies in the session's project" in settings.stranger([str(project)])


def test_a_session_in_the_users_own_home_has_the_users_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Though they lie in it; what HOME says makes no project that home."""
    assert "" == settings.stranger([settings._own_home(), os.path.dirname(settings._own_home())])
    put({})
    monkeypatch.setenv("HOME", os.path.dirname(paths.home()))
    assert "lies in" in settings.stranger([os.environ["HOME"]])
    monkeypatch.setattr(settings, "_own_home", lambda: os.environ["HOME"])
    assert "" == settings.stranger([os.environ["HOME"]])


@pytest.mark.skipif(os.name != "posix", reason="owners are POSIX's")
def test_settings_of_somebody_else_are_not_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the system's administrator may be."""
    put({})
    assert "" == settings.stranger([])
    owner = os.stat(paths.settings_path())
    monkeypatch.setattr(os, "getuid", lambda: owner.st_uid + 1)
    assert (owner.st_uid != 0) == ("belongs to somebody else" in settings.stranger([]))
