"""What plain code spots in archived turns and proposes as memories: no model is asked, and precision goes before recall.

Turns in, candidates out, each with its kind, its text, why, its class of source and the turns it came from. Of what a model said
nothing is taken where something from outside the machine was read in the same exchange. Pure.
"""

from __future__ import annotations

from tenon.base import paths
from tenon.base.text import cut
from tenon.digest import prose, spot_runs, spot_said, verdicts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tenon.digest.spot_runs import Edit, Run, Work
    from tenon.store.exchanges import Turn

FINDING, COMMAND = 0.8, 1.0  # how strong they are
EXPLAINED = 240  # characters of what the agent said of a failed test
COMMANDS = 3  # of one exchange


class Candidate:
    """One memory to be: `at` is the time of its newest turn.

    Besides the text, `said` holds what a user's sentence says (`typed`: in a prompt that they surely typed themself), `command` what was run, `episode` the parts of one (situation,
    action_taken, evidence); of these at most one is there.
    """

    __slots__ = ("kind", "text", "reason", "source", "turns", "at", "strength", "said", "typed", "command", "episode")

    def __init__(self, kind: str, text: str, reason: str, source: str, turns: Iterable[Turn], strength: float = 1.0) -> None:
        told = list(turns)
        self.kind = kind
        self.text = text
        self.reason = reason
        self.source = source
        self.turns = sorted({turn.id for turn in told})
        self.at = max(turn.at for turn in told)
        self.strength = strength
        self.said: spot_said.Said | None = None
        self.typed = False
        self.command = ""
        self.episode: dict[str, str] | None = None


class _Exchange:
    """A prompt of a thread and what followed it there, by its places among the turns; `outside`: something from outside was read meanwhile."""

    def __init__(self, prompt: Turn | None, thread: str, first: int) -> None:
        self.prompt = prompt
        self.thread = thread
        self.first = first
        self.last = first
        self.replies: list[tuple[int, Turn, list[list[str]]]] = []
        self.asked: list[list[str]] = []
        self.outside = False

    def read(self) -> None:
        """Takes what was said apart into sentences."""
        if self.prompt is not None:
            self.asked = prose.sentences(text_of(self.prompt))
        self.replies = [(place, turn, prose.sentences(text_of(turn))) for place, turn, _ in self.replies]


def spot(turns: Sequence[Turn], after: int, roots: Sequence[str] = ()) -> list[Candidate]:
    """What is spotted in the turns of a session, oldest first; only what has a turn beyond number `after`.

    The turns up to `after` are there for what they say of later ones. Files are named relative to the first of `roots` that holds them.
    """
    ordered = in_order(turns)
    work = spot_runs.Work(ordered)
    by_id = {turn.id: turn for turn in ordered}
    found: list[Candidate] = []
    for exchange in _exchanges(ordered, work):
        newest = max([turn.id for turn in ordered[exchange.first : exchange.last + 1]], default=0)
        if newest <= after:
            continue
        exchange.read()
        found += _said(exchange)
        if not exchange.outside:
            found += _findings(exchange)
            found += _commands(exchange, work, by_id)
            found += _episodes(exchange, work, by_id, roots)
    return sorted((each for each in found if each.turns[-1] > after), key=lambda each: (each.at, each.turns))


def in_order(turns: Iterable[Turn]) -> list[Turn]:
    """The turns as they came about: each thread in its order, threads among each other by time."""
    reached: dict[str, float] = {}
    keyed = []
    for turn in sorted(turns, key=lambda turn: turn.id):
        reached[turn.thread] = max(turn.at, reached.get(turn.thread, turn.at))
        keyed.append((reached[turn.thread], turn.id, turn))
    return [turn for _, _, turn in sorted(keyed, key=lambda each: each[:2])]


def edited(turns: Sequence[Turn]) -> list[Edit]:
    """The edits that worked, in order."""
    return spot_runs.Work(in_order(turns)).edits


def edits_of(turn: Turn) -> list[str]:
    """The paths that the calls of a turn are to edit."""
    return spot_runs.edits_of(turn)


def text_of(turn: Turn) -> str:
    """What was said in a turn."""
    return "\n\n".join(str(block.get("text") or "") for block in turn.content if isinstance(block, dict) and block.get("type") == "text")


def _exchanges(ordered: Sequence[Turn], work: Work) -> list[_Exchange]:
    open_: dict[str, _Exchange] = {}
    all_: list[_Exchange] = []
    for place, turn in enumerate(ordered):
        if turn.kind == "prompt" or turn.thread not in open_:
            open_[turn.thread] = _Exchange(turn if turn.kind == "prompt" else None, turn.thread, place)
            all_.append(open_[turn.thread])
        here = open_[turn.thread]
        here.last = place
        if turn.kind == "reply":
            here.replies.append((place, turn, []))
    ends: dict[str, int] = {}
    for exchange in reversed(all_):
        # Of the main conversation up to its next prompt, with all that sub-agents did meanwhile.
        until = ends.get("", len(ordered)) if not exchange.thread else exchange.last + 1
        exchange.outside = any(exchange.first <= place < until for place in work.outside)
        ends[exchange.thread] = exchange.first
    return all_


def _said(exchange: _Exchange) -> Iterator[Candidate]:
    prompt = exchange.prompt
    if prompt is None or prompt.thread or prompt.source != "user":
        return
    replies = [] if exchange.outside else exchange.replies
    typed = prose.is_typed(text_of(prompt))
    for said in spot_said.of_user(exchange.asked, [blocks for _, _, blocks in replies]):
        turns = [prompt] if said.answer < 0 else [prompt, replies[said.answer][1]]
        why = said.why + ("; after the arrow is what was answered" if said.answer >= 0 else "")
        candidate = Candidate(said.kind, said.text, why, "user", turns, said.strength)
        candidate.said = said
        candidate.typed = typed
        yield candidate


def _findings(exchange: _Exchange) -> Iterator[Candidate]:
    if exchange.prompt is None or exchange.prompt.thread:
        return
    for _, reply, blocks in exchange.replies:
        for text in spot_said.of_agent(exchange.asked, blocks):
            yield Candidate("lesson", text, "the agent named it as what it found", "assistant", [exchange.prompt, reply], FINDING)


def _commands(exchange: _Exchange, work: Work, by_id: dict[int, Turn]) -> list[Candidate]:
    runs = [run for run in work.runs if exchange.first <= run.place <= exchange.last and run.thread == exchange.thread]
    last = {run.command: run for run in runs}
    good = [run for run in last.values() if not run.failed and spot_runs.worth(run.command)]
    # A sub-agent's task is worded by a model; the call says what it is for, or nothing does.
    asked, errand = ("", "") if exchange.thread else (spot_runs.asks_how(exchange.asked), spot_said.errand(exchange.asked))
    found: list[Candidate] = []
    for run in good:
        answers = [(turn, spot_runs.named_by(run.command, blocks)) for place, turn, blocks in exchange.replies if place > run.place]
        naming, named = next(((turn, text) for turn, text in answers if text), (None, ""))
        other = spot_runs.found_the_hard_way(run, [each for each in runs if each.place < run.place], work.edits)
        if not named and other is None and not (asked and run is good[-1]):
            continue
        turns = [by_id[number] for number in run.turns] + ([naming] if naming is not None else [])
        why = "ran without an error" + (
            f"; the answer: «{cut(named, 200)}»" if named else f"; `{cut(other.command, 100)}` had failed" if other else "; it was asked for"
        )
        purpose = spot_runs.purpose(run, asked or errand)
        candidate = Candidate("command", works(run.command) + (f": {purpose}" if purpose else ""), why, "tool", turns, COMMAND)
        candidate.command = run.command
        found.append(candidate)
    return found[-COMMANDS:]


def works(command: str) -> str:
    """How the text of a memory about a command begins."""
    return f"`{command}` works (ran without an error)"


def _episodes(exchange: _Exchange, work: Work, by_id: dict[int, Turn], roots: Sequence[str]) -> Iterator[Candidate]:
    """Tests that failed, in this exchange or before, and passed in it after files had been edited."""
    for run in work.runs:
        if not (exchange.first <= run.place <= exchange.last and run.thread == exchange.thread) or not _passed(run):
            continue
        failing = next((other for other in reversed(work.runs) if other.place < run.place and _is_broken(other) and spot_runs.fixed(run, other)), None)
        since = next((other.place for other in reversed(work.runs) if other.place < run.place and other.command == run.command and _passed(other)), -1)
        if failing is None or failing.place < since:
            continue
        edits = [edit for edit in work.edits if failing.place < edit.place < run.place]
        situation = spot_runs.situation(failing)
        if not edits or not situation:
            continue
        told = [(turn, text) for place, turn, blocks in exchange.replies if place > failing.place and (text := _explained(blocks))]
        turns = [*failing.turns, *(edit.turn for edit in edits), *run.turns, *(turn.id for turn, _ in told[:1])]
        files = list(dict.fromkeys(paths.relative(edit.path, roots) for edit in edits))
        taken = f"edited {', '.join(files[: spot_runs.FILES])}" + (f" and {len(files) - spot_runs.FILES} more" if len(files) > spot_runs.FILES else "")
        taken += f": {told[0][1]}" if told else ""
        candidate = Candidate("episode", "", "", "assistant", [by_id[number] for number in turns])
        candidate.episode = {"situation": situation, "action_taken": taken, "evidence": spot_runs.evidence(run)}
        yield candidate


def _explained(answer: Sequence[Sequence[str]]) -> str:
    """The first sentences of an answer, as many as fit."""
    kept = ""
    for sentence in (sentence for block in answer for sentence in block):
        if len(kept) + len(sentence) > EXPLAINED:
            break
        kept = f"{kept} {sentence}".strip()
    return kept


def _passed(run: Run) -> bool:
    return verdicts.is_test(run.command) and verdicts.ended(run.output, run.failed) is True


def _is_broken(run: Run) -> bool:
    return verdicts.is_test(run.command) and (run.failed or verdicts.ended(run.output, run.failed) is False)
