"""A model's answer is data: read whole and strictly, or not at all."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenon.digest import operations
from tests.digest.minds import answer, remember

LAST = "t9"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n ",
        "Prompt is too long",
        "I'm sorry, I can't help with that.",
        "Not logged in · Please run /login",
        "API Error: 529 overloaded",
        'Here you are: {"operations": [], "read_to": "t9"}',
        '{"operations": [], "read_to": "t9"} I hope that helps!',
        '{"operations": [{"op": "remember", "kind": "fact", "text": "half',
        '{"operations": [], "read_to": "t9"',
        '[{"op": "remember"}]',
        '"t9"',
        "null",
        '{"operations": {}, "read_to": "t9"}',
        '{"read_to": "t9"}',
        '{"operations": []}',
        '{"operations": [], "read_to": "t8"}',
        '{"operations": [], "read_to": 9}',
        json.dumps({"operations": [{}] * (operations.MOST + 1), "read_to": LAST}),
        json.dumps({"operations": [], "read_to": LAST, "why": "x" * operations.LONGEST}),
    ],
)
def test_what_is_not_one_whole_answer_is_none(text: str) -> None:
    """Errors, prose, halves and answers that did not read everything raise, and the sentence quotes nothing of them."""
    with pytest.raises(operations.Unfit) as raised:
        operations.read(text, operations.CONSOLIDATION, LAST)
    assert text.strip()[:20] not in str(raised.value) or not text.strip()


@pytest.mark.parametrize("frame", ["{}", "```json\n{}\n```", "\n  {}\n", "```\n{}```"])
def test_a_whole_answer_is_read_with_or_without_a_code_fence(frame: str) -> None:
    """Nothing else may stand around it."""
    found = operations.read(frame.replace("{}", answer(LAST, remember("Port 8443.", ["t1"]))), operations.CONSOLIDATION, LAST)

    assert [("remember", "Port 8443.", ["t1"], "")] == [(one.op, one.text("text"), one.refs("turns"), one.flaw) for one in found]


@pytest.mark.parametrize(
    ("wanted", "flaw"),
    [
        ({"op": "delete", "refs": ["m1"]}, "no operation that a digest has"),
        ({"op": "forget", "ref": "m1"}, "no operation that a digest has"),
        ({"op": "__class__"}, "no operation that a digest has"),
        ({"op": ["remember"]}, "no operation that a digest has"),
        ({"op": "hold", "kind": "identity", "text": "I obey.", "evidence": ["m1"]}, "no operation that a digest has"),
        ("remember everything", "not an object"),
        (remember("x", ["t1"], tier="long"), "a field that the operation does not have"),
        (remember("x", ["t1"], source="user"), "a field that the operation does not have"),
        (remember("", ["t1"]), "text is missing"),
        (remember("x", []), "turns is missing"),
        (remember("x", ["t1"], kind="belief"), "kind is none of the known ones"),
        (remember("x", ["t1"], scope="everyone"), "scope is none of the known ones"),
        (remember("x", ["t1"], salience=42), "salience is not from 0 to 1"),
        (remember("x", ["t1"], salience="high"), "salience is of the wrong type"),
        (remember("x", ["t1"], salience=True), "salience is of the wrong type"),
        ({"op": "remember", "kind": "fact", "text": "x", "turns": [1]}, "turns has something that is no id"),
        ({"op": "remember", "kind": "fact", "text": {"a": 1}, "turns": ["t1"]}, "text is of the wrong type"),
    ],
)
def test_an_operation_with_a_flaw_is_there_with_it_and_without_its_fields(wanted: object, flaw: str) -> None:
    """Whoever applies it refuses it by that sentence."""
    (found,) = operations.read(json.dumps({"operations": [wanted], "read_to": LAST}), operations.CONSOLIDATION, LAST)

    assert (flaw, {}) == (found.flaw, found.fields)


def test_a_reflection_has_other_operations_than_a_consolidation() -> None:
    """Neither can do the other's."""
    assert set() == set(operations.CONSOLIDATION) & set(operations.REFLECTION)
    (found,) = operations.read(answer(LAST, remember("x", ["t1"])), operations.REFLECTION, LAST)
    assert "no operation that a digest has" == found.flaw


def test_the_schema_allows_what_is_read_and_names_every_field() -> None:
    """A schema that a structured output is bound to: closed objects, every operation in it."""
    for allowed in (operations.CONSOLIDATION, operations.REFLECTION):
        schema = operations.schema(allowed)
        one = schema["properties"]["operations"]["items"]  # type: ignore[index]
        assert list(allowed) == one["properties"]["op"]["enum"]
        assert {name for needed, more in allowed.values() for name in (*needed, *more)} == set(one["properties"]) - {"op"}
        assert (False, False) == (schema["additionalProperties"], one["additionalProperties"])


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_any_json_is_either_operations_or_unfit(value: object) -> None:
    """No value breaks the reading."""
    for text in (json.dumps(value), json.dumps({"operations": [value], "read_to": LAST})):
        try:
            found = operations.read(text, operations.CONSOLIDATION, LAST)
        except operations.Unfit:
            continue
        assert all(one.flaw or one.op in operations.CONSOLIDATION for one in found)
