"""How full a conversation is, what it has used, and how much of its budget a run has used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from maverick.loop.limits import Limits
from maverick.loop.result import AgentUsage
from maverick.model import Usage
from maverick.tui.figures import money, tokens


@dataclass(frozen=True, slots=True)
class Meter:
    """One figure, and how much of its limit it is."""

    name: str
    text: str
    share: float | None = None
    """From 0 to 1; ``None`` when there is no limit."""


@dataclass(slots=True)
class Gauge:
    """What a run has used, and may use."""

    limits: Limits = field(default_factory=Limits)
    window: int | None = None
    """How many tokens the model can read, if known."""
    context_tokens: int = 0
    usage: Usage = field(default_factory=Usage)
    """What the run has used."""
    turns: int = 0
    before: Usage = field(default_factory=Usage)
    """What earlier runs of the conversation have used."""

    @property
    def total(self) -> Usage:
        """What the conversation has used."""
        return self.before + self.usage

    def settle(self, used: AgentUsage) -> None:
        """Take in what the run has used in the end, with that of an answer that was cut off."""
        self.usage = Usage(
            used.input_tokens,
            used.output_tokens,
            used.cache_read_tokens,
            used.cache_write_tokens,
            used.total_cost_usd,
        )

    def meters(self) -> Iterator[Meter]:
        """The figures, the most important first: those of the run where it has a limit, else of the conversation."""
        limits, total = self.limits, self.total
        yield _meter("context", self.context_tokens, self.window)
        used = total if limits.tokens is None else self.usage
        yield _meter("tokens", used.total_tokens, limits.tokens)
        used = total if limits.cost_usd is None else self.usage
        spent = used.cost_usd if used.total_tokens else 0.0
        cost = money(spent) if limits.cost_usd is None else f"{money(spent)}/{money(limits.cost_usd)}"
        yield Meter("cost", cost, _share(spent or 0.0, limits.cost_usd))
        turns = str(self.turns) if limits.turns is None else f"{self.turns}/{limits.turns}"
        yield Meter("turn", turns, _share(self.turns, limits.turns))


def _meter(name: str, used: int, limit: int | None) -> Meter:
    text = tokens(used) if limit is None else f"{tokens(used)}/{tokens(limit)}"
    return Meter(name, text, _share(used, limit))


def _share(used: float, limit: float | None) -> float | None:
    return None if not limit else min(used / limit, 1.0)
