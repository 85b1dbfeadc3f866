"""Pressure: what waits, measured whole and told honestly."""

from __future__ import annotations

from tenon.store import exchanges, pressure
from tenon.store.db import Store
from tests.digest.minds import NOW, Mind


def test_what_is_long_counts_with_all_of_its_text(store: Store) -> None:
    """A prompt of 560,000 characters is some 140,000 tokens, and high pressure."""
    mind = Mind(store)
    mind.say("word " * 112_000)

    assert 140_000 < pressure.measure(store) < 140_020
    assert pressure.noted(store) == pressure.measure(store)
    assert "high" == pressure.level(pressure.noted(store))


def test_pressure_falls_as_turns_are_dealt_with(store: Store) -> None:
    """From high over moderate to none; all repositories count."""
    mind = Mind(store)
    turns = [mind.say("word " * 40_000, session=f"s{number}", repository=home) for number, home in enumerate((mind.here, mind.there, mind.here))]
    levels = [pressure.level(pressure.measure(store))]
    for turn in turns[:2]:
        exchanges.mark_consolidated(store, [int(turn[1:])], "written", NOW)
        levels.append(pressure.level(pressure.measure(store)))

    assert ["high", "moderate", ""] == levels


def test_imported_transcripts_press_nobody(store: Store) -> None:
    """They are older than the store; they wait, and are not what was said lately."""
    mind = Mind(store)
    mind.say("word " * 200_000)
    store.execute("UPDATE meta SET value = ? WHERE name = 'began'", (str(int(NOW)),))

    assert 0 == pressure.measure(store)
    assert 250_000 < exchanges.pending_size(store, mind.here)[0]


def test_the_levels_begin_where_spotless_has_them() -> None:
    """At 0.60 and 0.85 of 144,000 tokens."""
    assert ["", "moderate", "moderate", "high"] == [pressure.level(tokens) for tokens in (86_399, 86_400, 122_399, 122_400)]
