"""The page Selector: for each prompt what was considered, what was put in front of the model and what was not, and why."""

from __future__ import annotations

from tenon.base.text import cut
from tenon.dashboard.place import Missing
from tenon.recall import rank
from tenon.store import browse_journal, journal, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tenon.dashboard.place import Place, Query
    from tenon.store.browse_journal import Named, Placed, Prompt
    from tenon.store.journal import Scored

ROWS = 20  # an entry is tall: its prompt, six hits with a bar each, near misses
CUT = 240  # characters of a text in the list
WHOLE = 100_000

# What each part of a score says, for whoever reads of it for the first time.
MEANS = {
    "likeness": ("meaning", "how near the text's meaning is to the prompt's, among what was considered"),
    "match": ("words covered", "how much of what the prompt says, weighed by how rare its words are, the text says too"),
    "bm25": ("rare words", "how many words they share, and how rare those are here (BM25)"),
    "strength": ("strength", "a memory fades with time and is strengthened when it proves right"),
    "recency": ("recency", "how lately it was written or proved right"),
    "citations": ("use", "how often it was of use before; five times counts most"),
    "session": ("same session", "how much else of what was found was said in the same session"),
    "fit": ("fit", "whether it is of the time, by the one, or has the number that is asked for"),
    "linked": ("linked", "another hit leads to it, by a link or because the two come up together"),
    "newer": ("newer", "of two that answer alike the later one holds"),
}


def page(here: Place, query: Query) -> dict[str, Any]:
    """The entries of the journal, newest first."""
    session, event = query.text("session"), query.one_of("event", browse_journal.EVENTS)
    repository, before = query.repository(here.store), query.number("after", 2**53, 1, 2**53)
    query.done()
    scope = None if repository is None else places.scope(here.store, repository)
    found = browse_journal.entries(here.store, before, ROWS + 1, session=session, event=event, repositories=scope)
    shown = found[:ROWS]
    following = str(shown[-1].entry.id) if len(found) > ROWS else None
    return {**_told(here, shown, CUT), **_words(here), "next": following, "count": len(shown)}


def one(here: Place, name: str, query: Query) -> dict[str, Any]:
    """One entry, with its texts whole."""
    query.done()
    found = browse_journal.entry(here.store, int(name)) if name.isascii() and name.isdigit() and len(name) <= 15 else None
    if found is None:
        raise Missing("There is no entry of that number; the journal goes back thirty days.")
    return {"entry": _told(here, [found], WHOLE)["entries"][0], **_words(here)}


def _words(here: Place) -> dict[str, Any]:
    """What names in an answer mean."""
    return {
        "means": {name: {"label": label, "says": says} for name, (label, says) in MEANS.items()},
        "reasons": journal.WHY,
        "floor": here.settings.number("recall.floor"),
    }


def _told(here: Place, found: list[Placed], limit: int) -> dict[str, Any]:
    names = browse_journal.named(here.store, (scored.ref for one in found for scored in (*one.entry.shown, *one.entry.skipped)))
    asked = browse_journal.prompts(here.store, (one.entry for one in found))
    keys = {number: places.key(here.store, number) for number in {one.repository for one in found}}
    weights = dict(zip(journal.PARTS, rank.WEIGHTS[here.settings.text("recall.ranking")]))
    return {"entries": [_entry(one, asked.get(one.entry.id), keys[one.repository], names, weights, limit) for one in found]}


def _entry(found: Placed, prompt: Prompt | None, key: str, names: dict[str, Named], weights: dict[str, float], limit: int) -> dict[str, Any]:
    entry = found.entry
    return {
        "id": entry.id, "at": entry.at, "event": entry.event, "session": prompt.session if prompt else entry.session, "archived": prompt is not None,
        "repository": key, "words": entry.words, "about": entry.about, "chars": entry.chars, "turn": prompt.turn if prompt else "",
        "prompt": _text(prompt.text, limit) if prompt and prompt.text else None,
        "hits": [_scored(scored, names.get(scored.ref), weights, limit) for scored in entry.shown],
        "skipped": [{**_scored(scored, names.get(scored.ref), weights, limit), "why": scored.why} for scored in entry.skipped],
    }  # fmt: skip


def _scored(scored: Scored, named: Named | None, weights: dict[str, float], limit: int) -> dict[str, Any]:
    told = {
        "ref": scored.ref, "score": None if scored.score is None else round(scored.score, 3),
        "parts": [{"name": name, "value": round(value, 3), "weight": weights[name]} for name, value in scored.parts.items() if value],
    }  # fmt: skip
    if named is None:
        return {**told, "text": None}
    return {**told, "text": _text(named.text, limit), "kind": named.kind, "tier": named.tier, "status": named.status, "session": named.session}


def _text(text: str, limit: int) -> dict[str, Any]:
    """The text, cut and on one line in a list, whole up to so much where it stands alone."""
    return {"text": cut(text, limit) if limit < WHOLE else text[:limit], "cut": len(text) > limit}
