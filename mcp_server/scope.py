"""Where a client's calls work: in which repository, told by a folder or by its key, and in whose memory."""

from __future__ import annotations

import os

from tenon.base.errors import TenonError

REPOSITORY, AGENT = "X-Tenon-Repository", "X-Tenon-Agent"
UNNAMED = (
    "no repository is named, so only what holds everywhere can be read and written. A client names it by its roots, over HTTP in the header "
    f"{REPOSITORY} (an absolute folder or a key), and where it starts this server by CLAUDE_PROJECT_DIR or the folder that it starts it in"
)


class Scope:
    """A place to work: a folder, else a repository's key, else no repository; `agent` "" is the settings' one; `session` is for the journal."""

    __slots__ = ("folder", "key", "agent", "session")

    def __init__(self, folder: str = "", key: str = "", agent: str = "", session: str = "") -> None:
        self.folder = folder
        self.key = key
        self.agent = agent
        self.session = session

    @property
    def is_named(self) -> bool:
        """Whether it says which repository is meant."""
        return bool(self.folder or self.key)


def of_process() -> Scope:
    """The folder that this process was started for. Raises TenonError where nothing tells which it is."""
    here = os.environ.get("CLAUDE_PROJECT_DIR")
    if not here:
        try:
            here = os.getcwd()
        except OSError as error:
            here = os.environ.get("PWD", "")  # of a folder that is gone, whose repository is known by its path
            if not os.path.isabs(here):
                raise TenonError("the folder that this session was started in is gone; start it again from a folder that is there") from error
    return Scope(here, session=os.environ.get("CLAUDE_CODE_SESSION_ID", ""))


def of_start() -> Scope:
    """As of_process, for a client that may start servers anywhere: the top of the file system is no project."""
    found = of_process()
    return Scope(session=found.session) if os.path.dirname(found.folder) == found.folder and not os.environ.get("CLAUDE_PROJECT_DIR") else found


def of_header(told: str) -> Scope:
    """The scope that a header's value names: percent-encoded UTF-8. Raises TenonError for what is neither a folder that is there nor a key."""
    from urllib.parse import unquote_to_bytes

    try:
        name = unquote_to_bytes(told.encode("ascii")).decode("utf-8").strip()
    except UnicodeError as error:
        raise TenonError(f"{REPOSITORY} is UTF-8, percent-encoded beyond ASCII") from error
    shown = name if name.isprintable() else ascii(name)
    if os.path.isabs(name):
        if not os.path.isdir(name):
            raise TenonError(f"{REPOSITORY} names {shown}, and there is no such folder on this machine")
        return Scope(name)
    if name.startswith(("~", ".")) or "\0" in name or not ("/" in name or name.startswith("path:")):
        raise TenonError(f"{REPOSITORY} is an absolute folder, or a key as `tenon alias` lists them, not '{shown}'")
    return Scope(key=name)


def of_roots(result: dict[str, object]) -> str:
    """The folder of the first root that is one, "" without any. Raises TenonError where that is not on this machine."""
    roots = result.get("roots")
    for root in roots if isinstance(roots, list) else []:
        folder = path_of(root.get("uri")) if isinstance(root, dict) else ""
        if folder and not os.path.isdir(folder):
            raise TenonError(f"the first root that your client tells is {folder}, and there is no such folder on this machine")
        if folder:
            return folder
    return ""


def path_of(uri: object, windows: bool = os.name == "nt") -> str:
    """The path that a file: URI means, "" for anything else."""
    from urllib.parse import unquote, urlsplit

    try:
        parts = urlsplit(uri if isinstance(uri, str) else "")
    except ValueError:
        return ""
    path = unquote(parts.path)
    if parts.scheme != "file" or not path.startswith("/") or not path.isprintable():
        return ""
    if not windows:
        return path if parts.netloc in ("", "localhost") else ""
    if path[2:3] == ":":  # /c:/folder, as it is written there
        path = path[1:]
    elif parts.netloc not in ("", "localhost"):
        path = f"//{parts.netloc}{path}"
    return path.replace("/", "\\")
