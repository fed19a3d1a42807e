"""Tools made from functions: what the model is shown, and what happens when it calls."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from maverick import ToolContext, tool
from maverick.exceptions import InvalidToolError, ToolError
from maverick.model import Effect, Tool
from maverick.tools import FunctionTool
from maverick.tools.rendering import render

CONTEXT = ToolContext(
    run_id="run_1",
    trace_id="trace_1",
    agent=("worker",),
    turn=2,
    call_id="call_3",
    idempotency_key="run_1/2/0",
    deadline=10.0,
    user_id="ana",
)


@tool
async def add(left: int, right: int = 1) -> int:
    """Add two numbers."""
    return left + right


@pytest.mark.requirement("002-R2", "002-AC2", "F-TOOL-SCHEMA")
def test_a_function_becomes_a_tool_by_its_name_docstring_and_signature() -> None:
    made: Tool = add

    assert isinstance(made, Tool)
    assert (made.name, made.description) == ("add", "Add two numbers.")
    assert made.parameters == {
        "type": "object",
        "properties": {"left": {"type": "integer"}, "right": {"type": "integer", "default": 1}},
        "required": ["left"],
        "additionalProperties": False,
    }


@pytest.mark.requirement("002-R2")
async def test_an_async_function_is_awaited() -> None:
    assert await add.execute({"left": 2, "right": 3}) == 5
    assert await add.execute({"left": 2}) == 3


@pytest.mark.requirement("F-TOOL-THREAD")
async def test_a_plain_function_runs_in_a_thread_of_its_own_with_the_callers_context() -> None:
    user: contextvars.ContextVar[str] = contextvars.ContextVar("user")
    user.set("ana")

    @tool
    def where() -> tuple[str, str]:
        """Where."""
        return threading.current_thread().name, user.get()

    value: Any = await where.execute({})

    assert value[0] != threading.current_thread().name
    assert value[1] == "ana"


@pytest.mark.requirement("F-TOOL-THREAD")
async def test_blocking_functions_run_side_by_side() -> None:
    together = threading.Barrier(3, timeout=30)

    @tool
    def meet() -> int:
        """Meet."""
        return together.wait()

    async with asyncio.timeout(30):
        places = await asyncio.gather(*(meet.execute({}) for _ in range(3)))

    assert sorted(places) == [0, 1, 2]  # type: ignore[type-var]


async def test_what_a_function_raises_in_its_thread_is_raised_to_the_caller() -> None:
    @tool
    def stop() -> None:
        """Stop."""
        raise StopIteration("the end")

    @tool
    def fail() -> None:
        """Fail."""
        raise KeyError("city")

    with pytest.raises(KeyError, match="city"):
        await fail.execute({})
    with pytest.raises(RuntimeError, match="the end"):
        await stop.execute({})


async def test_the_pieces_of_generators_of_both_kinds_are_joined() -> None:
    @tool
    def count(to: int) -> Iterator[str]:
        """Count."""
        yield from (str(number) for number in range(to))

    @tool
    async def count_async(to: int) -> AsyncIterator[str]:
        """Count async."""
        for number in range(to):
            yield str(number)

    for made in (count, count_async):
        assert await render(await made.execute({"to": 3}), 100) == "012"


async def test_methods_and_callable_objects_can_be_tools() -> None:
    class Shelf:
        def __init__(self) -> None:
            self.books = ["Ulysses"]

        def find(self, title: str) -> bool:
            """Find a book."""
            return title in self.books

    class Doubler:
        """Doubles a number."""

        async def __call__(self, number: int) -> int:
            return number * 2

    find = tool(Shelf().find)
    double = tool(name="double")(Doubler())

    assert await find.execute({"title": "Ulysses"}) is True
    assert list(find.parameters["properties"]) == ["title"]
    assert await double.execute({"number": 4}) == 8
    assert double.description == "Doubles a number."


@pytest.mark.requirement("P6", "F-TOOL-SCHEMA")
async def test_the_context_is_handed_over_and_is_not_in_the_schema() -> None:
    @tool
    async def whoami(ctx: ToolContext, greeting: str = "hi") -> str:
        """Whoami."""
        return f"{greeting} {ctx.user_id} {ctx.idempotency_key}"

    assert list(whoami.parameters["properties"]) == ["greeting"]
    assert whoami.takes_context
    assert await whoami.execute({"greeting": "ho"}, CONTEXT) == "ho ana run_1/2/0"


@pytest.mark.requirement("P6")
async def test_a_model_can_not_pass_the_context_itself() -> None:
    @tool
    async def whoami(ctx: ToolContext) -> str | None:
        """Whoami."""
        return ctx.user_id

    with pytest.raises(ToolError, match="ctx"):
        await whoami.execute({"ctx": {"user_id": "eve"}}, CONTEXT)


@pytest.mark.requirement("P2", "F-TOOL-SCHEMA")
def test_options_replace_what_the_function_says_and_declare_what_it_does() -> None:
    @tool(
        name="post", description="Sends a letter.", effect="keyed", approval=True, timeout=30, max_output=500
    )
    async def send(to: str) -> str:
        """Internal notes."""
        return to

    assert (send.name, send.description) == ("post", "Sends a letter.")
    assert (send.effect, send.approval, send.timeout, send.max_output) == (Effect.KEYED, True, 30, 500)


@pytest.mark.requirement("P2")
def test_a_tool_that_declares_nothing_is_taken_to_be_irreversible() -> None:
    assert add.effect is Effect.IRREVERSIBLE
    assert [effect.value for effect in Effect] == ["pure", "keyed", "transactional", "irreversible"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"effect": "harmless"}, "pure, keyed, transactional, irreversible"),
        ({"timeout": 0}, "timeout=0"),
        ({"timeout": -1}, "timeout=-1"),
        ({"timeout": "soon"}, "timeout='soon'"),
        ({"timeout": True}, "timeout=True"),
        ({"max_output": 0}, "max_output=0"),
        ({"max_output": "much"}, "max_output='much'"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_with_the_tools_name(
    options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InvalidToolError, match="'lookup'") as caught:
        tool(**options)(lookup)

    assert problem in str(caught.value)
    assert caught.value.tool_name == "lookup"


def lookup(key: str) -> str:
    """Look a key up."""
    return key


async def test_a_tool_can_still_be_called_as_the_function_it_was() -> None:
    assert await add(2, right=5) == 7
    assert tool(lookup)("x") == "x"
    assert add.__doc__ == "Add two numbers."
    assert repr(add) == "<tool add>"


@pytest.mark.parametrize("thing", [3, None, "lookup", object()])
def test_only_a_function_can_be_made_a_tool(thing: Any) -> None:
    with pytest.raises(InvalidToolError):
        FunctionTool(thing)
