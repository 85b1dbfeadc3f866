"""Roots and headers as clients write them, and the folder or key that they mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_server import scope
from tenon.base.errors import TenonError


@pytest.mark.parametrize(
    ("uri", "posix", "windows"),
    [
        ("file:///home/ada/x", "/home/ada/x", "\\home\\ada\\x"),
        ("file:///home/a%20b/%C3%A9", "/home/a b/é", "\\home\\a b\\é"),
        ("file://localhost/x", "/x", "\\x"),
        ("file:///c%3A/Users/Ada", "/c:/Users/Ada", "c:\\Users\\Ada"),
        ("file:///C:/Users/Ada", "/C:/Users/Ada", "C:\\Users\\Ada"),
        ("file://server/share/x", "", "\\\\server\\share\\x"),
        ("file:relative", "", ""),
        ("file:///x%00y", "", ""),
        ("https://example.com/x", "", ""),
        ("/home/ada/x", "", ""),
        ("file://[x", "", ""),
        (7, "", ""),
        (None, "", ""),
    ],
)
def test_a_root_is_a_folder_of_either_system(uri: object, posix: str, windows: str) -> None:
    """What names none is none."""
    assert (posix, windows) == (scope.path_of(uri, windows=False), scope.path_of(uri, windows=True))


@pytest.mark.parametrize("roots", [None, [], "x", [7], [{}], [{"uri": "https://x"}], {"uri": "file:///"}])
def test_roots_that_name_no_folder_are_none(roots: object) -> None:
    """Whatever a client answers."""
    assert "" == scope.of_roots({"roots": roots})


def test_a_header_is_a_folder_or_a_key(tmp_path: Path) -> None:
    """Percent-encoded, or plain where that is ASCII."""
    folder = tmp_path / "é %41"
    folder.mkdir()
    encoded = str(tmp_path) + "/%C3%A9%20%2541"
    found = [scope.of_header(told) for told in (encoded, "github.com/ada/x", "path:/gone/x")]
    assert [(str(tmp_path) + "/é %41", ""), ("", "github.com/ada/x"), ("", "path:/gone/x")] == [(one.folder, one.key) for one in found]


@pytest.mark.parametrize("told", ["é/x", "%C3/x", "widgets", "", " ", "../x", "~ada/x", "%2E/x", "a/%00"])
def test_a_header_that_is_neither_is_refused(told: str) -> None:
    """With the header's name in the sentence."""
    with pytest.raises(TenonError, match="X-Tenon-Repository"):
        scope.of_header(told)


def test_the_top_of_the_file_system_is_no_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where clients with windows start what they start; unless it is named."""
    top = Path.cwd().anchor
    monkeypatch.chdir(top)
    assert not scope.of_start().is_named
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", top)
    assert top == scope.of_start().folder
