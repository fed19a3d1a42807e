"""State of the caller's own in tools: ``deps``, and tools that are methods."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from maverick import AgentDefinition, AgentExecutor, SqliteJournal, ToolConfig, ToolContext, tool
from maverick.exceptions import InvalidInputError, InvalidToolError, RunExistsError, RunNotFoundError
from maverick.testing import ScriptedClient, call, reply


@dataclass
class Deps:
    tenant: str
    found: list[str] = field(default_factory=list)


@tool(effect="pure")
async def find(query: str, ctx: ToolContext[Deps]) -> str:
    """Find something."""
    ctx.deps.found.append(query)
    return f"{query} of {ctx.deps.tenant}"


@tool(effect="pure")
async def find_any(query: str, ctx: ToolContext[Deps] | None = None) -> str:
    """Find something, also without a run."""
    return f"{query} of {ctx.deps.tenant if ctx else 'nobody'}"


def agent(*tools: Any) -> AgentDefinition[str]:
    return AgentDefinition(name="clerk", description="Finds.", tool_config=ToolConfig(tools=list(tools)))


@pytest.mark.parametrize("finder", [find, find_any])
async def test_a_tool_finds_what_the_program_gave_to_the_run_and_the_model_does_not_see_it(
    finder: Any,
) -> None:
    client = ScriptedClient([call(finder.name, query="milk"), reply("Found.")])

    result = await AgentExecutor(client).execute(agent(finder), inputs={"prompt": "?"}, deps=Deps("acme"))

    assert result.tool_calls[0].result == "milk of acme"
    assert list(finder.parameters["properties"]) == ["query"]


async def test_a_subagent_and_a_run_that_is_resumed_have_them_too_and_the_journal_does_not(
    tmp_path: Path,
) -> None:
    deps = Deps("acme-CANARY")
    boss = agent(agent(find).as_tool(), find)
    script: list[Any] = [
        call("clerk", prompt="find milk"),
        call("find", query="milk"),
        reply("There."),
        reply("Done."),
    ]
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        executor = AgentExecutor(ScriptedClient(script), journal=journal, deps=deps)
        result = await executor.execute(boss, inputs={"prompt": "?"}, run_id="r1")
        entries = [stored.entry async for stored in journal.read("r1/1/0")]

    assert (result.output, deps.found) == ("Done.", ["milk"])
    assert "CANARY" not in str([entry for entry in entries if type(entry).__name__ == "RunStarted"])


class Shop:
    def __init__(self, stock: dict[str, int]) -> None:
        self.stock = stock

    @tool(effect="pure")
    async def count(self, item: str) -> int:
        """How many there are."""
        return self.stock[item]

    @tool
    def sell(self, item: str, ctx: ToolContext) -> str:
        """Sell one."""
        self.stock[item] -= 1
        return ctx.idempotency_key


async def test_a_method_is_a_tool_of_its_instance() -> None:
    one, other = Shop({"tea": 3}), Shop({"tea": 7})
    client = ScriptedClient([[call("count", item="tea"), call("sell", item="tea")], reply("Three.")])

    result = await AgentExecutor(client).execute(agent(one.count, one.sell), inputs={"prompt": "?"})

    assert result.tool_calls[0].result == "3"
    assert (one.stock, other.stock) == ({"tea": 2}, {"tea": 7})
    assert list(one.count.parameters["properties"]) == ["item"]
    assert await other.count("tea") == 7


def test_a_method_without_an_instance_is_refused_with_what_to_write() -> None:
    with pytest.raises(InvalidToolError, match=r"shop\.count with shop = Shop\(…\)"):
        agent(Shop.count)


async def test_the_same_call_starts_a_run_or_goes_on_with_it(tmp_path: Path) -> None:
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        executor = AgentExecutor(ScriptedClient([reply("Once.")]), journal=journal)
        given: dict[str, Any] = {"inputs": {"prompt": "?"}, "run_id": "job-7", "user_id": "ana"}
        results = [await executor.execute(agent(), **given, if_exists="resume") for _ in range(2)]

        with pytest.raises(RunExistsError):
            await executor.execute(agent(), **given)
        with pytest.raises(RunNotFoundError):
            await executor.execute(agent(), **given | {"user_id": "bob"}, if_exists="resume")
        with pytest.raises(InvalidInputError, match="was begun with others"):
            await executor.execute(agent(), **given | {"inputs": {"prompt": "!"}}, if_exists="resume")
        with pytest.raises(InvalidInputError, match="run_id: if_exists='resume' needs one"):
            await executor.execute(agent(), inputs={"prompt": "?"}, if_exists="resume")

    assert [result.output for result in results] == ["Once.", "Once."]


async def test_the_same_call_made_twice_at_once_is_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with SqliteJournal(tmp_path / "runs.db") as journal:

        async def has(_: str) -> bool:
            return False

        first, second = (AgentExecutor(ScriptedClient([reply("Once.")]), journal=journal) for _ in range(2))
        monkeypatch.setattr(second, "_has", has)  # it looks just before the first one begins
        given: dict[str, Any] = {"inputs": {"prompt": "?"}, "run_id": "job-7", "if_exists": "resume"}
        await first.execute(agent(), **given)
        result = await second.execute(agent(), **given)

    assert result.output == "Once."
