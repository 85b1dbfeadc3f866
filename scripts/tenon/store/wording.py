"""What a caller says, made fit to be kept: cleaned, redacted, not empty, and no longer than its place allows."""

from __future__ import annotations

from tenon.base.errors import TenonError
from tenon.base.text import clean
from tenon.store import forgotten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store


def kept(said: object, name: str, most: int, *, empty: bool = False, store: Store | None = None) -> str:
    """The text without secrets and white space at its ends; with a store, also without what the user had it forget.

    Raises TenonError when it is no text, empty (unless `empty`), or has more than `most` characters.
    """
    from tenon.base.redact import redact

    if not isinstance(said, str):
        raise TenonError(f"{name} must be a text, not {_named(said)}")
    text = redact(clean(said)).strip()
    if store is not None:
        text = forgotten.without(store, text)
    if not text and not empty:
        raise TenonError(f"{name} is empty; say it in a sentence")
    if len(text) > most:
        raise TenonError(f"{name} has {len(text):,} characters, at most {most:,} are kept: say the point, and name the file where the rest stands")
    return text


def chosen(said: object, name: str, among: tuple[str, ...]) -> str:
    """The value, when it is one of those. Raises TenonError naming them all."""
    if said not in among:
        raise TenonError(f"'{said}' is no {name}; it is one of {', '.join(among)}")
    return str(said)


def _named(said: object) -> str:
    return {
        "NoneType": "nothing",
        "list": "a list",
        "tuple": "a list",
        "dict": "an object",
        "bool": "true or false",
        "int": "a number",
        "float": "a number",
    }.get(type(said).__name__, type(said).__name__)
