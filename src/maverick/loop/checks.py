"""Checks of configuration values that name the field and what was expected."""

from __future__ import annotations

from typing import NoReturn

from maverick.exceptions import InvalidInputError


def reject(field: str, expected: str, value: object) -> NoReturn:
    """Refuse a value, saying which field it was for and what would have been right."""
    raise InvalidInputError(f"{field}: expected {expected}, got {value!r}.", field=field)


def check_text(field: str, value: object) -> None:
    """The value has to be a string with something in it."""
    if not isinstance(value, str) or not value.strip():
        reject(field, "a non-empty string", value)


def check_whole(field: str, value: object, *, minimum: int) -> None:
    """The value has to be an int of at least the minimum."""
    if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
        reject(field, f"a whole number of at least {minimum}", value)


def check_optional_whole(field: str, value: object, *, minimum: int) -> None:
    """The value may be ``None``; otherwise it is an int of at least the minimum."""
    if value is not None:
        check_whole(field, value, minimum=minimum)


def check_type(field: str, value: object, kind: type) -> None:
    """The value has to be an instance of the type."""
    if not isinstance(value, kind):
        reject(field, f"a {kind.__name__}", value)
