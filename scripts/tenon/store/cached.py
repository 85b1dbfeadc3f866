"""What was looked up or written, kept by name, such that what a savepoint takes back is forgotten with it. Pure."""

from __future__ import annotations

from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Cached(Generic[Key, Value]):
    """A dictionary that can be made again what it was when `mark` was called."""

    def __init__(self) -> None:
        self.held: dict[Key, Value] = {}
        self._before: dict[Key, Value] = {}
        self._new: set[Key] = set()

    def __contains__(self, key: Key) -> bool:
        return key in self.held

    def __getitem__(self, key: Key) -> Value:
        return self.held[key]

    def __setitem__(self, key: Key, value: Value) -> None:
        self._note(key)
        self.held[key] = value

    def __delitem__(self, key: Key) -> None:
        self._note(key)
        del self.held[key]

    def get(self, key: Key) -> Value | None:
        """The value of that key, or None."""
        return self.held.get(key)

    def mark(self) -> None:
        """From here on changes can be taken back."""
        self._before, self._new = {}, set()

    def take_back(self) -> None:
        """Makes it again what it was at the mark."""
        for key in self._new:
            self.held.pop(key, None)
        self.held.update(self._before)
        self.mark()

    def _note(self, key: Key) -> None:
        if key in self._new or key in self._before:
            return
        if key in self.held:
            self._before[key] = self.held[key]
        else:
            self._new.add(key)
