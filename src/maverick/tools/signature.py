"""A function's signature as a tool's: what the model may pass, and what checks it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, NotRequired, cast, get_type_hints

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict

from maverick.exceptions import InvalidToolError, ToolError
from maverick.model import ToolContext


class ToolSignature:
    """The parameters of a tool: their JSON Schema and their validator, built once.

    Args:
        name: The tool's name, for error messages.
        function: The function.
        notes: What its docstring says of its parameters.
        local_names: Names its annotations may use besides the module's.

    Raises:
        InvalidToolError: A parameter can not be described to a model.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        notes: Mapping[str, str],
        local_names: Mapping[str, Any],
    ) -> None:
        self._name = name
        self.context_name: str | None = None
        """The parameter that takes the :class:`ToolContext`, if there is one."""
        hints = self._hints(function, local_names)
        fields: dict[str, Any] = {}
        defaults: dict[str, Any] = {}
        for parameter in self._parameters(function):
            annotation = hints.get(parameter.name, Any)
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise self._refuse(f"it can not take {parameter}: a model gives each argument by name")
            if annotation in (ToolContext, ToolContext | None):
                self.context_name = parameter.name
                continue
            if note := notes.get(parameter.name):
                annotation = Annotated[annotation, Field(description=note)]
            if parameter.default is not parameter.empty:
                defaults[parameter.name] = parameter.default
                annotation = NotRequired[annotation]
            fields[parameter.name] = annotation
        adapter = self._adapter(fields)
        self._validate = adapter.validator.validate_python
        self.schema = self._schema(adapter, defaults)
        """The JSON Schema of the arguments."""

    def check(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments as the function's types.

        Raises:
            ToolError: They do not fit; the message tells the model what to correct.
        """
        try:
            checked: dict[str, Any] = self._validate(arguments)
            return checked
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
                for problem in error.errors(include_url=False)
            )
            raise ToolError(
                f"The arguments do not fit {self._name}: {problems}. Correct them and call it again.",
                tool_name=self._name,
            ) from error

    def _hints(self, function: Callable[..., Any], local_names: Mapping[str, Any]) -> dict[str, Any]:
        target: Any = function if inspect.isroutine(function) else type(function).__call__
        try:
            return get_type_hints(target, localns=dict(local_names), include_extras=True)
        except (NameError, AttributeError, SyntaxError, TypeError) as error:
            raise self._refuse(
                f"an annotation can not be understood ({error}); import what it names where the function is defined",
                error,
            ) from error

    def _parameters(self, function: Callable[..., Any]) -> Iterable[inspect.Parameter]:
        try:
            return inspect.signature(function).parameters.values()
        except ValueError as error:
            raise self._refuse("it has no signature to read", error) from error

    def _adapter(self, fields: dict[str, Any]) -> TypeAdapter[Any]:
        # A typed dict rather than a model: no parameter name is taken, and checking gives keyword arguments.
        arguments = cast("Any", TypedDict)("arguments", fields)
        arguments.__pydantic_config__ = ConfigDict(extra="forbid")
        try:
            return TypeAdapter(arguments)
        except PydanticUserError as error:
            raise self._refuse(
                f"a parameter can not be described to a model: {error.message}", error
            ) from error

    def _schema(self, arguments: TypeAdapter[Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
        try:
            schema = _untitled(arguments.json_schema())
        except PydanticUserError as error:
            raise self._refuse(
                f"a parameter can not be described to a model: {error.message}", error
            ) from error
        schema.setdefault("properties", {})
        for name, default in defaults.items():
            schema["properties"][name]["default"] = to_jsonable_python(default, fallback=repr)
        return schema

    def _refuse(self, why: str, cause: Exception | None = None) -> InvalidToolError:
        return InvalidToolError(
            f"{self._name!r} can not be a tool: {why}.", tool_name=self._name, cause=cause
        )


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
