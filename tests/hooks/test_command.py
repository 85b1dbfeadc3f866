"""The slash commands as their hook answers them."""

from __future__ import annotations

import json
import time

from tenon.store import archive, exchanges, memories

NOW = time.time()


def remember(store, repository, text):
    """The id of a decision."""
    return memories.write(store, repository=repository, tier="long", kind="decision", text=text, reason="agreed", now=NOW)[0]


def command(fire, name, given=""):
    """The hook's answer to a slash command."""
    return fire("UserPromptExpansion", command_name=name, command_args=given, command_source="plugin", prompt=f"/{name} {given}")


def test_recall_adds_the_hits_to_the_command(fire, store, repository):
    """By the bare name and by the plugin's; what is typed is a cue and nothing else."""
    ref = remember(store, repository, "The retry budget is seven attempts.")
    for name in ("memory-recall", "tenon:memory-recall"):
        assert f"({ref})" in command(fire, name, "retry budget'; touch /tmp/x; $(reboot) \"").context


def test_recall_says_when_nothing_fits_or_nothing_was_asked(fire, store, repository):
    """The model has something to tell the user."""
    assert "Nothing in memory fits" in command(fire, "memory-recall", "zanzibar").context
    assert "gave no cue" in command(fire, "memory-recall").context


def test_digest_brings_the_oldest_turns_that_wait_and_marks_none(fire, store, repository):
    """Reading is not digesting."""
    number = archive.session(store, "s", repository=repository, folder="/x", at=NOW)
    row = archive.Row(uuid="", parent="", role="user", kind="prompt", source="user", at=NOW, content=[{"type": "text", "text": "we chose PostgreSQL"}])
    turn = archive.append(store, number, repository, [row])[1][0]
    context = command(fire, "memory-digest").context
    assert "we chose PostgreSQL" in context
    assert f"Turns shown, in order: t{turn}." in context
    assert 1 == exchanges.pending_size(store, repository)[1]
    exchanges.mark_consolidated(store, [turn], "skipped", NOW)
    assert "nothing to digest" in command(fire, "memory-digest").context


def test_forget_names_the_turn_that_says_the_same(fire, store, repository):
    """It stays, and goes with «said»."""
    number = archive.session(store, "s", repository=repository, folder="/x", at=NOW)
    row = archive.Row(uuid="", parent="", role="user", kind="prompt", source="user", at=NOW, content=[{"type": "text", "text": "seven attempts, please"}])
    turn = archive.append(store, number, repository, [row])[1][0]
    refs = [
        memories.write(store, repository=repository, tier="long", kind="decision", text=f"{text} attempts.", reason="agreed", turns=[turn], now=NOW)[0]
        for text in ("Seven", "At most seven")
    ]
    asked = command(fire, "memory-forget", refs[0]).answer["reason"]
    done = command(fire, "memory-forget", f"{refs[0]} yes").answer["reason"]
    kept = store.value("SELECT content FROM turn WHERE id = ?", (turn,))
    command(fire, "memory-forget", f"{refs[1]} said yes")

    assert f"It is still said in t{turn}: that stays" in asked
    assert f"With what was said: /memory-forget {refs[0]} said yes" in asked
    assert f"It is still said in t{turn}: that stays" in done
    assert ("seven" in kept, "[]") == (True, store.value("SELECT content FROM turn WHERE id = ?", (turn,)))


def test_status_why_and_forget_are_answered_without_the_model(fire, store, repository):
    """The prompt is stopped and the answer is its reason."""
    ref = remember(store, repository, "The retry budget is seven attempts.")
    fire("UserPromptSubmit", prompt="what is our retry budget?")
    assert "1" in command(fire, "memory-status").answer["reason"]
    why = command(fire, "memory-why").answer["reason"]
    assert "for the words retry, budget" in why
    assert ref in why
    asked = command(fire, "memory-forget", ref).answer
    assert "block" == asked["decision"]
    assert f"/memory-forget {ref} yes" in asked["reason"]
    assert "seven attempts" in asked["reason"]
    assert 1 == store.value("SELECT count(*) FROM memory")
    assert f"Forgotten: {ref}." in command(fire, "memory-forget", f"{ref} yes").answer["reason"]
    assert 0 == store.value("SELECT count(*) FROM memory")
    assert "(forgotten)" in command(fire, "memory-why").answer["reason"] or ref not in command(fire, "memory-why").answer["reason"]


def test_why_tells_of_one_item_when_and_why_it_was_shown(fire, store, repository):
    """Or that it was not; a reply is told as the exchange it ends. What is no id is told the usage."""
    shown, other = remember(store, repository, "The retry budget is seven attempts."), remember(store, repository, "We deploy on Fridays.")
    number = archive.session(store, "s", repository=repository, folder="/x", at=NOW)
    said = [("user", "prompt", "where does the zebra service listen"), ("assistant", "reply", "on port 8081")]
    rows = [archive.Row(uuid="", parent="", role=role, kind=kind, source=role, at=NOW, content=[{"type": "text", "text": text}]) for role, kind, text in said]
    prompt, reply = archive.append(store, number, repository, rows)[1]
    fire("UserPromptSubmit", prompt="what is our retry budget?")
    fire("UserPromptSubmit", prompt="where does the zebra service listen?")

    def why(given):
        return command(fire, "memory-why", given).answer["reason"]

    assert f"{shown}: «The retry budget is seven attempts.»" == why(shown).split("\n")[0]
    assert "for the words retry, budget" in why(shown)
    assert "zebra" not in why(shown)
    assert f"{other}: «We deploy on Fridays.»\nIt was not put in front of this session." == why(other)
    assert f"t{reply}: «on port 8081»" in why(f"t{reply}")
    assert f"\n  t{prompt} " in why(f"t{reply}")
    assert "There is no memory 'm0'" in why("m0")
    assert "There is no turn 't99999999999999999999999'" in why("t" + "9" * 23)
    for nonsense in ("nonsense", f"{shown} {other}", "why?"):
        assert why(nonsense).startswith("`/memory-why` tells of the last recalls of this session, and `/memory-why m7k2p9qxab`")


def test_in_an_excluded_folder_every_command_says_so(fire, store, project, tmp_path):
    """And reads and writes nothing."""
    memories.write(store, repository=None, tier="short", kind="fact", text="The zebra is striped.", now=NOW)
    env = {"TENON_ARCHIVE_EXCLUDE": str(project)}
    for name in ("memory-recall", "memory-digest", "memory-status", "memory-why", "memory-forget"):
        found = fire("UserPromptExpansion", command_name=name, command_args="zebra", env=env)
        assert "This folder is excluded (archive.exclude); memory is off here." in (found.context, found.answer.get("reason"))
    assert (0, 0) == store.one("SELECT (SELECT count(*) FROM journal), (SELECT count(*) FROM place)")


def test_nothing_stored_steers_the_terminal(fire, store, repository):
    """What is told to the user alone is free of control characters, what is asked back too."""
    ref = remember(store, repository, "zebra \x1b]0;pwned\x07 \x1b[2J \x9b31m \u202eevil\u202c")
    fire("UserPromptSubmit", prompt="what about that evil zebra?")
    for found in (
        command(fire, "memory-why"),
        command(fire, "memory-why", ref),
        command(fire, "memory-forget", ref),
        command(fire, "memory-forget", "\x1b[2J"),
    ):
        assert not set("\x1b\x07\x9b\u202e") & set(json.dumps(found.answer["reason"], ensure_ascii=False).replace("\\u001b", "\x1b"))


def test_a_wrong_id_is_said_in_words(fire, store, repository):
    """The refusal is the answer."""
    assert "There is no memory 'm0'" in command(fire, "memory-forget", "m0").answer["reason"]
    assert "Say what to forget" in command(fire, "memory-forget").answer["reason"]


def test_before_anything_is_remembered_every_command_has_an_answer(fire):
    """No store is made by asking."""
    assert "Nothing is remembered yet" in command(fire, "memory-status").answer["reason"]
    assert "Nothing is remembered yet" in command(fire, "memory-recall", "x").context


def test_other_plugins_commands_are_left_alone(fire, store):
    """Names that are not ours get no answer."""
    assert "" == command(fire, "other:memory-recall-export", "x").output
