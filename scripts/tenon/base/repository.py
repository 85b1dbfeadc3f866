"""Which repository a folder is in, told by reading a few of git's files: the git program is never started.

It is asked before every prompt, so it imports nothing but `os`, opens ordinary files only, and never raises.
"""
from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LEVELS = 200  # folders looked at on the way up
LARGEST = 1_000_000  # bytes read of a config file
PORTS = {"http": "80", "https": "443", "git": "9418", "ssh": "22", "git+ssh": "22", "ssh+git": "22"}
ALIASES = {"ssh.github.com": "github.com", "www.github.com": "github.com", "altssh.gitlab.com": "gitlab.com", "altssh.bitbucket.org": "bitbucket.org"}
AZURE, AZURE_SSH = "dev.azure.com", ("ssh.dev.azure.com", "vs-ssh.visualstudio.com")
IGNORE_CASE = ("github.com", "gist.github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "gitea.com", AZURE)


class Identity:
    """What is known of a folder's repository.

    key: `host/path` of its origin, else `path:` and the real path of the main working tree, else of the folder.
    root: the top of the working tree that the folder is in (in a worktree: that worktree's), else the folder.
    kind: what the key was made from: origin, path or folder.
    fingerprint: `device:inode:mtime_ns` of a file that git writes once: a rename keeps it, a copy does not.
    """

    __slots__ = ("key", "root", "kind", "fingerprint")

    def __init__(self, key: str, root: str, kind: str, fingerprint: str = "") -> None:
        self.key = key
        self.root = root
        self.kind = kind
        self.fingerprint = fingerprint


def identify(folder: str) -> Identity:
    """The repository the folder is in. A folder that does not exist is known by its own absolute path."""
    try:
        start = os.path.realpath(folder)
        found = _upwards(start) if os.path.exists(start) else None
        if found is None:
            return Identity(_path_key(start), start, "folder")
        here, common = found
        if here == common and f"{os.sep}.git{os.sep}" not in here + os.sep:
            # A bare repository can be committed inside another one and claim any origin; the one around it counts.
            outer = _upwards(os.path.dirname(here))
            if outer is not None and outer[1] != common:
                here, common = outer
        if not common:
            return Identity(_path_key(here), here, "path")
        config = _config(common)
        place = _place(common, config)
        origin = key_of_url(config.get("remote.origin.url", ""), place)
        root = place if here == common else here
        return Identity(origin or _path_key(place), root, "origin" if origin else "path", _fingerprint(common))
    except (OSError, ValueError):
        return Identity(_path_key(folder), folder, "folder")


def _upwards(here: str) -> tuple[str, str] | None:
    """The nearest folder upwards that is the top of a repository, and its common git folder («» when broken)."""
    for _ in range(LEVELS):
        common = _repository_at(here)
        if common is not None:
            return here, common
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above
    return None


def key_of_url(url: str, base: str) -> str:
    """The key of a git URL, the same for all its forms, or «» when it cannot be one. A relative path starts from `base`."""
    url = url.strip()
    helper, sign, rest = url.partition("::")
    if sign and helper.replace("-", "").isalnum():  # transport::address
        url = rest if "://" in rest else ""
    if not url or any(c < " " or c == "\x7f" for c in _decoded(url)):
        return ""
    scheme, sign, rest = url.partition("://")
    if sign and scheme.replace("+", "").isalnum():
        if scheme.lower() != "file":
            authority, _, path = rest.partition("/")
            return _remote_key(authority, path, PORTS.get(scheme.lower(), ""))
        path = _decoded(rest)
        return _local_key(path[1:] if _drive(path[1:]) else path if path.startswith("/") or _drive(path) else "//" + path, base)
    colon = url.find(":", url.find("]") if "[" in url.partition(":")[0] else 0)
    if colon < 1 or "/" in url[:colon] or "\\" in url[:colon] or _drive(url):
        return _local_key(url, base)
    return _remote_key(url[:colon], url[colon + 1 :], "22")


def _remote_key(authority: str, path: str, usual_port: str) -> str:
    host = authority.rpartition("@")[2].lower()
    if host.count(":") == 1:
        host = host.strip("[]")  # [host:port]:path
    name, sign, port = host.rpartition(":")
    if not sign or "]" in port:
        name, port = host, ""
    elif port and not port.isdigit():  # ssh://git@host:owner/repo
        path, port = f"{authority.rpartition(':')[2]}/{path}", ""
    host = name.rstrip(".")
    parts = [part for part in _decoded(path).split("/") if part not in ("", ".")]
    if host in ALIASES:
        host, port = ALIASES[host], ""
    elif host == AZURE or host in AZURE_SSH or host.endswith(".visualstudio.com"):
        host, port, parts = AZURE, "", _azure(host, [part.lower() for part in parts])
    path = "/".join(parts)
    if host in IGNORE_CASE or host.endswith(".ghe.com"):
        path = path.lower()
    if path.endswith(".git"):
        path = path[:-4].rstrip("/")
    if port and port != usual_port:
        host = f"{host}:{port}"
    return _clean(f"{host}/{path}") if name and path else ""


def _azure(host: str, parts: list[str]) -> list[str]:
    """Organisation, project and repository, which each form of Azure DevOps writes in its own way."""
    if host in AZURE_SSH:
        parts = parts[1:] if parts[:1] == ["v3"] else parts
    elif host != AZURE:
        parts = [host.partition(".")[0], *parts]
    parts = [part for part in parts if part not in ("_git", "defaultcollection")]
    return [*parts, parts[1]] if len(parts) == 2 else parts


def _local_key(path: str, base: str) -> str:
    if _drive(path) and os.name != "nt":
        return _clean("path:" + path.replace("\\", "/"))
    path = os.path.join(base, os.path.expanduser(path) if path.startswith("~/") else path)
    try:
        if path[:2] in ("//", "\\\\"):  # a network share is not asked: it could hold up the prompt
            return _path_key(os.path.normpath(path))
        path = os.path.realpath(path)
        common = _repository_at(path) or _repository_at(path + ".git")
        return _path_key(_place(common, _config(common)) if common else path)
    except (OSError, ValueError):
        return ""


def _repository_at(folder: str) -> str | None:
    """The common git folder of the repository whose top this is; «» when it is broken, None when there is none."""
    git = os.path.join(folder, ".git")
    try:
        kind = os.stat(git).st_mode & 0o170000
    except OSError:
        kind = 0
    if kind == 0o100000:  # a worktree or a submodule: a file that says where
        text = _read(git)
        return _common(os.path.join(folder, text[7:].strip())) if text.startswith("gitdir:") else ""
    if kind == 0o040000:
        try:
            os.lstat(os.path.join(git, "HEAD"))  # may be a link to a branch that is not born yet
            return _common(git)
        except OSError as error:
            return None if isinstance(error, FileNotFoundError) else ""
    bare = os.path.lexists(os.path.join(folder, "HEAD")) and os.path.isfile(os.path.join(folder, "config"))
    return _common(folder) if bare and all(os.path.isdir(os.path.join(folder, name)) for name in ("objects", "refs")) else None


def _common(git: str) -> str:
    """The folder that all worktrees of the repository share, or «» when it is not there."""
    common = os.path.realpath(os.path.join(git, _read(os.path.join(git, "commondir")).strip()))
    return common if os.path.lexists(os.path.join(common, "HEAD")) else ""


def _place(common: str, config: dict[str, str]) -> str:
    """The main working tree; of a bare repository, or where it cannot be told, the git folder itself."""
    if os.path.basename(common) == ".git":
        return os.path.dirname(common)
    tree = os.path.realpath(os.path.join(common, config.get("core.worktree", "")))  # submodules have it
    return tree if os.path.isdir(tree) else common


def _config(common: str) -> dict[str, str]:
    """The two values that matter here, the first of each."""
    found: dict[str, str] = {}
    for name, value in _values(_read(os.path.join(common, "config"))):
        if value and name in ("core.worktree", "remote.origin.url"):
            found.setdefault(name, value)
            if name == "remote.origin.url":
                break  # git writes core first
    return found


def _values(text: str) -> Iterator[tuple[str, str]]:
    """Each name (`section.subsection.key`) and value of a git config, in its order; what makes no sense is left out."""
    chars = iter(text.replace("\r\n", "\n"))
    section = name = ""
    for c in chars:
        if c in "[=#;\n":
            if c == "[":
                section = _section(chars)
            elif c == "=":
                yield f"{section}.{name.strip().lower()}", _value(chars)
            elif c != "\n":
                while next(chars, "\n") != "\n":
                    pass
            name = ""
        else:
            name += c


def _section(chars: Iterator[str]) -> str:
    out, quoted = "", False
    for c in chars:
        if c == "\n" or (c == "]" and not quoted):
            break
        if c == '"':
            out += "" if quoted else "."
            quoted = not quoted
        elif quoted:
            out += next(chars, "") if c == "\\" else c
        elif not c.isspace():
            out += c.lower()
    return out


def _value(chars: Iterator[str]) -> str:
    """A value without its quotes, escapes, comment and outer blanks; a backslash at the end takes the next line too."""
    out, length, quoted, comment = "", 0, False, False  # what stands behind `length` are blanks
    for c in chars:
        if c == "\n":
            break
        if c == "\\" and not comment:
            c = next(chars, "\n")
            out += "" if c == "\n" else {"n": "\n", "t": "\t", "b": "\b"}.get(c, c)
        elif c == '"' and not comment:
            quoted = not quoted
            continue
        elif comment or (c in "#;" and not quoted):
            comment = True
            continue
        elif c.isspace() and not quoted:
            out += c if out else ""
            continue
        else:
            out += c
        length = len(out)
    return out[:length]


def _decoded(path: str) -> str:
    """The path with each %xx replaced."""
    if "%" not in path:
        return path
    first, *rest = path.encode("utf-8", "backslashreplace").split(b"%")
    for piece in rest:
        digits = piece[:2].decode("latin-1")
        known = len(digits) == 2 and all(c in "0123456789abcdefABCDEF" for c in digits)
        first += bytes.fromhex(digits) + piece[2:] if known else b"%" + piece
    return first.decode("utf-8", "surrogateescape")


def _fingerprint(common: str) -> str:
    try:
        found = os.stat(os.path.join(common, "description"))
    except OSError:
        return ""
    return f"{found.st_dev}:{found.st_ino}:{found.st_mtime_ns}"


def _read(path: str) -> str:
    """The text of an ordinary file, «» for anything else: opening a pipe could hang."""
    try:
        if os.stat(path).st_mode & 0o170000 != 0o100000:
            return ""
        with open(path, "rb") as file:
            text = file.read(LARGEST).decode("utf-8", "surrogateescape")
    except OSError:
        return ""
    return "" if "\0" in text else text.lstrip("\ufeff")


def _drive(path: str) -> bool:
    return path[1:2] == ":" and path[:1].isalpha() and path[2:3] in ("/", "\\")


def _path_key(path: str) -> str:
    return _clean("path:" + os.path.normcase(path))


def _clean(key: str) -> str:
    """The key without lone surrogates, which a database would refuse."""
    return key.encode("utf-8", "backslashreplace").decode("utf-8")
