"""What was superseded or undone is known again in much the same words, and what took its place is not taken for it."""

from __future__ import annotations

import pytest

from tenon.store import closed, memories
from tenon.store.db import Store

NOW = 1_796_200_000.0
BACKUP = "The warehouse backup runs at two in the night on host gamma-9; Lukas checks it."
PORT = "The staging database of the billing service runs on PostgreSQL 14."


def wrote(store: Store, repository: int, text: str) -> str:
    """The id of a memory with that text."""
    return memories.write(store, repository=repository, tier="short", kind="fact", text=text, now=NOW)[0]


@pytest.mark.parametrize(
    ("text", "like"),
    [
        (BACKUP, True),
        ("Each night at two the backup of the warehouse is made on gamma-9 and checked by Lukas.", True),
        ("Host gamma-9 makes the nightly warehouse backup; Lukas checks it at two.", True),
        ("The warehouse backup runs at three in the night on host gamma-7; Lukas checks it.", False),
        ("Lukas checks the invoices of the warehouse.", False),
        ("The backup is encrypted.", False),
        ("It runs.", False),
    ],
)
def test_what_was_undone_is_known_in_other_forms_of_its_words(store: Store, repository: int, text: str, like: bool) -> None:
    """Other numbers, or other things said of the same, are another matter."""
    memories.close(store, wrote(store, repository, BACKUP), NOW)

    assert like == closed.Closed(store).is_like(repository, text)


@pytest.mark.parametrize(
    ("text", "like"),
    [
        (PORT, True),
        ("The billing service's staging database is PostgreSQL 14.", True),
        ("The staging database of the billing service runs on PostgreSQL 16.", False),
        ("The billing service's staging database has PostgreSQL 16 now.", False),
        ("The staging database of the search service runs on SQLite.", False),
    ],
)
def test_what_was_superseded_is_told_from_what_took_its_place(store: Store, repository: int, text: str, like: bool) -> None:
    """By whichever it has more words of."""
    new = wrote(store, repository, PORT.replace("14", "16"))
    memories.supersede(store, wrote(store, repository, PORT), new, NOW)

    assert like == closed.Closed(store).is_like(repository, text)


def test_short_words_count(store: Store, repository: int) -> None:
    """«The lamp is red» closed says nothing of a lamp that is old."""
    memories.close(store, wrote(store, repository, "The lamp is red."), NOW)

    assert [True, False, False] == [closed.Closed(store).is_like(repository, text) for text in ("A lamp, red.", "The lamp is old.", "The vault is red.")]


def test_another_repositorys_closed_memories_keep_nothing_from_this_one(store: Store, repository: int, other: int) -> None:
    """But what is to hold everywhere is held against all."""
    memories.close(store, wrote(store, other, BACKUP), NOW)

    assert [False, True, True] == [closed.Closed(store).is_like(where, BACKUP) for where in (repository, other, None)]


@pytest.mark.parametrize(
    ("text", "like"),
    [
        ("請求書は十一年間、フランクフルトに保管する。", True),
        ("請求書は十一年間フランクフルトに保管します。", True),
        ("台帳は毎晩チューリッヒにバックアップする。", False),
    ],
)
def test_scripts_without_spaces_are_known_again(store: Store, repository: int, text: str, like: bool) -> None:
    """With a comma more, or another ending."""
    memories.close(store, wrote(store, repository, "請求書は十一年間フランクフルトに保管する。"), NOW)

    assert like == closed.Closed(store).is_like(repository, text)


@pytest.mark.parametrize(
    ("text", "other", "least", "most"),
    [
        ("It is.", "It is.", 0.0, 0.0),
        ("常に強制プッシュする。", "Please read the page.", 0.0, 0.0),
        ("常に強制プッシュする。", "ページ: 常に強制プッシュする。", 1.0, 1.0),
        ("Мы храним счета", "счета мы храним долго", 1.0, 1.0),
        ("The lamp is red.", "A lamp.", 0.5, 0.5),
    ],
)
def test_the_share_of_a_text_that_others_say(text: str, other: str, least: float, most: float) -> None:
    """None of one that says nothing."""
    assert least <= closed.share(text, [other]) <= most


def test_what_is_closed_meanwhile_is_added(store: Store, repository: int) -> None:
    """By who closes it, without reading all again."""
    held = closed.Closed(store)
    assert not held.is_like(repository, BACKUP)
    held.add(BACKUP, None)
    held.add(PORT, PORT.replace("14", "16"))

    assert [True, True, False] == [held.is_like(repository, text) for text in (BACKUP, PORT, PORT.replace("14", "16"))]
