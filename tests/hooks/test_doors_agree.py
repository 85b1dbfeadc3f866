"""One recall behind every door: the prompt hook, the proxy, the tool and the command bring the same to mind, in the same order."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mcp_server import tools
from tenon.base import settings
from tenon.recall import offer
from tenon.store import db, memories
from tests.hooks.conftest import say
from tests.recall import calibration

NOW = time.time()
DAY = 86400.0
ROOT = Path(__file__).resolve().parents[2]
PYTHONS = Path.home() / ".pyenv" / "versions"  # of the real home, before a test has its own
ALL = 100  # more hits than there can be
# By words, by meaning, by both, by a time, in another script; and one that nothing answers.
PROMPTS = (
    "how do we log people in", "who may restart the staging database?", "what did we do yesterday with the map tiles?", "how long does Fastly cache the observations?",
    "is there a rule for our releases and deploys?", "what did you suggest about the retry budget?", "設定はどこですか、教えてください", "write a poem about marmalade and the moon",
)  # fmt: skip


@pytest.fixture
def known(store: db.Store, repository: int) -> db.Store:
    """A store of memories, of the agent and of the repository, and of past exchanges, and a foreign repository's."""
    other = int(store.execute("INSERT INTO repository (key, seen) VALUES ('github.com/acme/secret', 0)").lastrowid or 0)
    told: dict[str, Any] = {"tier": "long", "kind": "fact", "reason": "agreed"}
    for number, text in enumerate(calibration.KESTREL):
        memories.write(store, repository=None if number % 7 == 0 else repository, text=text, now=NOW - number * DAY, **told)
    for text in ("auth uses OIDC with refresh rotation", "データベースの設定は東京の担当者だけが変更できます。"):
        memories.write(store, repository=repository, text=text, now=NOW - DAY, **told)
    memories.write(store, repository=other, text="people log in with a shared password", now=NOW, **told)
    for number, (asked, text) in enumerate(zip([cue for cue, _ in calibration.ABOUT_LARKSPUR], calibration.LARKSPUR)):
        say(store, repository, asked, text, NOW - number * DAY / 3, f"s{number // 4}")
    say(store, repository, "Please move the map tiles into a bucket.", "Done: the tiles are in the bucket.", NOW - DAY, "yesterday")
    say(store, other, "How do people log in?", "With a shared password.", NOW - DAY, "elsewhere")
    return store


def by_hook(project: Path, prompt: str, session: str, python: str = sys.executable) -> list[str]:
    """The ids in the block that the hook's process gives, in order; an exchange by its prompt's."""
    event = {"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": str(project), "transcript_path": "", "prompt": prompt}
    done = subprocess.run(
        [python, "-I", "-S", str(ROOT / "hooks" / "hook.py")], input=json.dumps(event).encode(), capture_output=True, cwd=project, timeout=60, check=False
    )
    assert (0, b"") == (done.returncode, done.stderr)
    context = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] if done.stdout else ""
    return [found.group(1) for line in context.splitlines() if line.startswith("- ") and (found := re.search(r"\(([mt]\w+)(?:, t\d+)?\)$", line))]


def by_proxy(store: db.Store, repository: int, prompt: str) -> list[str]:
    """What proxy/speaking.py puts in front of the prompt for a client without hooks."""
    found = offer.look(store, prompt, session="proxied", repository=repository, chosen=settings.load(), now=time.time())
    return [hit.candidate.exchange for hit in found.hits]


def by_tool(project: Path, prompt: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All that the MCP tool finds."""
    monkeypatch.chdir(project)
    hits = tools.call("memory_recall", {"cue": prompt, "archive": True, "k": 50})["hits"]
    return [hit["answers"]["id"] if hit["type"] == "reply" and "answers" in hit else hit["id"] for hit in hits]


def by_command(project: Path, prompt: str) -> list[dict[str, Any]]:
    """All that `tenon recall` finds, with what speaks for it."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(ROOT / "bin" / "tenon"), "recall", "--archive", "-k", str(ALL), "--json", "--explain", prompt],
        capture_output=True, cwd=project, timeout=60, check=False,
    )  # fmt: skip
    assert 0 == done.returncode, done.stderr
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


@pytest.mark.parametrize("ranking", ["fused", "classic"])
@pytest.mark.parametrize("prompt", PROMPTS)
def test_every_door_gives_the_same_hits_in_the_same_order(
    known: db.Store, repository: int, project: Path, monkeypatch: pytest.MonkeyPatch, prompt: str, ranking: str
) -> None:
    """Tool and command show what is under the floor, too: above it, it is what the hook and the proxy put in front of the prompt."""
    monkeypatch.setenv("TENON_RECALL_RANKING", ranking)
    chosen = settings.load()
    offered = by_proxy(known, repository, prompt)
    assert offered == by_hook(project, prompt, "a")
    told = by_command(project, prompt)
    sure = [record["id"] for record in told if record["parts"]["evidence"] >= chosen.number("recall.floor")]
    prompts = {record["id"]: exchange_of(known, record["id"]) for record in told}
    assert offered == [prompts[ref] for ref in sure][: int(chosen.number("inject.hits"))]
    assert by_tool(project, prompt, monkeypatch) == [prompts[record["id"]] for record in told][:50]
    if prompt != PROMPTS[-1]:
        assert told


def exchange_of(store: db.Store, ref: str) -> str:
    """The prompt's id of a reply; another id itself."""
    if not ref.startswith("t"):
        return ref
    kind = store.value("SELECT kind FROM turn WHERE id = ?", (int(ref[1:]),))
    return f"t{int(ref[1:]) - 1}" if kind == "reply" else ref


def test_some_prompts_are_answered_and_the_last_one_is_not(known: db.Store, repository: int) -> None:
    """So that the agreement is about something."""
    answered = [bool(by_proxy(known, repository, prompt)) for prompt in PROMPTS]
    assert (True, True, False) == (answered[0], answered[1], answered[-1])
    assert sum(answered) >= 4


@pytest.mark.parametrize("wanted", ["3.9.*", "3.1[3-9].*"])
def test_the_hook_gives_the_same_with_another_python(known: db.Store, project: Path, wanted: str) -> None:
    """The oldest one that Tenon runs on, and a newest."""
    found = sorted(PYTHONS.glob(f"{wanted}/bin/python"))
    if not found:
        pytest.skip("that Python is not here")
    for number, prompt in enumerate(PROMPTS):
        assert by_hook(project, prompt, f"own-{number}") == by_hook(project, prompt, f"other-{number}", str(found[-1]))


def test_a_long_prompt_is_looked_up_by_its_beginning_and_its_end_at_both_doors(known: db.Store, repository: int, project: Path) -> None:
    """And what stands between them is not."""
    prompt = "who may restart the staging database? " + "lorem ipsum dolor " * 400 + "how long does Fastly cache the observations, in our middle words?"
    assert by_proxy(known, repository, prompt) == by_hook(project, prompt, "long") != []


def test_the_session_that_was_shown_something_is_not_shown_it_again_at_either_door(known: db.Store, repository: int, project: Path) -> None:
    """The hook journals what it gave, and the other door reads that."""
    shown = by_hook(project, PROMPTS[1], "one")
    again = offer.look(known, PROMPTS[1], session="one", repository=repository, chosen=settings.load(), now=time.time())
    assert shown != []
    assert not {hit.candidate.exchange for hit in again.hits} & set(shown)
