"""Whose program is at the other end of a connection on this machine, or listens on a port of it: Linux says so, elsewhere it stays unknown."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

TABLES = (("/proc/net/tcp", False), ("/proc/net/tcp6", True))  # the second: whether addresses stand there as IPv6
GONE = -1
LISTENS = "0A"


def owner(connection: socket.socket) -> int | None:
    """The user id behind the client's end of an accepted loopback connection; GONE when that end is closed, None when unknown."""
    try:
        client, here = connection.getpeername(), connection.getsockname()
    except OSError:
        return GONE
    for table, wide in TABLES:
        pair = f" {_hex(client[0], client[1], wide)} {_hex(here[0], here[1], wide)} "
        for row in _rows(table):
            if pair in row:
                fields = row.split(None, 10)
                return int(fields[7]) if fields[9] != "0" else GONE  # a closed socket has no inode, and no owner any more
    return None


def is_foreign(connection: socket.socket) -> bool:
    """Whether another user of this machine is behind it; unknown counts as no."""
    if os.name != "posix":
        return False
    found = owner(connection)
    return found is not None and found != os.geteuid()


def listener(port: int) -> int | None:
    """The user id of the program that gets what is sent to that port of 127.0.0.1; None when nobody does, and when it is unknown."""
    here, anywhere = "127.0.0.1", "0.0.0.0"  # noqa: S104 - to read it, not to listen there
    # In the order in which the kernel prefers them; the last is IPv6's own for anywhere.
    places = [_hex(here, port, False), _hex(here, port, True), _hex(anywhere, port, False), f"{'0' * 32}:{port:04X}"]
    found: dict[str, int] = {}
    for table, _ in TABLES:
        for row in _rows(table):
            fields = row.split(None, 10)
            if len(fields) > 7 and fields[3] == LISTENS and fields[1] in places:
                found[fields[1]] = int(fields[7])
    return next((found[place] for place in places if place in found), None)


def is_taken_by_another(port: int) -> bool:
    """Whether another user's program listens on the port; unknown counts as no."""
    if os.name != "posix":
        return False
    found = listener(port)
    return found is not None and found != os.geteuid()


def _rows(table: str) -> list[str]:
    try:
        with open(table, "rb") as file:
            return file.read().decode("ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def _hex(address: str, port: int, wide: bool) -> str:
    """An IPv4 address as the kernel prints it: words in the machine's own byte order; `wide` as IPv6 writes it."""
    packed = bytes(int(part) for part in address.split(".")) if address.count(".") == 3 and ":" not in address else b""
    words = [b"\0" * 4, b"\0" * 4, b"\0\0\xff\xff", packed] if wide else [packed]
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words) + f":{port:04X}"
