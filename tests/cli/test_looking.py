"""why, status, agents, paths, alias, config: the verbs that look, and set."""

from __future__ import annotations

import json
import os
import shlex

import pytest

from tenon.base import paths
from tenon.cli import status
from tenon.store import db, journal
from tests.cli.conftest import DOOR, Tenon


def test_why_tells_when_and_what_for(tenon: Tenon) -> None:
    """In words; the newest first, at most as many as asked for."""
    ref = tenon.written("the gateway listens on 8443")
    tenon.ok("recall", "gateway")
    tenon.ok("recall", "listens")

    told = tenon.ok("why", "-n", "1").out
    assert "asked for by you: 1 item, for the words listens" in told
    assert f"{ref}  the gateway listens on 8443" in told
    assert 2 == len(tenon.ok("why", "--json").records)
    assert (1, True) == ((gone := tenon("why", "--session", "s9")).code, "there is no session 's9'" in gone.err)


def test_why_tells_what_was_left_out(tenon: Tenon, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the reason in words; as JSON with its score and parts."""
    monkeypatch.setenv("TENON_HOME", str(tenon.home / ".tenon"))
    ref = tenon.written("the gateway listens on 8443")
    with db.open_store(paths.store_path("default")) as store:
        given = {"event": "prompt", "session": "s7", "repository": None, "words": ["gateway"], "hits": [], "chars": 0, "now": 1_796_000_000.0}
        journal.record(store, skipped=[(ref, 0.31, (0.5,) * 10, "s"), ("mother", 0.2, (0.5,) * 10, "e")], **given)  # type: ignore[arg-type]

    told = tenon.ok("why").out
    assert "with a prompt: 0 items, for the words gateway, session s7" in told
    assert f"{ref}  left out, shown in this session already: the gateway listens on 8443" in told
    assert "mother  left out, too little evidence that it answers" in told
    assert [(ref, 0.31, "shown in this session already")] == [
        (miss["id"], miss["score"], miss["why"]) for miss in tenon.ok("why", "--json").records[0]["skipped"][:1]
    ]
    assert "left out, shown in this session already" in tenon.ok("why", ref).out


def test_why_explains_one_memory(tenon: Tenon) -> None:
    """What keeps it from coming up, how it fares against a prompt, when it was shown."""
    ref = tenon.written("the gateway listens on port 8443")
    tenon.ok("recall", "gateway")
    other = tenon.project.parent / "other"
    other.mkdir()

    assert "Nothing keeps it from coming up here" in tenon.ok("why", ref).out
    assert "asked for by you: 1 item, for the words gateway" in tenon.ok("why", ref).out
    assert "It would be injected." in tenon.ok("why", ref, "--cue", "which port has the gateway").out
    assert "not even a candidate" in tenon.ok("why", ref, "--cue", "what is for lunch").out
    assert "under 0.34 (recall.floor) nothing is injected" in tenon.ok("why", ref, "--cue", "gateway zebra quagga okapi narwhal lemur tapir").out
    assert "It belongs to path:" in tenon.ok("why", ref, "--repo", str(other)).out
    new = tenon.written("the gateway listens on port 9443", "--supersedes", ref)
    assert f"It is superseded by {new}" in tenon.ok("why", ref).out
    assert 1 == tenon("why", "mnosuchone").code


def test_status_counts(tenon: Tenon) -> None:
    """Here and in all, with what waits."""
    talk = tenon.talk()
    talk.prompt("Which port does the gateway use?")
    talk.reply("The gateway uses 8443.")
    tenon.ok("import")
    tenon.written("short one")
    tenon.written("long one", "--reason", "r")
    tenon.written("everywhere", "--agent-wide")

    found = tenon.ok("status", "--json").records[0]

    assert {"short": 1, "long": 1, "faded": 0, "superseded": 0, "sessions": 1, "turns": 2} == found["here"]
    assert (1, 2, "s1") == (found["agent_wide"], found["pending"]["turns"], found["last_session"]["id"])
    assert {"command", "turn", "summary"} == {"command"} | set(found["last_seen"])
    told = tenon.ok("status").out
    for line in ("1 long-term, 1 short-term, 0 faded; 1 that hold everywhere", "2 turns of 1 session", "2 turns, about", "(s1)"):
        assert line in told, line


def test_a_session_is_told_where_the_command_is(tenon: Tenon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it is installed: a marketplace has put it where nobody looks."""
    for name, value in tenon.environment().items():
        monkeypatch.setenv(name, value)
    tenon.written("x")
    with db.open_reader(paths.store_path("default")) as store:
        before = status.lines(store, str(tenon.project), 1.0)
        tenon.ok("install", "--yes")
        after = status.lines(store, str(tenon.project), 1.0)

    assert f"  {shlex.quote(DOOR)} install" == before[-1].replace("py -3 ", "").replace('"', "")
    assert ("In a terminal this, once, makes it the command tenon there:", False) == (before[-2], before[-2] in after)


def test_status_names_faults_and_broken_settings(tenon: Tenon) -> None:
    """So that one need not ask doctor to learn that there is something to ask."""
    tenon.written("x")
    (tenon.home / ".tenon" / "settings.json").write_text("{broken", encoding="utf-8")
    (tenon.home / ".tenon" / "faults.log").write_text('{"at": 4000000000, "door": "Stop", "said": "disk full"}\n', encoding="utf-8")

    told = tenon.ok("status").out

    assert "1 in the last day, newest: Stop: disk full" in told
    assert "settings.json cannot be read" in told


def test_agents_that_cannot_be_read_are_not_none(tenon: Tenon) -> None:
    """A sentence with the way out."""
    folder = tenon.home / ".tenon" / "agents"
    folder.parent.mkdir()
    folder.symlink_to(folder)
    done = tenon("agents")

    assert (1, True) == (done.code, "cannot be read" in done.err), done.out


def test_agents_are_listed_with_what_they_hold(tenon: Tenon) -> None:
    """The chosen one is marked; a store that cannot be read is named and does not hide the others."""
    tenon.written("one")
    tenon.written("two", "--agent", "reviewer")
    broken = tenon.home / ".tenon" / "agents" / "broken"
    broken.mkdir()
    (broken / "tenon.db").write_bytes(b"no database" * 100)

    found = {record["agent"]: record for record in tenon.ok("agents", "--json").records}

    assert ["broken", "default", "reviewer"] == sorted(found)
    assert (1, True, False) == (found["default"]["memories"], found["default"]["chosen"], found["reviewer"]["chosen"])
    assert found["broken"]["problem"]
    rows = {line[3:].split()[0]: line.split() for line in tenon.ok("agents").out.splitlines()}
    assert (["agent", "memories", "turns", "sessions", "size"], ["*", "default", "1", "0", "0"]) == (rows["agent"], rows["default"][:5])
    assert "cannot be read" in " ".join(rows["broken"])


def test_paths_follow_the_environment(tenon: Tenon) -> None:
    """And say what is not there yet."""
    tenon.env = {"TENON_HOME": str(tenon.home / "elsewhere")}

    found = tenon.ok("paths", "--json").records[0]

    assert (str(tenon.home / "elsewhere"), str(tenon.home / ".claude")) == (found["home"], found["claude"])
    assert "(not there yet)" in tenon.ok("paths").out


def test_repositories_are_joined_and_parted(tenon: Tenon) -> None:
    """What one knows the other knows, until it is taken back."""
    other = tenon.project.parent / "other"
    other.mkdir()
    tenon.written("harbour here")
    tenon.written("harbour there", "--repo", str(other))
    here, there = (record["repository"] for record in tenon.ok("alias", "--json").records)

    assert "is " in tenon.ok("alias", str(tenon.project), str(other)).out
    assert 2 == len(tenon.ok("recall", "harbour", "--json").records)
    assert 1 == tenon("alias", str(tenon.project), str(other)).code
    assert [there, None] == [record["alias_of"] for record in tenon.ok("alias", "--json").records] or [None, here] == [
        record["alias_of"] for record in tenon.ok("alias", "--json").records
    ]
    joined = next(record["repository"] for record in tenon.ok("alias", "--json").records if record["alias_of"])
    tenon.ok("alias", "--remove", str(joined))
    assert 1 == len(tenon.ok("recall", "harbour", "--json").records)
    assert 1 == tenon("alias", "--remove", "no/such").code


def test_what_was_kept_is_joined_to_a_folder_that_was_not_seen_yet(tenon: Tenon) -> None:
    """Status says how; a wrong key leaves no trace of the folder."""
    other = tenon.project.parent / "renamed"
    other.mkdir()
    tenon.written("harbour here")
    told = tenon("status", cwd=other).out
    (key,) = [record["repository"] for record in tenon.ok("alias", "--json").records]
    wrong = tenon("alias", "github.com/no/such", ".", cwd=other)
    known = len(tenon.ok("alias", "--json").records)
    joined = tenon("alias", str(key), ".", cwd=other)

    assert "`tenon alias` joins it to what was kept" in told
    assert (1, 1, 0) == (wrong.code, known, joined.code), joined.err
    assert "harbour here" in tenon("recall", "harbour", cwd=other).out
    assert "joins it to what was kept" not in tenon("status", cwd=other).out


def test_an_entry_without_hits_says_what_it_was_made_with(tenon: Tenon, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts of a briefing."""
    tenon.written("x")
    with db.open_store(str(tenon.home / ".tenon" / "agents" / "default" / "tenon.db")) as store:
        journal.record(store, event="session", session="s7", repository=None, words=["last_session", "task"], hits=[], chars=900, now=1_796_000_000.0)

    assert "at a session's start: 900 characters, with last session, task, session s7" in tenon.ok("why", "--session", "s7").out


def test_a_session_is_named_by_the_first_letters_of_its_id(tenon: Tenon) -> None:
    """Eight or more that no other begins with; several are named, and fewer letters name none."""
    tenon.written("x")
    with db.open_store(str(tenon.home / ".tenon" / "agents" / "default" / "tenon.db")) as store:
        for session, word in (("5e55104e-0000-4000-8000-00000000abcd", "task"), ("a5ced000-1", "handoff"), ("a5ced000-2", "procedure")):
            journal.record(store, event="session", session=session, repository=None, words=[word], hits=[], chars=9, now=1_796_000_000.0)

    for given in ("5e55104e", "5e55104e-000", "5e55104e-0000-4000", "5e55104e-0000-4000-8000-00000000abcd"):
        assert ["task"] == [entry["words"][0] for entry in tenon.ok("why", "--session", given, "--json").records]
    assert "several sessions begin with 'a5ced000', among them a5ced000-1, a5ced000-2" in tenon("why", "--session", "a5ced000").err
    assert "there is no session '5e55104'" in tenon("why", "--session", "5e55104").err


def test_settings_say_where_they_come_from(tenon: Tenon) -> None:
    """Environment before file before default."""
    tenon.ok("config", "inject.hits", "4")
    tenon.env = {"TENON_RECALL_FLOOR": "0.5", "TENON_INJECT_HITS": "3"}

    found = {record["name"]: (record["value"], record["origin"]) for record in tenon.ok("config", "--json").records}

    assert ((3, "TENON_INJECT_HITS"), (0.5, "TENON_RECALL_FLOOR"), (True, "default")) == (found["inject.hits"], found["recall.floor"], found["inject.prompt"])
    rows = {line.split()[0]: line.split() for line in tenon.ok("config").out.splitlines()}
    assert (["inject.prompt", "on", "default"], ["inject.hits", "3", "TENON_INJECT_HITS"]) == (rows["inject.prompt"], rows["inject.hits"])
    assert "    most hits put in front of one prompt\n" in tenon.ok("config").out
    assert "inject.hits = 3  (TENON_INJECT_HITS)" in tenon.ok("config", "inject.hits").out
    assert "TENON_INJECT_HITS says otherwise" in tenon.ok("config", "inject.hits", "5").err


def test_settings_are_written_and_taken_back(tenon: Tenon) -> None:
    """Only what is set stands in the file, for the owner alone, and what else it says stays."""
    path = tenon.home / ".tenon" / "settings.json"
    for name, value in (("inject.prompt", "off"), ("inject.hits", "4"), ("decay.short_per_day", "0.9"), ("archive.exclude", "private"), ("agent", "me")):
        tenon.ok("config", name, value)

    assert {
        "inject.prompt": False, "inject.hits": 4, "decay.short_per_day": 0.9, "archive.exclude": [str(tenon.project / "private")], "agent": "me",
    } == json.loads(path.read_text(encoding="utf-8"))  # fmt: skip
    assert os.name != "posix" or 0o600 == path.stat().st_mode & 0o777
    assert "(default)" in tenon.ok("config", "--unset", "inject.hits").out
    assert "inject.hits" not in json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("inject.hits", "many"),
        ("inject.hits", "2.5"),
        ("inject.max_chars", "9901"),
        ("inject.prompt", "perhaps"),
        ("recall.floor", "7"),
        ("proxy.port", "99999"),
        ("proxy.port", "0"),
        ("proxy.max_context", "5"),
        ("proxy.trace_tokens", "-1"),
        ("proxy.scope", "world"),
        ("upstream", "not a url"),
        ("upstream", "http://127.0.0.1:9000"),
        ("agent", "../x"),
        ("no.such", "1"),
    ],
)
def test_a_wrong_value_is_refused(tenon: Tenon, name: str, value: str) -> None:
    """And nothing is written."""
    assert 1 == tenon("config", name, value).code
    assert not (tenon.home / ".tenon" / "settings.json").exists()


@pytest.mark.parametrize("name", ["upstream", "embed.url"])
def test_a_password_in_a_refused_address_is_not_repeated(tenon: Tenon, name: str) -> None:
    """Screens are shared."""
    done = tenon("config", name, "ftp://me:hush@gpu.example")

    assert (1, True, False) == (done.code, "must be an address like http" in done.err, "hush" in done.err + done.out)


def test_a_broken_settings_file_is_not_overwritten(tenon: Tenon) -> None:
    """It may hold what the user wants back."""
    path = tenon.home / ".tenon" / "settings.json"
    path.parent.mkdir()
    path.write_text("{broken", encoding="utf-8")

    assert (1, "{broken") == (tenon("config", "inject.hits", "4").code, path.read_text(encoding="utf-8"))
