"""The slash commands as their hook answers them."""
from __future__ import annotations

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
