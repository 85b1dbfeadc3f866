"""Episodes: one sentence that is found again, its parts beside it, surprises twice as strong, failures counted."""

from __future__ import annotations

from typing import Any

import pytest

from tenon.base.errors import TenonError
from tenon.store import episodes, fading, index, memories
from tenon.store.db import Store

NOW = 1_800_000_000.0
DAY = 86400.0


def write(store: Store, repository: int | None, **more: Any) -> tuple[str, float]:
    """The id and strength of an episode: a fix that half worked, unless told otherwise."""
    told = {
        "situation": "the upload test is flaky.", "action_type": "fix", "action_taken": "raised the timeout to 30 s", "expected": "success",
        "outcome": "partial", "evidence": "test_upload still red\non CI", "now": NOW, **more,
    }  # fmt: skip
    return episodes.write(store, repository=repository, **told)


def count(store: Store, repository: int, domain: str) -> int:
    """How many failures mention it."""
    found: int = episodes.failures(store, repository, [domain])[domain]["failure_count"]
    return found


def test_an_episode_is_one_readable_sentence(store: Store, repository: int) -> None:
    """A short-term memory of kind episode, found by any of its words."""
    ref, _ = write(store, repository, epic="uploads", labels=["tests/test_upload.py"])
    memory = memories.get(store, ref)

    assert "the upload test is flaky → raised the timeout to 30 s (expected success, got partial; test_upload still red on CI)" == memory.text
    assert ("short", "episode", "uploads", '["tests/test_upload.py"]') == (memory.tier, memory.kind, memory.epic, memory.labels)
    assert [(memory.id,)] == store.rows("SELECT rowid FROM memory_fts WHERE memory_fts MATCH ?", (index.query(["timeout"], {"timeout": 1}),))


def test_an_ending_as_expected_is_said_shorter(store: Store, repository: int) -> None:
    """Without naming it twice."""
    ref, _ = write(store, repository, expected="failure", outcome="failure")

    assert "raised the timeout to 30 s (failure as expected; test_upload still red on CI)" in memories.get(store, ref).text


def test_the_parts_are_kept_beside_the_sentence(store: Store, repository: int) -> None:
    """As they were given; a memory that is no episode has none."""
    ref, _ = write(store, repository)
    fact, _ = memories.write(store, repository=repository, tier="short", kind="fact", text="a fact", now=NOW)

    assert {
        "situation": "the upload test is flaky.", "action_type": "fix", "action_taken": "raised the timeout to 30 s", "expected": "success",
        "outcome": "partial", "evidence": "test_upload still red\non CI",
    } == episodes.get(store, memories.get(store, ref).id)  # fmt: skip
    assert episodes.get(store, memories.get(store, fact).id) is None


@pytest.mark.parametrize(
    ("expected", "outcome", "strength"),
    [
        ("success", "success", 1.0), ("failure", "failure", 1.0), ("partial", "partial", 1.0),
        ("success", "failure", 2.0), ("failure", "success", 2.0), ("success", "partial", 2.0), ("partial", "failure", 2.0),
    ],
)  # fmt: skip
def test_a_surprise_is_twice_as_strong(store: Store, repository: int, expected: str, outcome: str, strength: float) -> None:
    """Whatever went otherwise than expected, for better or worse."""
    ref, told = write(store, repository, expected=expected, outcome=outcome)

    assert (strength, strength) == (told, memories.get(store, ref).strength)


def test_the_same_episode_is_one_episode(store: Store, repository: int) -> None:
    """And keeps its strength."""
    first, second = write(store, repository), write(store, repository, now=NOW + 1)

    assert first == second
    assert (1, 1) == (store.value("SELECT count(*) FROM memory"), store.value("SELECT count(*) FROM episode"))


def test_what_led_to_an_episode_is_kept(store: Store, repository: int) -> None:
    """The archived turns it was taken from."""
    store.execute("INSERT INTO session (id, name, repository, folder, client, started, last) VALUES (1, 's', ?, '/p', 'claude-code', 1, 1)", (repository,))
    store.execute(
        "INSERT INTO turn (id, hash, session, repository, role, kind, source, at, tokens, content) VALUES (5, x'05', 1, ?, 'user', 'prompt', 'user', 1, 1, '[]')",
        (repository,),
    )
    ref, _ = write(store, repository, turns=[5])

    assert [5] == memories.lineage(store, memories.get(store, ref))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"action_type": "guess"}, "'guess' is no type of action; it is one of fix, merge, implement, review-feedback, migrate, investigate, other"),
        ({"expected": "luck"}, "'luck' is no expected ending; it is one of success, failure, partial"),
        ({"outcome": "Success"}, "'Success' is no outcome; it is one of success, failure, partial"),
        ({"situation": " "}, "situation is empty"),
        ({"action_taken": ""}, "action_taken is empty"),
        ({"evidence": ""}, "evidence is empty"),
        ({"evidence": "x" * 2001}, "evidence has 2,001 characters, at most 2,000 are kept"),
        ({"situation": None}, "situation must be a text, not nothing"),
    ],
)
def test_an_episode_that_says_too_little_or_too_much_is_refused(store: Store, repository: int, wrong: dict[str, Any], said: str) -> None:
    """With what it should say; nothing is written."""
    with pytest.raises(TenonError) as refusal:
        write(store, repository, **wrong)

    assert str(refusal.value).startswith(said)
    assert (0, 0) == (store.value("SELECT count(*) FROM memory"), store.value("SELECT count(*) FROM episode"))


def test_a_secret_in_an_episode_is_not_kept(store: Store, repository: int) -> None:
    """In none of its parts."""
    key = "sk-ant-api03-" + "Ab1_" * 12
    write(store, repository, situation=f"key {key}", action_taken=f"used {key}", evidence=f"log {key}")

    assert key not in repr(store.rows("SELECT * FROM episode")) + repr(store.rows("SELECT * FROM memory"))


def test_the_parts_go_with_the_memory(store: Store, repository: int) -> None:
    """Nothing of a deleted episode stays."""
    ref, _ = write(store, repository)
    store.execute("DELETE FROM memory WHERE ref = ?", (ref,))

    assert 0 == store.value("SELECT count(*) FROM episode")


# ---------------------------------------------------------------- the pattern check


def test_failures_are_counted_by_domain(store: Store, repository: int) -> None:
    """Failed and partial episodes and failure signatures that mention it; successes and other memories do not count."""
    half, _ = write(store, repository)
    failed, _ = write(store, repository, outcome="failure", action_taken="mocked the socket")
    write(store, repository, outcome="success", action_taken="used a free port")
    memories.write(store, repository=repository, tier="short", kind="observation", text="uploads fail at noon", now=NOW)
    signature, _ = memories.write(store, repository=repository, tier="short", kind="failure_signature", text="Upload: connection reset", now=NOW + 1)
    found = episodes.failures(store, repository, ["uploads", "billing"])

    assert ["uploads", "billing"] == list(found)
    assert (3, "episode") == (found["uploads"]["failure_count"], found["uploads"]["dominant_type"])
    assert {half, failed, signature} == {told["id"] for told in found["uploads"]["top"]}
    assert [{"id": signature, "type": "failure_signature", "content": "Upload: connection reset", "last": NOW + 1}] == [
        told for told in found["uploads"]["top"] if told["id"] == signature
    ]
    assert {"failure_count": 0, "top": [], "dominant_type": ""} == found["billing"]


def test_at_most_five_failures_are_told_and_all_are_counted(store: Store, repository: int) -> None:
    """The kind that most of them have is named."""
    for number in range(7):
        write(store, repository, outcome="failure", action_taken=f"attempt {number}")
    memories.write(store, repository=repository, tier="short", kind="failure_signature", text="upload reset", now=NOW)
    found = episodes.failures(store, repository, ["upload"])["upload"]

    assert (8, 5, "episode") == (found["failure_count"], len(found["top"]), "episode")


def test_a_domain_of_several_words_means_all_of_them(store: Store, repository: int) -> None:
    """A path is several words."""
    write(store, repository, evidence="src/http/retry.ts:40")

    assert [1, 1, 0] == [count(store, repository, domain) for domain in ("src/http/retry.ts", "flaky upload", "flaky download")]


@pytest.mark.parametrize("domain", ["", "%", "_", "!!!", '"', "up%", "NEAR(", "*"])
def test_a_domain_is_words_and_nothing_else(store: Store, repository: int, domain: str) -> None:
    """No wildcard, no query language, no error."""
    write(store, repository)

    assert 0 == count(store, repository, domain)


def test_a_domain_in_a_script_without_spaces_is_found(store: Store, repository: int) -> None:
    """Inside a longer run."""
    write(store, repository, situation="上传测试不稳定")

    assert [1, 0] == [count(store, repository, domain) for domain in ("测试", "部署")]


def test_failures_of_another_repository_do_not_count(store: Store, repository: int, other: int) -> None:
    """Agent-wide ones do."""
    write(store, other)
    write(store, None, action_taken="everywhere")

    assert 1 == count(store, repository, "upload")


def test_what_no_longer_surfaces_does_not_count(store: Store, repository: int) -> None:
    """Faded, or superseded."""
    write(store, repository)
    old, _ = write(store, repository, action_taken="old attempt")
    new, _ = write(store, repository, action_taken="new attempt", outcome="success")
    memories.supersede(store, old, new, NOW)

    assert 1 == count(store, repository, "upload")
    fading.sweep(store, repository, NOW + 90 * DAY, {"short": 0.95, "long": 0.997})
    assert 0 == count(store, repository, "upload")


def test_a_failure_told_twice_counts_once(store: Store, repository: int) -> None:
    """A signature that names a counted episode is the same failure."""
    ref, _ = write(store, repository)
    memories.write(store, repository=repository, tier="short", kind="failure_signature", text="upload timed out", labels=[ref], now=NOW)

    assert 1 == count(store, repository, "upload")
    assert 1 == count(store, repository, "timed out")
