"""JSON and SQLite by their short way give what the public modules give, also where the C halves are missing."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenon.base import lean

SCRIPTS = str(Path(__file__).resolve().parents[2] / "scripts")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)
CELLS = st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(st.characters(exclude_categories=["Cs"])) | st.binary()

# What a fallback must still do, printed as one line.
WORK = """
from tenon.base import lean
con = lean.sqlite.connect(":memory:", isolation_level=None)
con.execute("CREATE TABLE t (a, b)")
con.execute("INSERT INTO t VALUES (?, ?)", (1, "\\u00e9"))
try:
    con.execute("SELECT nonsense")
    raise SystemExit("no error")
except lean.sqlite.OperationalError as error:
    said = type(error).__name__
rows = con.execute("SELECT a, b FROM t").fetchall()
con.close()
print(ascii((lean.parse('{"a": [1, "\\u00e9", null, 1e3]} x'), lean.parse("{"), lean.parse(""), lean.quote('a"\\u00e9\\ud800\\n'), rows, said, lean.sqlite.__name__)))
"""
DONE = "({'a': [1, '\\xe9', None, 1000.0]}, None, None, '\"a\\\\\"\\\\u00e9?\\\\n\"', [(1, '\\xe9')], 'OperationalError', '%s')"


def ran(before: str, after: str = "") -> str:
    """What the work prints in a fresh process in which something else happens first."""
    code = f"import sys; sys.path.insert(0, {SCRIPTS!r})\n{before}\n{WORK}\n{after}"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert "" == done.stderr
    return done.stdout.strip()


@given(VALUES)
def test_whatever_json_writes_is_read_as_json_reads_it(value: Any) -> None:
    """Compact or indented, escaped or not, with something after it."""
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=2), " \t\r\n\ufeff" + json.dumps(value) + "\nmore"):
        assert (json.loads(json.dumps(value)), type(value)) == (found := lean.parse(text), type(found))


@given(st.text())
def test_any_text_is_a_value_or_none(text: str) -> None:
    """Never an error; where json reads the whole of it, the same."""
    found = lean.parse(text)
    try:
        expected = json.loads(text, strict=False)
    except ValueError:
        return
    assert repr(expected) == repr(found)


@given(VALUES, st.data())
def test_a_value_that_is_cut_off_is_none_or_a_shorter_value(value: Any, data: st.DataObject) -> None:
    """As a file that is still being written has it; an object that is not whole is none."""
    text = json.dumps({"v": value})
    assert lean.parse(text[: data.draw(st.integers(0, len(text) - 1))]) is None


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 500 + "]" * 500])
def test_depth_is_no_error(text: str) -> None:
    """Beyond what Python nests, nothing; within, the value."""
    assert (lean.parse(text) is None) == (len(text) > 1000)


def test_a_tab_or_a_line_break_inside_a_string_is_read(tmp_path: Path) -> None:
    """As hand-written settings have it."""
    assert {"a": "b\tc\nd"} == lean.parse('{"a": "b\tc\nd"}')


@given(st.text())
def test_a_quoted_text_is_ascii_and_reads_back(text: str) -> None:
    """Half a surrogate pair becomes «?»."""
    quoted = lean.quote(text)
    assert quoted.isascii()
    assert text.encode("utf-8", "replace").decode() == json.loads(quoted) == lean.parse(quoted)


@given(st.lists(st.tuples(CELLS, CELLS), max_size=5))
def test_sqlite_gives_the_rows_that_sqlite3_gives(rows: list[tuple[Any, Any]]) -> None:
    """Values of every type, in and out."""
    found = []
    for module in (lean.sqlite, sqlite3):
        con = module.connect(":memory:", isolation_level=None)
        con.execute("CREATE TABLE t (a, b)")
        con.executemany("INSERT INTO t VALUES (?, ?)", rows)
        found.append(con.execute("SELECT a, b, typeof(a), typeof(b) FROM t ORDER BY rowid").fetchall())
        con.close()
    assert found[0] == found[1]
    assert [(a, b) for a, b, _, _ in found[0]] == rows


def test_the_errors_are_those_of_sqlite3() -> None:
    """Whichever module raised them, the same class catches them."""
    assert (lean.sqlite.Error, lean.sqlite.OperationalError, lean.sqlite.DatabaseError) == (sqlite3.Error, sqlite3.OperationalError, sqlite3.DatabaseError)


def test_the_short_way_is_the_one_that_is_taken() -> None:
    """On CPython, and with nothing left behind: functools is the real one when somebody imports it later."""
    assert DONE % "_sqlite3" == ran("", "import functools, json, sqlite3; assert functools.partial and functools.lru_cache(4)(len)('a') == 1")


@pytest.mark.parametrize(
    "before",
    [
        "sys.modules['_json'] = None",  # built without it
        "import _json; del _json.make_scanner",
        "import json, _json\nclass Odd:\n    def __init__(self, *a): raise TypeError('changed')\n_json.make_scanner = Odd",
        "import json, _json\n_json.make_scanner = lambda grammar: lambda text, at: (None, 0)",  # changed without a word
        "import _functools; del _functools._lru_cache_wrapper; sys.modules.pop('_sqlite3', None)",
        "import functools",
    ],
)  # fmt: skip
def test_without_the_c_half_of_json_the_public_module_does_the_work(before: str) -> None:
    """Missing, changed, or changed without a word; nor does a text that is no JSON need more than is loaded."""
    assert ran(before) in (DONE % "_sqlite3", DONE % "sqlite3")


def test_without_a_usable_c_half_of_sqlite_the_public_module_does_the_work() -> None:
    """One that cannot be imported the first time, and one whose connection does not work."""
    blocked = (
        "class Once:\n    done = False\n    def find_spec(self, name, path=None, target=None):\n"
        "        if name == '_sqlite3' and not self.done:\n            self.done = True\n            raise ImportError('not by itself')\n"
        "sys.meta_path.insert(0, Once())"
    )
    assert DONE % "sqlite3" == ran(blocked)
    broken = "import _sqlite3\nreal = _sqlite3.connect\ndef odd(*a, **k):\n    _sqlite3.connect = real\n    raise TypeError('changed')\n_sqlite3.connect = odd"
    assert DONE % "sqlite3" == ran(broken)
