"""Which repository a folder is in, told by reading a few of git's files: the git program is never started.

It is asked before every prompt, so it imports nothing but `os`, opens ordinary files only, and never raises.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LEVELS = 200  # folders looked at on the way up
LARGEST = 250_000  # bytes read of a config file: some 2,500 branches, and parsed in a twentieth of a second
LONGEST_URL, LONGEST_PATH = 2_048, 4_096  # characters: what is longer is not followed, it could hold up the prompt
SSH = ("ssh", "git+ssh", "ssh+git")
PORTS = {"http": "80", "https": "443", "git": "9418", "ssh": "22", "git+ssh": "22", "ssh+git": "22"}
ALIASES = {"ssh.github.com": "github.com", "www.github.com": "github.com", "altssh.gitlab.com": "gitlab.com", "altssh.bitbucket.org": "bitbucket.org"}
AZURE, AZURE_SSH = "dev.azure.com", ("ssh.dev.azure.com", "vs-ssh.visualstudio.com")
IGNORE_CASE = ("github.com", "gist.github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "gitea.com", AZURE)
FORGES = (*IGNORE_CASE, "sr.ht", "gitee.com", "git.launchpad.net")  # there the user of an SSH address is no home folder
FORGE_DOMAINS = (".ghe.com", ".sr.ht")


class Identity:
    """What is known of a folder's repository.

    key: `host/path` of its origin (`user@host/~/path` below a home folder), else `path:` and the real path of the main
    working tree, else of the folder.
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
        here, common, followed = found
        if not common:
            return Identity(_path_key(here), here, "path")
        config = _config(common)
        place = _place(common, config if followed else {})
        origin = key_of_url(config.get("remote.origin.url", ""), place)
        root = place if here == common else here
        return Identity(origin or _path_key(place), root, "origin" if origin else "path", _fingerprint(common))
    except (OSError, ValueError):
        return Identity(_path_key(folder), folder, "folder")


def _upwards(here: str) -> tuple[str, str, bool] | None:
    """The nearest top of a repository upwards, its common git folder («» when broken), and whether its links count.

    Git never commits anything named `.git`, but a folder with the layout of a bare repository can be committed and
    claim any origin. So it counts only where no `.git` is above it, or where that one leads to it or contains it.
    """
    bare = ""
    for _ in range(LEVELS):
        common = _linked(here)
        if common is not None:
            return (bare, bare, True) if bare and bare == common else (here, common, True)
        if not bare and _is_bare(here):
            bare = here
        if bare and os.path.basename(here) == ".git":
            return bare, bare, True
        above = os.path.dirname(here)
        if above == here:
            return (bare, bare, False) if bare else None
        here = above
    return None


def key_of_url(url: str, base: str) -> str:
    """The key of a git URL, the same for all its forms, or «» when it cannot be one. A relative path starts from `base`."""
    url = url.strip()
    helper, sign, rest = url.partition("::")
    if sign and helper.replace("-", "").isalnum():  # transport::address
        url = rest if "://" in rest else ""
    if not url or len(url) > LONGEST_URL or any(c < " " or c == "\x7f" for c in _decoded(url)):
        return ""
    scheme, sign, rest = url.partition("://")
    if sign and scheme.replace("+", "").isalnum():
        scheme = scheme.lower()
        if scheme != "file":
            key = _remote_key(*_split(rest, "/" if scheme == "git" or scheme in SSH else "/?#"), scheme)
            # On a forge a query is a token; elsewhere it may be what names the repository.
            return key if "?" not in rest or scheme in SSH or key.partition("/")[0] in IGNORE_CASE else ""
        server, slash, path = rest.partition("/")
        path = _decoded(server.rpartition("@")[2] + slash + path)
        return _local_key(path[1:] if _drive(path[1:]) else path if path.startswith("/") or _drive(path) else "//" + path, base)
    colon = url.find(":", url.find("]") if "[" in url.partition(":")[0] else 0)
    if colon < 1 or "/" in url[:colon] or "\\" in url[:colon] or _drive(url):
        return _local_key(url, base)
    authority, path = url[:colon], url[colon + 1 :]
    if "@" in path and "@" not in authority and _host_like(path.rpartition("@")[2]):
        return ""  # user:password@host without a scheme: the password must not get into the key
    return _remote_key(authority, path, "ssh")


def _split(rest: str, ends: str) -> tuple[str, str]:
    """Authority and path of what follows `://`, without query and fragment; both «» when the path may hold a password.

    An @ behind the authority is a password with an unquoted / ? or # in it, or a path; a server that has a true name
    there could otherwise pass for the one behind the @.
    """
    authority, tail = _cut(rest, ends)
    name, sign, port = authority.rpartition("@")[2].partition("]")[2 if "[" in authority else 0].partition(":")
    wrong = bool(sign and port and not port.isdigit())
    if wrong and "?" in ends and "@" not in tail:
        return "", ""
    if "@" in tail:
        last = tail.rpartition("@")[2]
        if wrong and "@" not in authority and "." not in name and _host_like(last):
            authority, tail = _cut(last, ends)
        elif wrong or _host_like(last):
            return "", ""
    if "?" in ends:
        tail = tail.partition("?")[0].partition("#")[0]
    return authority, tail


def _cut(text: str, ends: str) -> tuple[str, str]:
    """The text before and from the first of these characters."""
    at = min((at for at in map(text.find, ends) if at >= 0), default=len(text))
    return text[:at], text[at:]


def _host_like(text: str) -> bool:
    """Whether it can be a host and a path."""
    name, rest = _cut(text, "/:")
    return (bool(name) and all(c.isalnum() or c in "-._" for c in name) or name.startswith("[")) and len(rest) > 1


def _remote_key(authority: str, path: str, scheme: str) -> str:
    user, _, host = authority.rpartition("@")
    host = host.lower()
    if host.count(":") == 1:
        host = host.strip("[]")  # [host:port]:path
    name, sign, port = host.rpartition(":")
    if not sign or "]" in port:
        name, port = host, ""
    elif port and not port.isdigit():  # ssh://git@host:owner/repo
        path, port = f"{authority.rpartition(':')[2]}/{path}", ""
    host = name.rstrip(".")
    path = _decoded(path)
    at_home = scheme in SSH and (path[:1] != "/" or path[1:2] == "~")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if host in ALIASES:
        host, port = ALIASES[host], ""
    elif host == AZURE or host in AZURE_SSH or host.endswith(".visualstudio.com"):
        host, port, parts = AZURE, "", _azure(host, [part.lower() for part in parts])
    owner = ""
    if at_home and parts and host not in FORGES and not host.endswith(FORGE_DOMAINS):
        owner, parts = _home(user.lstrip("[").partition(":")[0], parts)
    path = "/".join(parts)
    if host in IGNORE_CASE or host.endswith(".ghe.com"):
        path = path.lower()
    if path.endswith(".git"):
        path = path[:-4].rstrip("/")
    if port and port != PORTS.get(scheme, ""):
        host = f"{host}:{port}"
    return _clean(f"{owner}{host}/{path}") if name and path else ""


def _home(user: str, parts: list[str]) -> tuple[str, list[str]]:
    """`user@` and the parts of a path in that user's home folder; the user git has no home but a forge behind it."""
    if parts[0].startswith("~") and parts[0] != "~":
        return "", parts  # ~ada: the same for whoever asks
    parts = parts[1:] if parts[0] == "~" else parts
    if user == "git":
        return "", parts
    return f"{user}@" if user else "", ["~", *parts]


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
        for folder in (path, path + ".git"):
            common = _linked(folder)
            if common:
                return _path_key(_place(common, _config(common)))
            if common is None and _is_bare(folder):
                return _path_key(_place(os.path.realpath(folder), {}))
        return _path_key(path)
    except (OSError, ValueError):
        return ""


def _linked(folder: str) -> str | None:
    """The common git folder that the folder's `.git` leads to; «» when it is broken, None when there is none."""
    git = os.path.join(folder, ".git")
    try:
        kind = os.stat(git).st_mode & 0o170000
    except OSError:
        return None
    if kind == 0o100000:  # a worktree or a submodule: a file that says where
        text = _read(git)
        target = text[7:].strip()
        return _common(os.path.join(folder, target)) if text.startswith("gitdir:") and len(target) <= LONGEST_PATH else ""
    if kind != 0o040000:
        return None
    try:
        os.lstat(os.path.join(git, "HEAD"))  # may be a link to a branch that is not born yet
        return _common(git)
    except OSError as error:
        return None if isinstance(error, FileNotFoundError) else ""


def _is_bare(folder: str) -> bool:
    """Whether the folder has the layout of a bare repository, which never has a `commondir` at its top."""
    if not os.path.lexists(os.path.join(folder, "HEAD")) or os.path.lexists(os.path.join(folder, "commondir")):
        return False
    return os.path.isfile(os.path.join(folder, "config")) and all(os.path.isdir(os.path.join(folder, name)) for name in ("objects", "refs"))


def _common(git: str) -> str:
    """The folder that all worktrees of the repository share, or «» when it is not there."""
    shared = _read(os.path.join(git, "commondir")).strip()
    if len(shared) > LONGEST_PATH:
        return ""
    common = os.path.realpath(os.path.join(git, shared))
    return common if os.path.lexists(os.path.join(common, "HEAD")) else ""


def _place(common: str, config: dict[str, str]) -> str:
    """The main working tree; of a bare repository, or where it cannot be told, the git folder itself."""
    if os.path.basename(common) == ".git":
        return os.path.dirname(common)
    tree = config.get("core.worktree", "")  # submodules have it
    if not tree or len(tree) > LONGEST_PATH:
        return common
    tree = os.path.realpath(os.path.join(common, tree))
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
    pieces = [first]
    for piece in rest:
        digits = piece[:2].decode("latin-1")
        known = len(digits) == 2 and all(c in "0123456789abcdefABCDEF" for c in digits)
        pieces += (bytes.fromhex(digits), piece[2:]) if known else (b"%", piece)
    return b"".join(pieces).decode("utf-8", "surrogateescape")


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
