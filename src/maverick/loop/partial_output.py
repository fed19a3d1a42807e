"""Structured output while it streams: what there is of it so far, as far as it is valid."""

from __future__ import annotations

import dataclasses
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin, get_type_hints

from typing_extensions import TypedDict, is_typeddict

from maverick.model.request import ANSWER

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_FINENESS = 64
"""An answer is read again when it has grown by this part of itself: reading all of it at each piece would take longer
and longer."""


class PartialOutputReader:
    """Reads an answer of a declared type piece by piece.

    Args:
        schema: The type, or a JSON Schema.
        wrapped: Whether a provider may put the answer into an object, since its type is not one.
    """

    def __init__(self, schema: object, *, wrapped: bool) -> None:
        self._adapter = _partial_adapter(schema)
        self._wrapped = wrapped
        self._text = ""
        self._due = 0
        self._newest: object = None

    def add(self, text: str) -> object:
        """What there is of the output with the next piece, if that is more than before, or else ``None``."""
        self._text += text
        if len(self._text) < self._due:
            return None
        self._due = len(self._text) + max(len(self._text) // _FINENESS, 1)
        found = self._read()
        if not found or found == self._newest:
            return None
        self._newest = found
        return found

    def _read(self) -> object:
        from pydantic_core import from_json, to_json

        starts = [place for place in (self._text.find("{"), self._text.find("[")) if place >= 0]
        if not starts:
            return None
        body: str | bytes = self._text[min(starts) :]
        try:
            if self._adapter is None or self._wrapped:
                value = from_json(body, allow_partial="trailing-strings")
                if self._wrapped and isinstance(value, dict) and value.keys() == {ANSWER}:
                    value = value[ANSWER]
                if self._adapter is None:
                    return value
                body = to_json(value)
            return self._adapter.validate_json(body, experimental_allow_partial="trailing-strings")
        except ValueError:  # it is not JSON, or not valid as far as it goes
            return None


def _partial_adapter(schema: Any) -> TypeAdapter[Any] | None:  # noqa: ANN401 - any type
    """What reads values of a type of which parts are missing; ``None`` for a JSON Schema, which says nothing of parts."""
    from pydantic import TypeAdapter

    if isinstance(schema, dict):
        return None
    return TypeAdapter(_partial_type(schema))


def _partial_type(schema: Any) -> Any:  # noqa: ANN401 - any type
    """The type with each field left out that is not there; whole models within are values of their own types."""
    from pydantic import BaseModel, Field

    if get_origin(schema) in (Union, UnionType):
        return Union[tuple(map(_partial_type, get_args(schema)))]  # noqa: UP007 - made of values
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        fields: dict[str, Any] = {
            name: Annotated[(info.annotation, *info.metadata, Field(alias=info.alias))]
            for name, info in schema.model_fields.items()
        }
    elif is_typeddict(schema) or (isinstance(schema, type) and dataclasses.is_dataclass(schema)):
        fields = get_type_hints(schema, include_extras=True)
    else:
        return schema
    return TypedDict("Partial", fields, total=False)  # type: ignore[operator]
