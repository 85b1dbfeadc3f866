"""Secrets that are recognised by their own shape: vendor keys, JWTs, private keys in PEM.

Each reader starts from a literal found by a substring search, so a text without one costs little; every
repetition in a pattern is bounded, or is the pattern's last item, so that no text makes it slow.
"""

from __future__ import annotations

import re

from tenon.base.secret import is_shaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    # First character, the one after the last, kind.
    Span = tuple[int, int, str]

# Prefixes that end in the character searched for, and the least length of what follows.
_DASHED = {
    "sk-ant-": ("anthropic", 16), "sk-proj-": ("openai", 16), "sk-svcacct-": ("openai", 16), "sk-admin-": ("openai", 16),
    "sk-or-v1-": ("openrouter", 24), "sk-": ("openai", 24), "glpat-": ("gitlab", 16), "glrt-": ("gitlab", 16),
    "gldt-": ("gitlab", 16), "glptt-": ("gitlab", 16), "xoxa-": ("slack", 16), "xoxb-": ("slack", 16), "xoxe-": ("slack", 16),
    "xoxp-": ("slack", 16), "xoxr-": ("slack", 16), "xoxs-": ("slack", 16), "xoxo-": ("slack", 16), "xoxc-": ("slack", 16),
    "xoxd-": ("slack", 16), "xapp-": ("slack", 16), "pypi-": ("pypi", 40), "key-": ("mailgun", 32), "GOCSPX-": ("google", 20),
    "AGE-SECRET-KEY-": ("age", 40), "nvapi-": ("nvidia", 40), "xai-": ("xai", 40), "pplx-": ("perplexity", 32),
    "tvly-": ("tavily", 24), "PMAK-": ("postman", 40), "HRKU-": ("heroku", 36),
}  # fmt: skip
_LINED = {
    "ghp_": ("github", 30), "gho_": ("github", 30), "ghu_": ("github", 30), "ghs_": ("github", 30), "ghr_": ("github", 30),
    "github_pat_": ("github", 22), "sk_live_": ("stripe", 16), "rk_live_": ("stripe", 16), "sk_test_": ("stripe", 16),
    "rk_test_": ("stripe", 16), "whsec_": ("stripe", 24), "npm_": ("npm", 32), "hf_": ("hugging-face", 30),
    "dop_v1_": ("digitalocean", 40), "doo_v1_": ("digitalocean", 40), "dor_v1_": ("digitalocean", 40), "gsk_": ("groq", 40),
    "shpat_": ("shopify", 32), "shpss_": ("shopify", 32), "lin_api_": ("linear", 32), "ntn_": ("notion", 40),
    "figd_": ("figma", 32), "glsa_": ("grafana", 32), "sbp_": ("supabase", 36), "r8_": ("replicate", 32),
    "nfp_": ("netlify", 32), "rubygems_": ("rubygems", 40), "sntrys_": ("sentry", 32),
}  # fmt: skip
_DOTTED = {
    "SG.": ("sendgrid", 16), "hvs.": ("vault", 24), "hvb.": ("vault", 24), "ya29.": ("google", 20), "dp.pt.": ("doppler", 40),
    "dp.st.": ("doppler", 40),
}  # fmt: skip
_LONGER = tuple(prefix for prefix in _DASHED if prefix.startswith("sk-") and prefix != "sk-")
_SOLID = re.compile(r"[A-Za-z0-9]{16}")
_AFTER_DASH = re.compile(r"-(?=[A-Za-z0-9_-]{16})")
_AFTER_DOT = re.compile(r"\.(?=[A-Za-z0-9_-]{16})")
_AFTER_LINE = re.compile(r"_(?=[A-Za-z0-9]{16})")
# A key with a dot in it goes as a whole.
_REST = re.compile(r"[A-Za-z0-9_-]{16,4096}(?:\.[A-Za-z0-9_-]{6,512}){0,8}")

_END = r"(?![A-Za-z0-9])"


def _begun(literal: str, word: str = "A-Za-z0-9") -> str:
    """A pattern for the literal where no word goes on; it begins with the literal, which makes the search fast."""
    return rf"{literal}(?:(?<![{word}]{literal})|(?<=\\[nrt]{literal}))"


# Kind, a literal that must occur, and the pattern, compiled when it does; the secret is its last group, or all of it.
_SHAPES = (
    ("aws", "AKIA", rf"{_begun('AKIA')}[A-Z0-9]{{16}}{_END}"),
    ("aws", "ASIA", rf"{_begun('ASIA')}[A-Z0-9]{{16}}{_END}"),
    ("google", "AIza", r"AIza[A-Za-z0-9_-]{35}"),
    ("twilio", "SK", rf"{_begun('SK')}[0-9a-f]{{32}}{_END}"),
    ("twilio", "AC", rf"{_begun('AC')}[0-9a-f]{{32}}{_END}"),
    ("databricks", "dapi", rf"dapi[0-9a-f]{{32}}(?:-\d{{1,2}})?{_END}"),
    ("jwt", "eyJ", _begun("eyJ", "A-Za-z0-9_-") + r"[A-Za-z0-9_-]{6,8192}\.[A-Za-z0-9_-]{6,8192}\.[A-Za-z0-9_-]*"),
    ("telegram", ":AA", rf":(?<=\d\d\d\d\d\d\d\d:)(AA[A-Za-z0-9_-]{{33}}){_END}"),
    ("discord", ".", r"\.[A-Za-z0-9_-]{6}\.(?<=[A-Za-z0-9_-]{20}\.[A-Za-z0-9_-]{6}\.)[A-Za-z0-9_-]{27,}"),
    ("atlassian", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{60,}"),
    ("slack", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9_/-]{20,})"),
    ("discord", "/api/webhooks/", r"/api/webhooks/\d{8,24}/([A-Za-z0-9_-]{30,})"),
    ("azure", "sig=", r"[?&;]sig=([A-Za-z0-9%+/=_-]{20,})"),
    ("signature", "Signature=", r"[?&]X-(?:Amz|Goog)-Signature=([A-Fa-f0-9]{20,})"),
)
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")

_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\bPrivate-Lines: \d{1,4}")
_BEFORE_LINE = r"(?:[\s>#*|+\"',-]|\\[nrt]|\\(?=[\"'\n])){0,40}(?:\d{1,6}[\t→:|][ \t]{0,4})?"
_PEM_LINE = re.compile(_BEFORE_LINE + r"(?:(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash): [^\n\\]{1,200}|=?[A-Za-z0-9+/]{16,}={0,2}|=[A-Za-z0-9+/]{4})")
_PEM_LAST = re.compile(rf"(?:{_BEFORE_LINE}=?[A-Za-z0-9+/]{{1,15}}={{0,2}})?(?:{_BEFORE_LINE}-----END[A-Z0-9 ]{{0,60}}-{{0,5}}|\s{{0,9}}\Z)")


def by_shape(text: str) -> Iterator[Span]:
    """The place and kind of each secret that its own shape gives away; they may overlap."""
    if "-----BEGIN" in text or "Private-Lines" in text:
        yield from _pem_blocks(text)
    for after, table in ((_AFTER_DASH, _DASHED), (_AFTER_LINE, _LINED), (_AFTER_DOT, _DOTTED)):
        yield from _by_prefix(text, after, table)
    for kind, literal, shape in _SHAPES:
        if literal not in text:
            continue
        pattern = re.compile(shape)
        for found in pattern.finditer(text):
            start, end = found.span(pattern.groups)
            if kind in ("aws", "twilio") or is_shaped(text[start:end]):
                yield start, end, kind
            if kind == "aws":
                # The secret that belongs to a key id mostly stands near it, and has no shape of its own.
                for secret in _AWS_SECRET.finditer(text, end, end + 300):
                    if is_shaped(secret.group()) and not re.fullmatch("[0-9a-f]*", secret.group()):
                        yield secret.start(), secret.end(), kind


def _by_prefix(text: str, after: re.Pattern[str], table: dict[str, tuple[str, int]]) -> Iterator[Span]:
    prefixes = tuple(table)
    done = 0
    for found in after.finditer(text):
        end = found.end()
        if end <= done or not text.endswith(prefixes, 0, end):
            continue
        prefix = max((each for each in prefixes if text.endswith(each, 0, end)), key=len)
        start = end - len(prefix)
        if _begins_key(text, start, end, prefix, table[prefix][1]):
            rest = _REST.match(text, end)
            done = rest.end() if rest is not None else end
            yield start, done, table[prefix][0]


def _begins_key(text: str, start: int, end: int, prefix: str, least: int) -> bool:
    """Whether a key begins here, as far as 64 characters tell."""
    if start and text[start - 1].isalnum() and text[start - 1].isascii() and not is_escaped(text, start - 1):
        return False
    rest = _REST.match(text, end, end + 64)
    if rest is None or rest.end() - end < least or not is_shaped(rest.group()):
        return False
    if prefix not in ("sk-", "key-"):
        return True
    # «sk-» begins CSS classes and other vendors' prefixes too; «key-» anything.
    return not text.startswith(_LONGER, start) and _SOLID.search(rest.group()) is not None and any(map(str.isdigit, rest.group()))


def _pem_blocks(text: str) -> Iterator[Span]:
    at = 0
    while True:
        begin = _PEM.search(text, at)
        if begin is None:
            return
        at = end = begin.end()
        line = _PEM_LINE.match(text, end)
        while line is not None:
            end = line.end()
            line = _PEM_LINE.match(text, end)
        last = _PEM_LAST.match(text, end)
        if last is not None and last.group().strip():
            end = last.end()
        elif end == at and text.startswith(("\n", "\r\n", "\\n", "\\r\\n"), end):
            # A body that is no base64 is a secret all the same when BEGIN and END stand on lines of their own.
            close = text.find("-----END ", at, at + 8192)
            if close > 0 and text[close - 1] in "\nn" and any(char.isalnum() for char in text[at + 2 : close]):
                end = text.find("-----", close + 9, close + 80)
                end = end + 5 if end > 0 else close + 9
        if end > at:
            yield begin.start(), end, "private-key"
            at = end


def is_escaped(text: str, at: int) -> bool:
    """Whether the character is the letter of an escape: the «n» of a line break written as backslash n."""
    return at > 0 and text[at] in "nrt" and text[at - 1] == "\\"
