"""The one error that a user can act on."""

from __future__ import annotations


class TenonError(Exception):
    """A refusal; the message is a sentence that names what is wrong and the way out."""
