"""What each model accepts, remembers and costs; every rule that depends on the model is read from here."""

from __future__ import annotations

import re
from dataclasses import dataclass

GUARDED = ("fable", "mythos")
DATED = re.compile(r"-20\d{6}$")


@dataclass(frozen=True)
class Model:
    """One model: family, version as a number that can be compared, prices in USD per million tokens."""

    name: str
    family: str
    version: float
    input_usd: float
    output_usd: float
    read_share: float
    cache_minimum: int

    @property
    def guarded(self) -> bool:
        """Whether its thinking is readable by Fable and Mythos only."""
        return self.family in GUARDED

    @property
    def window(self) -> int:
        """Context window in tokens."""
        return 200_000 if self.version <= 4.5 else 1_000_000

    @property
    def max_output(self) -> int:
        """Largest max_tokens."""
        return 64_000 if self.version <= 4.5 else 128_000

    @property
    def max_images(self) -> int:
        """Most images in one request."""
        return 100 if self.window <= 200_000 else 600

    @property
    def bound(self) -> bool:
        """Whether its thinking blocks are bound to the conversation before them."""
        return self.version >= 5.1 if self.guarded else self.version >= 5.5

    @property
    def bound_for_all(self) -> bool:
        """Whether binding is enforced for old accounts too."""
        return self.guarded and self.version >= 5.2 or self.family == "mythos" and self.version >= 5.1

    @property
    def system_messages(self) -> bool:
        """Whether role:"system" is allowed inside messages."""
        if self.guarded:
            return self.version >= 5
        return self.version >= (4.8 if self.family == "opus" else 5.5)

    @property
    def manual_thinking(self) -> bool:
        """Whether thinking.type "enabled" is accepted."""
        return not self.guarded and self.version <= 4.6

    @property
    def adaptive_thinking(self) -> bool:
        """Whether thinking.type "adaptive" is accepted."""
        return self.version >= 4.6

    @property
    def thinking_display(self) -> str:
        """What `thinking.display` is when it is not given."""
        return "omitted" if self.guarded or self.version >= 4.7 else "summarized"

    @property
    def sampling(self) -> bool:
        """Whether temperature, top_p and top_k may differ from their defaults."""
        first_without = {"opus": 4.7, "sonnet": 5.0, "haiku": 5.5}
        return self.version < first_without.get(self.family, 0)

    @property
    def forced_tools(self) -> bool:
        """Whether tool_choice "any" and "tool" are accepted."""
        return not self.bound or self.family == "haiku"

    @property
    def prefill(self) -> bool:
        """Whether messages may end with an assistant turn."""
        return not self.guarded and self.version <= 4.5

    def reads(self, writer: Model) -> bool:
        """Whether this model is shown thinking that `writer` made."""
        return writer.version <= self.version and (self.guarded or not writer.guarded)


MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        Model("claude-fable-5-2", "fable", 5.2, 8, 40, 0.025, 512),
        Model("claude-fable-5-1", "fable", 5.1, 10, 50, 0.025, 512),
        Model("claude-fable-5", "fable", 5.0, 10, 50, 0.1, 512),
        Model("claude-mythos-5-2", "mythos", 5.2, 8, 40, 0.025, 512),
        Model("claude-mythos-5-1", "mythos", 5.1, 10, 50, 0.025, 512),
        Model("claude-opus-5-5", "opus", 5.5, 4, 20, 0.05, 512),
        Model("claude-opus-5", "opus", 5.0, 5, 25, 0.1, 512),
        Model("claude-opus-4-8", "opus", 4.8, 5, 25, 0.1, 1024),
        Model("claude-opus-4-7", "opus", 4.7, 5, 25, 0.1, 2048),
        Model("claude-opus-4-6", "opus", 4.6, 5, 25, 0.1, 4096),
        Model("claude-opus-4-5", "opus", 4.5, 5, 25, 0.1, 4096),
        Model("claude-sonnet-5-5", "sonnet", 5.5, 2, 10, 0.05, 512),
        Model("claude-sonnet-5", "sonnet", 5.0, 2, 10, 0.1, 1024),
        Model("claude-sonnet-4-6", "sonnet", 4.6, 3, 15, 0.1, 1024),
        Model("claude-sonnet-4-5", "sonnet", 4.5, 3, 15, 0.1, 1024),
        Model("claude-haiku-5-5", "haiku", 5.5, 0.1, 0.5, 0.1, 512),
        Model("claude-haiku-4-5", "haiku", 4.5, 1, 5, 0.1, 4096),
    )
}


def find(name: str, models: dict[str, Model]) -> Model | None:
    """The model of that name, a trailing date not counted; None when there is none."""
    return models.get(name) or models.get(DATED.sub("", name))
