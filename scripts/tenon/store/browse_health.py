"""How the store does, counted for the page Health: what models cost by the day, how sessions went through the proxy, how many rows there are of each kind."""

from __future__ import annotations

from tenon.store import growth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store

PER_DAY = (
    "SELECT CAST(at / 86400 AS INTEGER), purpose, count(*), sum(input + written + read + output), sum(CASE WHEN reported THEN 0 ELSE reserved END), sum(dollars), "
    "sum(dollars IS NULL AND runner <> 'ollama') FROM spending WHERE at >= ? GROUP BY 1, 2 ORDER BY 1, 2"
)
STATES = "SELECT state, count(*) FROM conversation WHERE last >= ? GROUP BY state"
LEFT_ALONE = (
    "SELECT name, state, reason, last, EXISTS (SELECT 1 FROM session s WHERE s.name = c.name) FROM conversation c "
    "WHERE state IN ('bypassed', 'plain') AND last >= ? ORDER BY last DESC LIMIT ?"
)
# Of what is never deleted the highest number is the count, and found at once among a million.
ROWS = {
    "memories": "SELECT count(*) FROM memory",
    "earlier texts of memories": "SELECT count(*) FROM revision",
    "links": "SELECT count(*) FROM edge",
    "associations": "SELECT count(*) FROM association",
    "sessions": "SELECT count(*) FROM session",
    "turns": "SELECT coalesce(max(id), 0) FROM turn",
    "passages": "SELECT coalesce(max(id), 0) FROM passage",
    "vectors": "SELECT coalesce(sum(count), 0) FROM block",
    "entries of the journal": "SELECT count(*) FROM journal",
    "digests": "SELECT coalesce(max(id), 0) FROM digest",
    "requests of Tenon's own": "SELECT coalesce(max(id), 0) FROM spending",
    "conversations at the proxy": "SELECT count(*) FROM conversation",
    "messages that the proxy keeps": "SELECT count(*) FROM sent",
    "messages counted by the API": "SELECT count(*) FROM usage",
}


class Spent:
    """What requests for one purpose took on a day: how many they were, tokens that were reported and that only were reserved, and dollars (None: not reported).

    `unpriced` are the requests of which no price was reported.
    """

    __slots__ = ("day", "purpose", "requests", "tokens", "unknown", "dollars", "unpriced")

    def __init__(self, row: tuple[int, str, int, int, int, float | None, int]) -> None:
        self.day, self.purpose, self.requests, self.tokens, self.unknown, self.dollars, self.unpriced = row


def spent(store: Store, since: float) -> list[Spent]:
    """What was spent from that time on, by day (its number since 1970, UTC) and purpose."""
    return [Spent(row) for row in store.rows(PER_DAY, (since - since % growth.DAY_S,))]


def states(store: Store, since: float) -> dict[str, int]:
    """How many conversations of each state went on since that time."""
    return {str(state): int(count) for state, count in store.rows(STATES, (since,))}


def left_alone(store: Store, since: float, limit: int) -> list[tuple[str, str, str, float, bool]]:
    """The latest conversations that the proxy adds nothing to: name, state, why, last request, whether the archive has the session."""
    return [(str(name), str(state), str(why), float(last), bool(kept)) for name, state, why, last, kept in store.rows(LEFT_ALONE, (since, limit))]


def rows(store: Store) -> list[tuple[str, int]]:
    """About how many rows there are of each kind."""
    return [(name, int(store.value(query))) for name, query in ROWS.items()]
