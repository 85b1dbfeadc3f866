"""Words as the index sees them: any script, any case, any accent, composed or not."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenon.base import text


@pytest.mark.parametrize(
    ("given_text", "words"),
    [
        ("", []), (" \t\n", []), ("The Retry-budget is 7.", ["the", "retry", "budget", "is", "7"]), ("don't C:\\x/y_z.py", ["don", "t", "c", "x", "y", "z", "py"]),
        ("Straße", ["strasse"]), ("CAFE\u0301", ["café"]), ("ﬁle²", ["file2"]), ("Ёлка, ДОМ", ["ёлка", "дом"]), ("設定ファイル", ["設定", "定フ", "ファ", "ァイ", "イル"]),
        ("库", ["库*"]), ("a库b", ["a", "库*", "b"]), ("배포는", ["배포", "포는"]), ("ไทย", ["ไท", "ทย"]), ("🦓 zebra🦓", ["zebra"]), ("a\0b", ["ab"]), ("é\0b", ["éb"]), ("\ud800x", ["x"]),
    ],
)  # fmt: skip
def test_the_words_of_a_text(given_text: str, words: list[str]) -> None:
    """Lower-case and in order; runs of an unspaced script in pairs, a lone character with «*»."""
    assert words == text.words(given_text)


@pytest.mark.parametrize(
    ("given_text", "folded"),
    [("Say \"hi\", it's A.", "Say  hi   it s A "), ("設定", "設定 定"), ("库", "库"), ("Größe 設定x", "grösse 設定 定 x"), ("a\0b", "ab")],
)  # fmt: skip
def test_a_text_as_it_is_indexed(given_text: str, folded: str) -> None:
    """The last character of an unspaced run stands alone too, so that one character finds every run it is in."""
    assert folded == text.fold(given_text)


@given(st.text())
def test_what_is_looked_up_was_indexed(given_text: str) -> None:
    """Every word of a text is a word of the text as it is indexed, or begins one."""
    indexed = text.fold(given_text).casefold().split()
    for word in text.words(given_text):
        assert any(piece.startswith(word[:-1]) for piece in indexed) if word.endswith("*") else word in indexed


@given(st.text())
def test_composition_makes_no_difference(given_text: str) -> None:
    """NFC and NFD have the same words."""
    assert text.words(unicodedata.normalize("NFC", given_text)) == text.words(unicodedata.normalize("NFD", given_text))


@given(st.text())
def test_a_clean_text_can_be_stored_and_stays_as_it_is(given_text: str) -> None:
    """No NUL, no half of a surrogate pair; a second cleaning changes nothing."""
    clean = text.clean(given_text)
    assert "\0" not in clean
    assert clean == clean.encode("utf-8").decode("utf-8") == text.clean(clean)


def test_cleaning_takes_out_what_no_store_can_hold() -> None:
    """And nothing else."""
    assert ["ab", "é?", "🦓\n\t"] == [text.clean(given_text) for given_text in ("a\0b", "é\ud800\0", "🦓\n\t")]


@pytest.mark.parametrize(("given_text", "length"), [("", 0), ("hello", 5), ("é", 1), ("設定", 6), ("a設定b", 8), ("배포", 6), ("🦓", 1)])
def test_a_wide_character_counts_as_three_letters(given_text: str, length: int) -> None:
    """Eight Chinese characters are a sentence."""
    assert length == text.wide_length(given_text)


@pytest.mark.parametrize(
    ("given_text", "limit", "short"),
    [("one two", 7, "one two"), ("one two", 6, "one t…"), ("one two", 5, "one…"), ("  one\n\n two ", 9, "one two"), ("🦓🦓🦓", 2, "🦓…"), ("abc", 1, "…"), ("", 1, "")],
)  # fmt: skip
def test_a_cut_text(given_text: str, limit: int, short: str) -> None:
    """On one line, with «…» where something is left out."""
    assert short == text.cut(given_text, limit)


@pytest.mark.parametrize(("given_text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("設定", 2), ("abcdé", 2), ("🦓🦓", 2)])
def test_an_estimate_of_tokens(given_text: str, tokens: int) -> None:
    """Four ASCII characters each, one each for any other."""
    assert tokens == text.tokens(given_text)


@pytest.mark.parametrize(
    ("given_text", "words"),
    [
        ("getUserName", ["getusername", "get", "user", "name"]), ("an HTTPServer's", ["an", "httpserver", "http", "server", "s"]), ("the URLs of APIs", ["the", "urls", "of", "apis"]),
        ("utf8Decode v2 E0425", ["utf8decode", "utf8", "decode", "v2", "e0425"]), ("get_userName", ["get", "username", "user", "name"]), ("Plain TEXT Here", ["plain", "text", "here"]),
        ("naïveName", ["naïvename", "naïve", "name"]), ("nomÉcole: é", ["nomécole", "nom", "école", "é"]), ("getUser 库", ["getuser", "get", "user", "库*"]), ("«Foo»", ["foo"]),
        ("userName設定", ["username", "user", "name", "設定"]), ("xY" * 33, ["xy" * 33]),
    ],
)  # fmt: skip
def test_a_camel_case_word_is_followed_by_its_parts(given_text: str, words: list[str]) -> None:
    """Looked up and indexed alike; a plural s stays with its capitals, and what is too long to be a word stays whole."""
    assert words == text.words(given_text)
    assert [word.rstrip("*") for word in words] == text.fold(given_text).lower().split() or "設" in given_text


@pytest.mark.parametrize(
    ("given_text", "parts"),
    [
        ("", []), ("getUserName", ["get", "user", "name"]), ("HTTPServer", ["http", "server"]), ("utf8 E0425 v2", ["utf8", "e0425", "v2"]), ("utf8Decode", ["utf8", "decode"]),
        ("parseURLs, URLsOf", ["parse", "urls", "urls", "of"]), ("getHTTPSUrl2Path", ["get", "https", "url2", "path"]), ("snake_case-and.dots", ["snake", "case", "and", "dots"]),
        ("B2B X509Certificate", ["b2b", "x509", "certificate"]), ("iOS JSON", ["i", "os", "json"]), ("Café CAFE\u0301 naïveName", ["cafe", "cafe", "naive", "name"]), ("don’t", ["don", "t"]),
        ("Straße", ["strasse"]), ("ﬁle²", ["file2"]), ("設定ファイル", ["設", "定", "フ", "ァ", "イ", "ル"]), ("배포는", ["배", "포", "는"]), ("ガ", ["カ"]), ("İx", ["ix"]), ("a\0b 🦓", ["ab"]),
    ],
)  # fmt: skip
def test_the_words_that_are_embedded(given_text: str, parts: list[str]) -> None:
    """In parts only, without accents, and a character of an unspaced script for each word."""
    assert parts == text.parts(given_text)


@given(st.text(alphabet="aBcDEé9 _設.", max_size=30))
def test_ascii_or_not_a_word_is_split_alike(given_text: str) -> None:
    """A character from beyond ASCII elsewhere in the text makes no difference."""
    assert text.words(f"{given_text} x") + ["é"] == text.words(f"{given_text} x é")
    assert text.parts(f"{given_text} x") + ["e"] == text.parts(f"{given_text} x é")
    assert text.fold(f"{given_text} x").lower().split() + ["é"] == text.fold(f"{given_text} x é").split()


@given(st.text())
def test_any_text_has_parts(given_text: str) -> None:
    """Each of them made of letters and digits alone, in lower case."""
    for part in text.parts(given_text):
        assert part
        assert part == part.casefold()
