"""Structured output: the type an agent's answer has, and how a text is made into it."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeAlias

from typing_extensions import TypeForm, TypeVar, is_typeddict

from maverick.exceptions import InvalidInputError, OutputValidationError
from maverick.loop.partial_output import PartialOutputReader
from maverick.model import ToolContext
from maverick.model.request import ANSWER

if TYPE_CHECKING:
    from pydantic import ValidationError

T = TypeVar("T", default=str)

OutputValidator: TypeAlias = Callable[[T, ToolContext[Any]], T | Awaitable[T | None] | None]
"""Checks an output of the declared type: returns ``None`` or another output, or raises ``RetryOutput`` to have the model
asked for a better one. It may be ``async``."""

_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)
_MOST_PROBLEMS_SHOWN = 8


class OutputFormat(Generic[T]):
    """Reads an answer as a value of a declared type.

    The validator and the JSON Schema are built once, here.
    """

    __slots__ = ("_adapter", "_schema", "json_schema", "name")

    def __init__(self, name: str, schema: TypeForm[T] | Mapping[str, Any]) -> None:
        from pydantic import TypeAdapter
        from pydantic.errors import PydanticUserError
        from pydantic_core import SchemaError

        try:
            self._adapter: TypeAdapter[T] = TypeAdapter(
                _checked_object(schema) if isinstance(schema, Mapping) else schema
            )
            self.json_schema: Mapping[str, Any] = self._adapter.json_schema()
        except (PydanticUserError, SchemaError) as error:
            raise InvalidInputError(
                f"output_config.schema: {_unfit(schema)}",
                field="output_config.schema",
                cause=error,
            ) from error
        self.name = name
        self._schema = schema

    def partial_reader(self) -> PartialOutputReader:
        """What reads an answer while it streams."""
        return PartialOutputReader(self._schema, wrapped=self.json_schema.get("type") != "object")

    def instructions(self) -> str:
        """What to tell a model whose provider does not enforce the schema."""
        return (
            f"Give your final answer as JSON only, without any other text: the {self.name}, "
            f"matching this JSON Schema:\n{json.dumps(self.json_schema, ensure_ascii=False)}"
        )

    def parse(self, text: str) -> T:
        """Read the answer, also when it stands in a code fence or between sentences.

        Raises:
            OutputValidationError: The answer does not fit; the message lists what is wrong with it.
        """
        from pydantic import ValidationError

        problems, is_json = "", False
        for candidate in [*self._unwrapped(text), *_candidates(text)]:
            try:
                return self._adapter.validate_json(candidate)
            except ValidationError as error:
                if not problems or (not is_json and not _is_no_json(error)):
                    problems, is_json = _describe(error), not _is_no_json(error)
        raise OutputValidationError(f"The answer is not a valid {self.name}: {problems}", raw_output=text)

    def _unwrapped(self, text: str) -> list[str]:
        """What is in the object that a provider takes in place of a union, a list or a number."""
        if self.json_schema.get("type") != "object":
            try:
                answer = json.loads(text)
            except ValueError:
                return []
            if isinstance(answer, dict) and answer.keys() == {ANSWER}:
                return [json.dumps(answer[ANSWER])]
        return []

    def dump(self, output: T) -> str:
        """The output as JSON, for :meth:`restore`."""
        return self._adapter.dump_json(output, by_alias=True, round_trip=True, warnings="none").decode()

    def restore(self, dumped: str) -> T:
        """The output that was dumped."""
        return self._adapter.validate_json(dumped)


def _unfit(schema: object) -> str:
    """Why something cannot be the type of an answer, and what can."""
    kind = type(schema)
    if is_typeddict(schema):
        return "on Python 3.11, a TypedDict has to be that of typing_extensions: from typing_extensions import TypedDict."
    if isinstance(schema, type):
        name = schema.__name__
        return f"{name} cannot be described to a model. Make it a Pydantic model (class {name}(BaseModel)) or a dataclass."
    if kind.__module__ == "builtins":
        return f"expected a type, got {schema!r}. Give a Pydantic model, a dataclass, or a type such as list[str]."
    return f"expected a type, got a {kind.__name__}. To have answers like this one, give the class: {kind.__name__}."


def _checked_object(schema: Mapping[str, Any]) -> Any:  # noqa: ANN401 - it is a type
    """The type of objects that fit a JSON Schema."""
    from maverick.loop.json_schema import JsonSchema  # here, since few agents have one

    kind = schema.get("type", "object")
    if kind != "object":
        raise InvalidInputError(
            f'output_config.schema: expected a JSON Schema of "type": "object", got {kind!r}. Use a Python type for '
            "other answers, such as list[str].",
            field="output_config.schema",
        )
    return JsonSchema(schema, "output_config.schema").as_type(dict[str, Any])


def rejected(name: str, text: str, why: str) -> OutputValidationError:
    """The error of an answer that a validator did not accept."""
    return OutputValidationError(f"The {name} was not accepted: {why}", raw_output=text)


def repair_prompt(error: OutputValidationError) -> str:
    """What to tell the model about an answer that did not fit."""
    return f"{error.message}\nSend the corrected answer as JSON only, without any other text."


def _candidates(text: str) -> list[str]:
    """What in the text may be the JSON that was asked for, most likely first."""
    candidates = [text.strip()]
    candidates += [fenced.strip() for fenced in _FENCE.findall(text)]
    for opening, closing in ("{}", "[]"):
        start, end = text.find(opening), text.rfind(closing)
        if 0 <= start < end:
            candidates.append(text[start : end + 1])
    return candidates


def _is_no_json(error: ValidationError) -> bool:
    return any(problem["type"] == "json_invalid" for problem in error.errors(include_url=False))


def _describe(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False)
    shown = [
        f"{'.'.join(map(str, problem['loc'])) or 'answer'}: {problem['msg']}"
        for problem in found[:_MOST_PROBLEMS_SHOWN]
    ]
    more = len(found) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")
