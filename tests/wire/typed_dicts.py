"""Holds a request body to the types that a vendor's SDK declares for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter


def as_typed(params: Any, body: Mapping[str, Any]) -> Any:
    """The body as its type understands it: a field the type does not know is gone, one of a wrong type raises.

    So a body is of the type when this gives it back unchanged.
    """
    return _read(_adapter(params).validate_python(body))


@cache
def _adapter(params: Any) -> TypeAdapter[Any]:
    """Kept: iterators are validated when they are read, and need its definitions then."""
    return TypeAdapter(params)


def _read(value: Any) -> Any:
    """The value with its iterators read, which is when pydantic validates what is in them."""
    if isinstance(value, Mapping):
        return {name: _read(item) for name, item in value.items()}
    if isinstance(value, list | Iterator):
        return [_read(item) for item in value]
    return value
