"""Two runs are the same but for times and ids, or the first place where they part is named."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from msgspec import UNSET
from msgspec.structs import replace

from journal.entries import json_values
from maverick import AgentDefinition, AgentExecutor, tool
from maverick.exceptions import AuthenticationError, RateLimitError, RunNotFoundError
from maverick.journal import Journal, MemoryJournal
from maverick.journal.compare import Divergence, compare_runs, first_difference
from maverick.model import ToolCall
from maverick.providers.scripted import Script
from maverick.testing import ScriptedClient, call, calls, reply
from scenario import agent


@tool
async def weigh(item: str) -> str:
    """Weigh something."""
    return f"{item}: {len(item)} kg"


async def ran(
    journal: Journal, run_id: str, script: Script, definition: AgentDefinition | None = None
) -> None:
    client = ScriptedClient(script)
    await AgentExecutor(client, journal=journal).execute(
        definition or agent(weigh), run_id=run_id, user_id=run_id
    )


@pytest.mark.requirement("003-OQ3")
async def test_two_runs_that_went_alike_are_the_same() -> None:
    journal = MemoryJournal()
    for run_id in ("a", "b"):
        await ran(
            journal,
            run_id,
            [RateLimitError("Slow down.", request_id=run_id), call("weigh", item="x"), reply("x")],
        )

    assert await compare_runs(journal, "a", "b") is None
    assert await compare_runs(journal, "a", "a") is None


async def test_ids_the_model_gave_its_calls_do_not_matter() -> None:
    journal = MemoryJournal()
    for run_id in ("a", "b"):
        await ran(journal, run_id, [ToolCall(f"call-{run_id}", "weigh", {"item": "x"}), reply("x")])

    assert await compare_runs(journal, "a", "b") is None


async def test_an_argument_that_happens_to_be_called_id_or_at_does_matter() -> None:
    journal = MemoryJournal()
    for run_id in ("a", "b"):
        await ran(journal, run_id, [call("weigh", item="x", id=run_id), reply("x")])

    assert await compare_runs(journal, "a", "b") == Divergence(3, "response.parts[0].arguments.id", "a", "b")


async def test_the_first_difference_is_named_with_its_place_and_both_values() -> None:
    journal = MemoryJournal()
    await ran(journal, "a", [call("weigh", item="x"), reply("It weighs a kilo.")])
    await ran(journal, "b", [call("weigh", item="x"), reply("No idea.")])

    assert await compare_runs(journal, "a", "b") == Divergence(
        7, "response.parts[0].text", "It weighs a kilo.", "No idea."
    )


async def test_a_run_that_went_another_way_parts_at_the_kind_of_entry() -> None:
    journal = MemoryJournal()
    await ran(journal, "a", [call("weigh", item="x"), reply("x")])
    await ran(journal, "b", [call("weigh", item="x"), AuthenticationError("Wrong key.")])

    assert await compare_runs(journal, "a", "b") == Divergence(7, "type", "ModelReplied", "ModelFailed")


async def test_a_run_that_ends_early_has_nothing_where_the_other_goes_on() -> None:
    journal = MemoryJournal()
    await ran(journal, "whole", [reply("Hello.")])
    begun = [payload for _, _, payload in await journal.read_page("whole", 0, 2)]
    await journal.create(replace(await journal.get("whole"), run_id="begun"), begun)

    shorter = await compare_runs(journal, "begun", "whole")
    longer = await compare_runs(journal, "whole", "begun")

    assert shorter is not None
    assert longer is not None
    assert (shorter.number, shorter.path, shorter.one, shorter.other["type"]) == (
        3,
        "",
        UNSET,
        "ModelReplied",
    )
    assert (longer.number, longer.path, longer.one["type"], longer.other) == (3, "", "ModelReplied", UNSET)


def porter(slow: str, word: str = "carried") -> AgentDefinition:
    """An agent whose tool finishes with one item only after the other."""
    other_is_done = asyncio.Event()

    @tool
    async def carry(item: str) -> str:
        """Carry something."""
        if item == slow:
            await other_is_done.wait()
        other_is_done.set()
        return f"{word} {item}"

    return agent(carry)


async def test_the_order_in_which_parallel_tools_finish_does_not_matter() -> None:
    journal = MemoryJournal()
    both = calls(call("carry", item="x"), call("carry", item="y"))
    await ran(journal, "a", [both, reply("Done.")], porter("x"))
    await ran(journal, "b", [both, reply("Done.")], porter("y"))

    order = [[line async for line in journal.read(run_id, after=4)] for run_id in ("a", "b")]
    assert [getattr(stored.entry, "index", None) for stored in order[0][:2]] == [1, 0]
    assert [getattr(stored.entry, "index", None) for stored in order[1][:2]] == [0, 1]
    assert await compare_runs(journal, "a", "b") is None


async def test_a_result_of_a_parallel_tool_that_differs_is_named_by_its_call() -> None:
    journal = MemoryJournal()
    both = calls(call("carry", item="x"), call("carry", item="y"))
    await ran(journal, "a", [both, reply("Done.")], porter("x"))
    await ran(journal, "b", [both, reply("Done.")], porter("y", "dropped"))

    assert await compare_runs(journal, "a", "b") == Divergence(5, "content", "carried x", "dropped x")


async def test_another_agent_is_the_first_difference() -> None:
    journal = MemoryJournal()
    await ran(journal, "a", [reply("Hello.")], agent(ask="Greet me."))
    await ran(journal, "b", [reply("Hello.")], agent(ask="Greet her."))

    found = await compare_runs(journal, "a", "b")

    assert found is not None
    assert (found.number, found.path) == (1, "messages[0].parts[0].text")
    assert (found.one, found.other) == ("Greet me.", "Greet her.")


async def test_runs_of_two_journals_can_be_compared() -> None:
    here, there = MemoryJournal(), MemoryJournal()
    for journal, words in ((here, "Hello."), (there, "Hi.")):
        await ran(journal, "r", [reply(words)])

    assert await compare_runs(here, "r", "r", other_journal=there) == Divergence(
        3, "response.parts[0].text", "Hello.", "Hi."
    )


async def test_an_unknown_run_can_not_be_compared() -> None:
    journal = MemoryJournal()
    await ran(journal, "a", [reply("Hello.")])

    for one, other in (("a", "x"), ("x", "a")):
        with pytest.raises(RunNotFoundError):
            await compare_runs(journal, one, other)


@given(value=json_values)
def test_a_value_does_not_differ_from_itself(value: object) -> None:
    assert first_difference(value, value) is None
    assert first_difference({"a": [value]}, {"a": [value, None]}) == ("a[1]", UNSET, None)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1, True, ("", 1, True)),
        ({"a": 1}, {"a": 1, "b": None}, ("b", UNSET, None)),
        ({"b": 1, "a": 2}, {"a": 3, "b": 1}, ("a", 2, 3)),
        ([1, [2, 3]], [1, [2, 4]], ("[1][1]", 3, 4)),
        ({"a": [{"b": "x"}]}, {"a": [{"b": "y"}]}, ("a[0].b", "x", "y")),
    ],
)
def test_the_place_of_a_difference_is_a_path(
    one: object, other: object, expected: tuple[object, ...]
) -> None:
    assert first_difference(one, other) == expected
