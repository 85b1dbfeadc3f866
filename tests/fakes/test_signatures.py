"""Thinking is bound to the conversation it was made in, and only to that."""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.fakes.messages_api import MessagesApi
from tests.fakes.replies import reply, text, thinking, tool_call
from tests.fakes.signatures import prefix, prefixes
from tests.fakes.test_validation import a, post, result, s, t, u

Body = dict[str, Any]
BOUND = "claude-opus-5-5"
CONTROLS = "thinking-binding-controls-2026-08-01"
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
TOOLS = [{"name": name, "description": f"the {name} tool", "input_schema": {"type": "object"}} for name in ("x", "y")]


def conversation(api: MessagesApi, turns: int = 3, model: str = BOUND) -> Body:
    """A request whose history holds that many signed turns."""
    body: Body = {
        "model": model,
        "max_tokens": 100,
        "system": [t("be kind")],
        "tools": copy.deepcopy(TOOLS),
        "thinking": {"type": "adaptive"},
        "messages": [u("start here")],
    }
    for number in range(turns):
        status, answer = post(api, body)
        assert 200 == status, answer
        body["messages"] += [{"role": "assistant", "content": answer["content"]}, u(f"go on {number}")]
    return body


def thoughtful() -> MessagesApi:
    """A fake that thinks before each text."""
    return MessagesApi(lambda request: reply(thinking("let me see"), text("well")))


def insert_at_front(body: Body) -> None:
    body["messages"][:0] = [u("memory"), a("noted")]


def edit_first(body: Body) -> None:
    body["messages"][0]["content"][0]["text"] = "start  here"


def add_block(body: Body) -> None:
    body["messages"][2]["content"].append(t("a reminder"))


def change_system(body: Body) -> None:
    body["system"][0]["text"] = "be very kind"


def add_tool(body: Body) -> None:
    body["tools"].append({"name": "z", "input_schema": {"type": "object"}})


def describe_tool(body: Body) -> None:
    body["tools"][0]["description"] = "another"


EDITS: dict[str, tuple[Callable[[Body], None], str, str]] = {
    "messages put in front": (insert_at_front, "messages.3.content.0", "The messages before this block differ"),
    "white space inside a text": (edit_first, "messages.1.content.0", "The messages before this block differ"),
    "a block added to an old turn": (add_block, "messages.3.content.0", "The messages before this block differ"),
    "another system prompt": (change_system, "messages.1.content.0", "The `system` prompt differs from the one"),
    "a tool more": (add_tool, "messages.1.content.0", "The `tools` differ"),
    "another description": (describe_tool, "messages.1.content.0", "The `tools` differ"),
}


@pytest.mark.parametrize(("edit", "path", "names"), list(EDITS.values()), ids=list(EDITS))
def test_an_edited_prefix_is_refused(edit: Callable[[Body], None], path: str, names: str) -> None:
    """The first block behind the edit is named, with what changed; counting tokens says the same."""
    with thoughtful() as api:
        body = conversation(api)
        edit(body)
        status, answer = post(api, body)
        message = answer["error"]["message"]

        assert 400 == status
        assert message.startswith(
            f"{path}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove "
            'the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting '
            f"requires the `{CONTROLS}` value in the `anthropic-beta` header."
        )
        assert names in message
        count = {key: value for key, value in body.items() if key != "max_tokens"}
        assert message == post(api, count, "/v1/messages/count_tokens")[1]["error"]["message"]


def mark(body: Body) -> None:
    body["messages"][0]["content"][0]["cache_control"] = {"type": "ephemeral"}


def as_string(body: Body) -> None:
    body["messages"][0]["content"] = "start here"
    body["system"] = "be kind"


def pad(body: Body) -> None:
    body["messages"][0]["content"][0]["text"] = "\n start here  "


def swap_tools(body: Body) -> None:
    body["tools"].reverse()


def defer_tool(body: Body) -> None:
    body["tools"].append({"name": "z", "input_schema": {"type": "object"}, "defer_loading": True})


def attribute(body: Body) -> None:
    body["system"].insert(0, t("x-anthropic-billing-header: cc_version=2.1.332.e8f; cc_entrypoint=cli;"))


def ignore_tools(body: Body) -> None:
    body["tool_choice"] = {"type": "none"}


def append_system(body: Body) -> None:
    body["messages"].append(s("a note at the end"))


@pytest.mark.parametrize("edit", [mark, as_string, pad, swap_tools, defer_tool, attribute, ignore_tools, append_system])
def test_what_is_not_content_may_change(edit: Callable[[Body], None]) -> None:
    """Markers, notation, order and what stands behind the last block are not part of the prefix."""
    with thoughtful() as api:
        body = conversation(api)
        edit(body)

        assert 200 == post(api, body)[0]


def without_thinking(body: Body, turns: list[int]) -> Body:
    """The request without the thinking of these turns, counted from 0."""
    bare = copy.deepcopy(body)
    for turn in turns:
        content = bare["messages"][1 + 2 * turn]["content"]
        content[:] = [block for block in content if block["type"] != "thinking"]
    return bare


@pytest.mark.parametrize(("turns", "status"), [([0], 200), ([0, 1], 200), ([2], 200), ([0, 1, 2], 200), ([1], 400)])
def test_thinking_may_go_from_either_end_but_not_from_the_middle(turns: list[int], status: int) -> None:
    """A hole fails the block after it and says so."""
    with thoughtful() as api:
        found, answer = post(api, without_thinking(conversation(api), turns))

    assert status == found
    if found == 400:
        assert answer["error"]["message"].endswith("The `thinking` block that preceded this one when it was created is missing from this request.")


def test_drop_block_removes_what_no_longer_fits_and_later_turns_work() -> None:
    """The blocks made before the edit are reported as dropped; one made after it stays."""
    with thoughtful() as api:
        body = conversation(api)
        body["thinking"] = DROP
        insert_at_front(body)
        _, first = post(api, body, anthropic_beta=CONTROLS)
        body["messages"] += [{"role": "assistant", "content": first["content"]}, u("and on")]
        _, second = post(api, body, anthropic_beta=CONTROLS)

    dropped = [{"type": "thinking_dropped", "path": f"messages.{index}.content.0", "reason": "prefix_binding_mismatch"} for index in (3, 5, 7)]
    assert dropped == first["input_transformations"]
    assert dropped == second["input_transformations"]


def test_an_old_account_only_hears_of_a_mismatch() -> None:
    """Nothing is refused; with the beta header each mismatch is reported."""
    with MessagesApi(lambda request: reply(thinking(), text("well")), new_account=False) as api:
        body = conversation(api, turns=1)
        change_system(body)
        _, silent = post(api, body)
        _, told = post(api, body, anthropic_beta=CONTROLS)

    assert "input_transformations" not in silent
    assert [{"type": "thinking_mismatch_allowed", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}] == told["input_transformations"]


def test_models_without_binding_take_an_edited_history() -> None:
    """Opus 4.8 checks the signature, not the conversation before it."""
    with thoughtful() as api:
        body = conversation(api, model="claude-opus-4-8")
        insert_at_front(body)

        assert 200 == post(api, body)[0]


def test_an_altered_signature_is_invalid_everywhere() -> None:
    """One changed character is enough."""
    with thoughtful() as api:
        body = conversation(api, model="claude-opus-4-8")
        block = body["messages"][1]["content"][0]
        block["signature"] = block["signature"][:-6] + "A" + block["signature"][-5:]

        assert "messages.1.content.0: Invalid `signature` in `thinking` block" == post(api, body)[1]["error"]["message"]


def test_thinking_of_the_newest_answer_cannot_be_dropped_in_part() -> None:
    """The text that Claude Code heals on."""
    script = [reply(thinking(), text("a"), thinking(), tool_call("x", {}, "tc_1"))]
    with MessagesApi(script) as api:
        body = conversation(api, turns=0, model="claude-opus-4-8")
        content = post(api, body)[1]["content"]
        del content[0]
        body["messages"] += [{"role": "assistant", "content": content}, u(result("tc_1"))]
        message = post(api, body)[1]["error"]["message"]

    assert message == (
        "messages.1.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
        "modified. These blocks must remain as they were in the original response."
    )


def test_thinking_another_model_may_not_read_is_dropped_without_an_error() -> None:
    """Opus does not read what Fable thought."""
    with thoughtful() as api:
        body = conversation(api, turns=1, model="claude-fable-5-2")
        body["model"] = BOUND
        status, answer = post(api, body, anthropic_beta=CONTROLS)

    assert 200 == status
    assert [{"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "model_binding_mismatch"}] == answer["input_transformations"]


def test_all_prefixes_of_a_request_are_found_in_one_pass() -> None:
    """Each is what it is when the request ends there: also behind a compaction, and where a deferred tool came in."""
    deferred = {"name": "z", "input_schema": {"type": "object"}, "defer_loading": True}
    found = {"type": "tool_result", "tool_use_id": "tc_1", "content": [{"type": "tool_reference", "tool_name": "z"}]}
    messages = [u("start"), a("one"), u("two", found), a({"type": "compaction", "content": "so far"}, "three"), u("four"), a("five")]
    body = {"tools": [*TOOLS, deferred], "system": "be kind", "messages": messages}
    places = [(index, position) for index, message in enumerate(messages) for position in range(len(message["content"]) + 1)]

    at_once = prefixes(body, places)

    for index, position in places:
        ending = {**messages[index], "content": messages[index]["content"][:position]}
        assert at_once[index, position] == prefix({**body, "messages": [*messages[:index], ending]}, (index, position))
    assert at_once[2, 2].tools == at_once[3, 0].tools != at_once[2, 1].tools
    assert at_once[3, 1].tools == at_once[2, 1].tools


def test_signatures_can_be_minted_from_several_threads_at_once() -> None:
    """No two are alike, and each is known."""
    with thoughtful() as api, ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: conversation(api, turns=2)["messages"][3]["content"][0]["signature"], range(16)))
        assert 16 == len(set(made))
        assert set(made) <= set(api.signatures.responses)
