"""The token by which the tools' server knows its user's clients over HTTP: made once, in a file that is the user's alone."""

from __future__ import annotations

import hmac
import os
import stat

from tenon.base import paths
from tenon.base.errors import TenonError

PORT = 9001  # of the tools' server; the proxy has its own
VARIABLE = "TENON_MCP_TOKEN"  # in which clients are told the token
TOKEN_BYTES = 32
PREFIX = "sk-tenon-"  # by which `redact`, and whoever else looks for secrets, knows one in a text
AGAIN = "`tenon serve --http --new-token` makes another, and clients need that one then"


def path() -> str:
    """The file with the token; it need not exist."""
    return os.path.join(paths.home(), "mcp-token")


def address(port: int = PORT, agent: str = "") -> str:
    """Where clients find the server; with an agent, where they find that one's memory."""
    return f"http://127.0.0.1:{port}{'/agent/' + agent if agent else ''}/mcp"


def held() -> str:
    """The token, "" when none was made yet. Raises TenonError for a file that others may read or that holds none."""
    try:
        found = os.lstat(path())
        if not stat.S_ISREG(found.st_mode) or (os.name == "posix" and (found.st_mode & 0o077 or found.st_uid != os.geteuid())):
            raise TenonError(f"{path()} is not a file of yours alone, so the token in it is no secret any more; {AGAIN}")
        with open(path(), encoding="ascii", errors="replace") as file:
            token = file.read(200).strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise TenonError(f"{path()} cannot be read ({error.strerror}); {AGAIN}") from error
    if not token.startswith(PREFIX) or len(token) != len(PREFIX) + 2 * TOKEN_BYTES or token[len(PREFIX) :].strip("0123456789abcdef"):
        raise TenonError(f"{path()} holds no token; {AGAIN}")
    return token


def token() -> str:
    """The token, made now when there is none. Raises TenonError."""
    return held() or renewed()


def renewed() -> str:
    """A new token in place of the one before. Raises TenonError where it cannot be kept."""
    paths.make_private(paths.home())
    made = PREFIX + os.urandom(TOKEN_BYTES).hex()
    temporary = f"{path()}.{os.getpid()}"
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(made + "\n")
        os.replace(temporary, path())
    except OSError as error:
        raise TenonError(f"{path()} cannot be written ({error.strerror}): make room there or set TENON_HOME to another folder") from error
    return made


def is_known(header: str, wanted: str) -> bool:
    """Whether an Authorization header bears the token, in a time that tells nothing."""
    scheme, _, given = header.partition(" ")
    return bool(wanted) and scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode("utf-8", "replace"), wanted.encode("ascii"))
