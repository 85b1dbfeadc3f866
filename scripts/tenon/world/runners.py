"""Who asks a model for Tenon: Claude Code without a session, the Messages API with the user's key, or the user's Ollama.

One question is one request, past our own proxy. Whatever goes wrong is a Failed with a sentence of ours.
"""

from __future__ import annotations

from tenon.base.errors import TenonError
from tenon.world.asking import Answer, Failed, Question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.base.settings import Settings

__all__ = ["RUNNERS", "Answer", "Failed", "Question", "ask", "available", "full_model", "window"]

RUNNERS = ("claude", "api", "ollama")
WINDOW = 200_000  # of any model of Claude's; newer ones have more, at another price
# What Claude Code takes as it is, the Messages API does not.
ALIASES = {"haiku": "claude-haiku-5-5", "sonnet": "claude-sonnet-5-5", "opus": "claude-opus-5-5"}


def ask(runner: str, model: str, question: Question, chosen: Settings, *, timeout_s: float) -> Answer:
    """What the model answered, whole. Raises Failed and nothing else."""
    name = full_model(runner, model)
    try:
        if runner == "claude":
            from tenon.world import runner_claude

            return runner_claude.ask(name, question, chosen, timeout_s)
        if runner == "api":
            from tenon.world import runner_api

            return runner_api.ask(name, question, chosen, timeout_s)
        if runner == "ollama":
            from tenon.world import runner_ollama

            return runner_ollama.ask(name, question, chosen, timeout_s)
    except Failed:
        raise
    except TenonError as error:
        raise Failed("away", str(error)) from None
    except Exception as error:  # noqa: BLE001 - the words of an error, and of what it came from, may quote the prompt
        raise Failed("wrong", f"{runner} could not be asked ({type(error).__name__})") from None
    raise Failed("away", _unknown(runner))


def available(runner: str, chosen: Settings) -> str:
    """Why the runner cannot be asked, with the way out, in a sentence; «» when it can."""
    try:
        if runner == "claude":
            from tenon.world import runner_claude

            return runner_claude.missing()
        if runner == "api":
            from tenon.world import runner_api

            return runner_api.missing(chosen)
        if runner == "ollama":
            from tenon.world import runner_ollama

            return runner_ollama.missing(chosen)
    except TenonError as error:
        return str(error)
    return _unknown(runner)


def full_model(runner: str, model: str) -> str:
    """The name by which the runner knows a model: Claude Code and Ollama the given one, the API a full one."""
    return ALIASES.get(model, model) if runner == "api" else model


def window(runner: str, model: str, chosen: Settings | None = None) -> int:
    """The tokens that a request and its answer may have together, rather too few than too many."""
    if runner != "ollama":
        return WINDOW
    from tenon.base import settings
    from tenon.world import runner_ollama

    return runner_ollama.window(model, chosen or settings.load())


def _unknown(runner: str) -> str:
    return f"there is no runner '{runner}'; `tenon config digest.runner` takes {', '.join(RUNNERS[:-1])} or {RUNNERS[-1]}"
