"""The page Selector: for each prompt what was considered, what was put in front of the model and what was not, and why."""

from __future__ import annotations

from tenon.base.text import cut
from tenon.dashboard import scoring
from tenon.dashboard.place import Missing
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
        "means": scoring.means(),
        "reasons": journal.WHY,
        "floor": here.settings.number("recall.floor"),
    }


def _told(here: Place, found: list[Placed], limit: int) -> dict[str, Any]:
    names = browse_journal.named(here.store, (scored.ref for one in found for scored in (*one.entry.shown, *one.entry.skipped)))
    asked = browse_journal.prompts(here.store, (one.entry for one in found))
    keys = {number: places.key(here.store, number) for number in {one.repository for one in found}}
    ranking = here.settings.text("recall.ranking")
    return {"entries": [_entry(one, asked.get(one.entry.id), keys[one.repository], names, ranking, limit) for one in found]}


def _entry(found: Placed, prompt: Prompt | None, key: str, names: dict[str, Named], ranking: str, limit: int) -> dict[str, Any]:
    entry = found.entry
    return {
        "id": entry.id, "at": entry.at, "event": entry.event, "session": prompt.session if prompt else entry.session, "archived": prompt is not None,
        "repository": key, "words": entry.words, "about": entry.about, "chars": entry.chars, "turn": prompt.turn if prompt else "",
        "prompt": _text(prompt.text, limit) if prompt and prompt.text else None,
        "hits": [_scored(scored, names.get(scored.ref), ranking, limit) for scored in entry.shown],
        "skipped": [{**_scored(scored, names.get(scored.ref), ranking, limit), "why": scored.why} for scored in entry.skipped],
    }  # fmt: skip


def _scored(scored: Scored, named: Named | None, ranking: str, limit: int) -> dict[str, Any]:
    told = {"ref": scored.ref, **scoring.told(scored.score, scored.parts, ranking)}
    if named is None:
        return {**told, "text": None}
    return {**told, "text": _text(named.text, limit), "kind": named.kind, "tier": named.tier, "status": named.status, "session": named.session}


def _text(text: str, limit: int) -> dict[str, Any]:
    """The text, cut and on one line in a list, whole up to so much where it stands alone."""
    return {"text": cut(text, limit) if limit < WHOLE else text[:limit], "cut": len(text) > limit}
