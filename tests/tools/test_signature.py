"""Signatures as schemas: what is described to a model, and what is checked before the function runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from maverick import ToolContext, tool
from maverick.exceptions import InvalidToolError, ToolError


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    street: str
    number: int = 1


class Person(BaseModel):
    name: str
    homes: list[Address] = []


def properties(made: Any) -> dict[str, Any]:
    found: dict[str, Any] = made.parameters["properties"]
    return found


@pytest.mark.requirement("F-TOOL-SCHEMA")
def test_each_type_is_described_as_json_schema() -> None:
    @tool
    def many(
        text: str,
        ratio: float,
        flag: bool,
        tags: list[str],
        colour: Colour,
        mode: Literal["fast", "slow"],
        limit: Annotated[int, Field(ge=1, le=9)],
        anything: Any,
        note: str | None = None,
    ) -> None:
        """Many."""

    shown = properties(many)

    assert shown["text"] == {"type": "string"}
    assert shown["ratio"] == {"type": "number"}
    assert shown["flag"] == {"type": "boolean"}
    assert shown["tags"] == {"type": "array", "items": {"type": "string"}}
    assert shown["mode"] == {"type": "string", "enum": ["fast", "slow"]}
    assert shown["limit"] == {"type": "integer", "minimum": 1, "maximum": 9}
    assert shown["anything"] == {}
    assert shown["note"]["default"] is None
    assert many.parameters["$defs"]["Colour"] == {"type": "string", "enum": ["red", "blue"]}
    assert many.parameters["required"] == [name for name in shown if name != "note"]


@pytest.mark.requirement("F-TOOL-SCHEMA")
async def test_nested_models_are_described_and_arrive_as_models() -> None:
    @tool
    async def visit(person: Person) -> str:
        """Visit."""
        return f"{person.name} in {person.homes[0].street} {person.homes[0].number}"

    assert "title" not in str(visit.parameters)
    assert set(visit.parameters["$defs"]) == {"Person", "Address"}
    assert await visit.execute({"person": {"name": "Ana", "homes": [{"street": "Quay"}]}}) == "Ana in Quay 1"


async def test_dataclasses_and_typed_dicts_arrive_as_what_they_are() -> None:
    @dataclasses.dataclass
    class Point:
        x: int

    class Options(TypedDict, total=False):
        deep: bool

    @tool
    async def look(point: Point, options: Options) -> tuple[int, bool]:
        """Look."""
        return point.x, options.get("deep", False)

    assert await look.execute({"point": {"x": 4}, "options": {"deep": True}}) == (4, True)


def test_a_default_that_contains_a_title_is_shown_as_it_is() -> None:
    class Book(BaseModel):
        facts: dict[str, str] = {"title": "Ulysses"}

    @tool
    def shelve(book: Book) -> None:
        """Shelve."""

    assert shelve.parameters["$defs"]["Book"]["properties"]["facts"]["default"] == {"title": "Ulysses"}


def test_a_default_without_a_json_form_does_not_stop_the_tool() -> None:
    missing = object()

    @tool
    def look(at: Any = missing) -> None:
        """Look."""

    assert "default" not in properties(look)["at"]
    assert "required" not in look.parameters


@pytest.mark.requirement("F-TOOL-SCHEMA")
async def test_any_parameter_name_is_free_for_the_function() -> None:
    @tool
    async def odd(
        self: int,
        cls: int,
        schema: int,
        args: int,
        function: int,
        context: int,
        model_config: int,
        title: int,
    ) -> int:
        """Odd."""
        return self + cls + schema + args + function + context + model_config + title

    names = ["self", "cls", "schema", "args", "function", "context", "model_config", "title"]

    assert list(properties(odd)) == names
    assert await odd.execute(dict.fromkeys(names, 1)) == 8


@pytest.mark.requirement("F-TOOL-SCHEMA")
def test_types_local_to_the_caller_are_found_although_annotations_are_strings() -> None:
    class Local(BaseModel):
        size: int

    @tool
    def measure(local: Local) -> None:
        """Measure."""

    @tool(name="again")
    def measure_again(local: Local) -> None:
        """Measure again."""

    assert measure.parameters["$defs"]["Local"]["properties"] == {"size": {"type": "integer"}}
    assert measure_again.parameters == measure.parameters


@pytest.mark.requirement("F-TOOL-SCHEMA", "003-ERR-TOOL")
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "person"),
        ({"person": "Ana"}, "person"),
        ({"person": {"name": "Ana", "homes": [{"street": "Quay", "number": "x"}]}}, "person.homes.0.number"),
        ({"person": {"name": "Ana"}, "surname": "Lee"}, "surname"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused_before_the_function_runs(
    arguments: dict[str, Any], problem: str
) -> None:
    ran = []

    @tool
    async def visit(person: Person) -> None:
        """Visit."""
        ran.append(person)

    with pytest.raises(ToolError, match="Correct them and call it again") as caught:
        await visit.execute(arguments)

    assert problem in str(caught.value)
    assert caught.value.tool_name == "visit"
    assert ran == []


def test_a_parameter_that_a_model_can_not_name_is_refused() -> None:
    def positional(key: str, /) -> None:
        """Look."""

    def several(*keys: str) -> None:
        """Look."""

    def any_key(**keys: str) -> None:
        """Look."""

    for function in (positional, several, any_key):
        with pytest.raises(InvalidToolError, match="by name") as caught:
            tool(function)
        assert caught.value.tool_name == function.__name__


def takes_a_callback(done: Callable[[], int]) -> None: ...
def takes_an_unknown(thing: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def takes_a_missing_attribute(thing: dataclasses.Nowhere) -> None: ...  # type: ignore[name-defined]
def takes_nonsense(thing: "1 +") -> None: ...  # type: ignore[valid-type]  # noqa: F722
def takes_an_error(error: ToolError) -> None: ...


@pytest.mark.requirement("F-TOOL-SCHEMA", "P8")
@pytest.mark.parametrize(
    "function",
    [takes_a_callback, takes_an_unknown, takes_a_missing_attribute, takes_nonsense, takes_an_error, dict],
)
def test_a_signature_that_can_not_be_described_is_a_typed_error_and_names_the_tool(function: Any) -> None:
    with pytest.raises(InvalidToolError, match=function.__name__) as caught:
        tool(description="Do it.")(function)

    assert caught.value.tool_name == function.__name__


def test_a_context_that_may_be_missing_is_a_context_all_the_same() -> None:
    @tool
    def look(at: str, ctx: ToolContext | None = None) -> None:
        """Look."""

    assert list(properties(look)) == ["at"]
