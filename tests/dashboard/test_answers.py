"""What an address is answered: pages, their data, files, and refusals that say nothing of this machine."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import threading
import types
import zlib
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tenon.base import faults, paths
from tenon.base.errors import TenonError
from tenon.dashboard import answers, door, files
from tenon.dashboard.answers import Dashboard, named, split
from tenon.dashboard.door import Door
from tenon.dashboard.message import Request
from tenon.dashboard.place import Missing, Place, Query
from tenon.store import db, memories
from tests.dashboard.asking import HOST, PORT, Visitor, request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

STATIC = Path(files.FOLDER)
ADD_REPOSITORY = "INSERT INTO repository (key, seen) VALUES (?, 1.0)"


@pytest.fixture(autouse=True)
def sample(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A page of the test's own beside the real ones."""

    def page(here: Place, query: Query) -> dict[str, Any]:
        word, number = query.text("q"), query.number("limit", 10, 1, 50)
        repository = query.repository(here.store)
        query.done()
        return {"q": word, "limit": number, "repository": repository, "agent": here.agent, "writable": here.store.writable, "edit": here.allow_edit}

    def one(here: Place, name: str, query: Query) -> dict[str, Any]:
        query.done()
        if name == "gone":
            raise Missing("It is gone.")
        return {"name": name, "text": memories.get(here.store, name).text if name.startswith("m") else "\ud83d"}

    module = types.ModuleType("tenon.dashboard.sample")
    vars(module).update(page=page, one=one)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(answers, "PAGES", ("sample", *answers.PAGES))
    return module


@pytest.fixture
def dashboard() -> Dashboard:
    """A dashboard that only shows, of an agent with one memory."""
    with db.open_store(paths.store_path("default")) as store:
        memories.write(store, repository=None, tier="long", kind="fact", text="Deploys go out on Fridays", reason="said so", now=1.0)
    return Dashboard(Door(PORT), lambda: "default")


@pytest.fixture
def visitor(dashboard: Dashboard) -> Visitor:
    """Somebody who came in by a link."""
    return Visitor(dashboard)


def test_a_link_leads_to_the_memories_with_a_cookie(dashboard: Dashboard) -> None:
    """The address bar keeps nothing of it."""
    link = urlsplit(dashboard.link())
    found = dashboard.answer(Request("GET", f"{link.path}?{link.query}", [HOST, ("Sec-Fetch-Site", "none")]))

    assert (f"127.0.0.1:{PORT}", "/_dashboard/") == (link.netloc, link.path)
    assert (303, "/_dashboard/default/sample") == (found.status, found.value("location"))
    assert found.value("set-cookie").startswith(f"tenon-{PORT}=")
    assert "no-store" == found.value("cache-control")


def test_a_link_may_name_an_agent_that_there_is(dashboard: Dashboard) -> None:
    """Else it leads to the first."""
    with db.open_store(paths.store_path("work")):
        pass
    for named_agent, shown in (("work", "work"), ("nobody", "default"), ("../x", "default")):
        link = urlsplit(dashboard.link(named_agent))
        found = dashboard.answer(Request("GET", f"{link.path}?{link.query}", [HOST]))
        assert f"/_dashboard/{shown}/sample" == found.value("location")


def test_a_used_link_says_so_and_what_to_do(dashboard: Dashboard) -> None:
    """To whoever is not in; whoever is in comes in again, without another session."""
    link = urlsplit(dashboard.link())
    again = Request("GET", f"{link.path}?{link.query}", [HOST])
    cookie = dashboard.answer(again).value("set-cookie").partition(";")[0]
    refused = dashboard.answer(again)
    inside = dashboard.answer(Request("GET", f"{link.path}?{link.query}", [HOST, ("Cookie", cookie)]))

    assert 401 == refused.status
    assert "text/html; charset=utf-8" == refused.value("content-type")
    assert b"This link was used already" in refused.body
    assert b"<code>tenon dashboard</code>" in refused.body
    assert "" == refused.value("set-cookie")
    assert (303, "") == (inside.status, inside.value("set-cookie"))


@pytest.mark.parametrize(("method", "headers"), [("HEAD", []), ("GET", [("Sec-Purpose", "prefetch")]), ("GET", [("Purpose", "prefetch")])])
def test_what_is_fetched_ahead_does_not_use_a_link_up(dashboard: Dashboard, method: str, headers: list[tuple[str, str]]) -> None:
    """The click that follows still gets in."""
    link = urlsplit(dashboard.link())
    ahead = dashboard.answer(Request(method, f"{link.path}?{link.query}", [HOST, *headers]))
    clicked = dashboard.answer(Request("GET", f"{link.path}?{link.query}", [HOST]))

    assert (503, "") == (ahead.status, ahead.value("set-cookie"))
    assert 303 == clicked.status


def test_a_link_that_another_page_follows_is_not_used_up(dashboard: Dashboard) -> None:
    """The page is refused before its link is looked at."""
    link = urlsplit(dashboard.link())
    target = f"{link.path}?{link.query}"
    assert 403 == dashboard.answer(Request("GET", target, [HOST, ("Sec-Fetch-Site", "cross-site")])).status
    assert 303 == dashboard.answer(Request("GET", target, [HOST])).status


@pytest.mark.parametrize(
    "path", ["", "default/memories", "default/memories.json", "default/about.json", "static/style.css", "static/index.html", "nobody/memories.json", "../x", "?token=none"]
)  # fmt: skip
def test_without_a_cookie_nothing_is_told(dashboard: Dashboard, path: str) -> None:
    """Not even what there is; data is refused as data."""
    found = dashboard.answer(request(path))
    assert 401 == found.status
    if path.endswith(".json"):
        assert {"error": door.CLOSED} == json.loads(found.body)
    else:
        assert b"<code>tenon dashboard</code>" in found.body


@pytest.mark.parametrize("header", [("Host", "evil.example:9000"), ("Origin", "http://127.0.0.1:3000"), ("Sec-Fetch-Site", "same-site")])
def test_another_page_is_told_nothing_though_it_has_the_cookie(visitor: Visitor, header: tuple[str, str]) -> None:
    """Status 403."""
    headers = [*visitor.headers, header]
    assert 403 == visitor.dashboard.answer(request("default/sample.json", *headers)).status


@pytest.mark.parametrize("path", ["", "default/memories", "default/sample.json", "static/style.css", "default/nothing", "nobody/x.json"])
@pytest.mark.parametrize("inside", [True, False])
def test_every_answer_has_the_headers_that_keep_it_in(visitor: Visitor, path: str, inside: bool) -> None:
    """Whatever its status."""
    found = visitor.ask(path) if inside else visitor.dashboard.answer(request(path))
    policy = found.value("content-security-policy")

    assert policy.startswith(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'"
    )
    assert policy.endswith("frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
    assert ("nosniff", "DENY", "no-referrer") == tuple(found.value(name) for name in ("x-content-type-options", "x-frame-options", "referrer-policy"))
    assert ("same-origin", "same-origin") == tuple(found.value(f"cross-origin-{name}-policy") for name in ("resource", "opener"))
    assert "camera=()" in found.value("permissions-policy")
    assert ("no-cache" if found.value("etag") else "no-store") == found.value("cache-control")


def test_every_page_has_one_frame(visitor: Visitor) -> None:
    """The same bytes for each page and each thing of it, whatever its parameters."""
    shell = (STATIC / "index.html").read_bytes()
    for path in ("default/memories", "default/history?q=x&after=3", "default/memories/m7k2", "default/history/a%20b%3Fc", "default/health"):
        found = visitor.ask(path)
        assert (200, "text/html; charset=utf-8", shell) == (found.status, found.value("content-type"), found.body)


@pytest.mark.parametrize(
    "path",
    [
        "nobody/memories", "nobody/memories.json", "default", "default/", "default/nothing", "default/nothing.json", "default/sample/", "default/sample/a/b", "default/sample/.json",
        "default//sample", "static", "static/", "static/nothing.js", "static/..%2fplace.py", "static/../place.py", "default/.json", "DEFAULT/memories", "default/__init__.json",
        "..", "../..", "%2e%2e/etc/passwd", "default/..", "default/%2e%2e", "default/sample/%2e%2e", "default/a%2fb", "default/a%5cb", "default%2fsample",
        "default/..\\..\\x", "/etc/passwd", "default/%0a", "static/x/%2e%2e%2fplace.py", "static/%2fetc%2fpasswd", "default/sample/%ff", "static/%2e%2e%2fplace.py", "static/index.html%00.js", "static//etc/passwd",
    ],
)  # fmt: skip
def test_what_is_not_there_is_not_found(visitor: Visitor, path: str) -> None:
    """By whatever spelling; no file is opened for it."""
    found = visitor.ask(path)
    assert 404 == found.status
    assert str(STATIC).encode() not in found.body


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("a%2Fb", "a/b"), ("a%5Cb", "a\\b"), ("%2Fetc%2Fpasswd", "/etc/passwd"), ("%0A%00%7F", "\n\0\x7f"), (".~", "."), ("..~", ".."), ("x.json~", "x.json"), ("x~~", "x~"),
        ("~", "~"), ("x.json", "x.json"),
    ],
)  # fmt: skip
def test_a_name_may_have_any_letters(visitor: Visitor, part: str, name: str) -> None:
    """Also those that mean something in an address: it is looked up, and no path is made of it."""
    status, told = visitor.data(f"default/sample/{part}.json")
    assert (200, name) == (status, told["name"])
    if part != name:
        assert 200 == visitor.ask(f"default/sample/{part}").status


def test_another_prefix_is_not_ours() -> None:
    """Though it begins alike."""
    assert [] == split("/_dashboard")
    for path in ("/_dashboards/default", "/_dashboard2default", "/_dashb0ard/default"):
        with pytest.raises(Missing):
            split(path)


def test_data_is_what_the_page_s_module_says(visitor: Visitor) -> None:
    """With the parameters of the address, from a store that cannot be written."""
    assert (200, {"q": "a & b", "limit": 5, "repository": None, "agent": "default", "writable": False, "edit": False}) == visitor.data(
        "default/sample.json?q=a+%26+b&limit=5"
    )
    assert (200, {"name": "a ?.b", "text": "\ud83d"}) == visitor.data("default/sample/a%20%3F.b.json")
    assert (404, {"error": "It is gone."}) == visitor.data("default/sample/gone.json")
    assert 404 == visitor.data("default/sample/m7k2p9qxab.json")[0]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=51", "limit=x", "limit=%C2%B2", "limit=1&limit=2", "nothing=1", "q=" + "x" * 201, "q=" + "x" * 5000, "repository=/etc", "&".join(f"a{n}=" for n in range(60))]
)  # fmt: skip
def test_wrong_parameters_are_a_sentence(visitor: Visitor, query: str) -> None:
    """Status 400, as JSON, and nothing of this machine in it."""
    status, told = visitor.data(f"default/sample.json?{query}")
    assert 400 == status
    assert ["error"] == list(told)
    assert told["error"].endswith(".")
    assert paths.home() not in told["error"]


def test_an_agent_is_one_that_has_a_store(visitor: Visitor) -> None:
    """Each shows its own."""
    assert 404 == visitor.data("work/sample.json")[0]
    with db.open_store(paths.store_path("work")):
        pass
    assert "work" == visitor.data("work/sample.json")[1]["agent"]
    assert ["default", "work"] == visitor.data("default/about.json")[1]["agents"]


def test_an_agent_may_be_called_static(visitor: Visitor) -> None:
    """No file has the name of a page."""
    with db.open_store(paths.store_path("static")):
        pass
    assert 200 == visitor.ask("static/memories").status
    assert "static" == visitor.data("static/sample.json")[1]["agent"]


def test_before_the_first_session_the_pages_say_that_nothing_is_there() -> None:
    """That is no error; one thing of a page is missing all the same."""
    visitor = Visitor(Dashboard(Door(PORT), lambda: "default"))
    assert (200, {"empty": answers.EMPTY}) == visitor.data("default/sample.json")
    assert 404 == visitor.data("default/sample/m7k2p9qxab.json")[0]
    assert (200, []) == (visitor.data("default/about.json")[0], visitor.data("default/about.json")[1]["repositories"])
    assert 200 == visitor.ask("default/sample").status
    assert not os.path.exists(paths.store_path("default"))


def test_without_a_name_in_the_settings_another_agent_is_shown() -> None:
    """A settings file that cannot be read does not close the pages."""
    with db.open_store(paths.store_path("work")):
        pass
    visitor = Visitor(Dashboard(Door(PORT), lambda: ""))
    assert "/_dashboard/work/sample" == visitor.ask("").value("location")


def test_about_names_what_every_page_needs(visitor: Visitor) -> None:
    """Repositories by a name as short as tells them apart; aliases are left out."""
    with db.open_store(paths.store_path("default")) as store:
        for key in ("example.org/acme/widgets", "example.org/other/widgets", "path:/home/me/tools", "path:C:\\work\\app"):
            store.execute(ADD_REPOSITORY, (key,))
        store.execute("INSERT INTO repository (key, seen, same_as) VALUES ('path:/old', 1.0, 1)")
    status, told = visitor.data("default/about.json")

    assert (200, False, "default") == (status, told["allow_edit"], told["agent"])
    assert {"acme/widgets", "other/widgets", "tools", "app"} == {repository["name"] for repository in told["repositories"]}
    assert "change_token" not in told
    assert 400 == visitor.data("default/about.json?x=1")[0]


def test_names_are_as_long_as_they_must_be() -> None:
    """A key that is the end of another keeps all it has."""
    assert [("widgets", "widgets"), ("a/widgets", "a/widgets"), ("/", "/")] == named(["widgets", "a/widgets", "/"])


def test_names_are_found_without_holding_each_against_each() -> None:
    """Also of thousands of repositories, many of which end alike."""
    asked: list[int] = []

    class Key(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            asked.append(1)
            return str.__eq__(self, other)

        def __ne__(self, other: object) -> bool:
            asked.append(1)
            return str.__ne__(self, other)

    keys: list[str] = [Key(f"github.com/org{number % 30}/proj{number}/app") for number in range(300)]
    found = dict(named(keys))
    assert len(asked) <= 2 * len(keys)
    assert ("proj7/app", 300) == (found[keys[7]], len(set(found.values())))


def test_files_are_asked_for_again_and_sent_once(visitor: Visitor) -> None:
    """By their mark."""
    first = visitor.ask("static/style.css")
    again = visitor.ask("static/style.css", ("If-None-Match", f'"x", {first.value("etag")}'))
    changed = visitor.ask("static/style.css", ("If-None-Match", '"x"'))

    assert (200, "text/css; charset=utf-8", (STATIC / "style.css").read_bytes()) == (first.status, first.value("content-type"), first.body)
    assert (304, b"", first.value("etag")) == (again.status, again.body, again.value("etag"))
    assert 200 == changed.status


def test_only_files_of_known_kinds_are_served(tmp_path: Path) -> None:
    """And none of a folder in it."""
    for name in ("a.js", "b.css", "notes.txt", "c.py", ".hidden"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    (tmp_path / "folder.js").mkdir()
    assert ["a.js", "b.css"] == sorted(files.read(str(tmp_path)))


@pytest.mark.parametrize(("accepted", "packed"), [("gzip, br", True), ("GZIP;q=1", True), ("br", False), ("gzip;q=0", False), ("", False)])
def test_what_is_large_is_compressed_for_who_takes_it(visitor: Visitor, accepted: str, packed: bool) -> None:
    """The bytes are the same in the end."""
    found = visitor.ask("static/style.css", ("Accept-Encoding", accepted))
    data = (STATIC / "style.css").read_bytes()
    assert ("gzip" if packed else "") == found.value("content-encoding")
    assert data == (zlib.decompress(found.body, 31) if packed else found.body)
    assert (len(found.body) < len(data)) == packed


def test_what_is_small_is_not_compressed(visitor: Visitor) -> None:
    """It would not be felt."""
    assert "" == visitor.ask("default/sample.json", ("Accept-Encoding", "gzip")).value("content-encoding")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get"])
def test_there_is_no_other_method(visitor: Visitor, method: str) -> None:
    """Status 405 with what there is."""
    found = visitor.ask("default/sample.json", method=method)
    assert (405, "GET, HEAD") == (found.status, found.value("allow"))


def test_a_head_is_answered_like_a_get(visitor: Visitor) -> None:
    """The server leaves the body out."""
    assert 200 == visitor.ask("default/sample.json", method="HEAD").status


def test_a_dashboard_that_only_shows_changes_nothing(visitor: Visitor) -> None:
    """Status 403 for a change, 405 for a GET of its address, 405 for a POST elsewhere."""
    status, told = visitor.change("default", {"action": "freeze", "on": True}, token="x")
    assert (403, True) == (status, "--allow-edit" in told["error"])
    assert 405 == visitor.ask("default/change.json").status
    assert 405 == visitor.ask("default/sample.json", ("Origin", f"http://127.0.0.1:{PORT}"), method="POST").status


def test_a_page_s_fault_is_noted_without_its_words_and_ends_nothing(visitor: Visitor, sample: Any) -> None:
    """Status 500 with a sentence; the next request is served."""

    def page(here: Place, query: Query) -> dict[str, Any]:
        raise ValueError("the secret that was read")

    before, sample.page = sample.page, page
    assert (500, {"error": answers.FAULT}) == visitor.data("default/sample.json")
    sample.page = before
    assert 200 == visitor.data("default/sample.json")[0]
    fault = faults.recent()[0]
    assert ("dashboard", "ValueError") == (fault["door"], fault["error"])
    assert "secret" not in str(fault)


def test_a_page_that_is_not_there_takes_no_other_along(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status 500."""
    monkeypatch.setattr(answers, "PAGES", (*answers.PAGES, "absent"))
    assert 500 == visitor.data("default/absent.json")[0]
    assert 200 == visitor.data("default/sample.json")[0]


def raising(error: Exception) -> Callable[[Place, Query], dict[str, Any]]:
    """A page that fails so."""

    def page(here: Place, query: Query) -> dict[str, Any]:
        raise error

    return page


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (sqlite3.OperationalError("interrupted"), 503, "took more than 5 seconds"),
        (sqlite3.OperationalError("database is locked"), 503, "is being written by another process"),
        (sqlite3.DatabaseError("database disk image is malformed"), 503, "`tenon doctor --fix`"),
        (sqlite3.OperationalError("no such table: x"), 500, "A fault of Tenon's own"),
        (TenonError("that cannot be asked"), 400, "that cannot be asked"),
    ],
)
def test_what_is_the_matter_with_the_store_is_said(visitor: Visitor, sample: Any, error: Exception, status: int, told: str) -> None:
    """Without the folders of this machine."""
    sample.page = raising(error)
    found = visitor.data("default/sample.json")
    assert (status, True) == (found[0], told in found[1]["error"])
    assert paths.home() not in found[1]["error"]


def test_a_question_that_takes_too_long_is_given_up(visitor: Visitor, sample: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store's own limit ends it."""
    monkeypatch.setattr(answers, "LIMIT_S", 0.05)

    def page(here: Place, query: Query) -> dict[str, Any]:
        return {"never": here.store.value("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")}

    sample.page = page
    status, told = visitor.data("default/sample.json")
    assert (503, True) == (status, "was given up" in told["error"])


def test_only_so_many_answers_are_worked_on_at_once(visitor: Visitor, sample: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next waits for its turn, and is told so when that does not come; files and frames are not kept waiting."""
    begun, go_on, found = threading.Semaphore(0), threading.Event(), []

    def page(here: Place, query: Query) -> dict[str, Any]:
        begun.release()
        return {"went on": go_on.wait(20)}

    sample.page = page
    threads = [threading.Thread(target=lambda: found.append(visitor.data("default/sample.json"))) for _ in range(answers.AT_ONCE)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert begun.acquire(timeout=20)
    monkeypatch.setattr(answers, "LIMIT_S", 0.01)
    refused = [visitor.data(path) for path in ("default/sample.json", "default/about.json")]
    assert [200, 200] == [visitor.ask(path).status for path in ("default/sample", "static/style.css")]
    go_on.set()
    for thread in threads:
        thread.join()

    assert [(503, {"error": answers.BUSY})] * 2 == refused
    assert [(200, {"went on": True})] * answers.AT_ONCE == found
    assert 200 == visitor.data("default/sample.json")[0]


def test_a_damaged_store_is_said_and_left_alone(visitor: Visitor) -> None:
    """With the way out and without its path."""
    path = Path(paths.store_path("default"))
    path.write_bytes(b"this is no database, and was none" * 100)
    before = path.read_bytes()
    for address in ("default/sample.json", "default/about.json"):
        status, told = visitor.data(address)
        assert (503, True) == (status, "the memory is damaged" in told["error"])
        assert paths.home() not in told["error"]
    assert before == path.read_bytes()


def test_an_older_store_is_said_and_not_brought_up(visitor: Visitor) -> None:
    """A GET changes nothing."""
    path = paths.store_path("default")
    with sqlite3.connect(path) as con:
        con.execute("PRAGMA user_version = 1")
    con.close()
    status, told = visitor.data("default/sample.json")
    assert (503, True) == (status, "older schema" in told["error"])


def test_reading_goes_on_while_somebody_writes(visitor: Visitor) -> None:
    """A writer's lock keeps no reader out."""
    with db.open_store(paths.store_path("default")) as store, store.transaction():
        memories.write(store, repository=None, tier="long", kind="fact", text="Not yet", reason="r", now=1.0)
        assert 200 == visitor.data("default/sample.json")[0]


@pytest.mark.parametrize("page", ["memories", "identity", "history", "digests", "selector", "health"])
def test_each_page_has_its_data_and_knows_its_parameters(visitor: Visitor, page: str) -> None:
    """One that it does not know is wrong; a thing that it does not have is missing."""
    assert 200 == visitor.data(f"default/{page}.json")[0]
    assert 400 == visitor.data(f"default/{page}.json?nothing=1")[0]
    assert 404 == visitor.data(f"default/{page}/nothing.json")[0]
