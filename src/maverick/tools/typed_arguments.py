"""The arguments of a tool as Pydantic types: their JSON Schema and their validation."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, NotRequired, cast

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError, to_jsonable_python
from typing_extensions import TypedDict

from maverick.exceptions import InvalidToolError, ToolError


class TypedArguments:
    """The schema and the validator of a tool's arguments, built once; an error if a type cannot be described to a model."""

    def __init__(
        self, tool_name: str, types: Mapping[str, Any], notes: Mapping[str, str], defaults: Mapping[str, Any]
    ) -> None:
        self._tool_name = tool_name
        fields: dict[str, Any] = {}
        for name, annotation in types.items():
            noted = Annotated[annotation, Field(description=notes[name])] if name in notes else annotation
            fields[name] = NotRequired[noted] if name in defaults else noted
        # A typed dict rather than a model: no parameter name is taken, and checking gives keyword arguments.
        arguments = cast("Any", TypedDict)("arguments", fields)
        arguments.__pydantic_config__ = ConfigDict(extra="forbid")
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(arguments)
            self.schema = _untitled(self._adapter.json_schema())
            """The JSON Schema of the arguments."""
        except PydanticUserError as error:
            raise InvalidToolError(
                f"{tool_name!r} cannot be a tool: {_culprit(types)}, which a model cannot write. Use JSON values, a dataclass "
                "or a Pydantic model; what the program itself provides comes with a ToolContext (ctx.deps).",
                tool_name=tool_name,
            ) from error
        self.schema.setdefault("properties", {})
        for name, default in defaults.items():
            # What has no JSON form, as a mark for "not given" has none, is nothing for a model to know.
            with suppress(PydanticSerializationError):
                self.schema["properties"][name]["default"] = to_jsonable_python(default)

    def check(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments as the types that were declared; a ``ToolError`` tells the model what to correct."""
        try:
            checked: dict[str, Any] = self._adapter.validator.validate_python(arguments)
            return checked
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
                for problem in error.errors(include_url=False)
            )
            raise ToolError(
                f"The arguments do not fit {self._tool_name}: {problems}. Correct them and call it again.",
                tool_name=self._tool_name,
            ) from error


def _culprit(types: Mapping[str, Any]) -> str:
    """Which parameter has a type without a JSON Schema."""
    for name, annotation in types.items():
        try:
            TypeAdapter(annotation).json_schema()
        except PydanticUserError:
            return f"its parameter {name!r} is of the type {getattr(annotation, '__name__', annotation)}"
    return "a parameter is of a type"


def _untitled(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without the titles Pydantic adds, which only repeat the names."""
    slim: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            slim[key] = {name: _untitled(entry) for name, entry in value.items()}
        elif key in ("default", "const", "enum", "examples"):
            slim[key] = value
        elif isinstance(value, dict):
            slim[key] = _untitled(value)
        elif isinstance(value, list):
            slim[key] = [_untitled(entry) if isinstance(entry, dict) else entry for entry in value]
        elif key != "title":
            slim[key] = value
    return slim
