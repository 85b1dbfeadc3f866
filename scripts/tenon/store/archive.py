"""The archive: every turn of every session, verbatim, append-only, each bound to the one before it.

A row is one message or a part of one (Claude Code writes an answer block by block; rows with the same `message`
are one answer). Its hash covers its parent's hash, so a re-sent history finds itself, sessions that run at once are
separate chains, a fork or a rewind is a branch, and `health.check_chain` can prove that nothing was changed. After
llm's logs.py by Simon Willison, which does this for prompts and responses.
"""

from __future__ import annotations

import json
from hashlib import sha256

from tenon.base.redact import redact, redact_value
from tenon.base.text import clean, tokens
from tenon.store import forgotten, index, nearby, passages, vectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tenon.store.db import Store
    from tenon.store.exchanges import Turn
    from tenon.store.forgotten import Forgotten

    Entry = tuple[int, str, str]  # a passage's rowid, what it says, and what is near it

SPOKEN = ("prompt", "reply")
AT_ONCE = 500  # passages whose vectors are written together
PICTURE = 1600  # tokens

BY_NAME = "SELECT id FROM session WHERE name = ?"
ADD_SESSION = "INSERT INTO session (name, repository, folder, branch, client, started, last) VALUES (?, ?, ?, ?, ?, ?, ?)"
TOUCH_SESSION = "UPDATE session SET last = max(last, ?), branch = CASE WHEN ? <> '' THEN ? ELSE branch END WHERE id = ?"
BY_LINE = "SELECT turn FROM line WHERE uuid = ?"
ADD_LINE = "INSERT OR IGNORE INTO line (uuid, turn) VALUES (?, ?)"
BY_HASH = "SELECT id FROM turn WHERE hash = ?"
HASH_OF = "SELECT hash FROM turn WHERE id = ?"
LAST_OF = "SELECT max(id) FROM turn WHERE session = ? AND thread = ?"
ADD_TURN = (
    "INSERT INTO turn (hash, parent, session, repository, thread, message, role, kind, source, at, tokens, content, forgotten) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
ADD_PASSAGE = "INSERT INTO passage (turn, repository, first, last) VALUES (?, ?, ?, ?)"
PASSAGES_OF = "SELECT id, first, last FROM passage WHERE turn = ? ORDER BY id"
_SPOKEN = "SELECT id, content FROM turn WHERE session = ? AND thread = ? AND kind IN ('prompt', 'reply') AND id"
SPOKEN_BEFORE = _SPOKEN + " < ? ORDER BY id DESC LIMIT ?"
SPOKEN_AFTER = _SPOKEN + " > ? ORDER BY id LIMIT ?"
AS_WRITTEN = (
    "SELECT t.hash, p.hash, s.name, t.thread, t.role, t.content FROM turn t JOIN session s ON s.id = t.session LEFT JOIN turn p ON p.id = t.parent "
    "WHERE t.id = ? AND t.forgotten IS NULL AND (t.parent IS NULL OR p.id IS NOT NULL)"
)
IS_FORGOTTEN = "SELECT 1 FROM turn WHERE id = ? AND forgotten IS NOT NULL"
CONTENT_OF_LINE = "SELECT t.content FROM line l JOIN turn t ON t.id = l.turn WHERE l.uuid = ?"


class Row:
    """One message, or a part of one, on its way into the archive. `content` is the list of the API's content blocks.

    What comes before it is known by its line (`parent`), or given as `after`: another row, a turn, or 0 for a beginning. `turn` is
    its number once it is kept.
    """

    __slots__ = ("uuid", "parent", "thread", "message", "role", "kind", "source", "at", "content", "after", "turn")

    def __init__(
        self, *, uuid: str, parent: str, role: str, kind: str, source: str, at: float, content: list[object], thread: str = "", message: str = "",
        after: Row | int | None = None,
    ) -> None:  # fmt: skip
        self.uuid = uuid
        self.parent = parent
        self.thread = thread
        self.message = message
        self.role = role
        self.kind = kind
        self.source = source
        self.at = at
        self.content = content
        self.after = after
        self.turn = 0


def session(store: Store, name: str, *, repository: int, folder: str, at: float, branch: str = "", client: str = "claude-code") -> int:
    """The number of the session with the client's id `name`; it keeps the repository it began in."""
    found = store.value(BY_NAME, (name,))
    folder, branch = forgotten.without(store, folder), forgotten.without(store, branch)
    if found is not None:
        store.execute(TOUCH_SESSION, (at, branch, branch, found))
        return int(found)
    return int(store.execute(ADD_SESSION, (name, repository, folder, branch, client, at, at)).lastrowid or 0)


def append(store: Store, number: int, repository: int, rows: Iterable[Row]) -> tuple[int, list[int]]:
    """How many rows were new, and the turn of each row in order.

    `number` is the session's. A row whose uuid is known, or that repeats its parent's only answer, is not written
    again. The caller's transaction makes a batch whole.
    """
    fresh: list[_Fresh] = []
    turns: list[int] = []
    with store.transaction():
        name = str(store.value("SELECT name FROM session WHERE id = ?", (number,)))
        gone = forgotten.known(store)
        for row in rows:
            known = store.value(BY_LINE, (row.uuid,)) if row.uuid else None
            if known is None:
                known = _add(store, gone, name, number, repository, row, fresh)
                if row.uuid:
                    store.execute(ADD_LINE, (row.uuid, known))
            row.turn = int(known)
            turns.append(row.turn)
        _index(store, number, repository, fresh)
    return len(fresh), turns


def follow(store: Store, uuid: str, parent: str) -> bool:
    """Whether the parent is known; if so, the line `uuid`, which is not kept, stands for the parent's turn from now on."""
    turn = store.value(BY_LINE, (parent,)) if parent else None
    if turn is None:
        return False
    if uuid:
        store.execute(ADD_LINE, (uuid, turn))
    return True


def tool_of(store: Store, line: str, call: str) -> str:
    """The name of the tool that the call in an archived line went to, or «» when neither is known."""
    content = store.value(CONTENT_OF_LINE, (line,)) if line and call else None
    for block in json.loads(content) if content else []:
        if isinstance(block, dict) and block.get("id") == call:
            return str(block.get("name") or "")
    return ""


def chain_hash(parent: bytes | None, session_name: str, thread: str, role: str, content: str) -> bytes:
    """SHA-256 over the parent's hash (for the first turn: the session's name), the thread, the role and the canonical content."""
    digest = sha256(parent if parent is not None else b"session:" + session_name.encode("utf-8", "replace"))
    digest.update(f"\n{thread}\n{role}\n".encode("utf-8", "replace"))
    digest.update(content.encode("utf-8", "replace"))
    return digest.digest()


def canonical(content: Sequence[object]) -> str:
    """The content blocks as the archive keeps them: secrets redacted, no cache markers, keys sorted, no spaces."""
    return _json([_kept(block) for block in content])


def indexed_as(store: Store, turn: Turn) -> list[Entry]:
    """What the turn's passages are indexed as, in order, as everything stands now.

    Only the first passage of a spoken turn has others near it: a long answer would else be there once for each of its passages.
    """
    text = turn.text()
    beside = nearby.of(store, turn.session, turn.id) if turn.kind in SPOKEN else ""
    spans = store.rows(PASSAGES_OF, (turn.id,))
    return [(rowid, text[first:last], "" if at else beside) for at, (rowid, first, last) in enumerate(spans)]


def put_back(store: Store, turn: Turn) -> None:
    """Indexes a turn that was taken out of the index as it is to be now; the vectors of its beginning, which stood for what was beside it too, are made anew."""
    entries = indexed_as(store, turn)
    for rowid, text, near in entries:
        index.add_passage(store, rowid, text, near)
    begins = [(rowid, turn.repository, vectors.beside(text, near)) for rowid, text, near in entries[:1]]
    vectors.drop(store, vectors.PASSAGE, [rowid for rowid, _, _ in begins], again=True)
    vectors.add(store, vectors.PASSAGE, begins)


def beside(store: Store, turn: Turn, before: int, after: int) -> list[int]:
    """The spoken turns of the same session and thread next to the turn: at most so many before it and after it, in order."""
    place = (turn.session, turn.thread, turn.id)
    earlier = [row[0] for row in store.rows(SPOKEN_BEFORE, (*place, before))]
    return [*reversed(earlier), *(row[0] for row in store.rows(SPOKEN_AFTER, (*place, after)))]


def is_as_written(store: Store, turn: int) -> bool:
    """Whether nothing of the turn was changed since it was written, or it is forgotten."""
    row = store.one(AS_WRITTEN, (turn,))
    if row is None:
        return store.value(IS_FORGOTTEN, (turn,)) is not None
    own, above, name, thread, role, content = row
    return isinstance(content, str) and chain_hash(above, name, thread, role, content) == own


class Talk:
    """The spoken turns of one thread in order, for what is near each of them: that of a turn is known when the next one comes."""

    __slots__ = ("heads",)

    def __init__(self, heads: Sequence[str] = ()) -> None:
        self.heads = list(heads)

    def add(self, text: str) -> str:
        """Takes the next turn's text; gives what is near the one before."""
        head = index.head(text)
        before = self.near(head)
        self.heads = [*self.heads[-nearby.BEFORE :], head]
        return before

    def near(self, after: str = "") -> str:
        """What is near the last turn when this follows it."""
        return index.near([*self.heads[-nearby.BEFORE - 1 : -1], after])


class _Fresh:
    """A row that was written and is to be indexed."""

    __slots__ = ("turn", "thread", "spoken", "text", "near")

    def __init__(self, turn: int, thread: str, spoken: bool, text: str) -> None:
        self.turn = turn
        self.thread = thread
        self.spoken = spoken
        self.text = text
        self.near = ""


def _add(store: Store, gone: Forgotten | None, name: str, number: int, repository: int, row: Row, fresh: list[_Fresh]) -> int:
    parent = _before(store, number, row)
    before = store.value(HASH_OF, (parent,)) if parent is not None else None
    blank = None
    # As it was said, and then without what the user named: a row that was archived before that is known as it was said.
    for blocks in _forms([_kept(block) for block in row.content], gone):
        content = _json(blocks)
        own = chain_hash(before, name, row.thread, row.role, content)
        known = store.value(BY_HASH, (own,))
        if known is not None:
            return int(known)
        if gone is not None and gone.is_turn(repository, row.at, row.thread, row.role, content):
            blank = row.at
            break
    values = (
        own, parent, number, repository, row.thread, row.message, row.role, row.kind, row.source, row.at, _weight(content, blocks),
        "[]" if blank is not None else content, blank,
    )  # fmt: skip
    turn = int(store.execute(ADD_TURN, values).lastrowid or 0)
    fresh.append(_Fresh(turn, row.thread, row.kind in SPOKEN, "" if blank is not None else passages.searchable(blocks)))
    return turn


def _before(store: Store, number: int, row: Row) -> int | None:
    """The turn that a row follows, or None for a beginning."""
    if row.after is not None:
        return (row.after.turn if isinstance(row.after, Row) else row.after) or None
    parent = store.value(BY_LINE, (row.parent,)) if row.parent else None
    if parent is None:
        parent = store.value(LAST_OF, (number, row.thread))
    return None if parent is None else int(parent)


def _forms(blocks: list[object], gone: Forgotten | None) -> list[list[object]]:
    allowed = gone.without_in(blocks) if gone is not None and gone.windows else blocks
    return [blocks, allowed] if isinstance(allowed, list) and allowed != blocks else [blocks]


def _index(store: Store, session: int, repository: int, fresh: Sequence[_Fresh]) -> None:
    """Indexes a batch, and the last spoken turn before it again, which has a next one now. In the order of the rowids, as the index is fast in that one only."""
    talks: dict[str, Talk] = {}
    last: dict[str, _Fresh] = {}
    again: list[tuple[int, str, str, str]] = []
    said: list[tuple[int, int, str]] = []
    for row in fresh:
        if not row.spoken:
            continue
        talk = talks.get(row.thread)
        if talk is None:
            before = store.rows(SPOKEN_BEFORE, (session, row.thread, row.turn, nearby.BEFORE + 1))
            talk = talks[row.thread] = Talk([index.head(passages.of_stored(content)) for _, content in reversed(before)])
            earlier, now = talk.near(), talk.add(row.text)
            if before and earlier != now:
                text = passages.of_stored(before[0][1])
                again += [(rowid, text[first:last_], earlier, now) for rowid, first, last_ in store.rows(PASSAGES_OF, (before[0][0],))[:1]]
        else:
            last[row.thread].near = talk.add(row.text)
        last[row.thread] = row
    for thread, row in last.items():
        row.near = talks[thread].near()
    for rowid, text, earlier, now in sorted(again):
        index.drop_passage(store, rowid, text, earlier)
        index.add_passage(store, rowid, text, now)
        said.append((rowid, repository, vectors.beside(text, now)))
    for row in fresh:
        for passage in index_turn(store, row.turn, repository, row.text, row.near):
            if row.spoken:
                said.append(passage)
            if len(said) == AT_ONCE:
                vectors.add(store, vectors.PASSAGE, said)
                said = []
    vectors.add(store, vectors.PASSAGE, said)


def index_turn(store: Store, turn: int, repository: int, text: str, near: str) -> Iterator[tuple[int, int, str]]:
    """Puts the passages of a turn's searchable text into the index, and gives of each its rowid, the repository and the text of its vector."""
    for first, last in passages.pieces(text):
        rowid = int(store.execute(ADD_PASSAGE, (turn, repository, first, last)).lastrowid or 0)
        index.add_passage(store, rowid, text[first:last], near)
        yield rowid, repository, vectors.beside(text[first:last], near)
        near = ""


def _json(blocks: list[object]) -> str:
    return json.dumps(blocks, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _weight(content: str, blocks: list[object]) -> int:
    """The estimated tokens of a turn; what is encoded as base64 is seen, not read, and counts as one picture."""
    if '"base64"' not in content:
        return tokens(content)
    pictures = 0

    def bare(value: object) -> object:
        nonlocal pictures
        if isinstance(value, list):
            return [bare(inner) for inner in value]
        if isinstance(value, dict):
            pictures += value.get("type") == "base64"
            return {key: bare(inner) for key, inner in value.items() if key != "data" or value.get("type") != "base64"}
        return value

    return tokens(json.dumps(bare(blocks), ensure_ascii=False)) + pictures * PICTURE


def _kept(block: object) -> object:
    if not isinstance(block, dict):
        return redact(clean(block)) if isinstance(block, str) else block
    bare = {key: value for key, value in block.items() if key != "cache_control"}
    if bare.get("type") in ("thinking", "redacted_thinking"):
        # A signature is the API's, not the user's: the block is worthless without it and it opens nothing.
        return {key: redact(clean(value)) if key == "thinking" and isinstance(value, str) else _clean(value) for key, value in bare.items()}
    return redact_value(_clean(bare))


def _clean(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): _clean(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_clean(inner) for inner in value]
    return value
