"""For clients without Tenon's hooks the proxy does their work: it puts memory in front of a prompt and archives the turns.

What was put into a message once is put there again, byte for byte, on every later request: a block that came and went
would change everything after it.
"""

from __future__ import annotations

from tenon.base import faults
from tenon.base.lean import sqlite
from tenon.recall import briefing, injection, offer
from tenon.recall import cue as cues
from tenon.store import archive as archives
from tenon.store import conversations
from tenon.wire import edit, identity, route
from tenon.wire.spans import printed
from tenon.world import embedding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tenon.base.settings import Settings
    from tenon.proxy.request import Request, Wire
    from tenon.store.conversations import Conversation
    from tenon.store.db import Store


def speak(store: Store, request: Request, conversation: Conversation, wire: Wire, chosen: Settings) -> None:
    """Puts what was put before into the messages again, and into the newest prompt what memory has for it."""
    if conversation.client == conversations.HOOKED:
        return
    known = conversations.additions(store, conversation)
    body = request.body
    # Claude Code puts entries of its own behind a prompt.
    last = next((number for number in range(len(body.messages) - 1, -1, -1) if body.messages[number].role != "system"), -1)
    counts: dict[str, int] = {}
    new: tuple[str, int] | None = None
    for number, message in enumerate(body.messages):
        if message.role != "user" or (number != last and not known):
            continue
        digest = request.known.digest(body.slice(number))
        ordinal = counts[digest] = counts.get(digest, -1) + 1
        place, text = known.get((digest, ordinal), (None, ""))
        if number == last and not text and store.writable and wire.instruction is None and route.is_prompt(message.value):
            text = _memory(store, request, conversation, body.whole(number), chosen, first=not any(m.role == "assistant" for m in body.messages))
            new = (digest, ordinal) if text else None
        if text and number >= wire.skip:
            changed, place = edit.with_text(body.slice(number), text, place)
            if new is not None and number == last:
                # Another process may have been faster: what stands first is what is said for ever.
                place, text = conversations.add_addition(store, conversation, new[0], new[1], place, text)
                changed, place = edit.with_text(body.slice(number), text, place)
                wire.why += ", memory added"
            wire.changes[number] = changed


def _memory(store: Store, request: Request, conversation: Conversation, message: dict[str, Any], chosen: Settings, *, first: bool) -> str:
    words = _words(message)
    if "<tenon-memory>" in words:
        return ""  # the hooks ran after all
    told: list[str] = []
    try:
        if first and chosen.flag("inject.session"):
            sections, _ = briefing.sections(store, conversation.repository, session=conversation.name, now=request.now, per_day=chosen.per_day())
            told.append(injection.fenced(sections, int(chosen.number("inject.max_chars")))[0])
        if chosen.flag("inject.prompt") and len(words) >= chosen.number("inject.min_prompt"):
            meaning = embedding.for_query(store, cues.ends(words), chosen)
            found = offer.look(store, words, session=conversation.name, repository=conversation.repository, chosen=chosen, now=request.now, meaning=meaning)
            if found.text or found.skipped:
                offer.record(store, found, session=conversation.name, repository=conversation.repository, now=request.now)
                told.append(found.text)
    except sqlite.Error as error:
        faults.note("proxy", error, "no memory was put in front of a prompt")
    return "\n".join(text for text in told if text)


def _words(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content.strip()
    blocks = content if isinstance(content, list) else []
    return "\n".join(block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)).strip()


def archive(store: Store, request: Request, conversation: Conversation, first: int, reply: dict[str, Any]) -> None:
    """Archives the messages from index `first` on and the answer, as the hooks do from a transcript."""
    repository = conversation.repository
    if repository is None:
        return
    rows: list[archives.Row] = []
    last = len(request.body.messages)
    names = [f"{conversation.name}:{number}:{digest[:12]}" for number, digest in enumerate(request.first(last))]
    above = names[first - 1] if first else ""
    for number in range(first, last):
        above = _rows(rows, request.body.whole(number), names[number], above, request.now, "")
    answer = {"role": "assistant", "content": reply.get("content", [])}
    _rows(rows, answer, f"{conversation.name}:{last}:{identity.digest(printed(answer))[:12]}", above, request.now, str(reply.get("id") or ""))
    with store.transaction():
        session = archives.session(store, conversation.name, repository=repository, folder=conversation.folder, at=request.now, client=conversation.client)
        archives.append(store, session, repository, rows)


def _rows(rows: list[archives.Row], message: dict[str, Any], uuid: str, above: str, now: float, answer: str) -> str:
    """Adds a message's blocks as rows, the last of them under the uuid itself; gives the uuid that the next message follows."""
    role = str(message.get("role"))
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content if isinstance(content, list) else []
    kinds: list[tuple[str, str, list[object]]] = []
    for block in blocks:
        kind, source = _kind(role, str(block.get("type")) if isinstance(block, dict) else "")
        if kinds and kinds[-1][0] == kind:
            kinds[-1][2].append(block)
        else:
            kinds.append((kind, source, [block]))
    for number, (kind, source, given) in enumerate(kinds):
        own = uuid if number == len(kinds) - 1 else f"{uuid}:{number}"
        rows.append(archives.Row(uuid=own, parent=above, role=role, kind=kind, source=source, at=now, content=given, message=answer))
        above = own
    return above


def _kind(role: str, block: str) -> tuple[str, str]:
    if role == "user":
        return ("result", "tool") if block == "tool_result" else ("prompt", "user")
    if role == "assistant":
        named = {"text": "reply", "thinking": "thinking", "redacted_thinking": "thinking", "tool_use": "call"}
        return named.get(block, "other"), "assistant"
    return "other", "outside"
