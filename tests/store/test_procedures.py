"""Procedures: proposed, validated by two proofs, stale when their files change, archived when they fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tenon.base.errors import TenonError
from tenon.store import db, episodes, memories, places, procedures
from tenon.store.db import Store

NOW = 1_800_000_000.0


@pytest.fixture()
def root(tmp_path: Path) -> Path:
    """The files of the repository."""
    folder = tmp_path / "my prøject"
    (folder / "deploy").mkdir(parents=True)
    (folder / "Makefile").write_text("all:", encoding="utf-8")
    (folder / "deploy" / "prod.yml").write_text("replicas: 2", encoding="utf-8")
    return folder


def propose(store: Store, repository: int, root: Path, **more: Any) -> str:
    """The id of a procedure: a deployment that depends on two paths, unless told otherwise."""
    told = {
        "name": "deploy",
        "trigger": "deploying to production",
        "steps": "1. make all\n2. kubectl apply",
        "paths": ["Makefile", "deploy"],
        "now": NOW,
        **more,
    }
    return procedures.propose(store, repository=repository, root=str(root), **told)


def follow(store: Store, ref: str, root: Path, outcome: str = "success", confirmed: bool = True, **more: Any) -> dict[str, Any]:
    """How the procedure stands after following it: a confirmed success, unless told otherwise."""
    return procedures.outcome(store, ref, root=str(root), outcome=outcome, confirmed=confirmed, now=NOW, **more)


def status(store: Store, repository: int, root: Path, ref: str) -> tuple[str, str]:
    """Status and advice of a procedure that is grounded."""
    told = procedures.ground(store, repository, str(root), [memories.get(store, ref).id])[0]
    return told["status"], told["advice"]


@pytest.fixture()
def ref(store: Store, repository: int, root: Path) -> str:
    """A proposed procedure."""
    return propose(store, repository, root)


@pytest.fixture()
def valid(store: Store, ref: str, root: Path) -> str:
    """A validated procedure."""
    follow(store, ref, root)
    follow(store, ref, root)
    return ref


# ---------------------------------------------------------------- proposing


def test_a_procedure_is_a_long_term_memory(store: Store, repository: int, root: Path) -> None:
    """Of kind procedure, with its name, its trigger and its steps."""
    ref = propose(store, repository, root, labels=["PR#7"])
    memory = memories.get(store, ref)

    assert "deploy. When: deploying to production\n1. make all\n2. kubectl apply" == memory.text
    assert ("long", "procedure", '["PR#7"]') == (memory.tier, memory.kind, memory.labels)
    assert memory.reason
    assert [
        {
            "id": ref, "name": "deploy", "trigger": "deploying to production", "steps": "1. make all\n2. kubectl apply", "depends_on_paths": ["Makefile", "deploy"],
            "status": "proposed", "advice": "draft-verify", "applied": 0, "success_rate": None,
        }
    ] == procedures.ground(store, repository, str(root), [memory.id])  # fmt: skip


def test_the_same_procedure_is_one_procedure(store: Store, repository: int, root: Path, valid: str) -> None:
    """It stays validated unless it depends on other paths now."""
    assert valid == propose(store, repository, root, paths=["deploy/", "./Makefile"])
    assert ("validated", "follow-this") == status(store, repository, root, valid)
    assert valid == propose(store, repository, root, paths=["Makefile"])
    assert ("proposed", "draft-verify") == status(store, repository, root, valid)
    assert ("proposed", "validated") == (follow(store, valid, root)["status"], follow(store, valid, root)["status"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": ""}, "name is empty"),
        ({"trigger": " "}, "trigger is empty"),
        ({"steps": ""}, "steps is empty"),
        ({"steps": "x" * 6001}, "steps has 6,001 characters"),
        ({"paths": ["../other"]}, "'../other' leads out of the repository"),
        ({"paths": [""]}, "a path is empty"),
        ({"paths": [f"{number}.py" for number in range(51)]}, "a procedure depends on at most 50 paths, not 51"),
    ],
)
def test_a_proposal_that_makes_no_sense_is_refused(store: Store, repository: int, root: Path, wrong: dict[str, Any], said: str) -> None:
    """Nothing is written."""
    with pytest.raises(TenonError) as refusal:
        propose(store, repository, root, **wrong)

    assert str(refusal.value).startswith(said)
    assert (0, 0) == (store.value("SELECT count(*) FROM memory"), store.value("SELECT count(*) FROM procedure"))


def test_a_secret_in_a_procedure_is_not_kept(store: Store, repository: int, root: Path) -> None:
    """In none of its parts, nor in what came of it; such a procedure can be validated all the same."""
    key = "sk-ant-api03-" + "Ab1_" * 12
    ref = propose(store, repository, root, name=f"use {key}", trigger=key, steps=f"export {key}", labels=[key])
    follow(store, ref, root, "partial", situation=key, evidence=key)
    follow(store, ref, root)
    follow(store, ref, root)

    assert key not in "".join(repr(store.rows(f"SELECT * FROM {table}")) for table in ("memory", "procedure", "episode"))
    assert ("validated", "follow-this") == status(store, repository, root, ref)


# ---------------------------------------------------------------- outcomes


def test_two_confirmed_successes_validate(store: Store, repository: int, root: Path, ref: str) -> None:
    """Then it is to be followed, not to be drafted."""
    first, second = follow(store, ref, root), follow(store, ref, root)

    assert ("proposed", 1, 1, 1.0) == (first["status"], first["applied"], first["succeeded"], first["success_rate"])
    assert ("validated", 2, 2, 1.0) == (second["status"], second["applied"], second["succeeded"], second["success_rate"])
    assert ("validated", "follow-this") == status(store, repository, root, ref)


def test_a_success_that_nobody_confirmed_does_not_validate(store: Store, repository: int, root: Path, ref: str) -> None:
    """Nor does a partial one, confirmed or not; both count as applications."""
    for outcome, confirmed in (("success", False), ("success", False), ("partial", True), ("success", True)):
        told = follow(store, ref, root, outcome, confirmed)

    assert ("proposed", 4, 3, 0.75) == (told["status"], told["applied"], told["succeeded"], told["success_rate"])
    assert "validated" == follow(store, ref, root)["status"]


def test_every_outcome_writes_an_episode(store: Store, root: Path, ref: str) -> None:
    """Of its own, expected to succeed, in the procedure's repository and the given epic."""
    first = follow(store, ref, root, epic="release", situation="release 1.2", evidence="healthz is green")
    second = follow(store, ref, root, "failure", confirmed=False)
    third = follow(store, ref, root, "failure", confirmed=False)
    memory = memories.get(store, first["episode_id"])

    assert f"release 1.2 → followed the procedure «deploy» ({ref}, time 1) (success as expected; healthz is green)" == memory.text
    assert ("episode", "release", memories.get(store, ref).repository, 1.0) == (memory.kind, memory.epic, memory.repository, memory.strength)
    assert ("failure", "no evidence given", "deploying to production") == tuple(
        (episodes.get(store, memories.get(store, second["episode_id"]).id) or {})[part] for part in ("outcome", "evidence", "situation")
    )
    assert 3 == len({told["episode_id"] for told in (first, second, third)})
    assert 2.0 == memories.get(store, second["episode_id"]).strength


def test_what_does_not_succeed_writes_a_failure_signature(store: Store, repository: int, root: Path, ref: str) -> None:
    """A short-term memory that the pattern check finds, counted once with its episode; a success writes none."""
    assert "" == follow(store, ref, root)["failure_signature_id"]
    told = follow(store, ref, root, "partial", situation="release 1.3", evidence="one pod crashed")
    memory = memories.get(store, told["failure_signature_id"])

    assert ("short", "failure_signature", [ref, told["episode_id"]]) == (memory.tier, memory.kind, json.loads(memory.labels))
    assert f"The procedure «deploy» ({ref}) ended in partial, when release 1.3: one pod crashed" == memory.text
    assert 1 == episodes.failures(store, repository, ["deploy"])["deploy"]["failure_count"]


def test_a_procedure_that_fails_more_often_than_not_is_archived(store: Store, repository: int, root: Path, ref: str) -> None:
    """From the fourth application on; it is grounded no more and cannot be proposed again as it is."""
    seen = [follow(store, ref, root, outcome)["status"] for outcome in ("failure", "success", "failure", "failure")]

    assert ["proposed", "proposed", "proposed", "archived"] == seen
    assert [] == procedures.ground(store, repository, str(root), [memories.get(store, ref).id])
    with pytest.raises(TenonError, match=f"{ref} was archived: it worked 1 of 4 times; propose it with other steps"):
        propose(store, repository, root)
    assert ref != propose(store, repository, root, steps="1. make deploy")


def test_a_procedure_that_works_half_the_time_is_not_archived(store: Store, root: Path, ref: str) -> None:
    """The rate must be below one half."""
    for outcome in ("failure", "success", "failure", "success"):
        told = follow(store, ref, root, outcome)

    assert ("validated", 0.5) == (told["status"], told["success_rate"])
    assert "archived" == follow(store, ref, root, "failure")["status"]
    assert "archived" == [follow(store, ref, root) for _ in range(3)][-1]["status"]


def test_an_outcome_belongs_to_a_procedure(store: Store, repository: int, root: Path, ref: str) -> None:
    """An unknown id, another kind of memory, a superseded procedure and an unknown outcome are errors; nothing is written."""
    fact, _ = memories.write(store, repository=repository, tier="short", kind="fact", text="a fact", now=NOW)
    newer = propose(store, repository, root, steps="1. make deploy")
    memories.supersede(store, ref, newer, NOW)
    rows = store.value("SELECT count(*) FROM memory")

    with pytest.raises(TenonError, match="there is no memory 'mghost'"):
        follow(store, "mghost", root)
    with pytest.raises(TenonError, match=f"{fact} is no procedure but a memory of kind 'fact'"):
        follow(store, fact, root)
    with pytest.raises(TenonError, match=f"{ref} was superseded"):
        follow(store, ref, root)
    with pytest.raises(TenonError, match="'ok' is no outcome; it is one of success, failure, partial"):
        follow(store, newer, root, "ok")
    assert rows == store.value("SELECT count(*) FROM memory")


# ---------------------------------------------------------------- staleness


def test_a_changed_file_makes_a_validated_procedure_stale(store: Store, repository: int, root: Path, valid: str) -> None:
    """Also one in a folder that it depends on, also one that is gone; a sweep without a change marks nothing."""
    assert (1, 0) == procedures.sweep(store, repository, str(root), NOW)
    (root / "deploy" / "prod.yml").write_text("replicas: 3", encoding="utf-8")

    assert (1, 1) == procedures.sweep(store, repository, str(root), NOW)
    assert ("stale", "draft-verify") == status(store, repository, root, valid)
    assert (0, 0) == procedures.sweep(store, repository, str(root), NOW)
    assert [("stale", valid)] == store.rows("SELECT what, ref FROM deed")


def test_a_revalidated_procedure_stays_validated(store: Store, repository: int, root: Path, valid: str) -> None:
    """Two proofs after a change are proofs of what the files are now."""
    (root / "Makefile").write_text("all: deploy", encoding="utf-8")
    procedures.sweep(store, repository, str(root), NOW)

    assert "stale" == follow(store, valid, root)["status"]
    assert "validated" == follow(store, valid, root)["status"]
    assert [(1, 0)] * 3 == [procedures.sweep(store, repository, str(root), NOW) for _ in range(3)]
    assert ("validated", "follow-this") == status(store, repository, root, valid)


def test_a_sweep_gives_the_same_from_any_folder(store: Store, repository: int, root: Path, valid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The root decides, not where Tenon was started."""
    monkeypatch.chdir(root / "deploy")

    assert (1, 0) == procedures.sweep(store, repository, str(root), NOW)
    assert ("validated", "follow-this") == status(store, repository, root, valid)


def test_a_change_counts_before_any_sweep(store: Store, repository: int, root: Path, valid: str) -> None:
    """Grounding tells it without writing; the next outcome begins a new spell of proofs."""
    (root / "Makefile").write_text("all: deploy", encoding="utf-8")

    assert ("stale", "draft-verify") == status(store, repository, root, valid)
    assert ("validated",) == store.one("SELECT status FROM procedure")
    assert ["stale", "validated"] == [follow(store, valid, root)["status"] for _ in range(2)]
    assert (1, 0) == procedures.sweep(store, repository, str(root), NOW)


def test_proofs_before_a_change_do_not_count_after_it(store: Store, repository: int, root: Path, valid: str) -> None:
    """A stale procedure needs two new ones."""
    follow(store, valid, root)
    (root / "Makefile").write_text("all: deploy", encoding="utf-8")
    procedures.sweep(store, repository, str(root), NOW)

    assert ["stale", "validated"] == [follow(store, valid, root)["status"] for _ in range(2)]


def test_a_revised_procedure_has_to_be_proved_again(store: Store, repository: int, root: Path, valid: str) -> None:
    """And is told in its new words."""
    memories.revise(store, valid, "deploy. When: deploying\n1. make deploy", "shorter", NOW)

    assert ("stale", "draft-verify") == status(store, repository, root, valid)
    assert "deploy. When: deploying\n1. make deploy" == procedures.ground(store, repository, str(root), [memories.get(store, valid).id])[0]["steps"]
    assert (1, 1) == procedures.sweep(store, repository, str(root), NOW)


def test_a_procedure_without_files_never_goes_stale(store: Store, repository: int, root: Path) -> None:
    """There is nothing that could change."""
    ref = propose(store, repository, root, paths=[])
    follow(store, ref, root)
    follow(store, ref, root)
    (root / "Makefile").unlink()

    assert (1, 0) == procedures.sweep(store, repository, str(root), NOW)


def test_a_root_that_is_not_there_says_nothing(store: Store, repository: int, root: Path, valid: str) -> None:
    """A worktree that was removed makes nothing stale."""
    assert (0, 0) == procedures.sweep(store, repository, str(root / "gone"), NOW)
    assert ("validated", "follow-this") == status(store, repository, root, valid)


def test_grounding_needs_no_write_lock(store: Store, repository: int, root: Path, valid: str) -> None:
    """Another process may be writing meanwhile."""
    (root / "Makefile").write_text("all: deploy", encoding="utf-8")
    with db.open_store(store.path) as second, second.transaction():
        assert ("stale", "draft-verify") == status(store, repository, root, valid)


# ---------------------------------------------------------------- scope


def test_procedures_of_another_repository_are_neither_grounded_nor_swept(store: Store, repository: int, other: int, root: Path, valid: str) -> None:
    """Those of an alias are."""
    (root / "Makefile").unlink()

    assert [] == procedures.ground(store, other, str(root), [memories.get(store, valid).id])
    assert (0, 0) == procedures.sweep(store, other, str(root), NOW)
    places.join(store, "example.org/acme/gadgets", "example.org/acme/widgets", NOW)
    assert [valid] == [told["id"] for told in procedures.ground(store, other, str(root), [memories.get(store, valid).id])]
    assert (1, 1) == procedures.sweep(store, other, str(root), NOW)


def test_grounding_keeps_the_order_and_leaves_out_what_is_no_procedure(store: Store, repository: int, root: Path, ref: str) -> None:
    """Superseded ones too."""
    fact, _ = memories.write(store, repository=repository, tier="short", kind="fact", text="a fact", now=NOW)
    second, third = propose(store, repository, root, name="second"), propose(store, repository, root, name="third")
    memories.supersede(store, third, second, NOW)
    numbers = [memories.get(store, one).id for one in (third, second, fact, ref)]

    assert [second, ref] == [told["id"] for told in procedures.ground(store, repository, str(root), numbers)]


def test_a_procedure_goes_with_its_memory(store: Store, ref: str) -> None:
    """Nothing of a deleted one stays."""
    store.execute("DELETE FROM memory WHERE ref = ?", (ref,))

    assert 0 == store.value("SELECT count(*) FROM procedure")
