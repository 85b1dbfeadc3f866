"""What an agent had that was deleted stays gone: its transcripts, without their names, and up to which byte they are not read again.

Claude Code keeps the transcripts of all agents together, and those of a deleted one would look like sessions that nobody
has read yet. What is said in them afterwards is new. `tenon import --deleted` takes them up again.
"""

from __future__ import annotations

import os

from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.base.lean import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NAME = "deleted.json"


def path() -> str:
    """The file; it is there when an agent was deleted that had transcripts."""
    return os.path.join(paths.home(), NAME)


def sizes() -> dict[str, int]:
    """Up to which byte each transcript is not read again, by the hash of its path. Raises TenonError when that cannot be seen."""
    try:
        with open(path(), encoding="utf-8") as file:
            found = parse(file.read(), whole=True)
        if not isinstance(found, dict):
            raise TypeError
        return {str(own): int(size) for own, size in found.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError) as error:
        raise TenonError(f"{path()} cannot be read ({type(error).__name__}), so it is not known what was deleted; mend it or move it away") from error


def size(transcript: str) -> int:
    """Up to which byte the transcript is not read again; 0 for one that no deleted agent had."""
    held = sizes()
    return held.get(hashed(transcript), 0) if held else 0


def note(transcripts: Mapping[str, int]) -> None:
    """Keeps what stands in these transcripts so far from being read again. Raises TenonError when that cannot be written."""
    if transcripts:
        _save({**sizes(), **{hashed(name): at for name, at in transcripts.items()}})


def take_up(transcripts: Iterable[str]) -> None:
    """Lets these transcripts be read as any other. Raises TenonError when that cannot be written."""
    held = sizes()
    wanted = set(map(hashed, transcripts)) if held else set()
    left = {own: at for own, at in held.items() if own not in wanted}
    if left != held:
        _save(left)


def hashed(transcript: str) -> str:
    """What stands for a transcript's path, which says a folder and a session."""
    from hashlib import sha256

    return sha256(os.path.realpath(transcript).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _save(held: Mapping[str, int]) -> None:
    import json

    try:
        paths.make_private(paths.home())
        if not held:
            os.remove(path())
            return
        new = f"{path()}.{os.getpid()}"
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(json.dumps(held) + "\n")
        os.replace(new, path())
    except OSError as error:
        raise TenonError(f"{path()} cannot be written ({error.strerror}); free some space or give yourself the right, then try again") from error
