"""Which model a question is embedded with: one of Ollama's whose vectors are all there, or None, and recall uses the built-in table by itself.

On the path of a prompt: what knows of networks is imported only where such a model is ready and may be asked.
"""

from __future__ import annotations

import os
import time

from tenon.base import paths
from tenon.base.text import BESIDE, cut
from tenon.store import vectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.base.settings import Settings
    from tenon.store.db import Store
    from tenon.store.vectors import Model

QUERY_S = 0.15
REST_S = 60.0  # after a question that was not answered in time, no other waits


def for_query(store: Store, text: str, chosen: Settings, timeout_s: float = QUERY_S, now: float | None = None) -> tuple[Model, list[int]] | None:
    """The model to look up the text by and its unit vector there, or None when no model of Ollama's is ready, may be asked, and answers in time."""
    if not text.strip() or chosen.text("embed.ollama") == "off":
        return None
    model = ready(store, chosen)
    if model is None:
        return None
    now = time.time() if now is None else now
    if resting(now) or not may_ask(chosen):
        return None
    from tenon.vectors.codes import unit
    from tenon.world import ollama

    url = chosen.text("embed.url")
    try:
        found = unit(ollama.query(url, model.name, sendable(text, url), timeout_s, guarded=is_guarded(chosen)))
    except ollama.Unavailable as error:
        rest(error.kind, now)
        return None
    if found is None or len(found) != model.dims:
        rest("wrong", now)
        return None
    return model, found


def ready(store: Store, chosen: Settings) -> Model | None:
    """The model of Ollama's that has a vector of everything: the chosen one, or while that is not so far the one before it."""
    whole = [model for model in vectors.models(store) if model.ready is not None and not is_builtin(model)]
    wanted = full(chosen.text("embed.model"))
    return next((model for model in whole if model.name == wanted), whole[-1] if whole else None)


def is_builtin(model: Model) -> bool:
    """Whether it is a table that comes with Tenon."""
    return model.name.startswith(vectors.BUILTIN)


def full(name: str) -> str:
    """The name with its tag, as Ollama lists it."""
    return name if ":" in name.rpartition("/")[2] else name + ":latest"


def may_ask(chosen: Settings) -> bool:
    """Whether embed.url may be asked at all."""
    return not refusal(chosen)


def refusal(chosen: Settings) -> str:
    """Why embed.url is not asked, «» where it may be: off, doubt (of what the user said), elsewhere (another machine), unknown (whose it is)."""
    if chosen.text("embed.ollama") == "off":
        return "off"
    if chosen.doubt:
        return "doubt"
    if not is_guarded(chosen):
        return ""
    from tenon.world import ollama, peer

    if not ollama.is_local(chosen.text("embed.url")):
        return "elsewhere"
    return "" if peer.is_known() else "unknown"


def is_guarded(chosen: Settings) -> bool:
    """Whether it must first be seen whose program answers: always but where settings.json says that embed.url is to be asked.

    Whoever agreed to one address did not agree to another that a variable of the environment names.
    """
    return chosen.text("embed.ollama") != "on" or chosen.origin["embed.url"] not in ("default", "settings.json")


def sendable(text: str, url: str) -> str:
    """The text as it may go to the address: without secrets when that is another machine's; what stands beside it is a paragraph of its own."""
    text = text.replace(BESIDE, "\n\n")
    from tenon.world import ollama

    if ollama.is_local(url):
        return text
    from tenon.base.redact import redact

    return redact(text)


def rest(kind: str, now: float) -> None:
    """Spares the questions of the next minute the wait; `kind` says what was the matter."""
    try:
        handle = os.open(_stamp(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(handle, kind.encode())
        finally:
            os.close(handle)
        os.utime(_stamp(), (now, now))
    except OSError:
        pass  # a folder that cannot be written: then each question waits for itself


def resting(now: float) -> str:
    """What was the matter when a question of the last minute was not answered, or «»."""
    try:
        if abs(now - os.stat(_stamp()).st_mtime) >= REST_S:
            return ""
        with open(_stamp(), encoding="utf-8", errors="replace") as file:
            return cut(file.read(20), 20) or "slow"
    except OSError:
        return ""


def rested() -> None:
    """Questions may be asked again."""
    try:
        os.remove(_stamp())
    except OSError:
        pass


def _stamp() -> str:
    return os.path.join(paths.home(), "embed-rest")
