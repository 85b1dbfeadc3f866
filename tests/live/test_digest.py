"""From one real session to the next: what was said is digested through the real Claude Code, by hand and by itself, and the next session begins with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.digest.minds import answer, last_of, remember
from tests.fakes import replies
from tests.live.user import ROOT, User, told, until

pytestmark = pytest.mark.live

SAID = "We keep invoices for eleven years. Always ask me before you touch a migration."
ASKED = "Answer with the JSON object alone."
SELF = "I ask before I touch a migration."


def digesting(request: Any) -> replies.Scripted:
    """Does as it is told; asked for a digest it remembers the decision, and holds who it is."""
    text = told(request)
    if ASKED not in text:
        return replies.obey(request)
    if "<statements>" in text:
        return answer(last_of(text), {"op": "hold", "kind": "relationship", "text": SELF, "evidence": [last_of(text)]})
    turn = next(word[1:] for word in text.split() if word.startswith("[t"))
    return answer(last_of(text), remember("Invoices are kept for eleven years.", [turn], kind="decision"))


def tenon(user: User, *arguments: str) -> str:
    """What the command prints, in the user's home and project."""
    env = {**os.environ, **user.claude.env, "TENON_HOME": str(user.memory), "TENON_CLAUDE": str(user.claude.binary)}
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(ROOT / "bin" / "tenon"), *arguments], cwd=user.claude.project, env=env, capture_output=True, timeout=120, check=False
    )
    assert 0 == done.returncode, done.stderr.decode()
    return done.stdout.decode()


def questions(user: User) -> list[str]:
    """What a model was asked for digests."""
    return [text for text in map(told, user.api.messages()) if ASKED in text]


def test_what_was_said_in_one_session_is_who_the_agent_is_in_the_next_ones_first_turn(user: User) -> None:
    """One request a batch, no tools in it, no session of its own; identity and decision are in front of the next session."""
    user.api.script = digesting
    user.says(SAID)
    transcripts = list((user.claude.home / ".claude" / "projects").rglob("*.jsonl"))
    sessions = user.rows("SELECT count(*) FROM session")
    report = json.loads(tenon(user, "digest", "--json"))

    assert (2, 0, 2, 2) == tuple(report[name] for name in ("applied", "failed", "requests", "memories_written"))
    assert 2 == len(questions(user))
    assert SAID in questions(user)[0]
    assert transcripts == list((user.claude.home / ".claude" / "projects").rglob("*.jsonl"))
    assert sessions == user.rows("SELECT count(*) FROM session")
    begun = user.says("hello there, my friend").blocks("SessionStart")
    assert (1, True, True) == (len(begun), SELF in begun[0], "Invoices are kept for eleven years." in begun[0])

    tenon(user, "digest", "undo", str(report["digests"][1]))
    assert SELF not in user.says("hello there, my friend").sent


def test_in_the_background_it_begins_when_a_session_has_ended_and_the_user_agreed(user: User) -> None:
    """Not before; by a process that outlives the session, whose hooks do not see it."""
    user.api.script = digesting
    user.says(SAID + " And so on, and so on." * 500)
    assert [] == questions(user)
    tenon(user, "digest", "auto", "on", "--yes")
    tenon(user, "config", "upstream", user.api.url)
    user.claude.env["TENON_CLAUDE"] = str(user.claude.binary)
    user.says("And the vault is in Graz." + " And so on, and so on." * 500)

    assert until(lambda: ["applied", "applied"] == user.rows("SELECT state FROM digest WHERE phase <> 'spotting' ORDER BY id"), 60), user.rows(
        "SELECT state, why FROM digest"
    )
    assert 2 == len(questions(user))
    assert 2 == user.rows("SELECT count(*) FROM session")[0]
    assert [SELF] == user.rows("SELECT text FROM memory WHERE kind = 'relationship'")
    assert user.rows("SELECT sum(input + written + read + output) FROM spending") == [
        sum((request.usage or {}).get(name, 0) for request in user.api.messages() if told(request) in questions(user) for name in USAGE)
    ]


USAGE = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
