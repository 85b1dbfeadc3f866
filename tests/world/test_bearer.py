"""The token of the tools' server: made once, kept for its owner alone, known in a time that tells nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tenon.base.errors import TenonError
from tenon.base.redact import redact
from tenon.world import bearer

POSIX = pytest.mark.skipif(os.name != "posix", reason="this system has no such modes")


def test_a_token_is_made_once_and_anew_when_asked_for() -> None:
    """Thirty-two random bytes, behind what tells that it is a secret."""
    assert "" == bearer.held()
    first = bearer.token()
    assert (32, first, first) == (len(bytes.fromhex(first[len("sk-tenon-") :])), bearer.token(), bearer.held())
    second = bearer.renewed()
    assert (second, True) == (bearer.held(), first != second)
    assert [Path(bearer.path()).name] == [name for name in os.listdir(os.path.dirname(bearer.path())) if name.startswith("mcp-token")]


@POSIX
def test_its_file_is_the_owners_alone() -> None:
    """Whatever the process would give to others; a file that others could read is no secret any more."""
    before = os.umask(0)
    try:
        bearer.token()
    finally:
        os.umask(before)
    assert (0o600, 0o700) == (os.stat(bearer.path()).st_mode & 0o777, os.stat(os.path.dirname(bearer.path())).st_mode & 0o777)
    os.chmod(bearer.path(), 0o644)
    with pytest.raises(TenonError, match="--new-token"):
        bearer.token()


@POSIX
def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """Nor overwritten through: the new token takes its place."""
    other = tmp_path / "other"
    other.write_text("sk-tenon-" + "0" * 64, encoding="ascii")
    other.chmod(0o600)
    bearer.renewed()
    os.remove(bearer.path())
    os.symlink(other, bearer.path())
    with pytest.raises(TenonError, match="--new-token"):
        bearer.held()
    assert bearer.renewed() == bearer.held()
    assert "sk-tenon-" + "0" * 64 == other.read_text(encoding="ascii")


def test_a_token_that_was_shown_in_a_session_is_not_kept() -> None:
    """Whatever stands around it."""
    made = bearer.renewed()
    assert not any(made in redact(text) for text in (made, f"$ cat mcp-token\n{made}\n", f"export {bearer.VARIABLE}={made}", f"Authorization: Bearer {made}"))


@pytest.mark.parametrize("text", ["", "short", "0" * 64, "sk-tenon-" + "0" * 63, "sk-tenon-" + "0" * 65, "sk-tenon-" + "x" * 64, "sk-tenon-" + "é" * 64])
def test_a_file_without_a_token_is_told(text: str) -> None:
    """An empty one would let everybody in."""
    bearer.renewed()
    with open(bearer.path(), "w", encoding="utf-8") as file:
        file.write(text)
    with pytest.raises(TenonError, match="holds no token"):
        bearer.token()


@pytest.mark.parametrize(
    ("header", "known"),
    [
        ("Bearer abc", True),
        ("bearer abc", True),
        ("Bearer  abc ", True),
        ("Bearer abcd", False),
        ("Bearer", False),
        ("", False),
        ("Basic abc", False),
        ("Bearer ä", False),
    ],
)
def test_the_token_is_known_by_its_header(header: str, known: bool) -> None:
    """Under the scheme Bearer."""
    assert known is bearer.is_known(header, "abc")


def test_without_a_token_nobody_is_known() -> None:
    """Not even who gives none."""
    assert [False, False] == [bearer.is_known(header, "") for header in ("Bearer ", "Bearer")]
