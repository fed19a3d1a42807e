"""Lengths of time as people write them: ``90``, ``90s``, ``5m`` or ``1h30m``."""

from __future__ import annotations

import re

_UNIT_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_WHOLE = re.compile(f"(?:{_PART.pattern})+")


def parse_duration(text: str) -> float | None:
    """The seconds a text stands for, if it is made of numbers with units."""
    if not _WHOLE.fullmatch(text.strip()):
        return None
    return sum(float(amount) * _UNIT_SECONDS[unit] for amount, unit in _PART.findall(text))
