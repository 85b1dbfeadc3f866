"""Where a conversation's prefix comes from and when it changes: at its start, after the client's compaction, at the budget.

Between two boundaries nothing here decides anything: the epoch that fits the request is looked up, and that is all.
"""

from __future__ import annotations

import json

from tenon.base import paths
from tenon.base.redact import redact
from tenon.proxy.request import Wire
from tenon.store import conversations, past, places
from tenon.wire import budget, compaction, edit, identity, route, trace
from tenon.wire.blocks import with_images
from tenon.wire.spans import printed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tenon.base.settings import Settings
    from tenon.proxy.request import Request
    from tenon.store.conversations import Conversation, Epoch
    from tenon.store.db import Store

WINDOW_SHARE = 0.75  # of a model's window: below where Claude Code compacts by itself
LEAST_PER_TOKEN = 2.0  # bytes: below what any text has
IMAGES = 8  # of past sessions at most,
FINAL = ("forgotten", "left", "bypassed")  # epochs after which nothing older is put in front
MOST_IMAGES = 14  # and of all that the client itself does not send: above 20 in one request the API bounds their size


def find(store: Store, request: Request) -> Conversation | None:
    """The conversation that a request belongs to, or None when it is new."""
    if request.session:
        return conversations.find(store, request.session)
    digests = request.first(len(request.body.messages))
    if len(digests) == 1:
        return None
    found = conversations.like(store, digests)
    if found is None:
        # The second request of a conversation whose first answer the client gives back in its own form; of two it may be either's.
        young = [begun for begun in conversations.begun_with(store, digests[0]) if begun.requests <= 1]
        found = young[0] if len(young) == 1 else None
    return found


def begin(store: Store, request: Request, announced: Conversation | None, chosen: Settings, most: int) -> Conversation | None:
    """The new conversation with its first epoch, or None when its folder is excluded and nothing is kept of it."""
    folder, named = (announced.folder, [announced.folder]) if announced else route.folders(request.body) if request.session else ("", [])
    excluded = chosen.names("archive.exclude")
    if excluded and request.session and (not folder or any(paths.lies_in(place, excluded) for place in named)):
        return None  # also when no folder can be told: in doubt nothing is kept
    repository = announced.repository if announced else places.find(store, folder) if folder else None
    if not request.session:  # it works in no folder; what it says belongs to where its agent lives
        repository = places.settle(store, paths.agent_folder(request.agent), request.now)
    name = request.session or f"{request.client}:{request.opening()[:12]}:{request.now:.3f}"
    parent = None
    began_elsewhere = any(message.role == "assistant" for message in request.body.messages) or compaction.is_summary(request.body.slice(0))
    if began_elsewhere and request.session:
        parent = conversations.like(store, request.first(len(request.body.messages)))
    client = announced.client if announced else request.client
    with store.transaction():
        made = conversations.begin(
            store,
            name=name,
            client=client,
            folder=folder,
            repository=repository,
            now=request.now,
            state="traced" if not began_elsewhere else parent.state if parent is not None else "plain",
            reason="" if not began_elsewhere else parent.reason if parent is not None else "began without the proxy",
        )
        if parent is not None:
            conversations.copy_epochs(store, parent, made)
        elif not began_elsewhere:
            pieces = _trace(store, request, repository, chosen, most)
            conversations.add_epoch(store, made, why="start", skip=0, anchor="", strip=0, pieces=pieces, now=request.now)
        if not request.session:
            conversations.remember_sent(store, made, 0, [(request.opening(), edit.unmarked(request.body.slice(0)))])
    return made


def _trace(store: Store, request: Request, repository: int | None, chosen: Settings, most: int) -> list[int]:
    size = min(int(chosen.number("proxy.trace_tokens")), most - budget.tokens(*Wire(request, None, [], "").weight(), budget.PER_TOKEN))
    if size <= 0:
        return []
    scope = None if chosen.text("proxy.scope") != "repository" else places.scope(store, repository)
    key = f"{'everywhere' if scope is None else ','.join(map(str, scope))} {int(chosen.number('proxy.trace_tokens'))}"
    start = conversations.trace_start(store, key)

    def composed(since: float, tokens: int) -> trace.Trace:
        found = past.newest(store, repositories=scope, without=[request.session], folders_out=chosen.names("archive.exclude"), since=since)
        return trace.compose(found, budget_tokens=tokens, result_chars=int(chosen.number("proxy.result_chars")), images=IMAGES)

    # The beginning stays where it is until the budget is reached, and then moves in one large step: sessions that follow each
    # other begin with the same bytes, and the prompt cache of one serves the next.
    made = composed(start, size)
    full = made.left_out
    if full:
        made = composed(0, size // 2)
    if full or not start:
        conversations.set_trace_start(store, key, made.oldest)
    return [conversations.add_piece(store, made.messages, made.tokens, made.images, archived=True)] if made.messages else []


def compose(store: Store, request: Request, conversation: Conversation, most: int, *, kept: bool = True) -> Wire:
    """What goes upstream; begins a new epoch when the client has compacted or the budget is reached.

    While nothing may be kept (`archive.enabled` is off) what was noted before is not the whole, and a compaction stays one.
    """
    body = request.body
    epochs = conversations.epochs(store, conversation)
    if conversation.state == "bypassed":
        wire = Wire(request, None, [], f"bypassed: {conversation.reason}")
        _strip(wire, epochs[0].strip if epochs else 0)
        return wire
    epoch = _matching(epochs, request.first)
    why = "traced"
    if kept and compaction.is_summary(body.slice(0)) and (epoch is None or not epoch.skip):
        undone = _undo(store, request, conversation, epochs)
        if undone is not None:
            epoch, why = undone, "compaction undone"
    if epoch is None:
        return Wire(request, None, [], "no epoch fits")
    prefix = conversations.piece_messages(store, epoch.pieces)
    if prefix is None:  # something in it was forgotten
        epoch = conversations.add_epoch(store, conversation, why="forgotten", skip=0, anchor="", strip=len(body.messages), pieces=[], now=request.now)
        prefix, why = [], "something was forgotten"
    wire = Wire(request, epoch, prefix, why)
    if _may_exceed(store, wire, most) and _tokens(store, conversation, wire) > most:
        cut = _cut(store, request, conversation, wire, most)
        if cut is not None:
            epoch = cut
            wire = Wire(request, epoch, conversations.piece_messages(store, epoch.pieces) or [], "cut to the budget")
    _strip(wire, epoch.strip)
    return wire


def _matching(epochs: Sequence[Epoch], first: Any) -> Epoch | None:
    """The newest epoch whose replaced messages are those that the request begins with; one that replaces none comes last.

    Unless what older ones put in front is gone: then none of them comes into question.
    """
    beginning: Epoch | None = None
    for epoch in epochs:
        digests = first(epoch.skip)
        if epoch.skip and len(digests) == epoch.skip and identity.anchor(digests) == epoch.anchor:
            return epoch
        if not epoch.skip:
            beginning = beginning or epoch
            if epoch.why in FINAL:
                break
    return beginning


def _undo(store: Store, request: Request, conversation: Conversation, epochs: Sequence[Epoch]) -> Epoch | None:
    sent = conversations.sent(store, conversation)
    base = _matching(epochs, lambda count: [digest for digest, _ in sent[:count]])
    if base is None or not sent or conversation.compacting != identity.anchor([digest for digest, _ in sent]):
        return None  # the summary is of something else: of what another client of this session said, or of what was not kept
    prefix = conversations.piece_messages(store, base.pieces)
    if prefix is None:
        return None
    undone = compaction.undo(request.body, [*((identity.digest(message), message) for message in prefix), *sent[base.skip :]])
    if undone is None:
        return None
    most_images = max(0, MOST_IMAGES - _weight(prefix)[1])
    kept = [*_still_bound(sent[base.skip :], base.strip - base.skip, most_images), *undone.extra]
    weight, images = _weight(kept)
    size = budget.tokens(weight, images, conversation.per_token or budget.PER_TOKEN)
    anchor = identity.anchor(request.first(undone.skip))
    with store.transaction():
        pieces = [*base.pieces, conversations.add_piece(store, kept, size, images)]
        return conversations.add_epoch(
            store, conversation, why="compaction", skip=undone.skip, anchor=anchor, strip=undone.strip, pieces=pieces, now=request.now
        )


def _still_bound(sent: Sequence[tuple[str, bytes]], strip: int, most_images: int) -> list[bytes]:
    """The messages as kept, with the newest images, and thinking only where everything before it is still what it was.

    A secret that was taken out changes that, and so does an image that was left out.
    """
    fewer: dict[int, bytes] = {}
    for number in range(len(sent) - 1, -1, -1):
        if b'"image"' in sent[number][1]:
            value = json.loads(sent[number][1])
            lean, images = with_images(value, most_images)
            most_images -= images
            if lean is not value:
                fewer[number] = printed(lean)
    kept: list[bytes] = []
    changed = False
    for number, (_, message) in enumerate(sent):
        changed = changed or number in fewer or conversations.altered(message)
        message = fewer.get(number, message)
        if changed or number < strip:
            message = edit.without_thinking(message)
        if message:
            kept.append(message)
    return kept


def _cut(store: Store, request: Request, conversation: Conversation, wire: Wire, most: int) -> Epoch | None:
    """A new epoch that keeps the newest exchanges in half of the budget, or None when nothing can leave."""
    body = request.body
    here = route.newest_prompt(body, wire.skip)
    older = [*wire.prefix, *(body.slice(number) for number in range(wire.skip, here))]
    per_token = conversation.per_token or budget.PER_TOKEN
    cut = budget.cut(older, max(0, most // 2 - budget.tokens(*wire.weight(here), per_token)), per_token)
    if not cut.left_out:
        return None
    size, pictures = _weight(cut.kept)
    strip = len(body.messages) if route.thinks_adaptively(body) else 0
    anchor = identity.anchor(request.first(here))
    with store.transaction():
        pieces = [conversations.add_piece(store, cut.kept, budget.tokens(size, pictures, per_token), pictures)]
        return conversations.add_epoch(store, conversation, why="budget", skip=here, anchor=anchor, strip=strip, pieces=pieces, now=request.now)


def _may_exceed(store: Store, wire: Wire, most: int) -> bool:
    """Whether the request could be too large: no text has fewer bytes a token, so a small one need not be weighed."""
    return _held(store, wire) + len(wire.body.raw) / LEAST_PER_TOKEN > most


def _tokens(store: Store, conversation: Conversation, wire: Wire) -> int:
    """The estimated tokens of the whole request."""
    return _held(store, wire) + budget.tokens(*wire.weight(), conversation.per_token or budget.PER_TOKEN)


def _held(store: Store, wire: Wire) -> int:
    """The estimated tokens of the prefix."""
    return conversations.piece_tokens(store, wire.epoch.pieces) if wire.epoch else 0


def _weight(messages: Sequence[bytes]) -> tuple[int, int]:
    weight = images = 0
    for message in messages:
        more, pictures = budget.weight(json.loads(message))
        weight, images = weight + more, images + pictures
    return weight, images


def _strip(wire: Wire, strip: int) -> None:
    for number in range(wire.skip, min(strip, len(wire.body.messages))):
        if wire.body.messages[number].role == "assistant":
            raw = wire.changes.get(number) or wire.body.slice(number)
            bare = edit.without_thinking(raw)
            if bare != raw:
                wire.changes[number] = bare


def without_thinking(request: Request) -> tuple[bytes, int]:
    """The request without any thinking in its messages, and how many messages those are."""
    count = len(request.body.messages)
    wire = Wire(request, None, [], "")
    _strip(wire, count)
    return wire.bytes(), count


def thoughtless(request: Request, wire: Wire) -> Wire:
    """The request as it went upstream, without any thinking in it."""
    lean = Wire(request, wire.epoch, [bare for bare in map(edit.without_thinking, wire.prefix) if bare], wire.why)
    lean.changes.update(wire.changes)
    _strip(lean, len(request.body.messages))
    return lean


def rebind(store: Store, request: Request, conversation: Conversation, wire: Wire, lean: Wire) -> None:
    """What stands in front stays, and the thinking in all that was said so far stays out: the client itself has changed what it was bound to."""
    if wire.epoch is None:
        return
    with store.transaction():
        pieces = wire.epoch.pieces
        if lean.prefix != wire.prefix:
            pieces = [conversations.add_piece(store, lean.prefix, conversations.piece_tokens(store, pieces), _weight(lean.prefix)[1])]
        count = len(request.body.messages)
        conversations.add_epoch(store, conversation, why="rebound", skip=wire.skip, anchor=wire.epoch.anchor, strip=count, pieces=pieces, now=request.now)


def bypass(store: Store, conversation: Conversation, reason: str, strip: int, now: float) -> None:
    """From now on the conversation is relayed; thinking in its first `strip` messages stays out, as it is bound to what is gone."""
    with store.transaction():
        if strip:
            conversations.add_epoch(store, conversation, why="bypassed", skip=0, anchor="", strip=strip, pieces=[], now=now)
        conversations.bypass(store, conversation, reason, now)
    conversation.state = "bypassed"
    conversation.reason = reason


def remember(store: Store, request: Request, conversation: Conversation, wire: Wire, reply: dict[str, Any] | None) -> int:
    """Notes what the client has sent and, with `reply`, the answer; gives the index of the first message that is new.

    A request for a compaction's summary is noted without its instruction; it may leave out the last answer, which then stays noted.
    """
    body = request.body
    count = len(body.messages) if wire.instruction is None else wire.instruction
    known = conversations.sent_digests(store, conversation)
    rows = [(digest, body.slice(number)) for number, digest in enumerate(request.first(count))]
    if wire.instruction is not None:
        before = conversations.sent(store, conversation)[count : count + 1]
        kept = compaction.kept_of_instruction(body.slice(count), before[0][1] if before else None)
        if kept:
            rows.append((request.known.digest(kept), kept))
        left_out = len(known) == len(rows) + 1 and (bool(kept) or body.messages[count - 1].role != "assistant")
        if [digest for digest, _ in rows] == known[: len(rows)] and (left_out or len(known) == len(rows)):
            conversations.compacting(store, conversation, identity.anchor(known))
            return len(rows)
    first = 0
    while first < min(len(rows), len(known)) and known[first] == rows[first][0]:
        first += 1
    new = [(digest, edit.unmarked(message)) for digest, message in rows[first:]]
    if reply is not None:
        answer = printed({"role": "assistant", "content": reply.get("content", [])})
        new.append((identity.digest(answer), answer))
    conversations.remember_sent(store, conversation, first, new)
    if wire.instruction is not None:
        conversations.compacting(store, conversation, identity.anchor([digest for digest, _ in rows]))
    return first


def measured(store: Store, request: Request, conversation: Conversation, wire: Wire, reply: dict[str, Any]) -> None:
    """Takes what the API counted as the measure of the next estimate."""
    usage = reply.get("usage") or {}
    total = sum(int(usage.get(name) or 0) for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"))
    per_token = conversation.per_token or 0.0
    weight, images = wire.weight()
    own = total - _held(store, wire) - images * budget.IMAGE_TOKENS
    if own > 0:
        now = min(6.0, max(1.0, weight / own))
        per_token = now if not per_token else 0.7 * per_token + 0.3 * now
    conversations.touch(store, conversation, now=request.now, tokens=total, text_bytes=weight, per_token=per_token)


def limit(most: int, model: str) -> int:
    """The most tokens of a request: what the user allows, and less where the model's window is small."""
    return min(most, int(budget.window(model) * WINDOW_SHARE))


def said(answer: bytes, status: int) -> str:
    """What the API said in a refusal, short and without secrets."""
    try:
        message = json.loads(answer)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        message = ""
    return redact(str(message))[:200] or f"status {status}"
