"""A figure that was measured, and the target it is held to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """The most a figure may be, or the least it has to be."""

    bound: float
    at_least: bool = False

    def is_met_by(self, value: float) -> bool:
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {plain(self.bound)}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table; without a target it is there to judge the others by."""

    name: str
    value: float
    unit: str
    target: Target | None = None

    @property
    def verdict(self) -> str:
        if self.target is None:
            return ""
        return "met" if self.target.is_met_by(self.value) else "MISSED"


def plain(value: float) -> str:
    """A number with about three digits that matter."""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
