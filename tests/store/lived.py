"""A store that was lived in: one deed after the other, from numbers that a test chooses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tenon.base.errors import TenonError
from tenon.store import (
    archive,
    associations,
    db,
    edges,
    episodes,
    exchanges,
    exporting,
    forget,
    identity,
    memories,
    merging,
    places,
    procedures,
    summaries,
    tasks,
)
from tenon.store.archive import Row
from tenon.store.db import Store
from tenon.store.exporting import Choice

KEYS = ("example.org/acme/widgets", "example.org/acme/gadgets", "path:/home/u/old-widgets")
WORDS = ("harbour", "lantern", "zebra-42", "größe", "staging", "copper", "東京", "velvet")
DEEDS = 17
NEEDING = (2, 3, 4, 5, 6, 7, 8, 14, 15)  # deeds on a memory that is there


def deed(store: Store, numbers: tuple[int, int, int], now: float) -> None:
    """One deed of those there are; one that cannot be done is left."""
    which, one, other = numbers
    try:
        with store.transaction():
            _do(store, which % DEEDS, one, other, now)
    except TenonError:
        pass


def live(store: Store, life: Sequence[tuple[int, int, int]], since: float = 1000.0) -> None:
    """Does all of it, a minute and a bit for each."""
    for number, numbers in enumerate(life):
        deed(store, numbers, since + 61.25 * number)


def exported(store: Store, *, turns: bool = True) -> bytes:
    """All of the store, as its export says it."""
    return b"".join(map(exporting.line, exporting.records(store, Choice(None, turns=turns))))


def brought(store: Store, data: bytes, folder: Path, now: float = 9e5) -> merging.Report:
    """What became of an export that was brought into the store."""
    path = folder / "brought.jsonl"
    path.write_bytes(data)
    return merging.merge(store, str(path), now)


def fresh(folder: Path, name: str) -> Store:
    """An empty store of that name."""
    return db.open_store(str(folder / name / "tenon.db"))


def _do(store: Store, which: int, one: int, other: int, now: float) -> None:
    refs = [str(row[0]) for row in store.rows("SELECT ref FROM memory ORDER BY ref")]
    repository = _repository(store, KEYS[one % 3])
    if not refs and which in NEEDING:
        which = 0
    text = f"{WORDS[one % 8]} of the {WORDS[other % 8]} {other % 4}"
    if which in (0, 1):
        home = None if other % 5 == 0 else repository
        tier = "long" if other % 3 == 0 else "short"
        source = memories.SOURCES[other % 4]
        turns = [row[0] for row in store.rows("SELECT id FROM turn WHERE id % 3 = ? LIMIT 2", (one % 3,))]
        memories.write(
            store, repository=home, tier=tier, kind="fact", text=text, reason="seen", source=source, labels=["a.py"], turns=turns, now=now, writer="model"
        )
    elif which == 2:
        memories.revise(store, refs[one % len(refs)], text, "it changed", now)
    elif which == 3:
        memories.supersede(store, refs[one % len(refs)], refs[other % len(refs)], now)
    elif which == 4:
        (memories.promote if other % 2 else memories.demote)(store, refs[one % len(refs)], "proved", now)
    elif which == 5:
        memories.reinforce(store, refs[one % len(refs)], now)
    elif which in (6, 7):
        edges.propose(store, repository, refs[one % len(refs)], refs[other % len(refs)], edges.KINDS[other % 5], "they touch", now)
        for number, *_ in store.rows("SELECT id FROM edge WHERE status = 'proposed' AND id % 2 = ?", (one % 2,)):
            edges.approve(store, repository, number, now, "so it is")
    elif which == 8:
        rows = associations.rows_of(store, refs)
        associations.strengthen(store, [(rows[one % len(rows)], rows[other % len(rows)])], now, 0.3)
    elif which == 9:
        episodes.write(
            store, repository=repository, situation=text, action_type="fix", action_taken="tried it", expected="success",
            outcome=episodes.ENDINGS[other % 3], evidence="the test", now=now,
        )  # fmt: skip
    elif which == 10:
        procedures.propose(store, repository=repository, root=str(Path(store.path).parent), name=WORDS[one % 8], trigger=text, steps="do it", paths=[], now=now)
    elif which == 11:
        tasks.write(store, repository, epic=WORDS[one % 8], title=text, plan=[{"step": text, "status": "pending"}], now=now)
        tasks.write_handoff(store, repository, {"active_epic": WORDS[one % 8], "next_action": text}, now)
    elif which in (12, 13):
        _say(store, repository, f"s{one % 3}", text, other, now)
    elif which == 14:
        memories.close(store, refs[one % len(refs)], now)
    elif which == 15:
        memories.reopen(store, refs[one % len(refs)], now)
    else:
        identity.add(store, text, now)


def _say(store: Store, repository: int, name: str, text: str, other: int, now: float) -> None:
    session = archive.session(store, name, repository=repository, folder="/home/u/widgets", at=now, branch="main")
    known = [str(row[0]) for row in store.rows("SELECT l.uuid FROM line l JOIN turn t ON t.id = l.turn WHERE t.session = ? ORDER BY l.uuid", (session,))]
    parent = known[other % len(known)] if known and other % 4 else ""
    uuid = f"{name}-{now:.2f}-{other}"
    text += f" at {now}"  # the same words at another time are another turn
    rows = [
        Row(uuid=uuid, parent=parent, role="user", kind="prompt", source="user", at=now, content=[{"type": "text", "text": text}]),
        Row(uuid=uuid + "r", parent=uuid, role="assistant", kind="reply", source="assistant", at=now + 1, content=[{"type": "text", "text": "yes " + text}]),
    ]
    _, turns = archive.append(store, session, repository, rows)
    summaries.upsert(store, session, repository, text, now)
    if other % 2:
        exchanges.mark_consolidated(store, turns[:1], "written", now)


def _repository(store: Store, key: str) -> int:
    found = store.value("SELECT id FROM repository WHERE key = ?", (key,))
    return int(found or store.execute("INSERT INTO repository (key, seen) VALUES (?, 1.0)", (key,)).lastrowid or 0)


def forgotten(store: Store, which: int, now: float = 5e5) -> list[str]:
    """Forgets a memory and a turn, where there are any; gives their texts."""
    refs = [str(row[0]) for row in store.rows("SELECT ref FROM memory ORDER BY ref")]
    turns = [f"t{row[0]}" for row in store.rows("SELECT id FROM turn WHERE forgotten IS NULL ORDER BY id")]
    named = [each[which % len(each)] for each in (refs, turns) if each]
    texts = [memories.get(store, ref).text if ref.startswith("m") else exchanges.turn(store, ref).text() for ref in named]
    if named:
        forget.forget(store, named, "the wish", now)
    return texts


def are_apart(one: Store, other: Store) -> bool:
    """Whether a text has another id in each, as each came to it by another way: revised to it here, written there."""
    query = "SELECT coalesce(r.key, ''), m.text, m.ref FROM memory m LEFT JOIN repository r ON r.id = m.repository"
    mine, theirs = ({(str(key), " ".join(text.lower().split())): ref for key, text, ref in store.rows(query)} for store in (one, other))
    return any(theirs.get(place, ref) != ref for place, ref in mine.items())


def joined(store: Store) -> None:
    """Makes the old repository another name of the first."""
    for key in (KEYS[0], KEYS[2]):
        _repository(store, key)
    places.join(store, KEYS[2], KEYS[0], 1.0)
