"""JSON and SQLite by their short way, for the process that runs on every prompt.

`import json` compiles regular expressions it does not need for parsing, `import sqlite3` defines datetime adapters that
Tenon does not use, and both bring in functools and collections: together half the time of a start. The C halves
can be imported by themselves; they are internals of CPython, so wherever they are missing or have changed the public
modules do the same work. `bench/hook.py` shows what it is worth.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3 as sqlite
    from typing import Any
else:

    def _sqlite():  # noqa: ANN202 - a module, or None
        """The C module `_sqlite3`, or `sqlite3` where that cannot be had by itself."""
        lent = None
        try:
            if "functools" not in sys.modules:
                # Since Python 3.10 it imports functools for one decorator, that of its statement cache.
                from _functools import _lru_cache_wrapper

                lent = type(sys)("functools")
                lent.lru_cache = lambda size: lambda made: _lru_cache_wrapper(made, size, False, None)
                sys.modules["functools"] = lent
            import _sqlite3

            trial = _sqlite3.connect(":memory:", isolation_level=None)
            trial.execute("SELECT 1").fetchone()
            trial.close()
        except Exception:  # noqa: BLE001 - an unknown C interface may fail in any way; the public module follows
            return None
        else:
            return _sqlite3
        finally:
            if lent is not None and sys.modules.get("functools") is lent:
                del sys.modules["functools"]

    sqlite = _sqlite()
    if sqlite is None:
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

        scan: Any = make_scanner(_Grammar())  # type: ignore[arg-type]
        if scan('{"a": [1, "b"]}', 0) == ({"a": [1, "b"]}, 15):
            return scan
    except Exception:  # noqa: BLE001 - an unknown C interface may fail in any way; the public module follows
        pass
    import json

    return json.JSONDecoder(strict=False).scan_once  # type: ignore[attr-defined]


_scan = _scanner()


def parse(text: str, *, whole: bool = False) -> object | None:
    """The JSON value that begins the text, or None when no whole value stands there (yet); with `whole` nothing may follow it."""
    start = len(text) - len(text.lstrip(" \t\r\n\ufeff"))
    try:
        value: object
        value, end = _scan(text, start)
    except (StopIteration, ValueError, RecursionError, SystemError):
        # SystemError: up to Python 3.12 the scanner takes its JSONDecodeError from `json.decoder`, and fails when nobody imported that.
        return None
    return None if whole and text[end:].strip() else value


def quote(text: str) -> str:
    """The text as a JSON string, ASCII only, lone surrogates made harmless."""
    clean = text.encode("utf-8", "replace").decode("utf-8")
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        from json.encoder import encode_basestring_ascii
    return encode_basestring_ascii(clean)
