"""Figures as people read them: durations, ages, money and counts."""

from __future__ import annotations

from itertools import pairwise
from math import isclose
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maverick.loop.result import AgentResult

_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def duration(seconds: float) -> str:
    """How long something took, in its two largest units."""
    if seconds < 0.9995:
        return f"{max(seconds, 0) * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    (size, unit), (part, part_unit) = next(pair for pair in pairwise(_UNITS) if whole >= pair[0][0])
    return f"{whole // size} {unit} {whole % size // part} {part_unit}"


def age(seconds: float) -> str:
    """How long ago something was, in its largest unit."""
    size, unit = next((unit for unit in _UNITS if seconds >= unit[0]), _UNITS[-1])
    return f"{max(seconds, 0) // size:.0f} {unit}"


def money(dollars: float | None) -> str:
    """An amount of money, exact where it is small; a question mark when it is not known."""
    if not dollars:
        return "$?" if dollars is None else "$0"
    digits = 2 if dollars >= 1 or isclose(dollars, round(dollars, 2)) else 4
    return f"${dollars:,.{digits}f}"


def tokens(count: int) -> str:
    """A number of tokens in few characters: ``950``, ``1.2k``, ``200k``, ``1.5M``."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= 100 * size:
            return f"{count // size}{unit}"
        if count >= size:
            return f"{count / size:.1f}".removesuffix(".0") + unit
    return str(count)


def counted(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def summary(result: AgentResult[Any]) -> str:
    """What a run has used, in a line."""
    usage = result.usage
    return ", ".join(
        (
            counted(result.turn_count, "turn"),
            counted(usage.total_tokens, "token"),
            f"cost {money(usage.total_cost_usd)}",
            duration(usage.duration_ms / 1000),
        )
    )
