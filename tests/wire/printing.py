"""A value as some client might print it: spacing, escapes and the order of keys are up to chance."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import strategies as st

SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "/": "\\/"}
GAPS = ["", "", "", "", " ", "\t", "\r\n", "\n  "]

# Half surrogate pairs, letters of one to four bytes, what JSON must escape, and bytes that Latin-1 takes for white space.
letters = st.one_of(st.characters(codec=None), st.sampled_from('"\\/\n\r\t\x00\x1f\x7f\x85\xa0éà¿日🙂\ud800\udfff\u2028\ufeff{}[],:'))
texts = st.text(letters, max_size=12)
numbers = st.one_of(st.integers(-(10**30), 10**30), st.floats(allow_nan=False, allow_infinity=False))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)
chances = st.integers(0, 2**32).map(random.Random)


def printed(value: Any, chance: random.Random, *, shuffled: bool = False) -> bytes:
    """The value as JSON."""
    return _printed(value, chance, shuffled).encode()


def _printed(value: Any, chance: random.Random, shuffled: bool) -> str:
    def gap() -> str:
        return chance.choice(GAPS)

    if isinstance(value, dict):
        names = list(value)
        if shuffled:
            chance.shuffle(names)
        inside = ",".join(f"{gap()}{_string(name, chance)}{gap()}:{gap()}{_printed(value[name], chance, shuffled)}{gap()}" for name in names)
        return "{" + (inside or gap()) + "}"
    if isinstance(value, list):
        return "[" + (",".join(f"{gap()}{_printed(inner, chance, shuffled)}{gap()}" for inner in value) or gap()) + "]"
    return _string(value, chance) if isinstance(value, str) else json.dumps(value)


def _string(text: str, chance: random.Random) -> str:
    return '"' + "".join(_letter(letter, chance) for letter in text) + '"'


def _letter(letter: str, chance: random.Random) -> str:
    code = ord(letter)
    must = code < 0x20 or letter in '"\\' or 0xD800 <= code < 0xE000
    if not must and chance.random() < 0.8:
        return letter
    if letter in SHORT and chance.random() < 0.7:
        return SHORT[letter]
    units = [code] if code < 0x10000 else [0xD800 + (code - 0x10000 >> 10), 0xDC00 + (code - 0x10000 & 0x3FF)]
    return "".join(f"\\u{unit:04x}" if chance.random() < 0.5 else f"\\u{unit:04X}" for unit in units)


def joined(value: Any) -> Any:
    """The value as JSON gives it back: two halves of a pair that came to stand together are one character."""
    return json.loads(json.dumps(value))


def text_block(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


MARKER = {"type": "ephemeral"}
texts_or_more = st.one_of(
    texts.map(text_block),
    st.builds(lambda words: {**text_block(words), "cache_control": MARKER}, texts),
    st.builds(lambda words, sign: {"type": "thinking", "thinking": words, "signature": sign}, texts, texts),
    st.builds(lambda data: {"type": "redacted_thinking", "data": data}, texts),
    st.builds(
        lambda given: {"type": "tool_use", "id": "toolu_1", "name": "Edit", "input": given},
        st.dictionaries(st.one_of(texts, st.just("cache_control")), values, max_size=3),
    ),
    st.builds(
        lambda content, marked: {"tool_use_id": "toolu_1", "type": "tool_result", **content, **marked},
        st.sampled_from([{}, {"content": ""}, {"content": "found"}, {"content": [text_block("found"), {**text_block("é"), "cache_control": MARKER}]}]),
        st.sampled_from([{}, {"cache_control": {"type": "ephemeral", "ttl": "1h"}}, {"is_error": True, "cache_control": None}]),
    ),
    st.just(
        {"type": "document", "source": {"type": "content", "content": [{**text_block("page"), "cache_control": MARKER}]}, "cache_control": MARKER},
    ),
    st.just({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}),
    st.builds(lambda more: {"type": "of tomorrow", **more}, st.dictionaries(texts, values, max_size=2)),
)
messages = st.builds(
    lambda role, content, more: {"role": role, "content": content, **more},
    st.sampled_from(["user", "assistant", "system"]),
    st.one_of(texts, st.lists(texts_or_more, max_size=4)),
    st.sampled_from([{}, {}, {"output_config": {"effort": "medium"}}, {"né": None}]),
)
requests = st.builds(
    lambda sent, before, after: {**before, "messages": sent, **after},
    st.lists(messages, max_size=5),
    st.dictionaries(texts, values, max_size=2).map(lambda more: {**more, "model": "claude-opus-5-5"}),
    st.sampled_from([{}, {"system": [text_block("be kind")], "tools": []}, {"max_tokens": 1, "é🙂": [1, {"messages": []}]}]),
)
