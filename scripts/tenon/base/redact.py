"""Secrets taken out of a text before it is written to disk, each replaced by «[redacted:kind]».

Three readers look at a text: one for values that are secrets by their own shape (`shapes`), one for values that
are secrets by their place (the password of a URL, a header, netrc), and one for values that are secrets by their
name (`api_key = "..."`). The last could destroy ordinary code, so it asks whether the value is a literal at all:
expressions, templates, type names and placeholders stay (`secret`).

Every reader starts from a literal found by a substring search, so plain text costs little; every repetition in
a pattern is bounded, or is the pattern's last item, so that no text makes it slow.
"""

from __future__ import annotations

import re

from tenon.base.secret import STEM, is_chosen, is_entropic, is_expression, is_path, is_placeholder, is_random, is_wordy, kind_of, strength
from tenon.base.shapes import by_shape, is_escaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tenon.base.shapes import Span

_BASE64 = re.compile(r"[A-Za-z0-9+/\r\n]*={0,2}\s{0,4}")
MARK = "[redacted:"
DEEPEST = 200
# So far the end of a value is looked for; one that is longer still goes as a whole, up to the next space or quote.
LONGEST = 512
ROUNDS = 4


def redact(text: str) -> str:
    """The text with each secret replaced by «[redacted:kind]»; the same object when there is none."""
    # A replacement may lay bare a second secret glued to the first; the rounds end when nothing is found.
    for _ in range(ROUNDS):
        low = text.lower() if text.isascii() else text.replace("İ", "I").lower()
        stems = [stem for stem in _STEMS if stem in low]
        spans = list(by_shape(text))
        spans.extend(_by_place(text, low, stems))
        spans.extend(_by_neighbour(text, low, stems))
        spans.extend(_by_name(text, low, stems))
        if not spans:
            return text
        text = _replaced(text, spans)
    return text


def redact_value(value: object) -> object:
    """The same JSON value with every string redacted; base64 data of an image or document is left as it is."""
    return _redacted(value, "", 0)


def _redacted(value: object, name: str, depth: int) -> object:
    if isinstance(value, str):
        return _whole(value, name) if name else redact(value)
    if depth > DEEPEST:
        return f"{MARK}depth]" if isinstance(value, (dict, list, tuple)) else value
    if isinstance(value, dict):
        return _redacted_dict(value, depth)
    if isinstance(value, (list, tuple)):
        kept: list[object] = []
        flag = name
        for item in value:
            kept.append(_redacted(item, flag, depth + 1))
            flag = item.lstrip("-") if isinstance(item, str) and item.startswith("--") and "=" not in item else name
        return kept
    return value


def _redacted_dict(value: dict[object, object], depth: int) -> dict[object, object]:
    kept: dict[object, object] = {}
    media = value.get("type") == "base64" and "media_type" in value
    # An environment written as {"name": "API_KEY", "value": "..."}.
    label = next((str(value[key]) for key in ("name", "key", "Name", "Key") if isinstance(value.get(key), str)), "")
    for key, inner in value.items():
        named = label if key in ("value", "Value") and strength(label) else str(key)
        name = redact(key) if isinstance(key, str) else key
        while name in kept:
            name = f"{name}'"
        if media and key == "data" and isinstance(inner, str) and _BASE64.fullmatch(inner):
            kept[name] = inner
        else:
            kept[name] = _redacted(inner, named, depth + 1)
    return kept


def _whole(value: str, name: str) -> str:
    degree = strength(name)
    rest = redact(value)
    if not degree or MARK in rest and len(rest) < 40 or is_placeholder(value.strip()):
        return rest
    if degree == 1 and not is_random(value.strip(), 8):
        return rest
    return f"{MARK}{kind_of(name)}]"


def _replaced(text: str, spans: list[Span]) -> str:
    # Of secrets that overlap, the first found names the kind: by shape before by place before by name.
    merged: list[tuple[int, int, int, str]] = []
    for start, end, rank, kind in sorted((start, end, rank, kind) for rank, (start, end, kind) in enumerate(spans)):
        if merged and start < merged[-1][1]:
            first, last, best, was = merged[-1]
            merged[-1] = (first, max(last, end), min(best, rank), was if best < rank else kind)
        else:
            merged.append((start, end, rank, kind))
    pieces: list[str] = []
    done = 0
    for start, end, _, kind in merged:
        pieces += (text[done:start], MARK, kind, "]")
        done = end
    pieces.append(text[done:])
    return "".join(pieces)


# --- secrets by their place -----------------------------------------------------------------------------------

_QUOTE = r"(?:\\{0,3}[\"'`])?"
_PLACES = (  # kind, a literal that must occur, and the pattern, compiled when it does
    ("url-password", "://", r"://[^\s:/@\"'<>?#]{0,128}:([^\s\"'<>/]{1,256})@(?=[\w\[%.{$-])"),
    (
        "authorization",
        "authorization",
        rf"authorization{_QUOTE}\]?[ \t]{{0,4}}[:=,][ \t]{{0,4}}{_QUOTE}(?:bearer|basic|token|apikey|api-key|key)"
        r"[ \t:=]{1,4}([^\s\"'`\\,;)]{6,})",
    ),
    ("authorization", "bearer", r"bearer(?:[ \t]{1,4}|%20)([\w.~+/-]{16,4096}={0,2})"),
    (
        "cookie",
        "cookie",
        rf"cookie(?:(?<!\w.{{6}})|(?<=set-.{{6}})|(?<=\\[nrt].{{6}})){_QUOTE}\]?[ \t]{{0,4}}[:=, \t][ \t]{{0,4}}{_QUOTE}[\w.-]{{1,64}}="
        r"([^\s;\"'`\\]{4,4096}[^\"'`\r\n\\]*)",
    ),
    ("password", "password", r"(?:machine|login|account)[ \t]{1,4}\S{1,200}\s{1,8}password[ \t]{1,4}([^\s\"'`]{1,256})"),
    ("password", "identified by", r"identified by[ \t]{1,4}(?:password )?[\"']([^\"'\n]{3,256})"),
    ("password", "password '", r"(?:with|encrypted|user|role)[ \t]{1,4}(?:\w{1,63}[ \t]{1,4})?password[ \t]{1,4}'([^'\n]{3,256})"),
    ("password", "requirepass", r"requirepass[ \t]{1,4}[\"']?([^\s\"']{4,256})"),
    ("password", "curl", r"curl\b[^\n]{0,300}?[ \t](?:-u|--user)[ \t=]{0,4}[\"']?[^\s:\"']{1,100}:([^\s\"']{3,256})"),
    ("password", " -p", r"sshpass[ \t]{1,4}-p[ \t]{0,4}[\"']?([^\s\"']{3,256})"),
    ("password", " -p", r"mysql\w{0,10}\b[^\n|;&]{0,200}?[ \t]-p[\"']?([^\s\"']{4,256})"),
    ("password", " -p", r"mariadb[\w-]{0,10}[^\n|;&]{0,200}?[ \t]-p[\"']?([^\s\"']{4,256})"),
)
# Where the stem does not occur, nor does the literal.
_NEEDS = {"authorization": "auth", "password": "pass", "password '": "pass", "requirepass": "pass"}
_EXPORTS = tuple(
    (literal, re.escape(literal) + r"[ \t]{0,4}(\w{1,80})[ \t]{0,2}[= ][ \t]{0,2}[\"']?([\w+/=.-]{20,512})(?![\w+/=.:-])")
    for literal in ("export ", "$env:", "setx ")
)
# A Dockerfile's older form, «ENV NAME value».
_SPACED = re.compile(r"ENV[ \t]{1,4}([A-Z]\w{1,80})[ \t]{1,4}[\"']?(?=[^\s=\"'])", re.ASCII)
# «use X9f-33kd as the password», and the note «pwd hunter22»; few words that follow the word have a digit.
_AS = re.compile(r" (?:as|als) (?:(?:the|my|a|your|our|its|new|db|root|admin) ){0,3}\Z")
_WORDS = (
    ("pass", re.compile(r"passw(?:ord|ort|d)(?![\w-])", re.ASCII)),
    ("pw", re.compile(r"pwd?(?![\w-])", re.ASCII)),
)
_BESIDE = re.compile(r"[ \t](?=[^\s\d]{0,32}\d)", re.ASCII)
_FLAG = re.compile(r"--([a-z][\w-]{1,60})[ \t]{1,4}(?=[^\s-])", re.ASCII)
_FLAG_WORDS = frozenset(
    "flag flags option options argument arguments parameter parameters value values is are was to and or must for the a an can if "
    "in with when as from file stdin on by of not that this which should may will has sets set takes prints needs instead only via".split()
)


def _by_place(text: str, low: str, stems: list[str]) -> Iterator[Span]:
    absent = ""
    for kind, literal, pattern in _PLACES:
        if literal == absent or (literal in _NEEDS and _NEEDS[literal] not in stems) or literal not in low:
            absent = literal
        else:
            for found in re.finditer(pattern, low, re.ASCII):
                start, end = found.span(1)
                value = text[start:end]
                plain = kind == "authorization" and value.islower() and value.isalpha()
                if not plain and not is_placeholder(value.partition(";")[0]) and (literal != "bearer" or is_random(value, 16)):
                    yield start, end, kind
    for literal, pattern in _EXPORTS:
        if literal in text:
            for found in re.finditer(pattern, text, re.ASCII):
                if strength(found.group(1)) < 2 and is_entropic(found.group(2)):
                    yield found.start(2), found.end(2), "value"
    if "ENV " in text:
        for found in _SPACED.finditer(text):
            if strength(found.group(1)) >= 2 and not text[max(0, found.start() - 1) : found.start()].strip():
                yield from _bare(text, found.end(), found.group(1), setting=True, loose=False, words=_FLAG_WORDS)
    if "--" in low:
        for found in _FLAG.finditer(low):
            if strength(found.group(1)) >= 2:
                yield from _bare(text, found.end(), found.group(1), setting=True, loose=False, words=_FLAG_WORDS)


def _by_neighbour(text: str, low: str, stems: list[str]) -> Iterator[Span]:
    """The passwords that stand before «as the password», or beside the word with nothing but a space between."""
    for stem, pattern in _WORDS:
        for found in pattern.finditer(low) if stem in stems else ():
            start, end = found.span()
            lead = text[max(0, start - 24) : start]
            role = _AS.search(lead) if lead.endswith(" ") else None
            if role is not None:
                yield from _before_role(text, start - len(lead) + role.start())
            gap = _BESIDE.match(text, end)
            if gap is not None and lead[-1:] != "/" and lead[-1:] in _BEFORE:
                yield from _beside(text, gap.end(), lead.rpartition("\n")[2])


def _before_role(text: str, end: int) -> Iterator[Span]:
    at = max(0, end - LONGEST)
    head = text[at:end].rstrip("\"'`.,;:)")
    value = (head.split() or [""])[-1].lstrip("\"'`(«")
    if value and head.endswith(value) and _is_password(value, 6, ended="_" not in value and "." not in value):
        yield at + len(head) - len(value), at + len(head), "password"


def _beside(text: str, at: int, line: str) -> Iterator[Span]:
    run = _BARE.match(text, at)
    value = run.group().rstrip(".,;:)]}") if run is not None else ""
    end = at + len(value)
    # A note is a line of its own; in a sentence, a word that ends in digits may be any name.
    note = not line.strip(" \t-*>#") and text[end : end + 1] in ("", "\n", "\r")
    if _is_password(value, 6 if note else 8, ended=note):
        yield at, end, "password"


def _is_password(value: str, least: int, *, ended: bool) -> bool:
    return is_random(value, least, ended=ended) and not (is_placeholder(value) or is_expression(value, setting=False) or is_path(value))


# --- secrets by their name ------------------------------------------------------------------------------------

_SEPARATOR = (
    r"[\w\xf1\u0303-]{0,40}(?:(?:\\{0,3}[\"'`])?\]?(?:"
    r"(?P<assign>[ \t\xa0\u202f]{0,8}(?::[ \t]{0,2}[\w.&'<>\[\]| ]{1,40}=(?=[ \t]{0,2}[\"'])|=>|:=|={1,3}|!={1,2}|:|>)[ \t]{0,8})"
    r"|(?P<value>,?\s{1,40}[\"']?value[\"']?[ \t]{0,4}[:=][ \t]{0,4})"
    r"|(?P<comma>,[ \t]{0,4}(?=[\"'])))"
    r"|(?P<prose>[ \t]{1,4}(?:is|was|are|ist|lautet|est|es|\xe9|to)[ \t:]{1,4}))"
)
_STEMS = ("pass", "pw", "contrase", "secret", "token", "key", "credential", "auth")
_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
# What may stand before the name in «password=value», where the name is no part of a longer expression.
_BEFORE = frozenset(["", *" \t\r\n(,\"'`*/«"])
_OPEN = re.compile(r"[rbuRBU]{0,2}(\"\"\"|'''|\\{0,3}[\"'`])")
_BARE = re.compile(rf"[^\s\"'`<>]{{1,{LONGEST}}}")
_RUN = re.compile(r"[^\s\"'`<>]*")
_CLOSED = {quote: re.compile(rf"(?:[^{quote}\\\n]|\\.){{0,{LONGEST}}}") for quote in "\"'`"}
_CUT = re.compile(r";(?=\s|\Z|[\w ]{1,40}=)|&(?=&|[\w.-]{1,40}=)|\|\||\\[nrt]|,(?=\s|\Z|\w{1,40}=)", re.ASCII)


def _by_name(text: str, low: str, stems: list[str]) -> Iterator[Span]:
    for stem in stems:
        done = 0
        for found in re.finditer(stem + _SEPARATOR, low, re.ASCII):
            # What is inside a secret needs no second look.
            if found.start() >= done:
                for span in _named(text, stem, found):
                    done = span[1]
                    yield span


def _named(text: str, stem: str, found: re.Match[str]) -> Iterator[Span]:
    form = found.lastgroup or ""
    at, end = found.start(), found.end()
    head = text[max(0, at - 60) : at]
    start = at - len(head) + len(head.rstrip(_NAME))
    if is_escaped(text, start):
        start += 1
    if start == at and stem == "key" and text[at - 1 : at] == " ":
        # «API key: ...», written as two words.
        start -= 1 + len(head[:-1]) - len(head[:-1].rstrip(_NAME))
    sign_at = found.start(form)
    name = text[start:sign_at].rstrip("\"'`\\]")
    if name.lower() == "passe" and text[max(0, start - 7) : start].lower() == "mot de ":
        name = "mot de passe"
    degree = strength(name)
    sign = text[sign_at:end]
    if not degree or (degree == 1 and form != "assign"):
        return
    before = text[start - 1 : start]
    if sign.strip() == ">" and before not in ("<", ":"):
        return
    setting = sign == "=" and _environment(text, start, end, name, before)
    quote = _OPEN.match(text, end)
    if quote is not None and not (quote.group(1) == "`" and sign == "="):
        yield from _quoted(text, quote, name, form, setting)
    elif form != "comma" and "!" not in sign and "==" not in sign:
        # French has a space before the colon; so has «a ? password : other».
        spoken = form != "assign" or sign == ": " or (sign.strip() == ":" and sign[-1] == " " and "?" not in head)
        lead = text[max(0, start - 60) : start] if sign == "=" and degree == 3 and not name.startswith(("self.", "this.")) else None
        yield from _bare(text, end, name, setting=setting, loose=spoken, lead=lead)


def _environment(text: str, start: int, end: int, name: str, before: str) -> bool:
    """Whether NAME=value is a setting (a shell, a query, a connection string), where the value is never an expression."""
    if name == name.upper() or name.startswith("-") or before in ("?", "&", ";", "#", "="):
        return True
    if text.endswith(("export ", "env ", "-e ", "set "), 0, start):
        return True
    value = _BARE.match(text, end)
    if value is None or not text.startswith(("\n", "\r", " "), value.end()) and value.end() < len(text):
        return False
    # A line «name=value», or one of several such words in a row; an argument of a call follows a comma or a bracket.
    words = before == " " and text[start - 2 : start - 1].strip() not in ("", ",", "(") and strength(name) == 3
    return words or (before in ("", "\n") and not text.startswith(" ", value.end()))


def _is_argument(lead: str, after: str) -> bool:
    """Whether «password=value» is an argument of a call, as far as the text before it and the two characters after it tell."""
    gap = lead[len(lead.rstrip()) :]
    line = lead.rpartition("\n")[2]
    if lead.rstrip().endswith("("):
        return "\n" in gap or lead.rstrip()[-2:-1].isidentifier()
    if lead.rstrip().endswith(","):
        return "\n" in gap or after.startswith(")") or re.search(r"\w\(", line) is not None
    return after.startswith(")") or (after in (",", ",\n", ",\r") and not line.strip() and line != "")


def _quoted(text: str, quote: re.Match[str], name: str, form: str, setting: bool) -> Iterator[Span]:
    opener = quote.group(1)
    start = quote.end()
    closed = _CLOSED[opener[-1]].match(text, start) if len(opener) == 1 else None
    end = closed.end() if closed is not None else text.find(opener, start, start + LONGEST)
    if not text.startswith(opener, max(end, 0)) or end < 0 or "\n" in text[start:end]:
        # A long value, or the end of a text that was cut off.
        end = _run_end(text, start)
    value = text[start:end]
    if value and _literal(value, name, form, setting):
        yield start, end, kind_of(name)


def _run_end(text: str, at: int) -> int:
    run = _RUN.match(text, at)
    return run.end() if run is not None else at


def _literal(value: str, name: str, form: str, setting: bool) -> bool:
    """Whether a quoted value under a secret's name is the secret, and not a label, a template or a kind of token."""
    degree = strength(name)
    if value != value.strip() or is_placeholder(value) or is_path(value):
        return False
    if setting and degree >= 2:
        return len(value) >= 3 and not (value.isdigit() and degree == 2)
    if any(char.isspace() for char in value):
        return "passphrase" in name.lower() or degree == 3 and any(is_random(word, 6) for word in value.split())
    if degree == 3 and form != "comma":
        return len(value) >= 3 and not (is_wordy(value) and STEM.search(value.lower()) and not value[-1].isdigit())
    if degree == 2 and "secret" in name.lower() and value.isalpha() and len(value) >= 8 and form == "assign":
        return not STEM.search(value.lower())
    return is_random(value, 16 if form == "comma" else 8)


def _bare(text: str, at: int, name: str, *, setting: bool, loose: bool, words: frozenset[str] = frozenset(), lead: str | None = None) -> Iterator[Span]:
    run = _BARE.match(text, at)
    if run is None:
        return
    value = run.group()
    cut = _CUT.search(value)
    value = (value[: cut.start()] if cut else value).rstrip(".,;:)]}")
    degree = strength(name)
    end = at + len(value)
    if not value or value.lower() in words or is_placeholder(value) or is_expression(value, setting) or is_path(value):
        return
    if setting and degree >= 2:
        sure = len(value) >= 3 and not (value.isdigit() and (degree == 2 or len(value) < 4))
    elif value[0].isalnum() or (degree == 3 and text[end : end + 1] in ("", "\n", "\r")):
        sure = is_random(value, 6 if degree == 3 else 8, ended=loose and degree == 3)
        # Digits alone are a password too, but after «passwords» they are a count.
        sure = sure or (loose and degree == 3 and len(value) >= 6 and value.isdigit() and name[-1:] not in ("s", "S"))
    else:
        sure = False
    if not sure and lead is not None and lead[-1:] in _BEFORE:
        # «password=hunter2 works»: whatever follows, unless it is code.
        sure = is_chosen(value) and not (is_wordy(value) and _is_argument(lead, text[end : end + 2]))
    if sure:
        yield at, _run_end(text, end) if len(value) >= LONGEST else end, kind_of(name)
