"""Who may look at the dashboard: whoever holds a link that is good once, from then on by a cookie; and no page of anybody else's.

Every program of the machine, and every page that a browser of its user shows, can reach a loopback port. So a link is random, short-lived
and used up by the first who follows it; the cookie it is turned into goes nowhere but to the dashboard's addresses; and a
request that a browser says comes from another page is refused, also from another port of this machine, to which the cookie goes as well.
All of it is in memory and ends with the process.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
import time

from tenon.world import strict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tenon.dashboard.message import Request

LINK_S = 300.0
SESSION_S = 12 * 3600.0
MOST = 12  # links and sessions at once; the oldest goes
SECRET_BYTES = 32
LONGEST_COOKIE = 16_384  # characters
AHEAD = ("sec-purpose", "purpose", "x-purpose", "x-moz")  # how browsers say that they fetch what nobody has asked for yet

CLOSED = "Tenon's dashboard is open to whoever holds its link. `tenon dashboard` in a terminal opens it."
USED = "This link was used already, or is too old: each one opens the dashboard once, within five minutes. `tenon dashboard` gives a new one."
NOT_HERE = "Tenon's dashboard is at http://127.0.0.1 with its port, and at no other name; a tunnel to it has the same port at both ends."
NOT_YOURS = "Tenon's dashboard does not answer other pages. Type its address, or follow the link of `tenon dashboard`."

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = (
    ("Content-Security-Policy", POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
)


class Door:
    """The links and sessions of a dashboard on that port; safe for many threads. `clock` gives seconds."""

    def __init__(self, port: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.port = port
        self.cookie = f"tenon-{port}"  # a browser does not tell apart the ports of a host
        self._clock = clock
        self._lock = threading.Lock()
        self._links: list[tuple[bytes, float]] = []
        self._sessions: list[tuple[bytes, float]] = []

    def link(self) -> str:
        """A token that opens the dashboard once, within five minutes."""
        return self._new(self._links, LINK_S)

    def enter(self, token: str) -> str:
        """The Set-Cookie of a new session, «» when the token is none, was used or is too old. Uses the token up."""
        with self._lock:
            if self._at(self._links, token, used=True) is None:
                return ""
        value = self._new(self._sessions, SESSION_S)
        return f"{self.cookie}={value}; Path=/_dashboard/; Max-Age={SESSION_S:.0f}; HttpOnly; SameSite=Strict"

    def is_open(self, request: Request) -> bool:
        """Whether the request bears the cookie of a session."""
        given = [
            value.strip()
            for header in strict.values(request.headers, "cookie")
            for name, _, value in (part.partition("=") for part in header[:LONGEST_COOKIE].split(";"))
            if name.strip() == self.cookie
        ]
        with self._lock:
            return any(self._at(self._sessions, value) is not None for value in given[:MOST])

    def refusal(self, request: Request) -> str:
        """Why the request is not even looked at, as a sentence; "" when it is."""
        hosts = [f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]")]
        host = (request.header("host") or "").lower()
        if host not in hosts and not (self.port == 80 and f"{host}:80" in hosts):
            return NOT_HERE
        origin, site = request.header("origin"), request.header("sec-fetch-site")
        if origin is None and request.method == "POST":
            return NOT_YOURS  # every browser names the page that posts
        if origin is not None and origin.lower() != f"http://{host}":
            return NOT_YOURS
        return "" if site in (None, "same-origin", "none") else NOT_YOURS

    def _new(self, held: list[tuple[bytes, float]], seconds: float) -> str:
        secret = os.urandom(SECRET_BYTES).hex()
        with self._lock:
            held.append((_digest(secret), self._clock() + seconds))
            del held[:-MOST]
        return secret

    def _at(self, held: list[tuple[bytes, float]], secret: str, *, used: bool = False) -> int | None:
        """Where the secret stands among those that hold, None when it does not; `used` takes it out."""
        now, wanted = self._clock(), _digest(secret)
        held[:] = [one for one in held if one[1] > now]
        found = None
        for number, (kept, _) in enumerate(held):  # all of them: the time tells nothing
            if hmac.compare_digest(kept, wanted):
                found = number
        if used and found is not None:
            del held[found]
        return found


def is_ahead(request: Request) -> bool:
    """Whether a browser, or a program that looks links over, fetches the address without its user having asked for it."""
    return request.method == "HEAD" or any(
        word in value.lower() for name in AHEAD for value in strict.values(request.headers, name) for word in ("prefetch", "prerender", "preview")
    )


def is_same(given: str | None, wanted: str) -> bool:
    """Whether a secret is the one that is wanted, in a time that tells nothing."""
    return hmac.compare_digest(_digest(given or ""), _digest(wanted))


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
