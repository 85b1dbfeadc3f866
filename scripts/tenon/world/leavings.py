"""What a writer leaves beside a file when it is ended in the middle: known by its name, removed once its process is gone."""

from __future__ import annotations

import os
import re
import time

from tenon.world import processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PID = r"(\d{1,7})"  # a date, as in somebody's own copy, has more digits
HOME = re.compile(
    rf"(?:(?:proxy-on|install|proxy|deleted|interpreter)\.json|guard\.py)\.{PID}|settings\.json\.{PID}\.new|proxy-direct\.tenon-guard-{PID}"
)  # fmt: skip
LAUNCHER = re.compile(rf"tenon\.{PID}")
OLD_S = 3600.0  # where a process cannot be asked for; a write takes milliseconds


def found(home: str, settings: Iterable[str]) -> list[str]:
    """The files of that kind in Tenon's home and beside the files of settings, each a copy of somebody's settings or of Tenon's own notes."""
    places = [(home, HOME), (os.path.join(home, "bin"), LAUNCHER)]
    for path in dict.fromkeys(os.path.realpath(path) for path in settings):
        places.append((os.path.dirname(path), re.compile(rf"{re.escape(os.path.basename(path))}\.tenon-(?:guard-)?{PID}")))
    return sorted({path for folder, names in places for path in _in(folder, names)})


def remove(paths: Iterable[str]) -> list[str]:
    """Those of the files that were removed."""
    gone = []
    for path in paths:
        try:
            os.remove(path)
        except OSError:
            continue  # somebody else was faster, or the folder is closed
        gone.append(path)
    return gone


def _in(folder: str, names: re.Pattern[str]) -> Iterator[str]:
    try:
        listed = os.listdir(folder)
    except OSError:
        return
    for name in listed:
        match = names.fullmatch(name)
        if match is not None and _is_left(os.path.join(folder, name), int(next(filter(None, match.groups())))):
            yield os.path.join(folder, name)


def _is_left(path: str, pid: int) -> bool:
    if os.name == "posix":
        return processes.is_gone(pid)
    try:
        return time.time() - os.stat(path).st_mtime > OLD_S
    except OSError:
        return False
