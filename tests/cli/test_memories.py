"""recall, write, reinforce, episode: the verbs of memories."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest

from tenon.cli import recall as recalling
from tenon.cli.main import main
from tenon.store import db, journal
from tests.cli.conftest import Tenon

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def test_what_was_written_is_recalled(tenon: Tenon) -> None:
    """With tier, kind and id; a reason makes it long-term."""
    ref = tenon.written(
        "Staging is deployed from the release branch", "--reason", "the team decided", "--kind", "decision", "--source", "PR#41", "--source", "a.py"
    )

    result = tenon.ok("recall", "how", "do", "we", "deploy", "staging")

    assert f"{ref}  long · decision · " in result.out
    assert "    Staging is deployed from the release branch\n" in result.out
    assert {"id": ref, "tier": "long", "type": "decision", "origin": "user"}.items() <= tenon.ok("recall", "staging", "--json").records[0].items()


def test_no_hit_is_done(tenon: Tenon) -> None:
    """Exit code 0, and the hint goes to stderr."""
    tenon.written("something else entirely")

    result = tenon("recall", "zebra")

    assert (0, "") == (result.code, result.out)
    assert "Nothing in memory fits that cue" in result.err


def test_where_no_memory_fits_what_was_said_answers(tenon: Tenon) -> None:
    """Which is told on stderr; not where only memories were asked for, and not when recall.archive is off."""
    tenon.written("something else entirely")
    talk = tenon.talk()
    talk.prompt("is the zebra-42 database down again?")
    talk.reply("Yes, zebra-42 is down.")
    tenon.ok("import")
    found = tenon.ok("recall", "zebra")
    narrow = tenon.ok("recall", "zebra", "--tier", "long")
    tenon.ok("config", "recall.archive", "off")
    off = tenon.ok("recall", "zebra")

    assert ("No memory fits that cue; this was said in earlier sessions:\n", True) == (found.err, "user: is the zebra-42 database down again?" in found.out)
    assert ["", ""] == [narrow.out, off.out]
    assert "--archive searches what was said, too" in off.err


def test_filters_narrow_and_everywhere_widens(tenon: Tenon) -> None:
    """Tier, kind, number; the neighbour's memories only on request; agent-wide ones always."""
    other = tenon.project.parent / "other"
    other.mkdir()
    here = tenon.written("harbour one")
    long = tenon.written("harbour two", "--tier", "ltm", "--reason", "seen", "--kind", "gotcha")
    there = tenon.written("harbour three", "--repo", str(other))
    wide = tenon.written("harbour four", "--agent-wide")

    def ids(*more: str) -> set[str]:
        return {str(record["id"]) for record in tenon.ok("recall", "harbour", "--json", *more).records}

    assert {here, long, wide} == ids()
    assert {long} == ids("--tier", "long")
    assert {long} == ids("--kind", "gotcha", "--kind", "lesson")
    assert {here, long, wide, there} == ids("--everywhere")
    assert {there, wide} == ids("--repo", str(other))
    assert 1 == len(ids("-k", "1"))


def test_a_hit_can_be_explained(tenon: Tenon) -> None:
    """The parts of its score by name, those that say nothing left out of the line, how sure it is, and the words it shares."""
    tenon.written("the gateway listens on 8443")

    line = next(line for line in tenon.ok("recall", "gateway", "--explain").out.splitlines() if "score" in line)
    assert all(f"{name} 1.00" in line for name in ("bm25", "match", "strength", "recency"))
    assert line.endswith("shared words: gateway")
    assert "(cosine 0." in line
    assert "citations" not in line
    record = tenon.ok("recall", "gateway", "--explain", "--json").records[0]
    assert ({*journal.PARTS, "cosine", "evidence", "says much"}, ["gateway"]) == (set(record["parts"]), record["matched"])


def test_everywhere_each_hit_says_whose_it_is(tenon: Tenon) -> None:
    """In words and as data, memories and what was said; what holds everywhere says that."""
    other = tenon.project.parent / "other"
    other.mkdir()
    there = tenon.written("harbour three", "--repo", str(other))
    wide = tenon.written("harbour four", "--agent-wide")
    talk = tenon.talk()
    talk.prompt("is the harbour open?")
    tenon.ok("import")
    keys = {str(one["id"]): one["repository"] for one in tenon.ok("recall", "harbour", "--everywhere", "--archive", "--json").records}
    shown = {line.split()[0]: line for line in tenon.ok("recall", "harbour", "--everywhere", "--archive").out.splitlines() if " · " in line}

    assert (f"path:{other}", None, f"path:{tenon.project}") == (keys[there], keys[wide], keys["t1"])
    assert (True, True, True) == (shown[there].endswith(f" · path:{other}"), shown[wide].endswith(" · holds everywhere"), "· said 20" in shown["t1"])
    assert "path:" not in tenon.ok("recall", "harbour").out


def test_a_hit_says_when_it_was_written_and_when_it_proved_right(tenon: Tenon) -> None:
    """The latter only where that was another day."""
    ref = tenon.written("the gateway listens on 8443")
    fresh = tenon.ok("recall", "gateway").out
    store = tenon.home / ".tenon" / "agents" / "default" / "tenon.db"
    with closing(sqlite3.connect(store)) as con, con:
        con.execute("UPDATE memory SET created = 1767225600.0, reinforced = 1767398400.0 WHERE ref = ?", (ref,))

    assert (True, False) == ("· written 20" in fresh, "proved" in fresh)
    assert "· written 2026-01-01, proved 2026-01-03\n" in tenon.ok("recall", "gateway").out


def test_what_is_left_out_says_why(tenon: Tenon) -> None:
    """Beyond -k, or as something that means something else, whatever its score."""
    for text in ("the gateway listens on 8443", "the gateway is restarted on Mondays", "bread is baked with rye"):
        tenon.written(text)
    told = tenon.ok("recall", "gateway", "--explain", "-k", "1").out.partition("Not shown:\n")[2]

    assert (True, False) == ("  beyond the 1 of -k: the gateway" in told, "others were better" in told)


def test_what_is_said_of_the_hits_fits_them(monkeypatch: pytest.MonkeyPatch, tenon: Tenon, capsys: pytest.CaptureFixture[str]) -> None:
    """Where memories are among the answers of the archive, they are named."""
    ref = tenon.written("the ferry leaves at nine")
    talk = tenon.talk()
    talk.prompt("when does the zebra boat leave?")
    tenon.ok("import")
    for name, value in tenon.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tenon.project)
    real = recalling.recall  # the function that the module has by this name

    def with_a_memory(*given: Any, archive: bool = False, **more: Any) -> Any:
        found = real(*given, archive=archive, **more)
        if not archive:
            found.hits.clear()
        elif ref not in [hit.candidate.ref for hit in found.hits]:
            found.hits += real(given[0], "ferry", **more).hits
        return found

    monkeypatch.setattr("tenon.cli.recall.recall", with_a_memory)
    assert 0 == main(["recall", "zebra"])
    out, err = capsys.readouterr()

    assert ("No memory surely fits that cue. The nearest ones, and what was said in earlier sessions:\n", True) == (err, ref in out)


def test_one_memory_is_shown_in_full(tenon: Tenon) -> None:
    """Its reason, its sources, and by what it was superseded."""
    old = tenon.written("uses MongoDB", "--reason", "read in setup.py", "--source", "setup.py")
    new = tenon.written("uses PostgreSQL", "--supersedes", old)

    shown = tenon.ok("recall", "--id", old).out
    record = tenon.ok("recall", "--id", old, "--json").records[0]

    assert f"superseded by {new}: «uses PostgreSQL»" in shown
    assert "read in setup.py" in shown
    assert {"superseded_by": new, "status": "superseded", "sources": ["setup.py"], "history": []}.items() <= record.items()
    assert 1 == tenon("recall", "--id", "mnosuchone").code


def test_an_exchange_is_shown_in_full(tenon: Tenon) -> None:
    """Found with --archive, then by its id."""
    talk = tenon.talk()
    talk.prompt("Which port does the gateway use?")
    talk.reply("The gateway uses 8443.")
    talk.prompt("Thanks, and the weather?")
    tenon.ok("import")

    assert "" == tenon.ok("recall", "gateway", "--tier", "long").out
    hit = tenon.ok("recall", "gateway port", "--archive", "--json").records[0]
    assert ("Which port does the gateway use?", "The gateway uses 8443.") == (hit["content"], hit["answered_by"])
    turns = tenon.ok("recall", "--id", str(hit["id"]), "--json").records
    assert ["Which port does the gateway use?", "The gateway uses 8443."] == [turn["content"] for turn in turns]
    assert "weather" not in tenon.ok("recall", "--id", str(hit["id"])).out


def test_any_cue_is_valid(tenon: Tenon) -> None:
    """Whatever can be typed."""
    tenon.written("something")

    for cue in ('"', "AND OR NOT", "a*", "(x", "日本", "%", "'; DROP TABLE memory", "NEAR(a b)", "ﬀ", "-" * 3 + "x"):
        assert 0 == tenon("recall", "--", cue).code, cue


def test_a_recall_is_noted_in_the_journal(tenon: Tenon) -> None:
    """As asked for by the user."""
    ref = tenon.written("the gateway listens on 8443")
    tenon.ok("recall", "gateway")

    entry = tenon.ok("why", "--json").records[0]
    assert ("command", ["gateway"], [ref]) == (entry["event"], entry["words"], [hit["id"] for hit in entry["hits"]])


def test_a_store_that_cannot_be_written_is_read(tenon: Tenon) -> None:
    """Locked by another process: the answer comes, the note of it is left out."""
    tenon.written("the gateway listens on 8443")
    path = tenon.home / ".tenon" / "agents" / "default" / "tenon.db"
    path.chmod(0o400)

    assert "8443" in tenon.ok("recall", "gateway").out


def test_the_same_text_is_one_memory(tenon: Tenon) -> None:
    """Said so, and exit code 0."""
    ref = tenon.written("said twice")

    assert f"{ref}  was known already; it is fresh again\n" == tenon.ok("write", "Said  twice").out


def test_words_need_no_quotes(tenon: Tenon) -> None:
    """As with recall."""
    tenon.ok("write", "two", "words")

    assert "two words" == tenon.ok("recall", "words", "--json").records[0]["content"]


def test_text_comes_from_stdin(tenon: Tenon) -> None:
    """With a byte order mark and a last newline, as editors leave them."""
    tenon.ok("write", "-", given="\ufefftyped in an editor\n")

    assert "typed in an editor" == tenon.ok("recall", "editor", "--json").records[0]["content"]


def test_what_the_model_writes_is_not_the_user_s(tenon: Tenon) -> None:
    """In Claude Code's own shell the assistant writes, unless the command says otherwise."""
    tenon.env = {"CLAUDECODE": "1"}
    tenon.written("harbour one")
    tenon.written("harbour two", "--origin", "user")

    assert {"harbour one": "assistant", "harbour two": "user"} == {
        str(hit["content"]): hit["origin"] for hit in tenon.ok("recall", "harbour", "--json").records
    }


def test_what_cannot_be_kept_is_refused(tenon: Tenon) -> None:
    """Empty, long-term without a reason, long-term from outside; nothing is written."""
    for wrong in (("",), ("x", "--tier", "long"), ("x", "--tier", "long", "--reason", "r", "--origin", "outside"), ("x", "--supersedes", "mnosuchone")):
        assert 1 == tenon("write", *wrong).code, wrong

    assert "" == tenon.ok("recall", "x").out


def test_reinforcing_strengthens(tenon: Tenon) -> None:
    """One citation each time; a factor out of range is refused."""
    ref = tenon.written("proved right")

    assert 1 == tenon.ok("reinforce", ref, "--json").records[0]["citations"]
    assert f"{ref}  is at full strength already (1.00); it is fresh again, and proved right 2 times now\n" == tenon.ok("reinforce", ref).out
    assert 1 == tenon("reinforce", ref, "--factor", "-5").code


def test_an_episode_is_remembered(tenon: Tenon) -> None:
    """And found by what it was about."""
    told = ("--situation", "flaky upload test", "--action", "fix", "--taken", "raised the timeout", "--outcome", "failure", "--evidence", "CI run 812")
    ref = tenon.ok("episode", *told, "--json").records[0]["id"]

    assert ref in tenon.ok("recall", "flaky upload").out
    assert 2 == tenon("episode", "--situation", "x").code


def test_memories_of_a_folder_that_is_gone_are_reached_by_its_path(tenon: Tenon) -> None:
    """And by its key; a key that nothing is known of is refused."""
    gone = tenon.project.parent / "gone"
    gone.mkdir()
    tenon.written("kept in the gone folder", "--repo", str(gone))
    gone.rmdir()
    with sqlite3.connect(str(tenon.home / ".tenon" / "agents" / "default" / "tenon.db")) as store:
        (key,) = store.execute("SELECT key FROM repository").fetchone()
    store.close()

    assert "gone folder" in tenon.ok("recall", "kept", "--repo", os.fspath(gone)).out
    assert "gone folder" in tenon.ok("recall", "kept", "--repo", key).out
    assert 1 == tenon("recall", "kept", "--repo", "github.com/no/such").code


def test_only_the_user_writes_again_what_was_forgotten(tenon: Tenon) -> None:
    """Not the model in the shell that Claude Code gives it, who signs nothing as the user's either."""
    ref = tenon.written("The zebra is striped.")
    tenon.ok("forget", ref, "--yes")
    tenon.env["CLAUDECODE"] = "1"
    assert "by the user alone" in tenon("write", "The zebra is striped.", "--again").err
    tenon.written("The giraffe is spotted.")
    del tenon.env["CLAUDECODE"]
    tenon.ok("write", "The zebra is striped.", "--again")

    with db.open_reader(str(tenon.home / ".tenon" / "agents" / "default" / "tenon.db")) as store:
        assert ["model", "user"] == [row[0] for row in store.rows("SELECT writer FROM memory ORDER BY id")]


def test_an_agent_that_is_not_there_is_said_with_those_that_are(tenon: Tenon) -> None:
    """Its name may be mistyped: by what reads, and by what would begin it."""
    first = tenon("write", "the gateway listens on 8443").err
    there = "There is no agent defualt; the agents that have a memory: default"
    tenon.env["TENON_AGENT"] = "defualt"

    assert "new agent" not in first
    for verb in (("recall", "gateway"), ("status",), ("why",), ("digest",), ("export", "x.jsonl"), ("backup",), ("repair",), ("identity",)):
        assert there in tenon(*verb).err, verb
    assert "This begins the memory of a new agent, defualt; there are default." in tenon.ok("write", "x is y").err
    assert "new agent" not in tenon.ok("write", "y is z").err
    tenon.talk().prompt("Which port does the gateway use?")
    tenon.env["TENON_AGENT"] = "other"
    assert "This begins the memory of a new agent, other" in tenon.ok("import").err
