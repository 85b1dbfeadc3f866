"""What tokens cost, roughly: the Messages API's published prices of November 2026, in dollars per million tokens in and out."""

from __future__ import annotations

PRICES = {"haiku": (1.0, 5.0), "sonnet": (3.0, 15.0), "opus": (5.0, 25.0)}  # the dearest model that still goes by that name
WRITTEN = 0.15  # the share of a digest's tokens that the model writes, about


def dollars(model: str, read: int, written: int) -> float | None:
    """The price of so many tokens, or None for a model whose price is not known (one of Ollama's costs nothing)."""
    known = next((price for name, price in PRICES.items() if name in model.lower()), None)
    return None if known is None else (read * known[0] + written * known[1]) / 1e6


def split(tokens: int) -> tuple[int, int]:
    """About how many of a digest's tokens are read, and how many written."""
    return int(tokens * (1 - WRITTEN)), int(tokens * WRITTEN)


def about(model: str, tokens: int) -> str:
    """The price of a digest's tokens in words: « (some $0.32 at list price)», «» where it is not known."""
    price = dollars(model, *split(tokens))
    return "" if price is None else " (under a cent at list price)" if price < 0.01 else f" (some ${price:.2f} at list price)"
