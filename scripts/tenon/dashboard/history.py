"""The page History: the sessions, what was said in them found again by its words, and a session to be read."""

from __future__ import annotations

import re

from tenon.base.text import cut
from tenon.dashboard.excerpt import excerpt, stem
from tenon.dashboard.place import Missing, Wrong
from tenon.dashboard.turns import Telling
from tenon.store import browse_history, exchanges, finding, journal, places, summaries
from tenon.store.finding import Sought

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tenon.dashboard.place import Place, Query
    from tenon.store.browse_history import Page
    from tenon.store.db import Store
    from tenon.store.exchanges import Session, Turn
    from tenon.store.summaries import Summary

ROWS = 50  # sessions or passages of a page
TURNS, CHARS = 80, 500_000  # of a page of a session
LEAD = 16  # turns that stand before one that a link leads to
COUNTED = 200  # prompts of a session
NAMED = 5  # sessions whose id begins with what is looked for
WORDY = 4000  # characters of a part of a summary, on its session's page
SHOWN = 320  # characters of a first prompt and of a summary in the list
THREADS = 500  # sub-agents of a session
MEMORIES = 200  # of the turns of a page
WORDS = 200  # characters of a search
ID = re.compile(r"t[0-9]{1,18}")
_PART = re.compile(r"([A-Z][a-z ]{2,11}): (.*)")  # a line of a summary by plain code
_ENDED = re.compile(r", ended by [^,]+\.$")  # as the host names it, which says nothing to its user


def page(here: Place, query: Query) -> dict[str, Any]:
    """The sessions, the last ones first; with words (`q`) the newest passages in which all of them are said, and before them the sessions whose id begins so."""
    text, tools = query.text("q", WORDS), query.one_of("tools", ("on",)) == "on"
    repository, client = query.repository(here.store), query.text("client")
    key = query.text("after")
    query.done()
    scope = None if repository is None else places.scope(here.store, repository)
    told = _found(here.store, text, scope, client, key, tools=tools) if text else _sessions(here.store, scope, client, key)
    return {**told, "clients": browse_history.clients(here.store)}


def one(here: Place, name: str, query: Query) -> dict[str, Any]:
    """A session: its facts and some of its turns in order, of the main conversation or of a sub-agent (`thread`).

    From `after` or up to `before` a turn, or around a `turn`; with `whole` that turn alone, to its end. `q` are words to mark.
    """
    turn, thread, whole = _turn(query, "turn"), query.text("thread"), query.one_of("whole", ("on",))
    after, before = _turn(query, "after"), _turn(query, "before")
    sought = Sought(query.text("q", WORDS))
    query.done()
    session = browse_history.session(here.store, name, journal.SHORT)
    if session is None:
        raise Missing(f"There is no session '{cut(name, 60)}'; `tenon recall` and the list of sessions show what there is.")
    focus = _of_session(here.store, session, turn) if turn else None
    if whole:
        if focus is None:
            raise Wrong("'whole' goes with 'turn': which one?")
        return {"turn": Telling(whole=True).turn(focus)}
    told = _Reading(here.store, session, thread).told(focus, after, before)
    told["words"] = [stem(word) for word in sought.words]
    return told if thread else {**_facts(here.store, session), **told}


class _Reading:
    """A page of one thread of a session."""

    def __init__(self, store: Store, session: Session, thread: str) -> None:
        self.store = store
        self.session = session
        self.thread = thread
        self.threads = browse_history.threads(store, session.id, THREADS)

    def told(self, focus: Turn | None, after: int, before: int) -> dict[str, Any]:
        """The page, with what leads to those before and after it; `focus` is the turn that it is about."""
        opened = None
        if focus is not None and focus.thread != self.thread:
            opened = {"thread": focus.thread, "turn": focus.ref}
            focus = self._start_of(focus.thread)
        found = self._page(focus.id if focus else 0, after, before)
        return {
            "turns": self._turns(found), "earlier": found.turns[0].ref if found.earlier and found.turns else None,
            "next": found.turns[-1].ref if found.next_at is not None else None, "focus": opened["turn"] if opened else focus.ref if focus else None,
            "opened": opened,
        }  # fmt: skip

    def _page(self, focus: int, after: int, before: int) -> Page:
        number = self.session.id
        if before:
            return browse_history.before(self.store, number, self.thread, before, rows=TURNS, chars=CHARS)
        if focus and not after:
            lead = browse_history.before(self.store, number, self.thread, focus, rows=LEAD, chars=CHARS).turns
            start = browse_history.prompt_before(self.store, number, self.thread, focus)
            after = max(start, lead[0].id if len(lead) >= LEAD else 0) - 1
        after = after or next((first - 1 for name, first, *_ in self.threads if name == self.thread), 0)
        return browse_history.after(self.store, number, self.thread, after, rows=TURNS, chars=CHARS, least=focus)

    def _start_of(self, thread: str) -> Turn | None:
        """The turn of the main conversation after which a sub-agent began."""
        at = next((began for name, _, _, began, _ in self.threads if name == thread), 0.0)
        number = browse_history.last_before(self.store, self.session.id, at)
        return exchanges.turn(self.store, f"t{number}") if number else None

    def _turns(self, found: Page) -> list[dict[str, Any]]:
        told = Telling().all(found.turns)
        rows = {turn.ref: turn for turn in found.turns}
        numbers = [turn.id for turn in found.turns]
        dealt, made, gists = (
            browse_history.dealt_with(self.store, numbers), browse_history.made(self.store, numbers, MEMORIES), browse_history.gists(self.store, numbers),
        )  # fmt: skip
        before = {turn.id: earlier.id for earlier, turn in zip(found.turns, found.turns[1:])}
        for item in told:
            turn = rows[item["id"]]
            item["dealt"] = dealt.get(turn.id, "")
            item["memories"] = [{"ref": ref, "kind": kind, "status": status, "text": cut(text, 200)} for ref, kind, status, text in made.get(turn.id, ())]
            item["gist"] = gists.get(turn.id, "")
            origin = None if turn is found.turns[0] and found.earlier else browse_history.forked_from(self.store, turn, before.get(turn.id))
            item["branch"] = {"turn": f"t{origin[0]}", "session": origin[1]} if origin else None
        if not self.thread:
            self._compacted(found, told)
            self._agents(found, told)
        return told

    def _compacted(self, found: Page, told: list[dict[str, Any]]) -> None:
        """Notes at a turn that the conversation was compacted before it."""
        for at in browse_history.compactions(self.store, self.session.name):
            item = next((item for item in told if item["at"] >= at), None)
            if item is not None and (item is not told[0] or not found.earlier):
                item["compacted"] = at

    def _agents(self, found: Page, told: list[dict[str, Any]]) -> None:
        """Puts the sub-agents that began on this page under the calls that started them; one whose call is not known stands by its time."""
        begins = found.turns[0].at if found.turns and found.earlier else float("-inf")
        ends = float("inf") if found.next_at is None else found.next_at
        calls = [block for item in told for block in item["blocks"] if block["type"] == "call"]
        for name, first, text, at, count in self.threads:
            if not begins <= at < ends:
                continue
            agent = {"thread": name, "turn": f"t{first}", "at": at, "spoken": count, "about": cut(text, 160)}
            call = next((call for call in calls if "agent" not in call and _starts(call, name, text)), None)
            if call is not None:
                call["agent"] = agent
            elif told:
                before = [item for item in told if item["at"] <= at] or told[:1]
                before[-1].setdefault("agents", []).append(agent)


def _starts(call: dict[str, Any], thread: str, prompt: str) -> bool:
    """Whether a call started the sub-agent: it was given that prompt, or its result names it."""
    asked = prompt.strip()
    if asked and (call["text"].endswith(f"prompt: {asked}") or f"prompt: {asked}\n" in call["text"] or f"prompt:\n{asked}" in call["text"]):
        return True
    return call["result"] is not None and f"agentId: {thread}" in call["result"]["text"]


def _facts(store: Store, session: Session) -> dict[str, Any]:
    summary = summaries.of_session(store, session.id)
    return {
        "session": {**_told(store, session), "folder": session.folder, "prompt": cut(browse_history.opening(store, session.id), SHOWN)},
        "summary": None if summary is None else {**_summed_up(summary, WORDY), "at": summary.at},
    }  # fmt: skip


def _told(store: Store, session: Session) -> dict[str, Any]:
    count = browse_history.prompts(store, session.id, COUNTED + 1)
    return {
        "name": session.name, "repository": places.key(store, places.canonical(store, session.repository)), "branch": session.branch, "client": session.client,
        "started": session.started, "last": session.last, "exchanges": min(count, COUNTED), "more_exchanges": count > COUNTED,
    }  # fmt: skip


def _sessions(store: Store, scope: list[int] | None, client: str, key: str) -> dict[str, Any]:
    last, number = _key(key, float) if key else browse_history.NEWEST
    found = browse_history.sessions(store, scope, client, (float(last), int(number)), ROWS + 1)
    rows = [_listed(store, session) for session in found[:ROWS]]
    following = f"{found[ROWS - 1].last!r}~{found[ROWS - 1].id}" if len(found) > ROWS else None
    return {"sessions": rows, "next": following, "count": len(rows)}


def _listed(store: Store, session: Session) -> dict[str, Any]:
    summary = summaries.of_session(store, session.id)
    return {
        **_told(store, session), "prompt": cut(browse_history.opening(store, session.id), SHOWN),
        "summary": None if summary is None else _summed_up(summary, SHOWN),
    }  # fmt: skip


def _summed_up(summary: Summary, limit: int) -> dict[str, Any]:
    """A summary: of one by plain code the first line as `text` and the others as `parts`, a name and what stands there; in any text at most so many characters."""
    if summary.writer == "digest":
        return {"text": cut(summary.text, limit) if limit < WORDY else summary.text, "parts": [], "writer": summary.writer}
    head, *lines = summary.text.split("\n")
    parts = [found.groups() if (found := _PART.fullmatch(line)) else ("", line) for line in lines]
    return {"text": cut(_ENDED.sub(".", head), limit), "parts": [(name, cut(text, limit)) for name, text in parts], "writer": summary.writer}


def _named(store: Store, text: str, scope: list[int] | None, client: str) -> list[dict[str, Any]]:
    """The sessions whose id begins with the text."""
    found = [session for session in browse_history.beginning(store, text, NAMED) if client in ("", session.client)]
    return [_listed(store, session) for session in found if scope is None or session.repository in scope]


def _found(store: Store, text: str, scope: list[int] | None, client: str, key: str, *, tools: bool) -> dict[str, Any]:
    sought = Sought(text)
    passage, turn = _key(key, int) if key else (2**62, 0)
    hits, following = finding.search(store, sought, before=(int(passage), int(turn)), limit=ROWS, scope=scope, client=client, tools=tools)
    sessions = {number: exchanges.session_of(store, number) for number in {hit.session for hit in hits}}
    rows = [
        {
            "turn": f"t{hit.turn}", "role": hit.role, "kind": hit.kind, "source": hit.source, "at": hit.at, "sub_agent": bool(hit.thread),
            "session": sessions[hit.session].name, "repository": places.key(store, places.canonical(store, sessions[hit.session].repository)),
            "parts": excerpt(hit.text, hit.first, hit.last, sought.words),
        }
        for hit in hits
    ]  # fmt: skip
    more = f"{following[0]}~{following[1]}" if following else None
    named = [] if key else _named(store, text, scope, client)
    return {
        "sessions": named,
        "hits": rows,
        "words": sought.words,
        "next": more,
        "further": bool(following) and len(hits) < ROWS,
        "count": len(named) + len(rows),
    }


def _key(text: str, kind: type[float | int]) -> tuple[float, int]:
    """The two numbers of a key of paging. Raises Wrong."""
    first, _, second = text.partition("~")
    try:
        if second.isascii() and second.isdigit() and len(second) < 19 and len(first) < 30:
            found = kind(first)
            if 0 <= found < 2**62:
                return found, int(second)
    except ValueError:
        pass
    raise Wrong("'after' is what the page before gave as 'next'.")


def _turn(query: Query, name: str) -> int:
    """The number of the turn that a parameter names, 0 when it is not given. Raises Wrong."""
    text = query.text(name)
    if text and ID.fullmatch(text) is None:
        raise Wrong(f"'{name}' is the id of a turn, like t1234.")
    return int(text[1:]) if text else 0


def _of_session(store: Store, session: Session, number: int) -> Turn:
    """The turn, which is one of the session's. Raises Missing."""
    turn = browse_history.turn(store, session.id, number)
    if turn is None:
        raise Missing(f"There is no turn t{number} in this session.")
    return turn
