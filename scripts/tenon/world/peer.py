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
PEOPLE = "/etc/passwd"  # the users that the machine itself has


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


def listener(port: int, here: str = "127.0.0.1") -> int | None:
    """The user id of the program that gets what is sent to that port of this machine's address; None when nobody does, and when it is unknown."""
    anywhere = "0.0.0.0"  # noqa: S104 - to read it, not to listen there
    # In the order in which the kernel prefers them; the last is IPv6's own for anywhere.
    places = [_hex(here, port, True), f"{'0' * 32}:{port:04X}"]
    if ":" not in here:
        places = [_hex(here, port, False), places[0], _hex(anywhere, port, False), places[1]]
    found: dict[str, int] = {}
    for table, _ in TABLES:
        for row in _rows(table):
            fields = row.split(None, 10) if f" {LISTENS} " in row else ()
            if len(fields) > 7 and fields[3] == LISTENS and fields[1] in places:
                found[fields[1]] = int(fields[7])
    return next((found[place] for place in places if place in found), None)


def is_taken_by_another(port: int) -> bool:
    """Whether another user's program listens on the port; unknown counts as no."""
    if os.name != "posix":
        return False
    found = listener(port)
    return found is not None and found != os.geteuid()


def is_known() -> bool:
    """Whether this system says whose a listening program is."""
    return os.name == "posix" and os.path.exists(TABLES[0][0])


def is_trusted(connection: socket.socket, name: str) -> bool | None:
    """Whether the program that listens at the server's end of a connection is this user's, root's, or of the user of that name; None when unknown."""
    if not is_known():
        return None
    address, port = connection.getpeername()[:2]
    found = listener(port, address.rpartition("ffff:")[2] if "." in address else address)
    return None if found is None else found in (0, os.geteuid()) or found in _numbers(name)


def _numbers(name: str) -> list[int]:
    """The user id of that name, if there is such a user."""
    rows = [row.split(":") for row in _rows(PEOPLE) if row.startswith(name + ":")]
    return [int(row[2]) for row in rows if len(row) > 2 and row[2].isdigit()]


def _rows(table: str) -> list[str]:
    try:
        with open(table, "rb") as file:
            return file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def _hex(address: str, port: int, wide: bool) -> str:
    """An address as the kernel prints it: words in the machine's own byte order; `wide` as IPv6 writes an IPv4 one."""
    if ":" in address:
        import socket

        whole = socket.inet_pton(socket.AF_INET6, address)
        words = [whole[at : at + 4] for at in range(0, 16, 4)]
    else:
        packed = bytes(int(part) for part in address.split(".")) if address.count(".") == 3 else b""
        words = [b"\0" * 4, b"\0" * 4, b"\0\0\xff\xff", packed] if wide else [packed]
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words) + f":{port:04X}"
