"""What every page is given: the open store and whose it is, and the parameters of its address, read strictly."""

from __future__ import annotations

import time
from urllib.parse import parse_qsl

from tenon.base.errors import TenonError
from tenon.store import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.base.settings import Settings
    from tenon.store.db import Store

LONGEST = 4000  # characters of a query


class Wrong(Exception):
    """An address that asks for what cannot be: a sentence for whoever typed it."""


class Missing(Exception):
    """An address of something that is not there, or not any more."""


class Place:
    """Where a page looks: a store open for reading, the settings, whose memory it is, the time, and whether it may be changed."""

    __slots__ = ("store", "settings", "agent", "now", "allow_edit", "per_day")

    def __init__(self, store: Store, chosen: Settings, agent: str, *, allow_edit: bool = False, now: float | None = None) -> None:
        self.store = store
        self.settings = chosen
        self.agent = agent
        self.now = time.time() if now is None else now
        self.allow_edit = allow_edit
        self.per_day = chosen.per_day()


class Query:
    """The parameters of an address. Each is asked for by its name; `done` refuses what nobody asked for.

    Raises Wrong for a parameter that is given twice, too long, or not what it should be.
    """

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise Wrong(f"The address goes on for too long; at most {LONGEST:,} characters of parameters are read.")
        self._given: dict[str, str] = {}
        try:
            given = parse_qsl(text, keep_blank_values=True, errors="replace", max_num_fields=50)
        except ValueError:
            raise Wrong("The address has too many parameters.") from None
        for name, value in given:
            if name in self._given:
                raise Wrong(f"'{name[:40]}' is given twice.")
            self._given[name] = value
        self._asked: set[str] = set()

    def text(self, name: str, longest: int = 200) -> str:
        """The parameter as it is given, «» when it is not; at most so many characters."""
        self._asked.add(name)
        value = self._given.get(name, "").strip()
        if len(value) > longest:
            raise Wrong(f"'{name}' is too long; at most {longest:,} characters.")
        return value

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """The parameter as a whole number from least to most."""
        value = self.text(name)
        if not value:
            return default
        if not value.isascii() or not value.isdigit() or not least <= int(value) <= most:
            raise Wrong(f"'{name}' is a whole number from {least} to {most}.")
        return int(value)

    def one_of(self, name: str, values: Sequence[str]) -> str:
        """The parameter, which is one of the values, or «» when it is not given."""
        value = self.text(name)
        if value and value not in values:
            raise Wrong(f"'{name}' is one of {', '.join(values)}.")
        return value

    def repository(self, store: Store, name: str = "repository") -> int | None:
        """The number of the repository whose key the parameter gives, None when it is not given."""
        key = self.text(name, 1000)
        if not key:
            return None
        try:
            return places.canonical(store, places.by_key(store, key))
        except TenonError:
            raise Wrong(f"No repository of that key is known ('{name}').") from None

    def done(self) -> None:
        """Every parameter is known. Raises Wrong for those that are not."""
        unknown = sorted(set(self._given) - self._asked)
        if unknown:
            raise Wrong(f"There is no parameter '{unknown[0][:40]}'; there is {', '.join(sorted(self._asked)) or 'none'}.")
