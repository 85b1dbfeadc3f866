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
from tenon.store import forgotten, index, passages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tenon.store.db import Store
    from tenon.store.forgotten import Forgotten

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
CONTENT_OF_LINE = "SELECT t.content FROM line l JOIN turn t ON t.id = l.turn WHERE l.uuid = ?"


class Row:
    """One message, or a part of one, on its way into the archive. `content` is the list of the API's content blocks."""

    __slots__ = ("uuid", "parent", "thread", "message", "role", "kind", "source", "at", "content")

    def __init__(
        self, *, uuid: str, parent: str, role: str, kind: str, source: str, at: float, content: list[object], thread: str = "", message: str = ""
    ) -> None:
        self.uuid = uuid
        self.parent = parent
        self.thread = thread
        self.message = message
        self.role = role
        self.kind = kind
        self.source = source
        self.at = at
        self.content = content


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
    new = 0
    turns: list[int] = []
    with store.transaction():
        name = str(store.value("SELECT name FROM session WHERE id = ?", (number,)))
        gone = forgotten.known(store)
        for row in rows:
            known = store.value(BY_LINE, (row.uuid,)) if row.uuid else None
            if known is None:
                known, fresh = _add(store, gone, name, number, repository, row)
                new += fresh
                if row.uuid:
                    store.execute(ADD_LINE, (row.uuid, known))
            turns.append(int(known))
    return new, turns


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


def _add(store: Store, gone: Forgotten | None, name: str, number: int, repository: int, row: Row) -> tuple[int, int]:
    parent = store.value(BY_LINE, (row.parent,)) if row.parent else None
    if parent is None:
        parent = store.value(LAST_OF, (number, row.thread))
    before = store.value(HASH_OF, (parent,)) if parent is not None else None
    blank = None
    # As it was said, and then without what the user named: a row that was archived before that is known as it was said.
    for blocks in _forms([_kept(block) for block in row.content], gone):
        content = _json(blocks)
        own = chain_hash(before, name, row.thread, row.role, content)
        known = store.value(BY_HASH, (own,))
        if known is not None:
            return int(known), 0
        if gone is not None and gone.is_turn(repository, row.at, row.thread, row.role, content):
            blank = row.at
            break
    values = (
        own, parent, number, repository, row.thread, row.message, row.role, row.kind, row.source, row.at, _weight(content, blocks),
        "[]" if blank is not None else content, blank,
    )  # fmt: skip
    turn = int(store.execute(ADD_TURN, values).lastrowid or 0)
    if blank is None:
        index_turn(store, turn, repository, passages.searchable(blocks))
    return turn, 1


def _forms(blocks: list[object], gone: Forgotten | None) -> list[list[object]]:
    allowed = gone.without_in(blocks) if gone is not None and gone.windows else blocks
    return [blocks, allowed] if isinstance(allowed, list) and allowed != blocks else [blocks]


def index_turn(store: Store, turn: int, repository: int, text: str) -> None:
    """Puts the passages of a turn's searchable text into the index."""
    for first, last in passages.pieces(text):
        rowid = int(store.execute(ADD_PASSAGE, (turn, repository, first, last)).lastrowid or 0)
        index.add_passage(store, rowid, text[first:last])


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
