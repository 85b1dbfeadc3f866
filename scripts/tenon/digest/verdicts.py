"""How a run of tests ended, and what a failed one says was expected: read off the output of whichever runner. Pure."""

from __future__ import annotations

import re

from tenon.base.text import cut

TYPE_CHECKING = False

HEAD, TAIL = 4_000, 12_000  # characters of an output that are read
COMMAND = 500  # characters of a command, in which it says what it runs
VALUE = 80  # characters of what was expected and what came
NAMES = 3  # failing tests that are named

_TEST = re.compile(
    r"\b(?:pytest|py\.test|unittest|tox|nox|jest|vitest|mocha|ava|karma|rspec|minitest|phpunit|pest|ctest|gotestsum|nextest|playwright test|cypress run|bats|busted|"
    r"(?:npm|yarn|pnpm|bun|deno|cargo|go|dotnet|mix|swift|flutter|dart|zig|make|just|task|rake|rails|composer|stack|cabal|lein|bazel|buck|meson|ninja|node)(?:\s+(?:run|exec|--?[\w=/.-]+|-C \S+))*\s+[\w:.-]*\b(?:tests?|spec|check)\b[\w:.-]*"
    r"|(?:mvnw?|gradlew?|sbt)\b[^|;&]*\b(?:test|verify|check)\w*)"
)
_FAILED = re.compile(
    r"^[ \t]*(?:FAILED|FAIL)\b|^--- FAIL|\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|^test result: FAILED|^FAILED \(|\bBUILD FAILED\b|Failures: [1-9]|Errors: [1-9]|^not ok \d|\.\.\. FAILED$|[✕✗✘] ",
    re.M,
)
_PASSED = re.compile(
    r"\b\d+ (?:passed|passing)\b|^test result: ok|^OK\b|^ok\s+\S|^PASS\b|\bBUILD SUCCESS|\b0 (?:failures|failed)\b|\bAll tests passed\b|^# fail 0|\bTests:?\s+\d+ passed|^ok \d|\b100% tests passed",
    re.M | re.I,
)
_VERDICT = re.compile(
    r"\d+ (?:passed|failed|errors?|examples?|tests?|assertions)\b|\b\d+ (?:passing|failing)\b|^test result: |^Tests?:? +\d|^Tests run: \d|^(?:OK|FAILED) ?\(|^OK$|^Ran \d+ tests?|^(?:ok|FAIL|PASS)\b",
    re.M,
)
_NAMED = tuple(
    re.compile(pattern, re.M)
    for pattern in (
        r"^FAILED (?:\S*?::)?(?P<name>[\w\[\].:/-]+)",  # pytest
        r"^[ \t]*--- FAIL: (?P<name>\S+)",  # go
        r"^test (?P<name>\S+) \.\.\. FAILED",  # cargo
        r"^(?:FAIL|ERROR): (?P<name>\w+) \(",  # unittest
        r"^[ \t]*FAIL\s+\S+ > (?P<name>[^\n]{1,120})$",  # vitest
        r"^[ \t]*● (?P<name>[^\n]{1,120})$",  # jest
        r"^rspec (?P<name>\S+)",
        r"^\[ERROR\]\s+(?P<name>[\w.$]+\.\w+)(?=[:\s(])",  # maven
        r"^(?P<name>\w[\w.]* > [^\n]{1,100}) FAILED",  # gradle
        r"^[ \t]*[✕✗✘×] (?P<name>[^\n]{1,120}?)(?: \(\d+ ?m?s\))?$",
        r"^[ \t]*\d+\) (?P<name>[\w:\\. #-]{3,100})$",  # phpunit, rspec, mocha
        r"^not ok \d+ -? ?(?P<name>[^\n#]{1,100})",  # tap
    )
)
_V = r"[^\n]{1,200}?"
_PAIRS = tuple(
    re.compile(pattern, re.M | re.I)
    for pattern in (
        rf"\bgot:? (?P<got>{_V}),? (?:but )?(?:want(?:ed)?|expected):? (?P<expected>{_V})[.;]?$",
        rf"\b(?:want(?:ed)?|expected):?[ \t]*<?(?P<expected>{_V})>?[,;]? (?:but )?(?:got|was|received|actual|found|instead got)(?: was)?:?[ \t]*<?(?P<got>{_V})>?\.?$",
        rf"^[^\w\n]{{0,20}}expected(?: value)?:[ \t]*(?P<expected>{_V})[ \t]*\n(?:[ \t]*\n)?[^\w\n]{{0,20}}(?:received|actual|got|but was|found)(?: value)?:[ \t]*(?P<got>{_V})[ \t]*$",
        rf"\bexpected (?P<got>{_V}) to (?:be|equal|deeply equal|deep equal|eql|eq|strictly equal|match|have length|include|contain)\s(?P<expected>{_V})(?: \(|$)",
        rf"\bFailed asserting that (?P<got>{_V}) (?:matches expected|is identical to|equals|is equal to) (?P<expected>{_V})\.?$",
    )
)
_UNEQUAL = re.compile(
    rf"\bassert\w* (?P<line>[^\n]{{1,80}}? (?:==|!=|is|in|not in|<|>|<=|>=) [^\n]{{1,80}})$|^[ \t]*AssertionError: (?P<other>{_V} != {_V})(?: :.*)?$", re.M
)
_SIDES = re.compile(r"^[ \t]*left:[ \t]*`?(?P<left>[^\n]{1,120}?)`?,?[ \t]*\n[ \t]*right:[ \t]*`?(?P<right>[^\n]{1,120}?)`?[ \t]*$", re.M)
_WORDS = re.compile(r"^(?:E[ \t]+|[ \t]*)(?P<line>(?:[\w.]*(?:Error|Exception)|panic|thread '[^']*' panicked)\b[^\n]{3,160})$", re.M)


class Failure:
    """What a failed run says: the names of tests (none when it names none), and in what way they failed («expected 3, got 0», or a line of it)."""

    __slots__ = ("names", "detail")

    def __init__(self, names: list[str], detail: str) -> None:
        self.names = names
        self.detail = detail


def is_test(command: str) -> bool:
    """Whether a command runs tests."""
    return _TEST.search(command[:COMMAND]) is not None


def ended(output: str, error: bool) -> bool | None:
    """Whether tests passed (True) or failed (False), by the output and, where it says nothing, by how the command ended; None when neither tells."""
    text = _ends(output)
    if _FAILED.search(text):
        return False
    if _PASSED.search(text) and not error:
        return True
    return None if error else not text.strip() or None


def failure(output: str) -> Failure:
    """What the output of a failed run says went wrong."""
    text = _ends(output)
    names: list[str] = []
    for pattern in _NAMED:
        names += [match.group("name").strip() for match in pattern.finditer(text)]
        if names:
            break
    return Failure(list(dict.fromkeys(names))[:NAMES], _detail(text))


def last_words(output: str) -> str:
    """The last line in which a runner says how it ended, or «»."""
    for line in reversed(output[-TAIL:].splitlines()):
        if _VERDICT.search(line.strip()):
            return cut(line.strip().strip("= "), 90)
    return ""


def _ends(output: str) -> str:
    return output if len(output) <= HEAD + TAIL else output[:HEAD] + "\n" + output[-TAIL:]


def _detail(text: str) -> str:
    for pattern in _PAIRS:
        match = pattern.search(text)
        if match:
            return f"expected {_value(match.group('expected'))}, got {_value(match.group('got'))}"
    sides = _SIDES.search(text)
    if sides:
        return f"left {_value(sides.group('left'))}, right {_value(sides.group('right'))}"
    unequal = _UNEQUAL.search(text)
    if unequal:
        return "assert " + cut(unequal.group("line") or unequal.group("other"), 2 * VALUE)
    words = _WORDS.search(text)
    return cut(words.group("line"), 2 * VALUE) if words else ""


def _value(text: str) -> str:
    return cut(text.strip().strip("`'\"<>"), VALUE)
