"""Whether a tool's arguments fit its JSON Schema, and if not, the one sentence that lets a model put them right.

It knows the part of JSON Schema that tools need: type, enum, const, properties, required, additionalProperties, items, the limits of
length, number and size, allOf, anyOf and oneOf. Other keywords allow everything.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

SHOWN_CHARS = 60  # of a value that is wrong

# JSON type: how it is called in a sentence
TYPES = {
    "string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false",
    "array": "a list", "object": "an object", "null": "null",
}  # fmt: skip


def problem(value: object, schema: dict[str, Any], path: str = "") -> str:
    """What is wrong with the value, as a sentence that begins with where; "" when it fits."""
    wrong = _typed(value, schema) or _chosen(value, schema) or _sized(value, schema)
    if wrong:
        return f"{path or 'the arguments'}: {wrong}"
    if isinstance(value, dict):
        wrong = _properties(value, schema, path)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        wrong = next(filter(None, (problem(item, schema["items"], f"{path}[{at}]") for at, item in enumerate(value))), "")
    return wrong or _combined(value, schema, path)


def shown(value: object) -> str:
    """The value as JSON, cut to a length that fits in a sentence."""
    import json

    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:
        text = "something nested too deeply"
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"


def nearest(word: str, words: Iterable[str]) -> str:
    """The one of the words that was probably meant, or ""."""
    from difflib import get_close_matches

    plain = {known.lower(): known for known in words}
    near = get_close_matches(word[:SHOWN_CHARS].lower(), plain, 1)
    return plain[near[0]] if near else ""


def listed(words: Iterable[object], last: str = "or") -> str:
    """The words as people list them: a, b or c."""
    given = [str(word) for word in words]
    return f"{', '.join(given[:-1])} {last} {given[-1]}" if len(given) > 1 else "".join(given)


def _is(value: object, kind: str) -> bool:
    if kind in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return kind == "number" or isinstance(value, int) or value.is_integer()
    return isinstance(value, {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}.get(kind, object))


def _same(one: object, other: object) -> bool:
    # JSON's true is not its 1, though Python's is.
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _typed(value: object, schema: dict[str, Any]) -> str:
    allowed = schema.get("type")
    kinds = [allowed] if isinstance(allowed, str) else allowed or []
    if not kinds or any(_is(value, kind) for kind in kinds):
        return ""
    return f"must be {listed(TYPES.get(kind, kind) for kind in kinds)}; got {shown(value)}"


def _chosen(value: object, schema: dict[str, Any]) -> str:
    if "const" in schema and not _same(value, schema["const"]):
        return f"must be {shown(schema['const'])}; got {shown(value)}"
    if "enum" in schema and not any(_same(value, allowed) for allowed in schema["enum"]):
        names = [allowed if isinstance(allowed, str) else shown(allowed) for allowed in schema["enum"]]
        return f"must be one of {', '.join(names)}; got {shown(value)}"
    return ""


def _sized(value: object, schema: dict[str, Any]) -> str:
    if isinstance(value, str):
        if len(value) == 0 and schema.get("minLength", 0) == 1:
            return "must not be empty"
        return _within(len(value), schema, "minLength", "maxLength", "be", " character")
    if isinstance(value, list):
        return _within(len(value), schema, "minItems", "maxItems", "have", " item")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _within(value, schema, "minimum", "maximum", "be", "")
    return ""


def _within(size: float, schema: dict[str, Any], least: str, most: str, verb: str, unit: str) -> str:
    for key, words, broken in ((least, "at least", size < schema.get(least, size)), (most, "at most", size > schema.get(most, size))):
        if broken:
            plural = "s" if unit and schema[key] != 1 else ""
            return f"must {verb} {words} {schema[key]}{unit}{plural}; got {shown(size)}"
    return ""


def _properties(value: dict[str, Any], schema: dict[str, Any], path: str) -> str:
    known: dict[str, Any] = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    for name, given in value.items():
        where = _join(path, name)
        wrong = ""
        if name in known:
            wrong = problem(given, known[name], where)
        elif others is False:
            # Before what is missing: the misspelt name is most often the missing one.
            near = nearest(name, known)
            wrong = f"{where}: is not known; " + (
                f"did you mean {near}?" if near else f"known are {listed(known, 'and')}" if known else "nothing is taken here"
            )
        elif isinstance(others, dict):
            wrong = problem(given, others, where)
        if wrong:
            return wrong
    required = schema.get("required", [])
    missing = [_join(path, name) for name in required if name not in value]
    return f"{listed(missing, 'and')}: missing; required are {listed(required, 'and')}" if missing else ""


def _join(path: str, name: str) -> str:
    short = name if len(name) <= SHOWN_CHARS else name[:SHOWN_CHARS] + "…"
    return f"{path}.{short}" if path else short


def _combined(value: object, schema: dict[str, Any], path: str) -> str:
    wrong = next(filter(None, (problem(value, part, path) for part in schema.get("allOf", ()))), "")
    for key in ("anyOf", "oneOf"):
        if wrong or key not in schema:
            continue
        problems = [problem(value, part, path) for part in schema[key]]
        fitting = problems.count("")
        if key == "oneOf" and fitting > 1:
            wrong = f"{path or 'the arguments'}: must fit only one of {len(problems)} forms; fits {fitting}"
        elif not fitting:
            # A choice between forms of other types is told by the form that was meant.
            meant = [one for one, part in zip(problems, schema[key]) if "type" in part and not _typed(value, part)]
            wrong = meant[0] if len(meant) == 1 else " – or ".join(problems)
    return wrong
