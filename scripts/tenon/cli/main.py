"""The command `tenon`: one verb, one module, imported when it is called.

A verb's module offers
    HELP: str                                what the verb does, in a sentence or two
    EXAMPLES: str                            two commands at least, one a line, each with what it does
    arguments(parser) -> None                its own arguments; `reads(parser)` of this module adds --json
    run(options, out) -> int                 does it and returns the exit code: 0 done, 1 refused
    meant(arguments) -> str                  optional: the sentence for a command line with arguments that are not its own
and raises TenonError for whatever the user can put right; `options.wrong(sentence)` ends as wrong usage. --agent and --color are understood everywhere.
Exit codes: 0 done, also with nothing found; 1 refused, with a sentence; 2 wrong usage; 3 a fault of ours; 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from errno import EFBIG, EIO, ENOSPC

import tenon
from tenon.base import faults, paths
from tenon.base.errors import TenonError
from tenon.cli import out as output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

    from tenon.cli.out import Out

# verb: what `tenon -h` says of it, in the order of use
VERBS = {
    "recall": "find memories and past exchanges",
    "write": "remember something",
    "reinforce": "strengthen a memory that proved right",
    "episode": "remember an attempt and how it ended",
    "forget": "remove memories, turns or a text for good",
    "why": "what was put in front of the model, and why",
    "status": "one screen: is it on, what did it do and cost, what is wrong",
    "dashboard": "all of it in a browser, to look at and to mend",
    "code": "Claude Code with past sessions in front, through the proxy",
    "proxy": "the proxy for every session of Claude Code: on, off, status",
    "start": "run the proxy in the background",
    "stop": "end the proxy",
    "digest": "have a model make memories of what was said; show and undo that",
    "identity": "what the agent holds about itself and about working with you",
    "embed": "which models know what memories mean, and how far each is",
    "import": "bring along transcripts, an export, or another memory",
    "export": "what is remembered as JSON Lines, for another machine",
    "backup": "a whole copy of the store, or one of them put back",
    "agents": "the agents and what each of them holds",
    "alias": "which repositories are one",
    "config": "each setting, and where its value comes from",
    "paths": "where everything is kept",
    "doctor": "check everything and say how to mend it",
    "usage": "how much the memory is used: sessions, recalls, memories",
    "repair": "check the whole store row by row, mend it, or remove its archive",
    "logs": "a report to send to whoever helps you",
    "serve": "the memory's tools for other agents than Claude Code",
    "print-config": "what the settings of another agent say, so that it finds the tools",
    "install": "set up what the plugin cannot do by itself",
    "uninstall": "take away exactly what install wrote",
    "completion": "have bash, zsh or fish complete the command line",
    "statusline": "one short line for Claude Code's status line",
}


class Layout(argparse.RawDescriptionHelpFormatter):
    """Help as it is written, in at most 100 columns."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=min(100, columns()))


class Parser(argparse.ArgumentParser):
    """argparse, whose refusals repeat what was typed: made fit for a terminal first."""

    color = False  # newer Pythons' own; ours is put in where it is printed

    def error(self, message: str) -> NoReturn:
        """Ends with 2."""
        super().error(output.shown(message))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Ends with 2 where there is a choice and the value is none of it: one sentence, which names the near one."""
        if action.choices is not None and value not in action.choices:
            flag = f" for {action.option_strings[-1]}" if action.option_strings else ""
            self.exit(2, output.shown(f"{self.prog}: error: there is no '{value}'{flag}; {_of(str(value), list(map(str, action.choices)))}\n"))


class Overview(Parser):
    """The parser of the command as such, whose help is an overview."""

    def format_help(self) -> str:
        """Examples, and the verbs in groups."""
        from tenon.cli import overview

        return overview.text(min(100, columns()))


def main(arguments: Sequence[str]) -> int:
    """The exit code of a command line, given without the program's name."""
    out = output.make(_given(arguments, "--color") or "auto")
    arguments = _in_words(arguments)
    verb = _verb(arguments)
    try:
        try:
            parser = build(verb)
            options, unknown = parser.parse_known_args(list(arguments))
            if unknown:
                _refuse(parser, options, arguments, unknown)
            if not verb:
                out.line(parser.format_help().rstrip())
                return _flushed(out, 0)
            out.json = getattr(options, "json", False)
            return _flushed(out, int(_module(verb).run(options, out)))
        except SystemExit as error:  # argparse's way to say that it is done
            return _flushed(out, int(error.code or 0))
    except BrokenPipeError:
        _silence()
        return 0
    except KeyboardInterrupt:
        out.say("")
        return 130
    except TenonError as error:
        out.say(f"{_name(verb)}: {error}")
        return 1
    except OSError as error:
        if error.filename is not None or error.errno not in (ENOSPC, EFBIG, EIO):
            return _failed(out, verb, _given(arguments, "--agent"), error)
        _silence()
        out.notes.write(f"{_name(verb)}: the output cannot be written ({error.strerror}); free some space, or send it elsewhere\n")
        return 1
    except Exception as error:  # noqa: BLE001 - the one broad catch of this door
        return _failed(out, verb, _given(arguments, "--agent"), error)


def build(called: str) -> argparse.ArgumentParser:
    """The parser of a command line: every verb is known, the called one («» for none) with its arguments."""
    parser = Overview(prog="tenon", usage="tenon VERB …", formatter_class=Layout, add_help=False, allow_abbrev=False)
    parser.add_argument("-h", "--help", action="help", help="show this")
    parser.add_argument("--version", action="version", version=f"tenon {tenon.__version__}", help="show the version")
    _everywhere(parser, first=True)
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", dest="verb", prog="tenon", parser_class=Parser)
    if called and called not in VERBS:
        parser.error(_unknown(called))
    for name, line in VERBS.items():
        if name != called:
            verbs.add_parser(name, help=line, add_help=False)
            continue
        module = _module(name)
        own = verbs.add_parser(name, help=line, description=described(module), formatter_class=Layout, add_help=False, allow_abbrev=False)
        own.add_argument("-h", "--help", action="help", help="show this")
        own.set_defaults(wrong=own.error)
        understands(name, own)
        own.usage = _short(own.format_usage())
    return parser


def understands(verb: str, parser: argparse.ArgumentParser) -> None:
    """Adds to the parser what the verb understands."""
    _module(verb).arguments(parser)
    _everywhere(parser, first=False)


def _short(usage: str) -> str | None:
    """A usage of more than three lines in one, None for a shorter one as it is."""
    if usage.count("\n") <= 3:
        return None
    import re

    from tenon.cli.table import folded

    prog, _, rest = re.sub(r"\[-[^\]]*\]", "", " ".join(usage.split())).partition(": ")[2].partition(" ")
    verb, _, rest = rest.partition(" ")
    return "\n".join(folded(f"{prog} {verb} [flags] {' '.join(rest.split())}".strip(), min(100, columns()) - len("usage: "), 7))


def described(module: Any) -> str:
    """The text above a verb's arguments: its examples first, then what it does."""
    from textwrap import fill

    from tenon.cli.overview import examples

    most = min(100, columns())
    return "\n".join([*examples(module.EXAMPLES, most), "", fill(module.HELP.strip(), min(96, most - 2))])


def reads(parser: argparse.ArgumentParser) -> None:
    """Adds what every reading verb understands."""
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")


def count(text: str) -> int:
    """A number of things from 1 up, as an argument's type."""
    found = _whole(text)
    if found < 1:
        raise argparse.ArgumentTypeError(f"{text} is too few; it is 1 or more")
    return found


def as_set(name: str) -> Callable[[str], int]:
    """The type of an argument that stands for a setting: a whole number that may be its value."""

    def number(text: str) -> int:
        from tenon.base import settings

        found = _whole(text)
        wanted = settings.allowed(name, found)
        if wanted:
            raise argparse.ArgumentTypeError(f"it is {wanted}, not {text}")
        return found

    return number


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from None


def _refuse(parser: argparse.ArgumentParser, options: argparse.Namespace, arguments: Sequence[str], unknown: Sequence[str]) -> NoReturn:
    """Ends as wrong usage of the verb that was called, with what is not understood and where to read on."""
    verb = options.verb
    if not verb:
        parser.error(f"there is no argument {' '.join(unknown)}; `tenon -h` shows what there is")
    meant = getattr(_module(verb), "meant", None)
    options.wrong(meant(arguments) if meant is not None else f"there is no argument {' '.join(unknown)}; {_nearest(unknown[0], options, verb)}")
    raise SystemExit(2)


def _nearest(given: str, options: argparse.Namespace, verb: str) -> str:
    """What was likely meant by a flag that the verb does not have."""
    import re
    from difflib import get_close_matches

    known = re.findall(r"(?<![\w-])--([a-z][\w-]*)", options.wrong.__self__.format_help())
    near = get_close_matches(given.partition("=")[0].lstrip("-"), known, 1)
    return f"did you mean --{near[0]}?" if near else f"`tenon {verb} -h` shows what there is"


def _in_words(arguments: Sequence[str]) -> Sequence[str]:
    """The command line with `help`, `help VERB` and `version` in the form that is parsed."""
    first = arguments[0] if arguments else ""
    if first == "version":
        return ["--version", *arguments[1:]]
    return [*arguments[1:], "-h"] if first == "help" else arguments


def _everywhere(parser: argparse.ArgumentParser, *, first: bool) -> None:
    # Given before the verb or after it; after it they must not reset what was given before.
    parser.add_argument("--agent", metavar="NAME", default="" if first else argparse.SUPPRESS, help="whose memory (else TENON_AGENT, else default)")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto" if first else argparse.SUPPRESS, help="colour in the output")


def _verb(arguments: Sequence[str]) -> str:
    waiting = False
    for argument in arguments:
        if waiting:
            waiting = False
        elif argument in ("--agent", "--color"):
            waiting = True
        elif not argument.startswith("-"):
            return argument
    return ""


def _module(verb: str) -> Any:
    # `import` is a word of the language and a name has no dash, so these verbs' modules have other names.
    return __import__("tenon.cli." + {"import": "importing", "print-config": "print_config"}.get(verb, verb), fromlist=["run"])


def _name(verb: str) -> str:
    return f"tenon {verb}".strip()


def _of(given: str, known: Sequence[str]) -> str:
    """Which of the known words was likely meant, or what there is."""
    from difflib import get_close_matches

    near = get_close_matches(given, known, 1)
    return f"did you mean '{near[0]}'?" if near else f"it may be {', '.join(known[:-1])} or {known[-1]}"


def _unknown(verb: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(verb, VERBS, 1)
    return f"there is no verb '{verb}'" + (f"; did you mean '{near[0]}'?" if near else "; `tenon -h` lists them")


def _given(arguments: Sequence[str], flag: str) -> str:
    """The value of a flag before anything is parsed, for what is needed even when parsing fails."""
    for at, argument in enumerate(arguments):
        if argument == flag and at + 1 < len(arguments):
            return arguments[at + 1]
        if argument.startswith(flag + "="):
            return argument[len(flag) + 1 :]
    return ""


def columns() -> int:
    """How wide the terminal is, 60 at least."""
    from shutil import get_terminal_size

    return max(60, get_terminal_size().columns)


def _flushed(out: Out, code: int) -> int:
    out.results.flush()
    return code


def _silence() -> None:
    # The reader is gone; what Python would still write at exit goes nowhere.
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        pass


def _failed(out: Out, verb: str, agent: str, error: Exception) -> int:
    from tenon.base.lean import sqlite

    if isinstance(error, sqlite.Error):
        from tenon.store import db

        path = paths.store_path(agent or os.environ.get("TENON_AGENT") or "default")
        told = db.explain(path, error)
        if not told.startswith(path + ":"):  # locked, full, damaged: the user's to put right, and no fault of ours
            out.say(f"{_name(verb)}: {told}")
            return 1
    faults.note(_name(verb), error)
    out.say(f"{_name(verb)}: a fault of Tenon itself ({type(error).__name__}: {error}); it is noted in {paths.faults_path()}")
    return 3
