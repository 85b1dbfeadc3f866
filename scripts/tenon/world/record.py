"""What `tenon install` has written outside its own folder, kept so exactly that it can be taken back."""

from __future__ import annotations

import json
import os
from hashlib import sha256

from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.world import claude_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.world.claude_settings import Edit

NAME = "install.json"


class Record:
    """The copy of the plugin that was installed from, and everything written: edits of settings, links, files, folders.

    `links` maps a link to what it points to; `files` maps a file to the SHA-256 of its bytes; `folders` are those
    that had to be made, outermost first.
    """

    __slots__ = ("path", "root", "edits", "links", "files", "folders")

    def __init__(self, path: str) -> None:
        self.path = path
        self.root = ""
        self.edits: list[Edit] = []
        self.links: dict[str, str] = {}
        self.files: dict[str, str] = {}
        self.folders: list[str] = []

    def is_empty(self) -> bool:
        """Whether nothing is left to take back."""
        return not (self.edits or self.links or self.files or self.folders)

    def save(self) -> None:
        """Writes the record whole, or not at all."""
        fields = {
            "root": self.root, "edits": [edit.fields() for edit in self.edits], "links": self.links, "files": self.files, "folders": self.folders,
        }  # fmt: skip
        paths.make_private(os.path.dirname(self.path))
        temporary = f"{self.path}.{os.getpid()}"
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(fields, file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path)

    def change(self, edit: Edit | None) -> None:
        """Writes the edit down and then does it, so that no change is ever without its record; None is none."""
        if edit is None:
            return
        self.make_folder(os.path.dirname(edit.path))
        self.edits.append(edit)
        self.save()
        try:
            claude_settings.apply(edit)
        except BaseException:
            self.edits.remove(edit)
            self.save()
            raise

    def make_folder(self, folder: str) -> None:
        """Makes a folder with its missing parents, and remembers which they were."""
        missing: list[str] = []
        while not os.path.isdir(folder):
            missing.insert(0, folder)
            folder = os.path.dirname(folder)
        if missing:
            self.folders += missing
            self.save()
            os.makedirs(missing[-1], mode=0o700, exist_ok=True)

    def drop_folders(self) -> None:
        """Removes the folders that were made, where nothing else has come to be in them."""
        for folder in reversed(self.folders):
            try:
                os.rmdir(folder)
            except OSError:
                continue  # in use by now, or gone
        self.folders = []


def load(tenon_home: str) -> Record:
    """The record, empty when nothing was installed. Raises TenonError for a record that cannot be read."""
    record = Record(os.path.join(tenon_home, NAME))
    try:
        with open(record.path, encoding="utf-8") as file:
            found = json.load(file)
        record.root = str(found["root"])
        record.edits = [claude_settings.from_fields(fields) for fields in found["edits"]]
        record.links = {str(key): str(value) for key, value in found["links"].items()}
        record.files = {str(key): str(value) for key, value in found["files"].items()}
        record.folders = [str(folder) for folder in found["folders"]]
    except FileNotFoundError:
        return record
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise TenonError(f"{record.path} cannot be read ({type(error).__name__}: {error}); move it away and install again") from error
    return record


def digest(path: str) -> str:
    """SHA-256 of a file's bytes, «» when it cannot be read."""
    try:
        with open(path, "rb") as file:
            return sha256(file.read()).hexdigest()
    except OSError:
        return ""
