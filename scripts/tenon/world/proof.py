"""How Tenon's proxy and whoever asks it show each other that they know its token, which itself never travels.

A port belongs to whoever takes it, so a program that took the port of a proxy that died must neither be believed nor
be told anything of use. The asker sends a number that is used once and a mark that only the token makes of it and of
what is asked; the proxy's answer bears another mark of the same number.
"""

from __future__ import annotations

import hmac
import os

NONCE = "X-Tenon-Nonce"
PROOF = "X-Tenon-Proof"
SCHEME = "Tenon "
NONCE_BYTES = 16


def nonce() -> str:
    """A number to be used once, in hexadecimal digits."""
    return os.urandom(NONCE_BYTES).hex()


def is_nonce(text: str) -> bool:
    """Whether the text has the form of one."""
    return len(text) == 2 * NONCE_BYTES and all(letter in "0123456789abcdef" for letter in text)


def asked(token: str, once: str, port: int, method: str, target: str) -> str:
    """The asker's mark; with the port in it nobody can hand the question on to a proxy on another one."""
    return _mark(token, f"ask {once} {port} {method} {target}")


def answered(token: str, once: str) -> str:
    """The proxy's mark."""
    return _mark(token, f"answer {once}")


def headers(token: str, once: str, port: int, method: str, target: str) -> dict[str, str]:
    """What a request to the proxy's own addresses bears."""
    return {NONCE: once, "Authorization": SCHEME + asked(token, once, port, method, target)}


def is_same(given: str, wanted: str) -> bool:
    """Whether the two marks are one, in a time that tells nothing."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode("ascii"))


def _mark(token: str, said: str) -> str:
    return hmac.new(token.encode("utf-8", "replace"), said.encode("utf-8", "replace"), "sha256").hexdigest()
