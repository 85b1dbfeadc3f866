"""Words as the index sees them: any script, any case, any accent, composed or decomposed.

SQLite's tokenizer splits at white space and folds case and accents, which is right for scripts that write
spaces and useless for those that do not. So text is folded before it is indexed and before it is looked up:
normalised to NFKC, and runs of an unspaced script become overlapping pairs of characters, as Lucene's
CJKAnalyzer does. Pairs find two-character words, which a trigram index cannot. A camelCase word is followed by
its parts, so that «user name» finds getUserName.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

BESIDE = "\f"  # between a text and what stands beside it, where both go together
_SPLIT = bytes(code if chr(code).isalnum() and code < 128 else 32 for code in range(256))

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
    """The text as it is indexed: words between spaces, the parts of a camelCase word after it, unspaced runs as pairs of characters."""
    if text.isascii():
        spaced = _spaced(text)
        return " ".join(_spread(spaced.split())) if _is_mixed(spaced) else spaced
    return " ".join(_pieces(_normal(text)))


def words(text: str) -> list[str]:
    """The words of a text in order, lower-case, as the index would find them; a lone unspaced character ends in «*»."""
    if text.isascii():
        spaced = _spaced(text)
        if _is_mixed(spaced):
            spaced = " ".join(_spread(spaced.split()))
        return spaced.lower().split()
    return _pieces(_normal(text), lone="*")


def parts(text: str) -> list[str]:
    """The words of a text in order, lower-case, as the embedding table knows them: without accents, camelCase words only in parts, unspaced characters one by one."""
    if text.isascii():
        spaced = _spaced(text)
        if _is_mixed(spaced):
            spaced = " ".join([part for word in spaced.split() for part in _split(word)])
        return spaced.lower().split()
    from unicodedata import category, normalize

    decomposed = normalize("NFD", normalize("NFKC", clean(text)))
    plain = normalize("NFC", "".join([char for char in decomposed if char < "\x80" or category(char) != "Mn"]))
    return [part.casefold() for kind, run in _runs(plain) for part in (_split(run) if kind == _LETTER else run)]


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


def _spaced(text: str) -> str:
    """An ASCII text with a space for what is neither letter nor digit, NUL dropped as `clean` does."""
    return text.encode("ascii").translate(_SPLIT, b"\0").decode("ascii")


def _is_mixed(spaced: str) -> bool:
    """Whether a spaced ASCII text may have a word to split; most have none, and say so by their capitals being first letters."""
    shape = spaced.encode("ascii").translate(_SHAPES)
    if shape.count(b"A") == shape.count(b" A") + shape.startswith(b"A"):
        return False
    return b"aA" in shape or b"AAa" in shape or b"0Aa" in shape


def _spread(found: list[str]) -> list[str]:
    """The words, each camelCase one followed by its parts."""
    spread: list[str] = []
    for word in found:
        spread.append(word)
        split = _split(word)
        if len(split) > 1:
            spread += split
    return spread


def _split(word: str) -> list[str]:
    """The parts of a word, at getUser|Name, HTTP|Server and utf8|Decode; digits stay with the letters before them, the s of URLs too."""
    tail = word[1:]
    if tail == tail.lower() or word.isupper() or len(word) > _LONGEST:
        return [word]
    split = []
    start = 0
    for at in range(1, len(word)):
        if word[at].isupper():
            before, after, second = word[at - 1], word[at + 1 : at + 2], word[at + 2 : at + 3]
            plural = before.isupper() and after == "s" and not second.islower()
            if before.islower() or (after.islower() and not plural):
                split.append(word[start:at])
                start = at
    return [*split, word[start:]]


def _normal(text: str) -> str:
    from unicodedata import normalize

    normal = normalize("NFKC", clean(text))
    folded = normal.casefold()
    if normal != folded and any(word[1:] != word[1:].lower() for word in normal.split()):
        folded = " ".join(_spread([run for _, run in _runs(normal)])).casefold()
    return folded


def _runs(text: str) -> Iterator[tuple[int, str]]:
    """The runs of letters and digits: kind, text."""
    start = 0
    before = _BREAK
    for at, char in enumerate(text + " "):
        kind = _KINDS.get(char)
        if kind is None:
            kind = _KINDS[char] = _BREAK if not char.isalnum() else _UNSPACED_LETTER if is_unspaced(char) else _LETTER
        if kind != before:
            if before != _BREAK:
                yield before, text[start:at]
            start = at
            before = kind


def _pieces(text: str, lone: str = "") -> list[str]:
    found: list[str] = []
    for kind, run in _runs(text):
        if kind == _LETTER:
            found.append(run)
        else:
            _pairs(run, found, lone)
    return found


def _pairs(run: str, found: list[str], lone: str) -> None:
    found.extend(map("".join, zip(run, run[1:])))
    if not lone:
        found.append(run[-1])  # alone too, so that one character finds every run it is in
    elif len(run) == 1:
        found.append(run + lone)


_BREAK, _LETTER, _UNSPACED_LETTER = range(3)
_LONGEST = 64  # a longer «word» is a key or encoded bytes
_SHAPES = bytes(65 if 65 <= code <= 90 else 97 if 97 <= code <= 122 else 48 if 48 <= code <= 57 else 32 for code in range(256))  # A a 0 and blank
_KINDS: dict[str, int] = {}  # of the characters met so far
