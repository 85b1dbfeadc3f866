"""Words as the index sees them: any script, any case, any accent, composed or decomposed.

SQLite's tokenizer splits at white space and folds case and accents, which is right for scripts that write
spaces and useless for those that do not. So text is folded before it is indexed and before it is looked up:
normalised to NFKC, and runs of an unspaced script become overlapping pairs of characters, as Lucene's
CJKAnalyzer does. Pairs find two-character words, which a trigram index cannot.
"""

from __future__ import annotations

_SPLIT = {code: " " if code else "" for code in range(128) if not chr(code).isalnum()}  # NUL is dropped, as `clean` does

# Scripts written without spaces between words (Thai to Khmer, kana, Han), and Hangul, whose words carry endings.
_UNSPACED = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0x20000, 0x323AF),
)  # fmt: skip


def clean(text: str) -> str:
    """The text without what no store and no API can hold: lone surrogates become «?», NUL is dropped."""
    if text.isascii():
        return text.replace("\0", "") if "\0" in text else text
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


def fold(text: str) -> str:
    """The text as it is indexed: words between spaces, unspaced runs as pairs of characters."""
    if text.isascii():
        return text.translate(_SPLIT)
    return " ".join(_pieces(_normal(text)))


def words(text: str) -> list[str]:
    """The words of a text in order, lower-case, as the index would find them; a lone unspaced character ends in «*»."""
    if text.isascii():
        return text.translate(_SPLIT).lower().split()
    return _pieces(_normal(text), lone="*")


def wide_length(text: str) -> int:
    """The length of a prompt in characters, where one of an unspaced script counts as three letters."""
    if text.isascii():
        return len(text)
    return sum(3 if is_unspaced(char) else 1 for char in text)


def is_unspaced(char: str) -> bool:
    """Whether the character belongs to a script that is written without spaces."""
    code = ord(char)
    return code >= 0x0E00 and any(first <= code <= last for first, last in _UNSPACED)


def cut(text: str, limit: int) -> str:
    """The text in at most so many characters, ending in «…» where something is left out, on one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: max(0, limit - 1)].rstrip() + "…"


def tokens(text: str) -> int:
    """An estimate of the text's tokens: four ASCII characters each, one each for a character of any other script."""
    if text.isascii():
        return (len(text) + 3) // 4
    plain = len(text.encode("ascii", "ignore"))
    return (plain + 3) // 4 + len(text) - plain


def _normal(text: str) -> str:
    from unicodedata import normalize

    return normalize("NFKC", clean(text)).casefold()


def _pieces(text: str, lone: str = "") -> list[str]:
    found: list[str] = []
    start = 0
    before = _BREAK
    for at, char in enumerate(text + " "):
        kind = _KINDS.get(char)
        if kind is None:
            kind = _KINDS[char] = _BREAK if not char.isalnum() else _UNSPACED_LETTER if is_unspaced(char) else _LETTER
        if kind != before:
            if before == _LETTER:
                found.append(text[start:at])
            elif before == _UNSPACED_LETTER:
                _pairs(text[start:at], found, lone)
            start = at
            before = kind
    return found


def _pairs(run: str, found: list[str], lone: str) -> None:
    found.extend(map("".join, zip(run, run[1:])))
    if not lone:
        found.append(run[-1])  # alone too, so that one character finds every run it is in
    elif len(run) == 1:
        found.append(run + lone)


_BREAK, _LETTER, _UNSPACED_LETTER = range(3)
_KINDS: dict[str, int] = {}  # of the characters met so far
