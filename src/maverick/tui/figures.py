"""Figures as narrow as a gauge needs them."""

from __future__ import annotations

_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"))


def tokens(count: int) -> str:
    """A number of tokens: ``950``, ``1.2k``, ``200k``, ``1.5M``."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return (
                f"{count / size:.1f}".removesuffix(".0") + unit
                if count < 100 * size
                else f"{count // size}{unit}"
            )
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
