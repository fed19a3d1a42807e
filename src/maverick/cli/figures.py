"""Figures as people read them: durations, ages, tokens and money."""

from __future__ import annotations

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def duration(seconds: float) -> str:
    """How long something took."""
    seconds = max(seconds, 0.0)
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for size, name, part, part_name in (
        (_DAY, "d", _HOUR, "h"),
        (_HOUR, "h", _MINUTE, "min"),
        (_MINUTE, "min", 1, "s"),
    ):
        if whole >= size:
            return f"{whole // size} {name} {whole % size // part} {part_name}"
    raise AssertionError(whole)


def age(seconds: float) -> str:
    """How long ago something was, in its largest unit."""
    for size, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {name}"
    return f"{max(seconds, 0):.0f} s"


def money(dollars: float | None) -> str:
    """What something cost; a question mark when the price is not known."""
    if dollars is None:
        return "?"
    if dollars == 0:
        return "$0"
    return f"${dollars:.4f}" if dollars < 1 else f"${dollars:,.2f}"


def counted(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
