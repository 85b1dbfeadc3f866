"""A chat model of the user's Ollama asked once: under the same conditions as for embeddings, and never more than fits its window.

Ollama by itself cuts a prompt that is too long, silently. So the window is made as large as the question needs, up to a
limit; what is longer is not asked, and what was cut all the same is no answer.
"""

from __future__ import annotations

from tenon.base.text import clean, tokens
from tenon.world import asking, embedding, ollama
from tenon.world.asking import Answer, Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.base.settings import Settings
    from tenon.world.asking import Question

WINDOW = 8192  # where Ollama does not say more
LARGEST_WINDOW = 32_768  # of what it says: each token of it takes memory of the machine
STEP = 2048  # a model is loaded anew for another window
MARGIN = 1.3  # an estimate of tokens may be too low by so much
FRAME = 200  # tokens of a model's own template
SHOW_S = 3.0
KINDS = {"slow": "late", "away": "away", "missing": "away", "foreign": "away", "unknown": "away"}
REFUSALS = {
    "off": "embed.ollama is off, so Ollama is not asked; `tenon config embed.ollama auto` lets it be asked",
    "doubt": "the settings are in doubt, so Ollama is not asked; `tenon doctor` says why",
    "elsewhere": "embed.url is another machine's, where texts would go; where you mean that, `tenon config embed.ollama on` says so",
    "unknown": "it cannot be told here whose program answers at embed.url, so it is not asked; " + ollama.AGREE,
}
CLOUD = "{} is a model that Ollama sends your texts to another machine for; where you mean that, `tenon config embed.ollama on` says so"
NO_CHAT = "{} is no model that talks; `tenon config digest.ollama_model` names one"


def ask(model: str, question: Question, chosen: Settings, timeout_s: float) -> Answer:
    """The model's answer by one request. Raises Failed."""
    name = model or chosen.text("digest.ollama_model")
    _permitted(chosen)
    url, guarded = chosen.text("embed.url"), embedding.is_guarded(chosen)
    system, prompt = (clean(embedding.sendable(text, url)) for text in (question.system, question.prompt))
    try:
        shown = _shown(url, name, guarded, min(SHOW_S, timeout_s))
        if guarded and _is_remote(name, shown):
            raise Failed("away", CLOUD.format(name))
        size = _fitting(tokens(system) + tokens(prompt), question.most_output, _told(shown))
        body = {
            "model": name,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": prompt}],
            "format": question.schema,
            "stream": False,
            "think": False,
            "truncate": False,
            "shift": False,
            "options": {"num_ctx": size, "num_predict": question.most_output, "temperature": 0},
        }
        found = ollama.exchange(url, "POST", "/api/chat", body, timeout_s, guarded=guarded, model=name)
    except ollama.Unavailable as error:
        raise _failure(error, url, timeout_s) from None
    return _understood(found, name, size)


def missing(chosen: Settings) -> str:
    """Why Ollama cannot be asked, «» when it can and has the model."""
    name = chosen.text("digest.ollama_model")
    try:
        _permitted(chosen)
        url, guarded = chosen.text("embed.url"), embedding.is_guarded(chosen)
        shown = _shown(url, name, guarded, SHOW_S)
        if guarded and _is_remote(name, shown):
            return CLOUD.format(name)
        can = shown.get("capabilities")
        return NO_CHAT.format(name) if isinstance(can, list) and "completion" not in can else ""
    except Failed as error:
        return str(error)
    except ollama.Unavailable as error:
        return str(_failure(error, url, SHOW_S))


def window(model: str, chosen: Settings) -> int:
    """The tokens that the model's window may have here: what Ollama says, up to a limit of ours; a small one where it says nothing."""
    try:
        _permitted(chosen)
        return _told(_shown(chosen.text("embed.url"), model, embedding.is_guarded(chosen), SHOW_S))
    except (Failed, ollama.Unavailable):
        return WINDOW


def _permitted(chosen: Settings) -> None:
    """Raises Failed where embed.url may not be asked."""
    why = embedding.refusal(chosen)
    if why:
        raise Failed("away", REFUSALS[why])


def _shown(url: str, model: str, guarded: bool, timeout_s: float) -> dict[str, object]:
    """What Ollama says of the model. Raises Unavailable."""
    return ollama.exchange(url, "POST", "/api/show", {"model": model}, timeout_s, guarded=guarded, model=model)


def _told(shown: dict[str, object]) -> int:
    info = shown.get("model_info")
    found = [value for name, value in info.items() if name.endswith(".context_length")] if isinstance(info, dict) else []
    told = next((value for value in found if isinstance(value, int) and value > 0), WINDOW)
    return min(told, LARGEST_WINDOW)


def _is_remote(name: str, shown: dict[str, object]) -> bool:
    """Whether Ollama has the model run on another machine."""
    return bool(shown.get("remote_host") or shown.get("remote_model")) or name.endswith(("-cloud", ":cloud"))


def _fitting(estimate: int, most_output: int, most: int) -> int:
    """The window for a question, in steps. Raises Failed for one that does not fit."""
    needed = int(estimate * MARGIN) + FRAME + most_output
    if needed > most:
        raise Failed("long", f"the request is longer than the model's window of {most:,} tokens here")
    return min(most, -(-needed // STEP) * STEP)


def _understood(found: dict[str, object], model: str, size: int) -> Answer:
    message = found.get("message")
    text = message.get("content") if isinstance(message, dict) else None
    if not isinstance(text, str) or found.get("done") is not True:
        raise Failed("wrong", "Ollama answered with something that is no message")
    asked, said = asking.count(found, "prompt_eval_count"), asking.count(found, "eval_count")
    answer = Answer(text, str(found.get("model") or model), input_tokens=asked, output_tokens=said, dollars=0.0)
    if asked + said >= size:
        raise Failed("long", f"the request was longer than the window of {size:,} tokens that it was given", answer)
    if found.get("done_reason") not in (None, "stop"):
        raise asking.stopped(str(found["done_reason"]), answer)
    if not text.strip():
        raise Failed("wrong", "the model answered with nothing", answer)
    return answer


def _failure(error: ollama.Unavailable, url: str, timeout_s: float) -> Failed:
    """The failure for a call that brought nothing; of an error that Ollama words itself, its status alone."""
    kind = KINDS.get(error.kind, "wrong")
    if kind == "late":
        return asking.late(timeout_s)
    if kind == "away":
        return Failed(kind, str(error))
    if "context" in error.told and ("exceed" in error.told or "too long" in error.told):
        return Failed("long", "the request is longer than the model's window")
    return Failed(kind, f"Ollama at {ollama.shown(url)} gave no answer that can be used{asking.status_and_name(error.status, '')}")
