"""What requests to models have cost: a row is written before a request is made, with what it may take at most, and then gets what was reported.

So a process that is killed at a request leaves its reservation behind, and a daily cap holds across restarts.
"""

from __future__ import annotations

import os

from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.base.text import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.store.db import Store

ADD = "INSERT INTO spending (at, purpose, digest, runner, model, reserved) VALUES (?, ?, ?, ?, ?, ?)"
REPORT = "UPDATE spending SET reported = 1, model = ?, input = ?, written = ?, read = ?, output = ?, dollars = ? WHERE id = ?"
DROP = "DELETE FROM spending WHERE id = ? AND reported = 0"
SUM = (
    "SELECT count(*), coalesce(sum(input), 0), coalesce(sum(written), 0), coalesce(sum(read), 0), coalesce(sum(output), 0), sum(dollars), "
    "coalesce(sum(CASE WHEN reported THEN 0 ELSE reserved END), 0), coalesce(sum(dollars IS NULL AND runner <> 'ollama'), 0) FROM spending WHERE at >= ? AND at < ?"
)
OF_DIGEST = SUM.replace("at >= ? AND at < ?", "digest = ?")
DAY_S = 86400.0
FOR_EVER = 2.0**62
LARGEST = 10**12  # tokens that one answer can say it took


class Spent:
    """Requests and tokens: `input` past the prompt cache, `written` to it, `read` from it, `output`; `dollars` as reported, None when no runner did.

    `unknown` are the tokens reserved by requests of which nothing was reported, `unpriced` the requests of which no price was (an Ollama has none).
    """

    __slots__ = ("requests", "input", "written", "read", "output", "dollars", "unknown", "unpriced")

    def __init__(self, row: tuple[int, int, int, int, int, float | None, int, int]) -> None:
        self.requests, self.input, self.written, self.read, self.output, self.dollars, self.unknown, self.unpriced = row

    @property
    def tokens(self) -> int:
        """All tokens that were reported."""
        return self.input + self.written + self.read + self.output

    @property
    def counted(self) -> int:
        """What counts against the cap: the reported tokens, and what may have been taken without a report."""
        return self.tokens + self.unknown


def reserve(store: Store, *, purpose: str, runner: str, model: str, tokens: int, cap: int, now: float, digest: int | None = None) -> int | None:
    """The row for a request that may take so many tokens, or None when the day's cap, which all agents share, does not allow it."""
    row = int(store.execute(ADD, (now, purpose, digest, runner, model, tokens)).lastrowid or 0)
    # Written first, so that of two agents at once each sees the other's.
    if counted(store, now) > cap:
        release(store, row)
        return None
    return row


def counted(store: Store, now: float) -> int:
    """The tokens that count against the day's cap: those of this store, and of the other agents' beside it that can be read."""
    return today(store, now).counted + sum(_elsewhere(path, now) for path in _others(store.path))


def report(store: Store, row: int, *, model: str, input_tokens: int, output_tokens: int, written: int = 0, read: int = 0, dollars: float | None = None) -> None:
    """Notes what a request has taken, as its answer said."""
    told = (min(max(0, count), LARGEST) for count in (input_tokens, written, read, output_tokens))
    store.execute(REPORT, (cut(model, 80), *told, dollars, row))


def release(store: Store, row: int) -> None:
    """Takes the reservation back: the request was never made, or was refused without being charged."""
    store.execute(DROP, (row,))


def today(store: Store, now: float) -> Spent:
    """What was spent in the last 24 hours: a day by the clock would begin anew with another time zone. What lies in the future counts too."""
    return between(store, now - DAY_S, FOR_EVER)


def between(store: Store, first: float, last: float) -> Spent:
    """What was spent from one time (seconds) to before another."""
    return Spent(store.rows(SUM, (first, last))[0])


def of_digest(store: Store, number: int) -> Spent:
    """What a digest has cost."""
    return Spent(store.rows(OF_DIGEST, (number,))[0])


def money(spent: Sequence[Spent], frame: str = "{}") -> str:
    """The dollars that were reported, in the frame: «$0.02», and «at least $0.02» where some requests reported no price; «» when none did."""
    dollars = sum(one.dollars or 0.0 for one in spent)
    if not dollars:
        return ""
    return frame.format(f"{'at least ' if any(one.unpriced for one in spent) else ''}${dollars:.2f}")


def _others(path: str) -> list[str]:
    own = os.path.dirname(os.path.abspath(path))
    try:
        agents = sorted(os.listdir(os.path.dirname(own)))
    except OSError:
        return []
    beside = (os.path.join(os.path.dirname(own), name, os.path.basename(path)) for name in agents)
    return [other for other in beside if os.path.dirname(other) != own and os.path.isfile(other)]


def _elsewhere(path: str, now: float) -> int:
    from tenon.store import db

    try:
        with db.open_reader(path) as other:
            return today(other, now).counted
    except (TenonError, sqlite.Error):
        return 0  # damaged, or of an older version that had no digest
