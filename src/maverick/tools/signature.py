"""A function's signature as a tool's: what the model may pass, and what checks it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_type_hints

from maverick.exceptions import InvalidToolError
from maverick.model import ToolContext
from maverick.tools.plain_schema import plain_schema

if TYPE_CHECKING:
    from maverick.tools.typed_arguments import TypedArguments


class ToolSignature:
    """The parameters of a tool: their JSON Schema and their validator, each built once.

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
        self._types: dict[str, Any] = {}
        self._defaults: dict[str, Any] = {}
        hints = self._hints(function, local_names)
        for parameter in self._parameters(function):
            annotation = hints.get(parameter.name, Any)
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise self._refuse(f"it can not take {parameter}: a model gives each argument by name")
            if annotation in (ToolContext, ToolContext | None):
                self.context_name = parameter.name
                continue
            self._types[parameter.name] = annotation
            if parameter.default is not parameter.empty:
                self._defaults[parameter.name] = parameter.default
        self._notes = {name: note for name, note in notes.items() if note and name in self._types}
        self.schema = plain_schema(self._types, self._notes, self._defaults) or self._arguments.schema
        """The JSON Schema of the arguments."""

    def check(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments as the function's types.

        Raises:
            ToolError: They do not fit; the message tells the model what to correct.
        """
        return self._arguments.check(arguments)

    @cached_property
    def _arguments(self) -> TypedArguments:
        from maverick.tools.typed_arguments import TypedArguments  # here, since it brings Pydantic with it

        return TypedArguments(self._name, self._types, self._notes, self._defaults)

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

    def _refuse(self, why: str, cause: Exception | None = None) -> InvalidToolError:
        return InvalidToolError(
            f"{self._name!r} can not be a tool: {why}.", tool_name=self._name, cause=cause
        )
