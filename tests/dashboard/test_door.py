"""Who may look: a link is good once, a cookie for half a day, and no other page gets in."""

from __future__ import annotations

import re

import pytest

from tenon.dashboard import door
from tenon.dashboard.door import Door
from tests.dashboard.asking import PORT, request


class Clock:
    """A time that the test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def value(cookie: str) -> str:
    """What a browser sends back of a Set-Cookie."""
    return cookie.partition(";")[0]


def is_open(entrance: Door, *cookies: str) -> bool:
    """Whether these Cookie headers get in."""
    return entrance.is_open(request("", *(("Cookie", cookie) for cookie in cookies)))


def test_a_link_is_good_once() -> None:
    """The first gets a cookie, the second nothing."""
    entrance = Door(PORT)
    token = entrance.link()
    first, second = entrance.enter(token), entrance.enter(token)

    assert re.fullmatch(r"[0-9a-f]{64}", token)
    assert re.fullmatch(r"tenon-9000=[0-9a-f]{64}; Path=/_dashboard/; Max-Age=43200; HttpOnly; SameSite=Strict", first)
    assert "" == second


def test_a_link_is_good_for_five_minutes() -> None:
    """And not a second more."""
    clock = Clock()
    entrance = Door(PORT, clock)
    early, late = entrance.link(), entrance.link()
    clock.now += 299
    assert "" != entrance.enter(early)
    clock.now += 1
    assert "" == entrance.enter(late)


def test_a_cookie_is_good_for_half_a_day() -> None:
    """Then a new link is needed."""
    clock = Clock()
    entrance = Door(PORT, clock)
    cookie = value(entrance.enter(entrance.link()))
    clock.now += 12 * 3600 - 1
    assert is_open(entrance, cookie)
    clock.now += 1
    assert not is_open(entrance, cookie)


def test_the_oldest_of_too_many_links_and_sessions_goes() -> None:
    """Twelve of each are kept."""
    entrance = Door(PORT)
    links = [entrance.link() for _ in range(13)]
    assert "" == entrance.enter(links[0])
    cookies = [value(entrance.enter(token)) for token in [*links[1:], entrance.link()]]
    assert [False] + [True] * 12 == [is_open(entrance, cookie) for cookie in cookies]


@pytest.mark.parametrize("cookies", [(), ("",), ("tenon-9000=",), ("tenon-9000",), ("other={}",), ("tenon-9001={}",), ("tenon-9000={}x",), ("x" * 20_000 + "; tenon-9000={}",)])  # fmt: skip
def test_no_other_cookie_gets_in(cookies: tuple[str, ...]) -> None:
    """Neither another name, nor another port's, nor nearly the right one."""
    entrance = Door(PORT)
    secret = value(entrance.enter(entrance.link())).partition("=")[2]
    assert not is_open(entrance, *(cookie.format(secret) for cookie in cookies))


def test_the_cookie_is_found_among_others() -> None:
    """Also behind an old one of the same name, and in a second header."""
    entrance = Door(PORT)
    cookie = value(entrance.enter(entrance.link()))
    assert is_open(entrance, f"a=b; {cookie}; c=d")
    assert is_open(entrance, "tenon-9000=old", f"x=y;{cookie}")


def test_a_link_s_token_is_no_cookie_and_a_cookie_no_link() -> None:
    """Each is good for one thing."""
    entrance = Door(PORT)
    token = entrance.link()
    secret = value(entrance.enter(entrance.link())).partition("=")[2]
    assert not is_open(entrance, f"tenon-9000={token}")
    assert "" == entrance.enter(secret)


def test_no_secret_is_kept_as_it_is() -> None:
    """What lies in memory opens nothing."""
    entrance = Door(PORT)
    token = entrance.link()
    secret = value(entrance.enter(entrance.link())).partition("=")[2]
    held = repr(vars(entrance))
    assert token not in held
    assert secret not in held


@pytest.mark.parametrize("host", ["127.0.0.1:9000", "localhost:9000", "LOCALHOST:9000", "[::1]:9000"])
def test_it_is_addressed_by_this_machine_s_names(host: str) -> None:
    """With its own port; the page that asks may be its own."""
    entrance = Door(PORT)
    own = ("Origin", f"http://{host.lower()}")
    assert "" == entrance.refusal(request("", ("Host", host)))
    assert "" == entrance.refusal(request("", ("Host", host), own, ("Sec-Fetch-Site", "same-origin")))
    assert "" == entrance.refusal(request("", ("Host", host), ("Sec-Fetch-Site", "none")))
    assert "" == entrance.refusal(request("", ("Host", host), own, method="POST"))


def test_a_port_that_browsers_leave_out_may_be_left_out() -> None:
    """That is 80 and no other."""
    assert "" == Door(80).refusal(request("", ("Host", "127.0.0.1")))
    assert door.NOT_HERE == Door(PORT).refusal(request("", ("Host", "127.0.0.1")))


@pytest.mark.parametrize(
    "host", ["", "evil.example", "evil.example:9000", "127.0.0.1", "127.0.0.1:9001", "127.0.0.2:9000", "localhost.evil.example:9000", "127.0.0.1:9000@evil.example", "[::1]", "0.0.0.0:9000", "127.1:9000"]
)  # fmt: skip
def test_another_host_is_refused(host: str) -> None:
    """A name that was pointed here, and our own with another port."""
    assert door.NOT_HERE == Door(PORT).refusal(request("", ("Host", host)))


def test_two_hosts_are_none() -> None:
    """One reading of a request is enough."""
    assert door.NOT_HERE == Door(PORT).refusal(request("", ("Host", "127.0.0.1:9000"), ("host", "127.0.0.1:9000")))


@pytest.mark.parametrize(
    "header",
    [
        ("Origin", "https://evil.example"),
        ("Origin", "http://127.0.0.1:9001"),
        ("Origin", "http://localhost:9000"),
        ("Origin", "https://127.0.0.1:9000"),
        ("Origin", "null"),
        ("Origin", ""),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
        ("Sec-Fetch-Site", ""),
        ("Sec-Fetch-Site", "same-origin, none"),
    ],
)
def test_another_page_is_refused(header: tuple[str, str]) -> None:
    """Also one of another port of this machine, to which the cookie goes as well."""
    assert door.NOT_YOURS == Door(PORT).refusal(request("", header))


def test_a_post_that_names_no_page_is_refused() -> None:
    """Every browser names it."""
    assert door.NOT_YOURS == Door(PORT).refusal(request("", method="POST"))


@pytest.mark.parametrize(
    ("header", "ahead"),
    [
        (("Sec-Purpose", "prefetch"), True),
        (("Sec-Purpose", "prefetch;prerender"), True),
        (("Purpose", "prefetch"), True),
        (("X-Moz", "prefetch"), True),
        (("X-Purpose", "preview"), True),
        (("Purpose", "something"), False),
        (("Accept", "prefetch"), False),
    ],
)
def test_browsers_say_what_they_fetch_ahead(header: tuple[str, str], ahead: bool) -> None:
    """By several headers."""
    assert ahead == door.is_ahead(request("", header))


def test_a_look_at_the_head_is_ahead_too() -> None:
    """Programs that look links over ask for that."""
    assert door.is_ahead(request("", method="HEAD"))
