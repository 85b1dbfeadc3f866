"""JSON and SQLite by their short way, for the process that runs on every prompt.

`import json` compiles regular expressions it does not need for parsing (5 ms), `import sqlite3` defines
datetime adapters that Tenon does not use (3 ms). The C halves of both are importable by themselves; they
are internals of CPython, so wherever they are missing or have changed the public modules do the same work.
"""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3 as sqlite
    from typing import Any
else:
    try:
        import _sqlite3 as sqlite

        sqlite.connect, sqlite.OperationalError, sqlite.DatabaseError, sqlite.Error
    except (ImportError, AttributeError):
        import sqlite3 as sqlite

__all__ = ["sqlite", "parse", "quote"]


class _Grammar:
    """What the C scanner asks of a decoder: the defaults of `json.JSONDecoder`."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: dict[str, str] = {}


def _scanner() -> Any:
    try:
        from _json import make_scanner

        scan = make_scanner(_Grammar())
        if scan('{"a": [1, "b"]}', 0) == ({"a": [1, "b"]}, 15):
            return scan
    except Exception:  # noqa: BLE001 - an unknown C interface may fail in any way; the public module follows
        pass
    import json

    return json.JSONDecoder(strict=False).scan_once


_scan = _scanner()


def parse(text: str) -> object | None:
    """The JSON value that begins the text, or None when no whole value stands there (yet)."""
    start = len(text) - len(text.lstrip(" \t\r\n\ufeff"))
    try:
        value: object = _scan(text, start)[0]
    except (StopIteration, ValueError, RecursionError):
        return None
    return value


def quote(text: str) -> str:
    """The text as a JSON string, ASCII only, lone surrogates made harmless."""
    clean = text.encode("utf-8", "replace").decode("utf-8")
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        from json.encoder import encode_basestring_ascii  # type: ignore[assignment]
    return encode_basestring_ascii(clean)
