"""What a session was about, read off its archived turns by plain code: asked, changed, run, committed, answered.

No model is asked. The same turns give the same text; it holds whole items and no times.
"""

from __future__ import annotations

import re

from tenon.base import paths
from tenon.base.repository import identify
from tenon.base.text import cut
from tenon.store import exchanges, passages, summaries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from tenon.store.db import Store
    from tenon.store.exchanges import Session, Turn

LONGEST = 1200  # characters of a summary
PROMPT = 150
OUTCOME = 280
COMMAND = 80
EDITS = {"Edit": "file_path", "Write": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}

_TEST = re.compile(
    r"\b(pytest|unittest|tox|nox|jest|vitest|mocha|ava|rspec|phpunit|ctest|playwright test|(npm|yarn|pnpm|bun|deno|cargo|go|dotnet|mix|swift|flutter|make|just)"
    r"( run)? (test|check)[\w:-]*|(mvn|gradle|gradlew|sbt)\b[^|;&]*\b(test|verify|check))\b"
)
_VERDICT = re.compile(
    r"\d+ (passed|failed|errors?)\b|\b\d+ passing\b|\b\d+ failing\b|^test result: |^Tests?:? +\d|^Tests run: \d|^(OK|FAILED) ?\(|^OK$|^Ran \d+ tests?|^(ok|FAIL|PASS)\b",
    re.M,
)
_COMMIT = re.compile(r"(?:^|[;&|(\n]|\b(?:then|do|else|sudo)\b)\s*(?:\w+=\S+ +)*git\b(?: +-[cC] +\S+| +--?[\w-]+(?:=\S+)?)* +commit(?![-\w])(?P<rest>.*)", re.S)
_MESSAGE = re.compile(r"""(?:^|\s)(?:-[a-zA-Z]*m|--message)(?:=|\s*)(?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>[^']*)'|(?P<bare>[^\s"';&|]+))""", re.S)
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?[^\n]*\n(?P<body>.*)", re.S)


class _Seen:
    """What the turns showed, in the order they showed it."""

    def __init__(self) -> None:
        self.prompts = 0
        self.replies = 0
        self.first = self.last = self.outcome = ""
        self.at = 0.0
        self.files: dict[str, None] = {}
        self.commands: dict[str, str] = {}  # what was run, and how it ended the last time: «», «failed»
        self.tests: dict[str, str] = {}
        self.commits: dict[str, None] = {}
        self.open: dict[str, str] = {}  # calls without a result yet


def summarise(turns: Iterable[Turn], session: Session, *, roots: Sequence[str] = ()) -> str:
    """The summary of a session, at most 1,200 characters, or «» when nothing was asked or nothing answered.

    Files are named relative to the first of `roots` that holds them, else to the session's folder.
    """
    return _written(_seen(turns, (*roots, session.folder)), session)


def write(store: Store, session_name: str, reason: str, now: float) -> str | None:
    """The summary that is in the store now, or None for a session with no prompt or no reply.

    `reason` says why the session ended or paused, as the host names it; a later summary replaces this one. What a digest wrote
    holds until the session has gone on.
    """
    number = exchanges.session_number(store, session_name)
    if number is None:
        return None
    session = exchanges.session_of(store, number)
    seen = _seen(summaries.told(store, number), (identify(session.folder).root, session.folder))
    held = summaries.of_session(store, number)
    if held is not None and held.writer == "digest" and held.at >= min(seen.at, now):
        return held.text
    text = _written(seen, session, reason)
    if not text:
        return None
    summaries.upsert(store, number, session.repository, text, min(seen.at, now))
    return text


def _seen(turns: Iterable[Turn], roots: Sequence[str]) -> _Seen:
    seen = _Seen()
    for turn in turns:
        seen.at = max(seen.at, turn.at)
        if turn.role == "assistant":
            for block in turn.content:
                if isinstance(block, dict) and isinstance(block.get("input"), dict):
                    _called(seen, block, roots)
        if turn.kind == "result":
            for block in turn.content:
                if isinstance(block, dict) and block.get("tool_use_id") in seen.open:
                    _ended(seen, seen.open.pop(str(block["tool_use_id"])), block)
        elif turn.kind == "prompt" and not turn.thread:
            text = _said(turn)
            seen.prompts += 1
            seen.first = seen.first or text
            seen.last = text or seen.last
        elif turn.kind == "reply" and not turn.thread:
            seen.replies += 1
            seen.outcome = _said(turn) or seen.outcome
    return seen


def _said(turn: Turn) -> str:
    return " ".join(str(block.get("text") or "") for block in turn.content if isinstance(block, dict) and block.get("type") == "text").strip()


def _called(seen: _Seen, block: dict[str, Any], roots: Sequence[str]) -> None:
    name, given, call = str(block.get("name")), block["input"], str(block.get("id"))
    path = given.get(EDITS.get(name, ""))
    if isinstance(path, str) and path:
        # Counted when it worked; a refused edit touched nothing.
        seen.open[call] = "file " + paths.relative(path, roots)
    elif name in ("Bash", "PowerShell") and isinstance(given.get("command"), str):
        seen.open[call] = "run " + given["command"].strip()


def _ended(seen: _Seen, what: str, block: dict[str, Any]) -> None:
    kind, _, told = what.partition(" ")
    failed = bool(block.get("is_error"))
    if kind == "file":
        if not failed:
            seen.files[told] = None
        return
    if not told:
        return
    commit = _COMMIT.search(told)
    if commit and not failed:
        seen.commits[_message(commit.group("rest"))] = None
        return
    told = told.split("<<")[0]
    command = cut(told, COMMAND)
    seen.commands.pop(command, None)
    seen.commands[command] = "failed" if failed else ""
    if _TEST.search(told):
        seen.tests.pop(command, None)
        seen.tests[command] = _verdict(passages.output(block.get("content"))) or ("failed" if failed else "passed")


def _message(rest: str) -> str:
    found = _MESSAGE.search(rest)
    if not found:
        return "(message written elsewhere)"
    text = found.group("double") or found.group("single") or found.group("bare") or ""
    inner = _HEREDOC.search(text)
    if inner:
        text = inner.group("body")
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return cut(first.replace('\\"', '"').replace("\\`", "`").replace("\\$", "$"), 100) or "(message written elsewhere)"


def _verdict(output: str) -> str:
    """The last line in which a test runner says how it ended, or «»."""
    for line in reversed(output[-20_000:].splitlines()):
        if _VERDICT.search(line.strip()):
            return cut(line.strip().strip("= "), 90)
    return ""


def _written(seen: _Seen, session: Session, reason: str = "") -> str:
    if not seen.prompts or not seen.replies:
        return ""
    count = "1 prompt" if seen.prompts == 1 else f"{seen.prompts} prompts"
    head = count + (f" on branch {cut(session.branch, 60)}" if session.branch else "") + (f", ended by {cut(reason, 40)}" if reason else "")
    lines = [head + ".", "Asked: " + cut(seen.first, PROMPT)]
    if seen.prompts > 1 and seen.last != seen.first:
        lines.append("Asked last: " + cut(seen.last, PROMPT))
    outcome = "Outcome: " + cut(seen.outcome, OUTCOME)
    room = LONGEST - sum(len(line) + 1 for line in (*lines, outcome))
    tests = [f"{command} → {how}" for command, how in seen.tests.items()]
    ran = [command + (" (failed)" if how else "") for command, how in seen.commands.items() if command not in seen.tests]
    lists = [("Changed: ", list(seen.files)), ("Commits: ", list(seen.commits)), ("Tests: ", tests), ("Ran: ", ran)]
    lists = [(title, items) for title, items in lists if items]
    for number, (title, items) in enumerate(lists):
        # Each takes its share of the room that the ones before it left.
        line = _listed(title, items, room // (len(lists) - number) - 1, title != "Changed: ")
        if line:
            lines.append(line)
            room -= len(line) + 1
    return "\n".join([*lines, outcome])


def _listed(title: str, items: Sequence[str], limit: int, newest: bool) -> str:
    """As many whole items as fit on a line, and how many more there are; the newest ones where that matters more."""
    kept: list[str] = []
    used = len(title) + len(" (+9999 more)")
    for item in reversed(items) if newest else items:
        if used + len(item) + 2 > limit:
            break
        kept.append(item)
        used += len(item) + 2
    if not kept:
        return ""
    if newest:
        kept.reverse()
    return title + "; ".join(kept) + (f" (+{len(items) - len(kept)} more)" if len(kept) < len(items) else "")
