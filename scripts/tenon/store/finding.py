"""What was said, found again by its words as they are typed: every word must be there, and the newest comes first.

The last word may not be typed to its end. The index can look for the beginnings of words, but then reads every row of every word that
begins so before it gives the first. So a beginning that is common is looked for by the words of the newest passages that begin so.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice

from tenon.base.text import words
from tenon.store import passages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.store.db import Store

LOOKED_AT = 2000  # passages that one search looks at; the next page goes on behind them
A_STEP = 80  # of them at first; then more at a time
MOST_WORDS = 12
COMMON = 10_000  # times that words with one beginning stand in the archive, up to which the index looks for the beginning
NEWEST = 200  # passages whose words say what a common beginning may become
BECOMES = 24  # words that it may become
UNFINISHED = re.compile(r"(?<=...)(?:ing|in?|ed?|es|m|men?|nes?|n|ati?o?|a|abl?|l)$")  # what a word may end in while its ending is typed
DOUBLED = re.compile(r"([^lsz\W\d])\1$")  # what stands twice before an ending alone

FOUND = "SELECT rowid FROM turn_fts WHERE turn_fts MATCH ? AND rowid < ? ORDER BY rowid DESC"
HITS = (
    "SELECT p.id, p.turn, p.first, p.last, t.session, t.thread, t.role, t.kind, t.source, t.at FROM passage p CROSS JOIN turn t ON t.id = p.turn {join} "
    "WHERE p.id IN ({rows}) {more} ORDER BY p.id DESC"
)
OF_CLIENT = "CROSS JOIN session s ON s.id = t.session"
TEXTS = "SELECT id, content FROM turn WHERE id IN ({rows})"
SIZE = "SELECT coalesce(max(id), 0) FROM passage"
NEWEST_TEXTS = "SELECT t.content, p.first, p.last FROM passage p CROSS JOIN turn t ON t.id = p.turn WHERE p.id > ? ORDER BY p.id DESC LIMIT ?"
VOCABULARY = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.turn_words USING fts5vocab (main, turn_fts, instance)"
BEGINNING = "SELECT count(*) FROM (SELECT 1 FROM temp.turn_words WHERE term >= ? AND term < ? LIMIT ?)"


class Hit:
    """A passage of a turn: characters [first, last) of the turn's searchable text; `text` is that text."""

    __slots__ = ("passage", "turn", "first", "last", "session", "thread", "role", "kind", "source", "at", "text")

    def __init__(self, row: Sequence[object]) -> None:
        passage, turn, first, last, session, thread, role, kind, source, at = row
        self.passage, self.turn, self.first, self.last, self.session = (int(str(value)) for value in (passage, turn, first, last, session))
        self.thread, self.role, self.kind, self.source = str(thread), str(role), str(kind), str(source)
        self.at = float(str(at))
        self.text = ""


class Sought:
    """What is looked for: phrases whose words must stand side by side, and the word that is still typed, «» when the last one is finished."""

    __slots__ = ("phrases", "beginning")

    def __init__(self, text: str) -> None:
        self.phrases: list[list[str]] = []
        self.beginning = ""
        for quoted, plain in re.findall(r'"([^"]*)"|([^\s"]+)', text):
            found = words(quoted or plain)
            self.phrases += [found] if quoted and found else [[word] for word in found]
            self.beginning = "" if quoted else found[-1] if found else self.beginning
        del self.phrases[MOST_WORDS:]
        if self.phrases and self.beginning and self.phrases[-1] == [self.beginning]:
            self.phrases.pop()
        else:
            self.beginning = ""

    def __bool__(self) -> bool:
        return bool(self.phrases or self.beginning)

    @property
    def words(self) -> list[str]:
        """All the words, once each."""
        return list(dict.fromkeys([word.rstrip("*") for phrase in self.phrases for word in phrase] + [self.beginning.rstrip("*")] * bool(self.beginning)))


def search(
    store: Store, sought: Sought, *, before: tuple[int, int], limit: int, scope: Sequence[int] | None = None, client: str = "", tools: bool = False
) -> tuple[list[Hit], tuple[int, int] | None]:
    """The newest passages with all the words, one a turn, and where the next page begins, None when there is none.

    `before` is such a place. Without `tools` only what the user and the agent said to each other; `scope` holds repositories (None: all).
    After LOOKED_AT passages of which too few are wanted the answer comes short, and the next page goes on from there.
    """
    if not sought:
        return [], None
    hits, following = _searched(store, _match(store, sought), before, limit, scope, client, tools=tools)
    if not hits and following is None and UNFINISHED.search(sought.beginning):
        bare = DOUBLED.sub(r"\1", UNFINISHED.sub("", sought.beginning))
        hits, following = _searched(store, _match(store, sought, bare), before, limit, scope, client, tools=tools)
    texts = {int(turn): passages.of_stored(content) for turn, content in store.rows(TEXTS.format(rows=_marks(hits)), [hit.turn for hit in hits])}
    for hit in hits:
        hit.text = texts.get(hit.turn, "")
    return hits, following


def _searched(
    store: Store, match: str, before: tuple[int, int], limit: int, scope: Sequence[int] | None, client: str, *, tools: bool
) -> tuple[list[Hit], tuple[int, int] | None]:
    join, more, values = _narrowed(scope, client, tools=tools)
    rows = store.each(FOUND, (match, before[0]))
    found: list[Hit] = []
    turn = before[1]
    looked, step = 0, A_STEP
    while looked < LOOKED_AT:
        some = [row for (row,) in islice(rows, step)]
        for row in store.rows(HITS.format(join=join, rows=_marks(some), more=more), (*some, *values)):
            hit = Hit(row)
            if hit.turn == turn:
                continue  # a later passage of it has been found
            if len(found) == limit:
                return found, (found[-1].passage, turn)
            found.append(hit)
            turn = hit.turn
        if len(some) < step:
            return found, None
        looked, step = looked + step, min(2 * step, 500)
    return found, (some[-1], turn)


def _narrowed(scope: Sequence[int] | None, client: str, *, tools: bool) -> tuple[str, str, list[object]]:
    more = ""
    values: list[object] = []
    if scope is not None:
        more, values = f"AND p.repository IN ({_marks(scope)}) ", list(scope)
    if not tools:
        more += "AND t.thread = '' AND t.kind IN ('prompt', 'reply') "
    if client:
        more += "AND s.client = ?"
        values.append(client)
    return OF_CLIENT if client else "", more, values


def _match(store: Store, sought: Sought, instead: str = "") -> str:
    """The MATCH expression: what a turn says, not what stands beside it."""
    parts = ["text : " + _phrase(phrase) for phrase in sought.phrases]
    if instead:
        parts.append("text : " + _phrase([instead]))
    elif sought.beginning:
        parts.append("(" + " OR ".join(f"text : {form}" for form in _forms(store, sought.beginning.rstrip("*"))) + ")")
    return " AND ".join(parts)


def _forms(store: Store, beginning: str) -> list[str]:
    """The word as it stands, and what it may become."""
    whole = _phrase([beginning])
    if len(beginning) > 2 and _is_rare(store, beginning):
        return [whole, whole + "*"]
    begun = re.compile(rf"(?<![^\W_]){re.escape(beginning)}[^\W_]+")
    counts = Counter(word for text in _newest(store) for word in begun.findall(text.lower()))
    return [whole, *(_phrase(words(word) or [word]) for word, _ in counts.most_common(BECOMES))]


def _is_rare(store: Store, beginning: str) -> bool:
    # The index holds stems, in which a last letter may be another one: deploy is deploi there.
    least = beginning[:-1]
    store.execute(VOCABULARY)
    return int(store.value(BEGINNING, (least, least + chr(0x10FFFF), COMMON))) < COMMON


def _newest(store: Store) -> list[str]:
    size = int(store.value(SIZE))
    return [passages.of_stored(content)[first:last] for content, first, last in store.rows(NEWEST_TEXTS, (size - 2 * NEWEST, NEWEST))]


def _phrase(found: Sequence[str]) -> str:
    return '"' + " ".join(word.rstrip("*") for word in found) + '"' + ("*" if found[-1].endswith("*") else "")


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values)) or "NULL"
