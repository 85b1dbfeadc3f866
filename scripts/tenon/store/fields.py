"""The fields of a record that comes from elsewhere, each as it must be; ValueError says what is wrong with it."""

from __future__ import annotations

from tenon.base.lean import sqlite
from tenon.base.text import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    Record = Mapping[str, Any]


# What a record from elsewhere may raise on its way into the store: it is the record that is wrong, not the store.
WRONG = (
    ValueError, KeyError, TypeError, OverflowError, RecursionError, sqlite.IntegrityError, sqlite.DataError, sqlite.InterfaceError, sqlite.ProgrammingError,
)  # fmt: skip
LATEST = 250_000_000_000.0  # no calendar knows a later time


def text(record: Record, name: str, *, empty: bool = True) -> str:
    """The text, «» when there is none."""
    found = record.get(name, "")
    if not isinstance(found, str):
        raise ValueError(f"{name} is no text")  # noqa: TRY004 - what is wrong is what somebody wrote
    found = clean(found)
    if not found and not empty:
        raise ValueError(f"{name} is missing")
    return found


def chosen(record: Record, name: str, among: Collection[str]) -> str:
    """The text, one of those."""
    found = record.get(name)
    if not isinstance(found, str) or found not in among:
        raise ValueError(f"{name} is none of {', '.join(among)}")
    return found


def number(record: Record, name: str) -> float:
    """The number, a time or another one that is not negative."""
    found = maybe(record, name)
    if found is None:
        raise ValueError(f"{name} is missing")
    return found


def maybe(record: Record, name: str) -> float | None:
    """The number, or None when there is none."""
    found = record.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 <= found <= LATEST:
        raise ValueError(f"{name} is no number")
    return float(found)


def whole(record: Record, name: str, least: int = 0) -> int:
    """The whole number, at least so much."""
    found: Any = record.get(name, least)
    if isinstance(found, bool) or not isinstance(found, int) or not least <= found < 1 << 53:
        raise ValueError(f"{name} is no whole number from {least}")
    return int(found)


def listed(record: Record, name: str) -> list[Any]:
    """The list, empty when there is none."""
    found = record.get(name, [])
    if not isinstance(found, list):
        raise ValueError(f"{name} is no list")  # noqa: TRY004 - as above
    return found


def objects(record: Record, name: str) -> list[dict[str, Any]]:
    """The list of objects, empty when there is none."""
    found = listed(record, name)
    if not all(isinstance(each, dict) for each in found):
        raise ValueError(f"{name} holds something that is no object")
    return found


def inner(record: Record, name: str) -> dict[str, Any] | None:
    """The object, or None when there is none."""
    found = record.get(name)
    if found is not None and not isinstance(found, dict):
        raise ValueError(f"{name} is no object")
    return found


def hashed(said: object, name: str = "hash") -> bytes:
    """The SHA-256 that a text in hexadecimal says."""
    try:
        found = bytes.fromhex(str(said))
    except ValueError:
        found = b""
    if len(found) != 32:
        raise ValueError(f"{name} is no SHA-256")
    return found
