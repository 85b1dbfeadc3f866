"""A home, a project and a memory in any script, under any locale."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tenon.base import faults
from tests.hooks.conftest import HOOK


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "POSIX"])
@pytest.mark.parametrize("name", ["测试用户-é", "Дом Марии", "with  two spaces", "q'u\"o;t$e"])
def test_a_full_round_trip_in_a_home_of_any_name(tmp_path, locale, name):
    """Said in one session, archived, summarised, and back in the next."""
    home = tmp_path / name
    project = home / "проект ü"
    project.mkdir(parents=True)
    transcript = home / "projects" / "one.jsonl"
    transcript.parent.mkdir()
    said = [("user", "Der Zebrastreifen heißt 斑马线 in China."), ("assistant", [{"type": "text", "text": "Notiert: 斑马线."}])]
    transcript.write_text(
        "".join(
            json.dumps(
                {"type": role, "uuid": f"u{at}", "parentUuid": f"u{at - 1}" if at else None, "cwd": str(project), "message": {"role": role, "content": content}}
            )
            + "\n"
            for at, (role, content) in enumerate(said)
        ),
        encoding="utf-8",
    )
    env = {"HOME": str(home), "USERPROFILE": str(home), "LC_ALL": locale, "PYTHONUTF8": "0", "PATH": ""}

    def fire(event: str, **fields: str) -> str:
        given = {"hook_event_name": event, "cwd": str(project), "transcript_path": str(transcript), **fields}
        done = subprocess.run([sys.executable, "-I", "-S", str(HOOK)], input=json.dumps(given).encode(), capture_output=True, env=env, cwd=project, check=False)
        assert (0, b"") == (done.returncode, done.stderr)
        return str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]) if done.stdout else ""

    fire("Stop", session_id="one")
    fire("SessionEnd", session_id="one", reason="other")
    assert "斑马线" in fire("SessionStart", session_id="two", source="startup")
    assert "斑马线" in fire("UserPromptSubmit", session_id="two", prompt="wie heißt der zebrastreifen?")
    assert "斑马线" in fire("UserPromptSubmit", session_id="three", prompt="斑马线是什么")
    assert [] == faults.recent()
    assert {"projects", "проект ü", ".tenon"} == {path.name for path in home.iterdir()}
