"""Structured output: the type an agent's answer has, and how a text is made into it, whole or while it streams."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from typing_extensions import TypedDict, TypeForm, TypeVar, is_typeddict

from maverick.exceptions import OutputValidationError
from maverick.loop.config import check_text, check_whole, reject
from maverick.misuse import refuse
from maverick.model import ToolContext
from maverick.model.request import ANSWER

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

T = TypeVar("T", default=str)

OutputValidator: TypeAlias = Callable[[T, ToolContext[Any]], T | Awaitable[T | None] | None]
"""Checks an output of the declared type: returns ``None`` or another output, or raises ``RetryOutput`` to have the model
asked for a better one. It may be ``async``."""

_FENCE = r"(?is)```(?:json)?\s*\n(.*?)```"
_MOST_PROBLEMS_SHOWN = 8
_FINENESS = 64
"""An answer is read again when it has grown by this part of itself: reading all of it at each piece would take longer
and longer."""


@dataclass(frozen=True, slots=True)
class OutputConfig(Generic[T]):
    """The type of the agent's answer.

    Args:
        output_name: What the answer is called, such as ``report``.
        schema: A Pydantic model, or any type Pydantic can validate: ``list[Item]``, ``Report | Refusal``, a dataclass; or
            a JSON Schema of an object as a dict: then the output is a dict that fits it.
        max_repairs: How often the model is shown what is wrong with an answer and asked again.
        validators: Functions ``(output, ctx)`` that check an answer of the declared type, in order, with what the
            type cannot say: each returns ``None``, or another output, or raises ``RetryOutput`` with what to tell the model.
    """

    output_name: str = "output"
    schema: TypeForm[T] | Mapping[str, Any] = None  # type: ignore[assignment]  # required, although it follows a name
    max_repairs: int = 2
    validators: Sequence[OutputValidator[T]] = ()
    format: OutputFormat[T] = field(init=False, repr=False, compare=False)
    """Reads answers; built from the schema."""

    if TYPE_CHECKING:

        @overload
        def __init__(
            self: OutputConfig[dict[str, Any]],
            output_name: str = "output",
            *,
            schema: Mapping[str, Any],
            max_repairs: int = 2,
            validators: Sequence[OutputValidator[dict[str, Any]]] = (),
        ) -> None: ...
        @overload
        def __init__(
            self: OutputConfig[dict[str, Any]],
            output_name: str,
            schema: Mapping[str, Any],
            max_repairs: int = 2,
            validators: Sequence[OutputValidator[dict[str, Any]]] = (),
        ) -> None: ...
        @overload
        def __init__(
            self,
            output_name: str = "output",
            *,
            schema: TypeForm[T],
            max_repairs: int = 2,
            validators: Sequence[OutputValidator[T]] = (),
        ) -> None: ...
        @overload
        def __init__(
            self,
            output_name: str,
            schema: TypeForm[T],
            max_repairs: int = 2,
            validators: Sequence[OutputValidator[T]] = (),
        ) -> None: ...
        def __init__(self, *arguments: Any, **options: Any) -> None: ...

    def __post_init__(self) -> None:
        check_text("output_config.output_name", self.output_name)
        check_whole("output_config.max_repairs", self.max_repairs, minimum=0)
        if self.schema is None:
            reject("output_config.schema", "the type of the output, such as a Pydantic model", None)
        _check_validators(self.validators)
        object.__setattr__(self, "validators", tuple(self.validators))
        object.__setattr__(self, "format", OutputFormat(self.output_name, self.schema))


class OutputFormat(Generic[T]):
    """Reads an answer as a value of a declared type. The validator and the JSON Schema are built once, here."""

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
            refuse("output_config.schema", _unfit(schema), error)
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
        """Read the answer, also in a code fence or between sentences; an OutputValidationError lists what is wrong with it."""
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
        refuse(
            "output_config.schema",
            f'expected a JSON Schema of "type": "object", got {kind!r}. Use a Python type for '
            "other answers, such as list[str].",
        )
    return JsonSchema(schema, "output_config.schema").as_type(dict[str, Any])


def rejected(name: str, text: str, why: str) -> OutputValidationError:
    """The error of an answer that a validator did not accept."""
    return OutputValidationError(f"The {name} was not accepted: {why}", raw_output=text)


def given_up(error: OutputValidationError, tries: int) -> OutputValidationError:
    """The error of a run whose last answer did not fit."""
    had = f"The model had {tries} {'try' if tries == 1 else 'tries'} (max_repairs); raw_content has its last answer."
    return OutputValidationError(f"{error.message.rstrip('.')}. {had}", raw_output=error.raw_output)


def repair_prompt(error: OutputValidationError) -> str:
    """What to tell the model about an answer that did not fit."""
    return f"{error.message}\nSend the corrected answer as JSON only, without any other text."


def _candidates(text: str) -> list[str]:
    """What in the text may be the JSON that was asked for, most likely first."""
    candidates = [text.strip()]
    candidates += [fenced.strip() for fenced in re.findall(_FENCE, text)]
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


def _check_validators(validators: object) -> None:
    where = "output_config.validators"
    if not isinstance(validators, list | tuple):
        reject(where, "a list of functions (output, ctx)", validators)
    for check in validators:
        try:
            inspect.signature(check).bind("output", "ctx")
        except (TypeError, ValueError):
            reject(where, "functions that take the output and a ToolContext", check)


class PartialOutputReader:
    """Reads an answer of a declared type piece by piece; ``wrapped`` if a provider may put it into an object."""

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
