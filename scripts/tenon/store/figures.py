"""What is stored, counted: for a repository and in all."""

from __future__ import annotations

from tenon.store import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from tenon.store.db import Store

MEMORIES = "SELECT tier, status, count(*) FROM memory {where} GROUP BY tier, status"
AGENT_WIDE = "SELECT count(*) FROM memory WHERE repository IS NULL AND status = 'live'"
SESSIONS = "SELECT count(*) FROM session {where}"
TURNS = "SELECT count(*) FROM turn {where}"
REPOSITORIES = "SELECT count(*) FROM repository"
LAST_SESSION = "SELECT name, folder, branch, started, last FROM session WHERE repository IN ({marks}) ORDER BY last DESC LIMIT 1"
LATEST_EVENTS = "SELECT event, max(at) FROM journal GROUP BY event"
LATEST_TURN = "SELECT max(last) FROM session"
WRITTEN = "SELECT writer, count(*) FROM memory WHERE created >= ? GROUP BY writer"
WRITTEN_IN = (
    "SELECT m.id, m.writer, s.name FROM memory m LEFT JOIN lineage l ON l.memory = m.id LEFT JOIN turn t ON t.id = l.turn "
    "LEFT JOIN session s ON s.id = t.session WHERE m.created >= ?"
)
_LINES = "coalesce(sum(length(hits) - length(replace(hits, char(10), '')) + (hits <> '')), 0)"
TOLD = f"SELECT event, count(*), sum(hits <> '' OR chars > 0), {_LINES} FROM journal WHERE at >= ? GROUP BY event"
SESSIONS_SINCE = "SELECT count(*) FROM session WHERE last >= ?"
TURNS_SINCE = "SELECT count(*) FROM session s JOIN turn t ON t.session = s.id WHERE s.last >= ? AND t.at >= ?"
LATEST_SUMMARY = "SELECT max(at) FROM summary"
CONVERSATIONS = "SELECT (SELECT count(*) FROM conversation WHERE state <> 'announced'), (SELECT count(*) FROM sent), (SELECT count(*) FROM piece)"
# A deleted vector whose place in its block is still empty is counted with the others.
VECTORS = (
    "SELECT m.name, m.dims, coalesce(sum(b.count), 0), coalesce(sum(length(b.rows) + length(b.signs)), 0) "
    "FROM model m LEFT JOIN block b ON b.model = m.id GROUP BY m.id ORDER BY m.id"
)


class Figures:
    """How much there is of each: live memories per tier, those that faded, and the archive; a turn is a prompt, an answer, a thought, a tool call or its result."""

    __slots__ = ("short", "long", "faded", "superseded", "sessions", "turns")

    def __init__(self, short: int, long: int, faded: int, superseded: int, sessions: int, turns: int) -> None:
        self.short = short
        self.long = long
        self.faded = faded
        self.superseded = superseded
        self.sessions = sessions
        self.turns = turns


def count(store: Store, repository: int | None = None, *, everywhere: bool = False) -> Figures:
    """The figures of a repository (none for one that is not known), or of the whole store."""
    numbers = [] if everywhere else places.scope(store, repository)
    where = "" if everywhere else f"WHERE repository IN ({', '.join('?' * len(numbers)) or 'NULL'})"
    found = {(tier, status): int(many) for tier, status, many in store.rows(MEMORIES.format(where=where), tuple(numbers))}
    return Figures(
        found.get(("short", "live"), 0),
        found.get(("long", "live"), 0),
        sum(many for (_, status), many in found.items() if status == "faded"),
        sum(many for (_, status), many in found.items() if status == "superseded"),
        int(store.value(SESSIONS.format(where=where), tuple(numbers))),
        int(store.value(TURNS.format(where=where), tuple(numbers))),
    )


def agent_wide(store: Store) -> int:
    """How many live memories hold in every repository."""
    return int(store.value(AGENT_WIDE))


def repositories(store: Store) -> int:
    """How many repositories are known, aliases included."""
    return int(store.value(REPOSITORIES))


def last_session(store: Store, repository: int | None) -> tuple[str, str, str, float, float] | None:
    """The name, folder, branch, beginning and end so far of the repository's last session, or None."""
    numbers = places.scope(store, repository)
    row = store.one(LAST_SESSION.format(marks=", ".join("?" * len(numbers)) or "NULL"), tuple(numbers))
    return (str(row[0]), str(row[1]), str(row[2]), float(row[3]), float(row[4])) if row else None


def latest(store: Store) -> dict[str, float]:
    """When each event was last seen, as the journal says (prompt, session, tool, command); and of when the newest turn and summary are."""
    found = {str(event): float(at) for event, at in store.rows(LATEST_EVENTS) if event != "compact"}
    for name, query in (("turn", LATEST_TURN), ("summary", LATEST_SUMMARY)):
        at = store.value(query)
        if at is not None:
            found[name] = float(at)
    return found


def written(store: Store, since: float) -> dict[str, int]:
    """How many memories were written since that time by whom: user, model, code, digest."""
    return {str(writer): int(many) for writer, many in store.rows(WRITTEN, (since,))}


def written_in(store: Store, since: float, sessions: Collection[str]) -> dict[str, int]:
    """The same of those that came from what was said in these sessions (by the client's ids), and of those that came from no turn."""
    found: dict[int, str] = {}
    for memory, writer, session in store.each(WRITTEN_IN, (since,)):
        if session is None or session in sessions:
            found[memory] = str(writer)
    return {writer: list(found.values()).count(writer) for writer in sorted(set(found.values()))}


class Done:
    """What was done in a stretch of time.

    Sessions that went on, turns kept, memories by who wrote them; sessions that were briefed, prompts that got something, how many items
    that were, and how often something was looked up by the model or by hand.
    """

    __slots__ = ("sessions", "turns", "written", "briefed", "prompts", "items", "recalls")

    def __init__(self, sessions: int, turns: int, written: dict[str, int], told: dict[str, tuple[int, int, int]]) -> None:
        nothing = (0, 0, 0)
        self.sessions = sessions
        self.turns = turns
        self.written = written
        self.briefed = told.get("session", nothing)[1]
        self.prompts, self.items = told.get("prompt", nothing)[1:]
        self.recalls = told.get("tool", nothing)[0] + told.get("command", nothing)[0]

    def fields(self) -> dict[str, object]:
        """As plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


def done(store: Store, since: float) -> Done:
    """What was done since that time, in all repositories."""
    told = {str(event): (int(all_), int(spoke), int(items)) for event, all_, spoke, items in store.rows(TOLD, (int(since),))}
    return Done(int(store.value(SESSIONS_SINCE, (since,))), int(store.value(TURNS_SINCE, (since, since))), written(store, since), told)


def conversations(store: Store) -> tuple[int, int, int]:
    """How many conversations went through the proxy, how many of their messages are kept, and how many pieces of prefixes."""
    begun, kept, pieces = store.one(CONVERSATIONS) or (0, 0, 0)
    return int(begun), int(kept), int(pieces)


def vectors(store: Store) -> list[tuple[str, int, int, int]]:
    """Of each embedding model the name, the dimensions, about how many vectors there are, and about how many bytes they take."""
    return [(str(name), int(dims), int(many), int(held) + int(many) * (int(dims) + 2)) for name, dims, many, held in store.rows(VECTORS)]
