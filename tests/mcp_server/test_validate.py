"""Arguments against a schema: what fits passes, and what does not is told in a sentence that can be acted on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_server.validate import listed, nearest, problem, shown

PLAN = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": 20},
        "note": {"type": ["string", "null"]},
        "k": {"type": "integer", "minimum": 1, "maximum": 50},
        "share": {"type": "number", "minimum": 0},
        "done": {"type": "boolean"},
        "kind": {"const": "plan"},
        "plan": {
            "type": "array",
            "minItems": 1,
            "maxItems": 3,
            "items": {
                "type": "object",
                "properties": {"step": {"type": "string", "minLength": 3}, "status": {"type": "string", "enum": ["pending", "active", "done"]}},
                "required": ["step", "status"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["title"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "value",
    [
        {"title": "x"},
        {"title": "ä" * 20, "note": None, "k": 50, "share": 0, "done": False, "kind": "plan"},
        {"title": "x", "k": 3.0, "share": 2.5, "plan": [{"step": "test", "status": "active"}]},
    ],
)
def test_what_fits_passes(value: dict[str, Any]) -> None:
    """Each kind of value within its limits; a whole number may be written with a point."""
    assert problem(value, PLAN) == ""


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ([], "the arguments: must be an object; got []"),
        ("{}", 'the arguments: must be an object; got "{}"'),
        ({}, "title: missing; required are title"),
        ({"title": 7}, "title: must be a string; got 7"),
        ({"title": ""}, "title: must not be empty"),
        ({"title": "x" * 21}, "title: must be at most 20 characters; got 21"),
        ({"title": "x", "note": 1}, "note: must be a string or null; got 1"),
        ({"title": "x", "k": "8"}, 'k: must be an integer; got "8"'),
        ({"title": "x", "k": True}, "k: must be an integer; got true"),
        ({"title": "x", "k": 1.5}, "k: must be an integer; got 1.5"),
        ({"title": "x", "k": 0}, "k: must be at least 1; got 0"),
        ({"title": "x", "k": 51}, "k: must be at most 50; got 51"),
        ({"title": "x", "share": -0.5}, "share: must be at least 0; got -0.5"),
        ({"title": "x", "done": 1}, "done: must be true or false; got 1"),
        ({"title": "x", "kind": "task"}, 'kind: must be "plan"; got "task"'),
        ({"title": "x", "plan": []}, "plan: must have at least 1 item; got 0"),
        ({"title": "x", "plan": [{"step": "one", "status": "done"}] * 4}, "plan: must have at most 3 items; got 4"),
        ({"title": "x", "plan": [{"step": "no", "status": "done"}]}, "plan[0].step: must be at least 3 characters; got 2"),
        ({"title": "x", "plan": [{}]}, "plan[0].step and plan[0].status: missing; required are step and status"),
        (
            {"title": "x", "plan": [{"step": "one", "status": "done"}, {"step": "two", "status": "done"}, {"step": "six", "status": "dne"}]},
            'plan[2].status: must be one of pending, active, done; got "dne"',
        ),
        ({"titel": "x"}, "titel: is not known; did you mean title?"),
        ({"title": "x", "plan": [{"step": "one", "Status": "done"}]}, "plan[0].Status: is not known; did you mean status?"),
        ({"title": "x", "colour": "red"}, "colour: is not known; known are title, note, k, share, done, kind and plan"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(value: object, sentence: str) -> None:
    """The path, what would fit, and what came instead."""
    assert problem(value, PLAN) == sentence


def test_a_tool_without_arguments_says_so() -> None:
    """There is no list of known names to offer."""
    assert problem({"x": 1}, {"type": "object", "properties": {}, "additionalProperties": False}) == "x: is not known; nothing is taken here"


def test_other_names_are_free_unless_the_schema_forbids_or_describes_them() -> None:
    """They pass by default; additionalProperties may also be a schema."""
    assert problem({"x": 1}, {"type": "object"}) == ""
    assert problem({"x": 1}, {"type": "object", "additionalProperties": {"type": "string"}}) == "x: must be a string; got 1"


@pytest.mark.parametrize("key", ["anyOf", "oneOf"])
def test_a_choice_of_forms_is_told_by_the_form_that_was_meant(key: str) -> None:
    """A wrong value of a form's own type gets that form's sentence, any other value all of them."""
    schema = {key: [{"type": "string", "minLength": 2}, {"type": "integer", "minimum": 5}]}
    assert [problem("ab", schema), problem(7, schema)] == ["", ""]
    assert problem(3, schema, "at") == "at: must be at least 5; got 3"
    assert problem(None, schema, "at") == "at: must be a string; got null – or at: must be an integer; got null"


def test_one_of_refuses_what_fits_two_forms() -> None:
    """What anyOf takes."""
    forms = [{"type": "integer"}, {"type": "number"}]
    assert problem(1, {"oneOf": forms}, "n") == "n: must fit only one of 2 forms; fits 2"
    assert problem(1, {"anyOf": forms}, "n") == ""


def test_all_of_asks_for_every_part() -> None:
    """The first part that does not fit is told."""
    schema = {"allOf": [{"required": ["a"]}, {"anyOf": [{"required": ["b"]}, {"required": ["c"]}]}]}
    assert problem({"a": 1, "c": 1}, schema) == ""
    assert problem({"a": 1}, schema) == "b: missing; required are b – or c: missing; required are c"


def test_true_is_not_one() -> None:
    """In an enum and a const, as in JSON."""
    assert problem(True, {"enum": [1, 2]}, "n") == "n: must be one of 1, 2; got true"
    assert problem(1, {"const": True}, "n") == "n: must be true; got 1"


def test_a_long_value_is_shown_by_its_beginning() -> None:
    """A sentence stays a sentence."""
    assert shown("x" * 500) == '"' + "x" * 58 + "…"
    assert len(problem({"y" * 5000: 1}, {"properties": {"a": {}}, "additionalProperties": False})) < 120


def test_a_value_nested_without_end_is_named() -> None:
    """Showing it must not be the next fault."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert problem(deep, {"type": "string"}, "x") == "x: must be a string; got something nested too deeply"


def test_words_are_listed_as_people_do() -> None:
    """None, one, two, three."""
    assert [listed([]), listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"], "and")] == ["", "a", "a or b", "a, b and c"]


def test_the_nearest_word_is_found_whatever_its_case() -> None:
    """Nothing near is nothing."""
    assert [nearest("ACTION_TAKE", ["actionTaken", "action_type"]), nearest("zebra", ["content"])] == ["actionTaken", ""]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # the machine may be busy
@given(JSON)
def test_any_value_gets_a_sentence_or_passes(value: object) -> None:
    """No value makes the check itself fail."""
    assert isinstance(problem(value, PLAN), str)
    assert isinstance(problem({"title": "x", "plan": [value]}, PLAN), str)
