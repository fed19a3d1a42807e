"""One thing the doctor looked at."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Health(StrEnum):
    """How something is."""

    GOOD = "good"
    MISSING = "missing"
    """It is not there, and only some need it."""
    WRONG = "wrong"
    """It does not work, and should."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one thing."""

    what: str
    health: Health
    detail: str
    fix: str = ""
    """What to do about it."""
