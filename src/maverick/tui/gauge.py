"""How full a conversation is, how much of its budget a run has used, and figures in few characters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from maverick.loop.limits import Limits
from maverick.loop.result import AgentResult
from maverick.model import Usage

_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"))


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
    turns: int = 0

    def meters(self) -> Iterator[Meter]:
        """The figures, the most important first."""
        limits, usage = self.limits, self.usage
        yield _meter("context", self.context_tokens, self.window)
        yield _meter("tokens", usage.total_tokens, limits.tokens)
        spent = usage.cost_usd if usage.total_tokens else 0.0
        cost = money(spent) if limits.cost_usd is None else f"{money(spent)}/{money(limits.cost_usd)}"
        yield Meter("cost", cost, _share(spent or 0.0, limits.cost_usd))
        turns = str(self.turns) if limits.turns is None else f"{self.turns}/{limits.turns}"
        yield Meter("turn", turns, _share(self.turns, limits.turns))


def _meter(name: str, used: int, limit: int | None) -> Meter:
    text = tokens(used) if limit is None else f"{tokens(used)}/{tokens(limit)}"
    return Meter(name, text, _share(used, limit))


def _share(used: float, limit: float | None) -> float | None:
    return None if not limit else min(used / limit, 1.0)


def tokens(count: int) -> str:
    """A number of tokens: ``950``, ``1.2k``, ``200k``, ``1.5M``."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= 100 * size:
            return f"{count // size}{unit}"
        if count >= size:
            return f"{count / size:.1f}".removesuffix(".0") + unit
    return str(count)


def money(dollars: float | None) -> str:
    """An amount of money; a question mark when it is not known."""
    if dollars is None:
        return "$?"
    cents = f"${dollars:.2f}"
    return cents if dollars >= 1 or float(cents[1:]) == dollars else f"${dollars:.4f}"


def duration(seconds: float) -> str:
    """How long something took."""
    if seconds < 0.9995:
        return f"{max(seconds, 0) * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 59.95 else age(seconds)


def age(seconds: float) -> str:
    """How long ago something was, in its largest unit."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def summary(result: AgentResult[Any]) -> str:
    """What a run has taken, in a line."""
    usage = result.usage
    turns = f"{result.turn_count} turn{'' if result.turn_count == 1 else 's'}"
    return ", ".join(
        (
            turns,
            f"{tokens(usage.total_tokens)} tokens",
            money(usage.total_cost_usd),
            duration(usage.duration_ms / 1000),
        )
    )
