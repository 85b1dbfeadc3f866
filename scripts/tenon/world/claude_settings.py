"""Claude Code's settings file, changed by one key at a time and given back byte for byte.

The file is the user's: it may hold comments, a byte order mark, any indentation and line ends, and may be a link into
a folder of dotfiles. A change is planned as an Edit, which can be kept; applying it writes the file whole or not at
all; taking it back restores the very bytes when nothing else has changed, and otherwise cuts out what was put in.
"""

from __future__ import annotations

import os
from hashlib import sha256

from tenon.base import jsonc
from tenon.base.errors import TenonError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MISSING = "missing"  # in place of a hash: there was no file


class Edit:
    """One change: the value put under `keys` (or, `listed`, added to the list there), and the exact insertions.

    `insertions` are (position, text) in the changed file; `before` and `after` are SHA-256 of the file's bytes;
    `made` says how many of the keys, from the right, were made for it.
    """

    __slots__ = ("path", "keys", "value", "listed", "made", "before", "after", "insertions")

    def __init__(
        self, path: str, keys: Sequence[str], value: object, *, listed: bool, made: int, before: str, after: str, insertions: jsonc.Insertions
    ) -> None:
        self.path = path
        self.keys = list(keys)
        self.value = value
        self.listed = listed
        self.made = made
        self.before = before
        self.after = after
        self.insertions = insertions

    def fields(self) -> dict[str, object]:
        """The edit as JSON keeps it."""
        return {name: getattr(self, name) for name in self.__slots__}


def from_fields(fields: dict[str, Any]) -> Edit:
    """The edit that `fields` gave. Raises KeyError, TypeError or ValueError for anything else."""
    insertions = [(int(at), str(told)) for at, told in fields["insertions"]]
    return Edit(
        str(fields["path"]), [str(key) for key in fields["keys"]], fields["value"], listed=bool(fields["listed"]), made=int(fields["made"]),
        before=str(fields["before"]), after=str(fields["after"]), insertions=insertions,
    )  # fmt: skip


def read(path: str) -> dict[str, Any]:
    """The settings in the file, {} when there is none. Raises TenonError for a file that is not a JSON object."""
    return _object(parsed(path, decoded(path, contents(path))).value)


def plan_put(path: str, keys: Sequence[str], value: object) -> Edit | None:
    """The edit that puts a value under a path of keys, or None when exactly that value is there.

    Raises TenonError for a file that cannot be parsed or read, and when another value is there.
    """
    return _plan(path, keys, value, listed=False)


def plan_add(path: str, keys: Sequence[str], item: object) -> Edit | None:
    """The edit that adds an item to the list under a path of keys, or None when it is in there. Raises as `plan_put` does."""
    return _plan(path, keys, item, listed=True)


def apply(edit: Edit) -> None:
    """Writes the edit. Raises TenonError when the file has changed since it was planned or cannot be written."""
    old = contents(edit.path)
    if _hash(old) != edit.before:
        raise TenonError(f"{edit.path} has just been changed by somebody else; nothing was written, try again")
    text = decoded(edit.path, old)
    for at, told in edit.insertions:
        text = text[:at] + told + text[at:]
    replace(edit.path, old, text.encode("utf-8"))


def put(path: str, keys: Sequence[str], value: object) -> Edit | None:
    """Plans and applies in one: the edit that was written, or None when nothing was to be done."""
    edit = plan_put(path, keys, value)
    if edit is not None:
        apply(edit)
    return edit


def add(path: str, keys: Sequence[str], item: object) -> Edit | None:
    """As `put`, for an item of a list."""
    edit = plan_add(path, keys, item)
    if edit is not None:
        apply(edit)
    return edit


def take(edit: Edit, *, dry: bool = False) -> str:
    """How the edit was taken back: «restored» to the byte, «removed» from among later changes, «gone» already, or «kept».

    Kept is a value that somebody has changed since: it is theirs now. With `dry` nothing is written.
    Raises TenonError for a file that cannot be parsed or written.
    """
    old = contents(edit.path)
    if old is None:
        return "gone"
    if _hash(old) == edit.after:
        new = jsonc.cut(decoded(edit.path, old), [(at, at + len(told)) for at, told in edit.insertions]).encode("utf-8")
        if not dry:
            replace(edit.path, old, None if edit.before == MISSING else new)
        return "restored"
    text = decoded(edit.path, old)
    if not text.strip("\ufeff \t\r\n"):
        return "gone"
    found = _taken(edit, text)
    if found in ("gone", "kept"):
        return found
    if not dry:
        replace(edit.path, old, found.encode("utf-8"))
    return "removed"


def contents(path: str) -> bytes | None:
    """The file's bytes, or None when there is none. Raises TenonError for a file that cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TenonError(f"{path} cannot be read ({error.strerror}); nothing was changed") from error


def decoded(path: str, data: bytes | None) -> str:
    """The bytes of the file as text, «» for None. Raises TenonError, which names the file, for what is not UTF-8."""
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise TenonError(f"{path} is not UTF-8 ({error.reason} at byte {error.start}), so it is left alone; save it as UTF-8 and try again") from error


def parsed(path: str, text: str) -> jsonc.Node:
    """The object that the text of the file is; a text with nothing in it is an empty one. Raises TenonError, which names the file."""
    if not text.strip("\ufeff \t\r\n"):
        return jsonc.parse("{}")
    try:
        root = jsonc.parse(text)
    except ValueError as error:
        raise TenonError(f"{path} cannot be parsed ({error}), so it is left alone; mend that line and try again") from error
    if not isinstance(root.value, dict):
        raise TenonError(f"{path} is not a JSON object, so it is left alone; begin it with {{ and try again")
    return root


def replace(path: str, old: bytes | None, new: bytes | None) -> None:
    """Puts the new bytes in the file's place at once (None: removes it). Raises TenonError unless it still holds the old ones."""
    target = os.path.realpath(path)
    temporary = f"{target}.tenon-{os.getpid()}"
    try:
        if new is not None:
            _beside(target, temporary, new)
        if contents(path) != old:
            raise TenonError(f"{path} has just been changed by somebody else; nothing was written, try again")
        if new is None:
            os.remove(target)
        else:
            os.replace(temporary, target)
    except OSError as error:
        raise TenonError(f"{path} cannot be written ({error.strerror}); nothing was changed. Check its permissions and try again") from error
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def _plan(path: str, keys: Sequence[str], value: object, *, listed: bool) -> Edit | None:
    old = contents(path)
    text = decoded(path, old)
    if not text.strip("\ufeff \t\r\n"):
        insertions: jsonc.Insertions = [(len(text), jsonc.with_child("{}", jsonc.parse("{}"), keys[0], _nested(keys[1:], value, listed))[0][1])]
        insertions[0] = (len(text), "{" + insertions[0][1] + "}\n")
        made = len(keys)
    else:
        root = parsed(path, text)
        node, depth = _deepest(root, keys)
        made = len(keys) - depth
        if not made and listed and isinstance(node.value, list):
            if value in node.value:
                return None
            insertions = jsonc.with_child(text, node, None, value)
        elif not made:
            if not listed and node.value == value:
                return None
            raise TenonError(f"{path} has another value for {'.'.join(keys)}; it is left as it is")
        elif not isinstance(node.value, dict):
            raise TenonError(f"{path}: {'.'.join(keys[:depth])} is not an object, so nothing can be put into it; mend it first")
        else:
            insertions = jsonc.with_child(text, node, keys[depth], _nested(keys[depth + 1 :], value, listed))
    changed, placed = jsonc.inserted(text, insertions)
    _prove(path, text, changed, keys, value, listed=listed)
    after = changed.encode("utf-8")
    return Edit(path, keys, value, listed=listed, made=made, before=_hash(old), after=_hash(after), insertions=placed)


def _taken(edit: Edit, text: str) -> str:
    """The text without the edit's value, or «gone» or «kept»."""
    root = parsed(edit.path, text)
    node, depth = _deepest(root, edit.keys)
    if depth < len(edit.keys):
        return "gone"
    if not edit.listed:
        if node.value != edit.value:
            return "kept"
        return _emptied(edit.path, _without(edit.path, text, edit.keys), edit.keys[:-1], edit.made - 1)
    if not isinstance(node.value, list) or edit.value not in node.value:
        return "gone"
    if node.value == [edit.value] and edit.made:
        return _emptied(edit.path, _without(edit.path, text, edit.keys), edit.keys[:-1], edit.made - 1)
    child = (node.children or [])[node.value.index(edit.value)]
    changed = jsonc.cut(text, jsonc.without_child(text, node, child))
    expected = [item for at, item in enumerate(node.value) if at != node.value.index(edit.value)]
    if _deepest(parsed(edit.path, changed), edit.keys)[0].value != expected:
        raise _by_hand(edit.path, edit.keys)
    return changed


def _without(path: str, text: str, keys: Sequence[str]) -> str:
    parent, _ = _deepest(parsed(path, text), keys[:-1])
    child = parent.child(keys[-1])
    if child is None:
        return text
    changed = jsonc.cut(text, jsonc.without_child(text, parent, child))
    left = _deepest(parsed(path, changed), keys[:-1])[0].value
    if left != {key: value for key, value in _object(parent.value).items() if key != keys[-1]}:
        raise _by_hand(path, keys)
    return changed


def _emptied(path: str, text: str, keys: Sequence[str], made: int) -> str:
    """The text without the containers that were made for the edit and hold nothing now."""
    while made > 0 and keys and _deepest(parsed(path, text), keys)[0].value == {}:
        text = _without(path, text, keys)
        keys, made = keys[:-1], made - 1
    return text


def _prove(path: str, text: str, changed: str, keys: Sequence[str], value: object, *, listed: bool) -> None:
    """The insertion did what it should and nothing else, or TenonError."""
    before = jsonc.parse(text).value if text.strip("\ufeff \t\r\n") else {}
    after = parsed(path, changed).value
    here = _object(before)
    for key in keys[:-1]:
        here = _object(here.setdefault(key, {}))
    if listed:
        here[keys[-1]] = [*here.get(keys[-1], []), value]
    else:
        here[keys[-1]] = value
    if before != after:
        raise _by_hand(path, keys)


def _deepest(root: jsonc.Node, keys: Sequence[str]) -> tuple[jsonc.Node, int]:
    """The node that the keys lead to, or the last one on the way, and how many keys led there."""
    node = root
    for depth, key in enumerate(keys):
        child = node.child(key)
        if child is None:
            return node, depth
        node = child.node
    return node, len(keys)


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return value


def _nested(keys: Sequence[str], value: object, listed: bool) -> object:
    nested: object = [value] if listed else value
    for key in reversed(keys):
        nested = {key: nested}
    return nested


def _by_hand(path: str, keys: Sequence[str]) -> TenonError:
    return TenonError(f"{path} is written in a way that cannot be changed safely, so it is left alone; change {'.'.join(keys)} by hand")


def _hash(data: bytes | None) -> str:
    return MISSING if data is None else sha256(data).hexdigest()


def _beside(target: str, temporary: str, new: bytes) -> None:
    os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    try:
        status = os.stat(target)
        mode = status.st_mode & 0o7777
    except FileNotFoundError:
        status, mode = None, 0o600
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(new)
        file.flush()
        os.fsync(file.fileno())
    os.chmod(temporary, mode)
    if status is not None and os.name == "posix" and os.geteuid() == 0:
        os.chown(temporary, status.st_uid, status.st_gid)
