"""The journal as it is looked through: entries newest first, what each prompt was, and what the ids in it stand for."""

from __future__ import annotations

from bisect import bisect_left

from tenon.base.errors import TenonError
from tenon.store import browse_history, exchanges, journal, memories, passages
from tenon.store.journal import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tenon.store.db import Store

EVENTS = ("prompt", "session", "tool", "command", "pressure")
NEAR_S = 120.0  # between a prompt's line in the transcript and its entry
PROMPTS_READ = 5000  # of a session

_COLUMNS = f"{journal.COLUMNS}, repository"
ENTRIES = f"SELECT {_COLUMNS} FROM journal WHERE id < ? AND event <> 'compact'{{more}} ORDER BY id DESC LIMIT ?"
ONE = f"SELECT {_COLUMNS} FROM journal WHERE id = ? AND event <> 'compact'"
PROMPTS = "SELECT at, id FROM turn WHERE session = ? AND thread = '' AND kind IN ('prompt', 'reply') AND kind = 'prompt' AND forgotten IS NULL ORDER BY id DESC LIMIT ?"
CONTENT = "SELECT content FROM turn WHERE id = ?"
SHOWN = "SELECT hits FROM journal WHERE session = ? AND event IN ('session', 'prompt')"


class Placed:
    """An entry and the number of the repository it was made in, None for none."""

    __slots__ = ("entry", "repository")

    def __init__(self, row: Sequence[object]) -> None:
        *own, repository = row
        self.entry = Entry(own)
        self.repository = repository if isinstance(repository, int) else None


class Named:
    """What an id in the journal stands for, as it is now: its text, kind (of a turn also prompt or reply), tier and status, and the session of a turn."""

    __slots__ = ("text", "kind", "tier", "status", "session")

    def __init__(self, text: str, kind: str, tier: str, status: str, session: str = "") -> None:
        self.text = text
        self.kind = kind
        self.tier = tier
        self.status = status
        self.session = session


class Prompt:
    """The archived prompt that an entry answered: its session's whole id, its turn (t…) and its text, «» where the archive has none."""

    __slots__ = ("session", "turn", "text")

    def __init__(self, session: str, turn: str = "", text: str = "") -> None:
        self.session = session
        self.turn = turn
        self.text = text


def entries(store: Store, before: int, limit: int, *, session: str = "", event: str = "", repositories: Sequence[int] | None = None) -> list[Placed]:
    """The entries with a smaller number than that, newest first; of a session (its id, or 8 characters of it and more), an event, some repositories."""
    more, values = "", []  # type: tuple[str, list[object]]
    if len(session) < journal.SHORT and session or len(session) >= journal.NAME:
        more, values = " AND session = ?", [session[: journal.NAME]]
    elif session:
        more, values = " AND session >= ? AND session < ?", [*journal.span(session)]
    if event:
        more, values = more + " AND event = ?", [*values, event]
    if repositories is not None:
        more, values = f"{more} AND repository IN ({', '.join('?' * len(repositories)) or 'NULL'})", [*values, *repositories]
    return [Placed(row) for row in store.rows(ENTRIES.format(more=more), (before, *values, limit))]


def entry(store: Store, number: int) -> Placed | None:
    """The entry of that number, or None."""
    row = store.one(ONE, (number,))
    return None if row is None else Placed(row)


def prompts(store: Store, wanted: Iterable[Entry]) -> dict[int, Prompt]:
    """For each entry (by its number) whose session is archived, that session, and of an answer to a prompt the prompt nearest to its time."""
    found: dict[int, Prompt] = {}
    known: dict[str, tuple[str, list[tuple[float, int]]] | None] = {}
    for entry in wanted:
        if entry.session not in known:
            session = browse_history.session(store, entry.session) if entry.session else None
            known[entry.session] = None if session is None else (session.name, sorted(store.rows(PROMPTS, (session.id, PROMPTS_READ))))
        here = known[entry.session]
        if here is not None:
            name, times = here
            turn = _nearest(times, entry.at) if entry.event == "prompt" else 0
            found[entry.id] = Prompt(name, f"t{turn}", passages.of_stored(store.value(CONTENT, (turn,)))) if turn else Prompt(name)
    return found


def named(store: Store, refs: Iterable[str]) -> dict[str, Named]:
    """What the ids stand for; those that are gone or forgotten are left out."""
    found: dict[str, Named] = {}
    sessions: dict[int, str] = {}
    for ref in dict.fromkeys(refs):
        try:
            if not ref.startswith("t"):
                memory = memories.get(store, ref)
                found[ref] = Named(memory.text, memory.kind, memory.tier, memory.status)
                continue
            turn = exchanges.turn(store, ref)
        except TenonError:
            continue
        if turn.forgotten is None:
            if turn.session not in sessions:
                sessions[turn.session] = exchanges.session_of(store, turn.session).name
            found[ref] = Named(turn.text(), turn.kind, "archive", "", sessions[turn.session])
    return found


def shown(store: Store, session: str) -> int:
    """How many different memories and exchanges were put in front of a session."""
    return len({line.split(" ", 1)[0] for (hits,) in store.rows(SHOWN, (session[: journal.NAME],)) for line in str(hits).splitlines()})


def _nearest(times: Sequence[tuple[float, int]], at: float) -> int:
    """The turn whose time is nearest, 0 where none is near."""
    place = bisect_left(times, (at, 0))
    near = [(abs(when - at), turn) for when, turn in times[max(0, place - 1) : place + 2] if abs(when - at) <= NEAR_S]
    return min(near)[1] if near else 0
