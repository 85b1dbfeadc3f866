"""The embedding table: a small one with known numbers, damaged ones, and the one that comes with Tenon."""

from __future__ import annotations

import math
import os
import random
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenon.base.errors import TenonError
from tenon.vectors import codes, table

TOKENS = {
    "deploy": (3, [1, -2, 7, -8]),
    "##ed": (2, [0, 1, 0, 0]),
    "cafe": (65535, [7, 7, -8, -8]),
    "a": (1, [1, 0, 0, 0]),
    "zebra": (1, [0, 0, 0, 5]),
    "né": (1, [0, 0, 0, 0]),
}
MEAN = [100, -200, 300, 0]


def made(path: Path, tokens: dict[str, tuple[int, list[int]]] = TOKENS, mean: list[int] = MEAN) -> str:
    """A table file of these tokens."""
    rows = sorted((token.encode(), scale, values) for token, (scale, values) in tokens.items())
    offsets = [0]
    for token, _, _ in rows:
        offsets.append(offsets[-1] + len(token))
    nibbles = [[value + 8 for value in values] for _, _, values in rows]
    path.write_bytes(
        b"TENONv1\n" + struct.pack("<IHH", len(rows), len(mean), 4) + struct.pack(f"<{len(offsets)}I", *offsets) + b"".join(token for token, _, _ in rows)
        + struct.pack(f"<{len(rows)}H", *[scale for _, scale, _ in rows]) + struct.pack(f"<{len(mean)}h", *mean)
        + b"".join(bytes(low | high << 4 for low, high in zip(row[::2], row[1::2])) for row in nibbles)
    )  # fmt: skip
    return str(path)


def test_a_text_is_the_sum_of_its_pieces(tmp_path: Path) -> None:
    """At the length of a unit vector; case, accents and punctuation make no difference."""
    known = table.Table(made(tmp_path / "räume.bin"))
    assert 4 == known.dims
    assert MEAN == known.mean
    assert "builtin:ff380640" == known.name
    assert codes.unit([3, -6, 21, -24]) == known.embed("deploy") == known.embed("Deploy! deploy")
    assert codes.unit([3, -6 + 2, 21, -24]) == known.embed("deployed")
    assert codes.unit([3 + 1, -6, 21, -24 + 5]) == known.embed("a zebraDeploy")
    assert codes.unit([7, 7, -8, -8]) == known.embed("Café, CAFE\u0301")


def test_a_row_has_these_numbers(tmp_path: Path) -> None:
    """Scale times nibble less eight; rows stand in the order of their tokens."""
    known = table.Table(made(tmp_path / "table.bin"))
    assert [known.find(token) for token in ("##ed", "a", "cafe", "deploy", "né", "zebra")] == [0, 1, 2, 3, 4, 5]
    assert [None] * 5 == [known.find(token) for token in ("", "ed", "dep", "zebras", "\ud800")]
    assert [65535 * 7, 65535 * 7, 65535 * -8, 65535 * -8] == known.row(2)
    assert [0, 2, 0, 0] == known.row(0)


@pytest.mark.parametrize("text", ["", " \n", "?!", "unknown", "deploy un known", "設定 deploy", "né", "ed"])
def test_a_text_that_is_mostly_unknown_has_no_vector(tmp_path: Path, text: str) -> None:
    """Fewer than half of its words, no word at all, or nothing but zeros."""
    assert table.Table(made(tmp_path / "table.bin")).embed(text) is None


def test_half_of_the_words_are_enough(tmp_path: Path) -> None:
    """The unknown one counts for nothing else."""
    assert codes.unit([3, -6, 21, -24]) == table.Table(made(tmp_path / "table.bin")).embed("deploy unknown")


def test_the_first_256_tokens_count(tmp_path: Path) -> None:
    """Also where the last of them is in the middle of a word; the largest sum there can be fits."""
    known = table.Table(made(tmp_path / "table.bin"))
    assert codes.unit([255 + 3, -6, 21, -24]) == known.embed("a " * 255 + "deployed zebra zebra")
    assert codes.unit([7, 7, -8, -8]) == known.embed("cafe " * 300 + "zebra")
    assert codes.unit([254 + 3, -6 + 2, 21, -24]) == known.embed("a " * 254 + "deployed zebra zebra")


def test_more_words_than_are_kept_give_the_same(tmp_path: Path) -> None:
    """The words met so far are let go of now and then."""
    known = table.Table(made(tmp_path / "table.bin"))
    before = known.embed("a zebra")
    for number in range(table.WORDS + 5):
        known.embed(f"w{number}")
    assert before == known.embed("a zebra")
    assert len(known._words) <= table.WORDS


@pytest.mark.parametrize("size", [0, 1, 7, 8, 15, 16, 17, 40, 60, -13, -12, -1])
def test_a_cut_table_is_none(tmp_path: Path, size: int) -> None:
    """At any place."""
    path = made(tmp_path / "table.bin")
    whole = Path(path).read_bytes()
    Path(path).write_bytes(whole[:size])
    assert table.shared(path) is None
    with pytest.raises(TenonError):
        table.Table(path)


@pytest.mark.parametrize(("place", "value"), [(0, 0), (7, 0), (8, 255), (11, 255), (12, 0), (12, 3), (13, 1), (14, 8), (40, 1)])
def test_a_damaged_head_is_none(tmp_path: Path, place: int, value: int) -> None:
    """Another magic, number of rows, of dimensions or of bits; another end of the tokens."""
    path = made(tmp_path / "table.bin")
    damaged = bytearray(Path(path).read_bytes())
    damaged[place] = value
    Path(path).write_bytes(damaged)
    assert table.shared(path) is None


def test_a_missing_table_is_none_and_stays_so(tmp_path: Path) -> None:
    """What a process has found once it does not look for again."""
    path = str(tmp_path / "table.bin")
    assert table.shared(path) is None
    made(tmp_path / "table.bin")
    assert table.shared(path) is None
    assert table.shared(str(tmp_path)) is None


def test_a_table_is_opened_once(tmp_path: Path) -> None:
    """A process shares it."""
    path = made(tmp_path / "table.bin")
    assert table.shared(path) is table.shared(path) is not None


@given(st.data())
def test_no_damage_makes_it_raise(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Any bytes changed, anywhere: a table that is refused, or one that answers something."""
    path = tmp_path_factory.mktemp("damaged") / "table.bin"
    damaged = bytearray(Path(made(path)).read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), max_size=5)):
        damaged[place] = data.draw(st.integers(0, 255))
    path.write_bytes(damaged)
    known = table.shared(str(path))
    if known is not None:
        known.embed("deployed a zebra in a café")


def test_a_table_that_is_replaced_or_gone_is_no_text_that_says_nothing(tmp_path: Path) -> None:
    """Rows of another table would be other words; what is known already stays, and the same bytes with another date are the same table."""
    path = made(tmp_path / "table.bin")
    known = table.Table(path)
    deploy = known.embed("deploy")
    os.utime(path, (1, 1))
    assert known.embed("cafe") == table.Table(path).embed("cafe")
    made(tmp_path / "table.bin", {**TOKENS, "b": (1, [1, 1, 1, 1])})
    with pytest.raises(OSError, match="another table"):
        known.embed("zebra")
    assert deploy == known.embed("deploy")
    os.remove(path)
    with pytest.raises(OSError, match="table"):
        known.embed("a zebra")


def test_an_empty_table_knows_nothing(tmp_path: Path) -> None:
    """Without rows it is still a table."""
    known = table.Table(made(tmp_path / "table.bin", {}))
    assert known.embed("deploy") is None
    assert known.find("deploy") is None


@pytest.mark.parametrize("order", ["little", "big"])
def test_numbers_are_read_in_either_order_of_bytes(order: str) -> None:
    """On a machine of the other order the bytes are turned first."""
    data = b"\x01\x02\x03\x04\x05\x06\x07\x08"
    turned = b"\x04\x03\x02\x01\x08\x07\x06\x05" if order == "big" else data
    assert turned == bytes(table._numbers(data, 4, "I", order))


def test_the_table_that_comes_with_tenon_knows_what_is_alike() -> None:
    """Closer to what means the same than to what does not; name, size and mean are there."""
    known = table.shared()
    assert known is not None
    assert 128 == known.dims == len(known.mean)
    assert known.name.startswith("builtin:")
    asked, near, far = (known.embed(text) for text in ("How do users sign in?", "Authentication: users log in by OIDC", "The cake needs two eggs and butter"))
    assert asked
    assert near
    assert far
    close, distant = codes.cosines(asked, [codes.pack(near), codes.pack(far)])
    assert close > distant + 0.2


@given(st.text())
def test_any_text_has_a_vector_or_none(text: str) -> None:
    """Of the right length; nothing raises."""
    known = table.shared()
    assert known is not None
    vector = known.embed(text)
    assert vector is None or abs(math.sqrt(sum(value * value for value in vector)) - codes.SCALE) < 6


def test_tokens_of_the_table_are_in_order_and_can_occur() -> None:
    """Sorted by bytes, so that they are found; each token is found at its own row."""
    known = table.shared()
    assert known is not None
    tokens = [known._tokens[start:end] for start, end in zip(known._offsets, known._offsets[1:])]
    assert tokens == sorted(set(tokens))
    for row in random.Random(1).sample(range(len(tokens)), 200):
        assert row == known.find(tokens[row].decode())
