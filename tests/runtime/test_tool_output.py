"""A tool's output is capped while it is read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, ClassVar

import pytest

from maverick import AgentExecutor, tool
from maverick.journal import MemoryJournal
from maverick.loop import ToolOutcome
from maverick.loop.events import ToolCallEnd
from maverick.model import StructuredResult
from maverick.testing import ScriptedClient, call, reply
from scenario import agent, results_in, run


class Pieces:
    """Pieces of a hundred characters, far too many of them, that count how many were taken."""

    def __init__(self) -> None:
        self.taken = 0

    def __iter__(self) -> Iterator[str]:
        for _ in range(5_000):
            self.taken += 1
            yield "x" * 100

    async def stream(self) -> AsyncIterator[str]:
        for piece in self:
            yield piece


@pytest.mark.requirement("F-TOOL-OUTPUT")
async def test_a_huge_text_is_cut_and_the_model_told_how_much_is_missing() -> None:
    @tool
    async def read() -> str:
        """Read it all."""
        return "x" * 1_000_000

    result = await run([call("read"), "ok"], agent(read, tool_settings={"max_output": 1_000}))

    (text,) = results_in(result.messages)
    assert text.startswith("x" * 1_000 + "\n")
    assert "999000 characters" in text
    assert len(text) < 1_100


@pytest.mark.requirement("F-TOOL-OUTPUT")
async def test_a_tool_may_have_a_cap_of_its_own() -> None:
    @tool(max_output=200)
    async def read() -> str:
        """Read it all."""
        return "x" * 500

    result = await run([call("read"), "ok"], agent(read))

    assert "300 characters" in results_in(result.messages)[0]


@pytest.mark.requirement("F-TOOL-OUTPUT")
async def test_an_error_of_any_length_is_cut_too() -> None:
    @tool(max_output=200)
    async def fail() -> None:
        """Fail at length."""
        raise ValueError("x" * 100_000)

    result = await run([call("fail"), "ok"], agent(fail))

    assert len(results_in(result.messages)[0]) < 300


@pytest.mark.requirement("F-TOOL-OUTPUT")
@pytest.mark.parametrize("shape", ["generator", "async generator", "iterator of an async tool", "class"])
async def test_a_stream_is_read_no_further_than_the_cap(shape: str) -> None:
    pieces = Pieces()

    def generator() -> Iterator[str]:
        """Read piece by piece."""
        yield from pieces

    def async_generator() -> AsyncIterator[str]:
        """Read piece by piece."""
        return pieces.stream()

    async def iterator_of_an_async_tool() -> Iterator[str]:
        """Read piece by piece."""
        return iter(pieces)

    class Reader:
        name = "read"
        description = "Reads piece by piece."
        parameters: ClassVar[dict[str, Any]] = {"type": "object"}

        async def execute(self, args: dict[str, Any]) -> Iterator[str]:
            return iter(pieces)

    functions: dict[str, Any] = {
        "generator": generator,
        "async generator": async_generator,
        "iterator of an async tool": iterator_of_an_async_tool,
    }
    made: Any = Reader() if shape == "class" else tool(name="read")(functions[shape])

    result = await run([call("read"), "ok"], agent(made, tool_settings={"max_output": 1_000}))

    assert result.tool_calls[0].outcome is ToolOutcome.FINISHED
    assert "x" * 100 in results_in(result.messages)[0]
    assert len(results_in(result.messages)[0]) < 1_100
    assert pieces.taken < 20


async def test_a_value_without_a_text_form_is_an_error_the_model_reads() -> None:
    @tool
    async def read() -> object:
        """Return something odd."""
        return object()

    result = await run([call("read"), "ok"], agent(read))

    assert result.tool_calls[0].outcome is ToolOutcome.FAILED
    assert "Return a string or JSON values" in results_in(result.messages)[0]


@pytest.mark.requirement("P3")
async def test_what_a_tool_does_to_its_arguments_does_not_change_what_the_model_said() -> None:
    class Careless:
        name = "careless"
        description = "Takes its arguments apart."
        parameters: ClassVar[dict[str, Any]] = {"type": "object"}

        async def execute(self, args: dict[str, Any], /) -> str:
            args["list"].clear()
            return str(args.pop("path"))

    client = ScriptedClient([call("careless", path="a", list=[1, 2]), reply("Done.")])

    result = await run(client, agent(Careless()))

    [said] = client.requests[1].messages[1].tool_calls
    assert said.arguments == {"path": "a", "list": [1, 2]}
    assert result.tool_calls[0].arguments == {"path": "a", "list": [1, 2]}


@pytest.mark.requirement("F-TOOL-OUTPUT")
@pytest.mark.parametrize("is_error", [False, True])
async def test_data_of_a_tool_goes_with_its_result_into_the_journal_and_past_the_model(
    is_error: bool,
) -> None:
    @tool
    async def look_up() -> StructuredResult:
        """Look it up."""
        return StructuredResult("It is three.", {"value": 3}, is_error=is_error)

    journal, lookup = MemoryJournal(), agent(look_up)
    executor = AgentExecutor(ScriptedClient([call("look_up"), reply("three")]), journal=journal)
    events: list[Any] = []

    result = await executor.execute(lookup, run_id="r", on_activity=events.append)
    replayed = [event async for event in executor.replay("r", lookup)]

    (record,) = result.tool_calls
    assert (record.result, record.data) == ("It is three.", {"value": 3})
    assert record.outcome is (ToolOutcome.FAILED if is_error else ToolOutcome.FINISHED)
    assert results_in(result.messages) == ["It is three."]
    for told in (events, replayed):
        assert [event.data for event in told if isinstance(event, ToolCallEnd)] == [{"value": 3}]
