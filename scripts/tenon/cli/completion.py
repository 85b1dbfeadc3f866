"""`tenon completion`: what a shell needs to complete the command line, written from the parsers themselves.

Verbs, flags and choices stand in the script; the names of agents, which come and go, are asked for when they are wanted.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from tenon.base import paths, settings
from tenon.cli import main

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeVar

    from tenon.cli.out import Out

    Kept = TypeVar("Kept", bound=argparse.Action)

HELP = """Prints a script that has your shell complete verbs, flags, choices, settings and agents of this very version. A shell that asks for
it at its start, as in the first two lines, has it right after an update too; a file wants to be made again."""
EXAMPLES = """
tenon completion bash    in ~/.bashrc: source <(tenon completion bash)
tenon completion zsh     in ~/.zshrc, after compinit: source <(tenon completion zsh)
tenon completion fish    as a file: tenon completion fish > ~/.config/fish/completions/tenon.fish
"""
AGENTS, FILES = ("@agents",), ("@files",)
SETTINGS = {("config", "name"), ("config", "unset")}
OF_AGENTS = {("agents", "delete"), ("uninstall", "purge")}
PLACES = ("FOLDER", "PATH", "FILE", "D")  # what an argument is called that is a file or folder
# What a word has behind it, where the next place has not the same values after every word.
BEHIND: dict[str, dict[str, tuple[str, ...]]] = {
    "digest": {"auto": ("on", "off")},
    "config": {
        **{name: ("on", "off") for name, (default, _) in settings.KNOWN.items() if isinstance(default, bool)},
        **settings.CHOICES,
    },
}
ASK = "completion --words agents 2>/dev/null"


@dataclass(frozen=True)
class Flag:
    """A flag: its spellings, what it does, whether it has a value, and which values are known."""

    names: tuple[str, ...]
    told: str
    takes: bool
    values: tuple[str, ...]
    repeats: bool


@dataclass(frozen=True)
class Verb:
    """A verb: what it does, its flags, for each place after it the values that are known, and those behind single words of the first place."""

    name: str
    told: str
    flags: tuple[Flag, ...]
    places: tuple[tuple[str, ...], ...]

    @property
    def behind(self) -> dict[str, tuple[str, ...]]:
        """The values of the second place by the word of the first."""
        return BEHIND.get(self.name, {})


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("shell", choices=list(SHELLS), nargs="?", metavar="bash|zsh|fish", help="for which shell")
    parser.add_argument("--words", choices=("agents",), default="", help=argparse.SUPPRESS)


def run(options: argparse.Namespace, out: Out) -> int:
    """0."""
    if options.words:
        out.results.write("".join(f"{name}\n" for name in paths.agents()))
    elif options.shell:
        out.results.write(SHELLS[options.shell](known()))
    else:
        options.wrong("say for which shell: tenon completion bash")
    return 0


def known() -> list[Verb]:
    """What can be typed, as the parsers say; each verb has the flags that are understood everywhere, too."""
    return [*map(_verb, main.VERBS), Verb("help", "show a verb's examples", (), (tuple(main.VERBS),))]


class Recorder(argparse.ArgumentParser):
    """A parser that keeps what is added to it."""

    def __init__(self) -> None:
        self.kept: list[argparse.Action] = []
        super().__init__(add_help=False)

    def _add_action(self, action: Kept) -> Kept:
        self.kept.append(action)
        return super()._add_action(action)


def _verb(name: str) -> Verb:
    parser = Recorder()
    main.understands(name, parser)
    flags: list[Flag] = [Flag(("-h", "--help"), "show this", takes=False, values=(), repeats=False)]
    places: list[tuple[str, ...]] = []
    for action in parser.kept:
        values = _values(name, action)
        if action.help is argparse.SUPPRESS:
            continue
        if action.option_strings:
            repeats = isinstance(action.default, list)
            flags.append(Flag(tuple(action.option_strings), _plain(action.help or ""), action.nargs != 0, values, repeats))
        else:
            places.append(values)
    return Verb(name, main.VERBS[name], tuple(flags), tuple(places))


def _values(verb: str, action: argparse.Action) -> tuple[str, ...]:
    if action.choices:
        return tuple(str(choice) for choice in action.choices)
    if (verb, action.dest) in SETTINGS:
        return tuple(settings.KNOWN)
    if action.dest == "agent" or (verb, action.dest) in OF_AGENTS:
        return AGENTS
    return FILES if action.metavar in PLACES else ()


def _plain(text: str) -> str:
    """A short text that no shell takes for anything else."""
    for end in (";", ": ", " ("):
        text = text.partition(end)[0]
    return "".join(letter for letter in text.replace("'", "’") if letter not in '"`\\$[]:\n')


def _flags(verb: Verb, *, takes: bool) -> list[str]:
    return [name for flag in verb.flags if flag.takes or not takes for name in flag.names]


def bash(verbs: list[Verb]) -> str:
    """The script for bash, from 3.2 on."""
    taken = _cases((" | ".join(f'"{verb.name} {name}"' for name in _flags(verb, takes=True)), "waits=$word") for verb in verbs if _flags(verb, takes=True))
    values = _cases(
        (" | ".join(f'"{verb.name} {name}"' for name in flag.names), _bash(flag.values)) for verb in verbs for flag in verb.flags if flag.takes and flag.values
    )
    places = _cases((f'"{verb.name} {number} "*', _bash(place)) for verb in verbs for number, place in enumerate(verb.places) if place)
    places += "\n" + _cases((f'"{verb.name} 1 {word}"', _bash(place)) for verb in verbs for word, place in verb.behind.items())
    flags = _cases((verb.name, f'words="{" ".join(_flags(verb, takes=False))}"') for verb in verbs if verb.flags)
    return f"""# bash completion of tenon, made by `tenon completion bash`
_tenon() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} verb="" first="" place=0 waits="" words="" word at
    [[ $cur == = ]] && cur=""
    COMPREPLY=()
    for ((at = 1; at < COMP_CWORD; at++)); do
        word=${{COMP_WORDS[at]}}
        [[ $word == = ]] && continue
        [[ $word == -- ]] && return
        if [[ -n $waits ]]; then waits="" && continue; fi
        if [[ $word != -* ]]; then
            if [[ -z $verb ]]; then verb=$word; else place=$((place + 1)); fi
            [[ $place == 1 ]] && first=$word
            continue
        fi
        case "$verb $word" in
            " --agent" | " --color") waits=$word ;;
{taken}
        esac
    done
    if [[ -n $waits ]]; then
        case "$verb $waits" in
            " --agent") words=$("$1" {ASK}) ;;
            " --color") words="auto always never" ;;
{values}
        esac
    elif [[ $cur == -* ]]; then
        case "$verb" in
            "") words="--help --version --agent --color" ;;
{flags}
        esac
    elif [[ -z $verb ]]; then
        words="{" ".join(verb.name for verb in verbs)}"
    else
        case "$verb $place $first" in
{places}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -F _tenon tenon
"""


def _bash(values: tuple[str, ...]) -> str:
    if values == AGENTS:
        return f'words=$("$1" {ASK})'
    return "compopt -o default 2>/dev/null" if values == FILES else f'words="{" ".join(values)}"'


def _cases(pairs: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"            {pattern}) {does} ;;" for pattern, does in pairs)


def zsh(verbs: list[Verb]) -> str:
    """The script for zsh: a file of $fpath, or to be sourced."""
    described = "\n".join(f"        '{verb.name}:{_plain(verb.told)}'" for verb in verbs)
    cases = "\n".join(f"        {verb.name})\n            _arguments{''.join(_zsh_specs(verb))} ;;" for verb in verbs)
    return f"""#compdef tenon
# zsh completion of tenon, made by `tenon completion zsh`
_tenon_agents() {{ compadd -- ${{(f)"$(tenon {ASK})"}} }}
_tenon_verbs() {{
    local -a verbs=(
{described}
    )
    _describe -t verbs verb verbs
}}
_tenon() {{
    local curcontext="$curcontext" state line
    typeset -A opt_args
    _arguments -C '(- *)'{{-h,--help}}'[show this]' '(- *)--version[show the version]' \\
        '--agent=[whose memory]:agent:_tenon_agents' '--color=[colour in the output]:when:(auto always never)' \\
        '1:verb:_tenon_verbs' '*:: :->rest' && return
    [[ $state == rest ]] || return
    case $words[1] in
{cases}
    esac
}}
if [[ $funcstack[1] == _tenon ]]; then _tenon "$@"; else compdef _tenon tenon; fi
"""


def _zsh_specs(verb: Verb) -> list[str]:
    specs = []
    for flag in verb.flags:
        for name in flag.names:
            many = "*" if flag.repeats else ""
            value = f":value:{_zsh(flag.values)}" if flag.takes else ""
            specs.append(f" \\\n                '{many}{name}{'=' if flag.takes and name.startswith('--') else ''}[{_plain(flag.told)}]{value}'")
    for number, place in enumerate(verb.places, 1):
        if number == 2 and verb.behind:
            cases = " ".join(f"({word}) compadd {' '.join(values)} ;;" for word, values in verb.behind.items())
            specs.append(f" \\\n                '2:value:{{case $line[1] in {cases} esac}}'")
            continue
        specs.append(f" \\\n                '{number}:value:{_zsh(place)}'" if place else "")
    return specs


def _zsh(values: tuple[str, ...]) -> str:
    if values == AGENTS:
        return "_tenon_agents"
    return "_files" if values == FILES else f"({' '.join(values)})" if values else " "


def fish(verbs: list[Verb]) -> str:
    """The script for fish, from 3.0 on."""
    takes = sorted({name for verb in verbs for name in _flags(verb, takes=True)})
    lines = [f"complete -c tenon -n __tenon_at -a {verb.name} -d '{_plain(verb.told)}'" for verb in verbs]
    for verb in verbs:
        for flag in verb.flags:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
            lines.append(f"complete -c tenon -n '__tenon_at {verb.name}' {names}{_fish(flag.values, '-x') if flag.takes else ''} -d '{_plain(flag.told)}'")
        lines += [f"complete -c tenon -n '__tenon_at {verb.name} {number}'{_fish(place, '')}" for number, place in enumerate(verb.places) if place]
        lines += [f"complete -c tenon -n '__tenon_at {verb.name} 1 {word}'{_fish(place, '')}" for word, place in verb.behind.items()]
    return f"""# fish completion of tenon, made by `tenon completion fish`
set -g __tenon_takes {" ".join(takes)}
function __tenon_at --description 'Whether the verb is that one (none yet), with so many words behind it, the first of them that one'
    set -l plain
    set -l waits 0
    for word in (commandline -opc)[2..-1]
        if test $waits = 1
            set waits 0
        else if contains -- $word $__tenon_takes
            set waits 1
        else if not string match -q -- '-*' $word
            set -a plain $word
        end
    end
    if test (count $argv) = 0
        test (count $plain) = 0
    else
        test "$plain[1]" = "$argv[1]"; and begin
            test (count $argv) = 1; or test (count $plain) = (math $argv[2] + 1)
        end; and begin
            test (count $argv) -lt 3; or test "$plain[2]" = "$argv[3]"
        end
    end
end
complete -c tenon -f
complete -c tenon -n __tenon_at -l version -d 'show the version'
complete -c tenon -n __tenon_at -s h -l help -d 'show this'
complete -c tenon -n __tenon_at -l agent{_fish(AGENTS, "-x")} -d 'whose memory'
complete -c tenon -n __tenon_at -l color{_fish(("auto", "always", "never"), "-x")} -d 'colour in the output'
{chr(10).join(lines)}
"""


def _fish(values: tuple[str, ...], exclusive: str) -> str:
    if values == FILES:
        return " -r -F" if exclusive else " -F"
    given = f"(tenon {ASK})" if values == AGENTS else " ".join(values)
    return (f" {exclusive}" if exclusive else "") + (f" -a '{given}'" if given else "")


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}
