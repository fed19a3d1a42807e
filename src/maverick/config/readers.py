"""Readers of settings: each takes what a person wrote and gives the value, or raises ``ValueError`` if it is none.

The error has no words: what was expected is said by the setting, and what was found may be a key.
"""

from __future__ import annotations

import math
import re
from typing import Any

from maverick.config.duration import parse_duration
from maverick.config.secret import Secret

_ADDRESS = r"https?://([^\s/?#@:\[\]\\]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?(/\S*)?"


def text(value: object) -> str:
    """A text that is not empty, without the spaces around it."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value.strip()


def number(value: object) -> float:
    """A number, which may be written as text; a boolean is none, though Python counts it as one."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError  # noqa: TRY004 - the one error of readers
    read = float(value) if isinstance(value, str) else value
    try:
        finite = math.isfinite(read)
    except OverflowError:  # a whole number that no float can hold
        finite = False
    if not finite:
        raise ValueError
    return read


def count(value: object) -> int:
    """A whole number from 0 on."""
    read = number(value)
    if read < 0 or read != int(read):
        raise ValueError
    return int(read)


def temperature(value: object) -> float:
    """A sampling temperature, or -1 for none."""
    read = number(value)
    if read != -1 and not 0 <= read <= 2:
        raise ValueError
    return read


def seconds(value: object) -> float:
    """A length of time above 0, in seconds or as people write it."""
    duration = parse_duration(value) if isinstance(value, str) else None
    read = number(value if duration is None else duration)
    if read <= 0:
        raise ValueError
    return read


def key(value: object) -> Secret | None:
    """A key that fits into a header; an empty one is none."""
    written = _told(value)
    if _is_empty(written):
        return None
    read = text(written)
    if " " in read or not (read.isascii() and read.isprintable()):
        raise ValueError
    return Secret(read)


def address(value: object) -> str | None:
    """A web address without a user's name or password; an empty one is none."""
    if _is_empty(value):
        return None
    read = text(value)
    if not re.fullmatch(_ADDRESS, read):
        raise ValueError
    return read


def place(value: object) -> Secret:
    """A path, or the address of a database, which may have a password in it."""
    return Secret(text(_told(value)))


def modules(value: object) -> tuple[str, ...]:
    """Names of Python modules, in a list or with commas between them."""
    if isinstance(value, str):
        value = [name for name in value.split(",") if name.strip()]
    if not isinstance(value, list | tuple):
        raise ValueError  # noqa: TRY004 - the one error of readers
    names = tuple(map(text, value))
    if not all(part.isidentifier() for name in names for part in name.split(".")):
        raise ValueError
    return names


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _told(value: Any) -> object:  # noqa: ANN401 - a secret of Pydantic's is as good as ours
    return value.get_secret_value() if hasattr(value, "get_secret_value") else value
