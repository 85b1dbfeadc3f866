"""What other memories have written, kept as short-term memories that say where they are from; the same text once, whatever came of it since."""

from __future__ import annotations

from tenon.base.errors import TenonError
from tenon.base.redact import redact
from tenon.base.text import clean
from tenon.store import foreign, forgotten, memories

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tenon.store.db import Store

AT_ONCE = 200


class Entry:
    """One thing that another memory has kept: its text, kind, time (0: not known), where it stands, and the project it is of («»: everywhere)."""

    __slots__ = ("text", "kind", "at", "labels", "project")

    def __init__(self, text: str, kind: str, at: float, labels: Sequence[str], project: str = "") -> None:
        self.text = text
        self.kind = kind
        self.at = at
        self.labels = list(labels)
        self.project = project


class Counts:
    """How many entries were new, known already, forgotten here, and empty."""

    __slots__ = ("new", "known", "forgotten", "empty")

    def __init__(self) -> None:
        self.new = self.known = self.forgotten = self.empty = 0


def keep(store: Store, entries: Iterable[Entry], repository: Callable[[str], int], now: float, tick: Callable[[], None] = lambda: None) -> Counts:
    """How many of the entries were kept; `repository` gives the number of a project's. Written in parts, so that it can be stopped and run again."""
    counts = Counts()
    for part in _parts(entries):
        with store.transaction():
            for entry in part:
                _keep(store, entry, repository(entry.project), now, counts)
                tick()
    return counts


def _keep(store: Store, entry: Entry, repository: int, now: float, counts: Counts) -> None:
    text = redact(clean(entry.text)).strip()
    if not text:
        counts.empty += 1
        return
    if memories.same(store, repository, forgotten.without(store, text)) is not None:
        counts.known += 1
        return
    try:
        ref, _ = memories.write(
            store, repository=repository, tier="short", kind=entry.kind, text=text, source="outside", labels=entry.labels, now=now, writer="code"
        )
    except TenonError:
        counts.forgotten += 1
        return
    if 0 < entry.at < now:
        foreign.backdate(store, ref, entry.at)
    counts.new += 1


def _parts(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    part: list[Entry] = []
    for entry in entries:
        part.append(entry)
        if len(part) == AT_ONCE:
            yield part
            part = []
    yield part
