"""What a model may answer to a digest: a list of operations, read strictly and understood as data.

Whatever is not exactly such an answer raises Unfit, and then nothing of it is used. An operation that has the right form can
still be refused when it is applied (digest/applying.py, digest/reflecting.py).
"""

from __future__ import annotations

from tenon.base.errors import TenonError
from tenon.base.lean import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Allowed = dict[str, tuple[tuple[str, ...], tuple[str, ...]]]

MOST = 200  # operations of one answer
LONGEST = 200_000  # characters of one answer
TEXT = 500  # characters of a memory that a digest writes
REASON = 300
GIST = 300
SUMMARY = 1000
KINDS = ("fact", "preference", "decision", "lesson", "gotcha", "convention", "command", "observation", "experience")
LINKS = ("related_to", "supports", "refines", "contradicts")
SELF = ("identity", "relationship")

# What each operation needs, and what it may have besides; a value's type is that in FIELDS.
CONSOLIDATION = {
    "remember": (("kind", "text", "turns"), ("reason", "scope", "salience", "name")),
    "correct": (("old", "text", "turns"), ("kind", "reason", "salience", "name")),
    "merge": (("refs", "text"), ("reason", "name")),
    "link": (("from", "to", "relation", "reason"), ()),
    "associate": (("refs",), ()),
    "reinforce": (("ref", "turns"), ("reason",)),
    "gist": (("turn", "text"), ()),
    "session": (("turn", "text"), ()),
}
REFLECTION = {
    "hold": (("kind", "text", "evidence"), ("reason",)),
    "revise": (("ref", "text", "evidence", "reason"), ()),
    "let_go": (("ref", "reason"), ()),
}
FIELDS: dict[str, dict[str, object]] = {
    "kind": {"type": "string", "enum": [*KINDS, *SELF]},
    "text": {"type": "string"},
    "reason": {"type": "string"},
    "scope": {"type": "string", "enum": ["repository", "agent"]},
    "salience": {"type": "number"},
    "name": {"type": "string"},
    "relation": {"type": "string", "enum": list(LINKS)},
    "turn": {"type": "string"},
    "old": {"type": "string"},
    "ref": {"type": "string"},
    "from": {"type": "string"},
    "to": {"type": "string"},
    "turns": {"type": "array", "items": {"type": "string"}},
    "refs": {"type": "array", "items": {"type": "string"}},
    "evidence": {"type": "array", "items": {"type": "string"}},
}
_TYPES: dict[object, tuple[type, ...]] = {"string": (str,), "number": (int, float), "array": (list,)}


class Unfit(TenonError):
    """The answer is none. Its sentence is ours and quotes nothing of it."""


class Operation:
    """One thing that the model wants done: `op` its name, `fields` its checked values; `flaw` says why it cannot be used, «» when it can."""

    __slots__ = ("op", "fields", "flaw")

    def __init__(self, op: str, fields: dict[str, Any], flaw: str = "") -> None:
        self.op = op
        self.fields = fields
        self.flaw = flaw

    def text(self, name: str) -> str:
        """A text field, «» when it was left out."""
        return str(self.fields.get(name) or "")

    def refs(self, name: str) -> list[str]:
        """A field that lists ids, each once."""
        return list(dict.fromkeys(ref.strip() for ref in self.fields.get(name) or ()))


def read(answer: str, allowed: Allowed, last: str) -> list[Operation]:
    """The operations of an answer that says it has read everything up to `last`. Raises Unfit.

    One JSON object, alone or in a code fence; in front of it and after it nothing. An operation that is unknown or not well
    formed is there with its flaw.
    """
    if not answer.strip():
        raise Unfit("the model answered nothing")
    if len(answer) > LONGEST:
        raise Unfit(f"the model answered {len(answer):,} characters, more than {LONGEST:,}")
    found = parse(_bare(answer), whole=True)
    if not isinstance(found, dict):
        raise Unfit("the model's answer is not one whole JSON object")
    if not isinstance(found.get("operations"), list):
        raise Unfit("the model's answer has no list of operations")
    if found.get("read_to") != last:
        raise Unfit("the model's answer does not say that everything was read")
    if len(found["operations"]) > MOST:
        raise Unfit(f"the model's answer has {len(found['operations'])} operations, more than {MOST}")
    return [_operation(value, allowed) for value in found["operations"]]


def schema(allowed: Allowed) -> dict[str, object]:
    """The JSON schema of an answer with these operations."""
    names = dict.fromkeys(name for needed, optional in allowed.values() for name in (*needed, *optional))
    one = {
        "type": "object",
        "properties": {"op": {"type": "string", "enum": list(allowed)}, **{name: FIELDS[name] for name in names}},
        "required": ["op"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"operations": {"type": "array", "items": one}, "read_to": {"type": "string"}},
        "required": ["operations", "read_to"],
        "additionalProperties": False,
    }


def _bare(answer: str) -> str:
    """The answer without a code fence around all of it."""
    text = answer.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        text = text[text.index("\n") : -3]
    return text


def _operation(value: object, allowed: Allowed) -> Operation:
    if not isinstance(value, dict):
        return Operation("?", {}, "not an object")
    op = value.get("op")
    if not isinstance(op, str) or op not in allowed:
        return Operation("?", {}, "no operation that a digest has")
    needed, optional = allowed[op]
    fields = {name: held for name, held in value.items() if name != "op" and held is not None}
    for name, held in fields.items():
        if name not in needed and name not in optional:
            return Operation(op, {}, "a field that the operation does not have")
        if not isinstance(held, _TYPES[FIELDS[name]["type"]]) or isinstance(held, bool):
            return Operation(op, {}, f"{name} is of the wrong type")
        if "enum" in FIELDS[name] and held not in FIELDS[name]["enum"]:  # type: ignore[operator]
            return Operation(op, {}, f"{name} is none of the known ones")
        if isinstance(held, list) and not all(isinstance(item, str) for item in held):
            return Operation(op, {}, f"{name} has something that is no id")
    missing = [name for name in needed if not fields.get(name)]
    if missing:
        return Operation(op, {}, f"{missing[0]} is missing")
    if "salience" in fields and not 0 <= fields["salience"] <= 1:
        return Operation(op, {}, "salience is not from 0 to 1")
    return Operation(op, fields)
