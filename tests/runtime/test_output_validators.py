"""Output validators: checks on a typed output that its type cannot make, with the run's own context."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

from durable.office import ProcessDied, die_at
from maverick import AgentExecutor, OutputConfig, RetryOutput, TerminateReason, ToolContext
from maverick.exceptions import HookError, OutputValidationError
from maverick.journal import Journal, SqliteJournal
from maverick.journal.timeline import Timeline
from maverick.loop.entries import OutputChecked
from maverick.loop.events import ErrorEvent, TurnEnd
from maverick.testing import ScriptedClient, reply
from scenario import agent, watch


class Order(BaseModel):
    item: str
    pieces: int = Field(alias="count")


def order(item: str, count: int) -> Any:
    return reply(f'{{"item": "{item}", "count": {count}}}')


class Stock:
    """Knows what there is, and how often it was asked."""

    def __init__(self, *items: str) -> None:
        self.items = items
        self.asked: list[ToolContext[Any]] = []

    async def check(self, output: Order, ctx: ToolContext[Any]) -> None:
        self.asked.append(ctx)
        if output.item not in self.items:
            raise RetryOutput(f"There is no {output.item}. There is: {', '.join(self.items)}.")


def clerk(*validators: Any, max_repairs: int = 2) -> Any:
    return agent(output=OutputConfig("order", Order, max_repairs=max_repairs, validators=list(validators)))


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    async with SqliteJournal(tmp_path / "runs.db") as opened:
        yield opened


@pytest.mark.requirement("H-VALIDATORS")
async def test_the_model_is_told_why_an_output_is_not_accepted_and_asked_again() -> None:
    stock = Stock("tea")
    watched = await watch([order("coal", 1), order("tea", 2)], clerk(stock.check), deps=stock, user_id="ana")

    assert watched.result.unwrap() == Order(item="tea", count=2)
    told = watched.client.requests[1].messages[-1].content
    assert told.startswith("The order was not accepted: There is no coal. There is: tea.")
    assert [(ctx.turn, ctx.deps, ctx.user_id) for ctx in stock.asked] == [
        (1, stock, "ana"),
        (2, stock, "ana"),
    ]
    assert [event.turn_number for event in watched.of(TurnEnd)] == [1, 2]
    assert [str(event.error) for event in watched.of(ErrorEvent)] == [told.partition("\n")[0]]


@pytest.mark.requirement("H-VALIDATORS")
async def test_repairs_by_the_type_and_by_validators_are_bounded_together() -> None:
    watched = await watch(
        [reply("What?"), order("coal", 1), order("wood", 1)], clerk(Stock("tea").check, max_repairs=2)
    )

    result = watched.result
    assert len(watched.client.requests) == 3
    assert (result.success, result.output, result.validated) == (False, None, False)
    assert result.terminate_reason is TerminateReason.COMPLETE
    assert isinstance(result.errors[0], OutputValidationError)
    assert "There is no wood" in str(result.errors[0])


@pytest.mark.requirement("H-VALIDATORS")
async def test_each_validator_gets_what_the_one_before_it_returned() -> None:
    def doubled(output: Order, ctx: ToolContext[Any]) -> Order:
        return output.model_copy(update={"pieces": output.pieces * 2})

    def in_place(output: Order, ctx: ToolContext[Any]) -> None:
        output.pieces = 99

    watched = await watch([order("tea", 2)], clerk(doubled, doubled, in_place))

    assert watched.result.unwrap() == Order(item="tea", count=8)


def broken(output: Order, ctx: ToolContext[Any]) -> None:
    raise KeyError(output.item)


@pytest.mark.requirement("H-VALIDATORS")
@pytest.mark.parametrize("validator", [broken, lambda output, ctx: 3])
async def test_a_validator_that_fails_ends_the_run_and_is_named_and_the_answer_is_checked_when_it_is_resumed(
    validator: Any, journal: Journal
) -> None:
    client = ScriptedClient([order("tea", 2)])
    executor = AgentExecutor(client, journal=journal)
    result = await executor.execute(clerk(validator), run_id="r")

    assert result.terminate_reason is TerminateReason.ERROR
    (error,) = result.errors
    assert isinstance(error, HookError)
    assert error.hook == validator.__name__
    stock = Stock("tea")
    later = await executor.resume("r", clerk(stock.check))
    assert later.unwrap() == Order(item="tea", count=2)
    assert len(client.requests) == len(stock.asked) == 1


@pytest.mark.requirement("H-VALIDATORS", "P1")
async def test_the_verdict_is_recorded_and_outlives_the_process(journal: Journal) -> None:
    def script(request: Any) -> Any:
        return order("tea", 2) if "not accepted" in request.messages[-1].content else order("coal", 1)

    def changed(output: Order, ctx: ToolContext[Any]) -> Order:
        return output.model_copy(update={"pieces": 7})

    first, later = Stock("tea"), Stock("tea")
    executor = AgentExecutor(ScriptedClient(script), journal=journal)
    die_at(journal, "ModelCalled", 2, before=False)
    with pytest.raises(ProcessDied):
        await executor.execute(clerk(first.check, changed), run_id="r")
    result = await executor.resume("r", clerk(later.check, changed))

    assert result.unwrap().pieces == 7
    assert (len(first.asked), len(later.asked)) == (1, 1)
    entries = [stored.entry async for stored in journal.read("r")]
    assert [bool(entry.retry) for entry in entries if isinstance(entry, OutputChecked)] == [True, False]
    notes = [note for turn in Timeline(entries).turns for note in turn.notes]
    assert any("There is no coal" in note for note in notes)
    again = await executor.resume("r", clerk())
    assert again.unwrap().pieces == 7
    replayed = [event async for event in executor.replay("r", clerk())]
    assert replayed[-1].type == "run_end"


@pytest.mark.requirement("H-JSON-SCHEMA")
async def test_a_json_schema_is_an_output_type_whose_values_are_dicts() -> None:
    schema = {
        "type": "object",
        "properties": {"item": {"enum": ["tea", "coal"]}, "count": {"type": "integer", "minimum": 1}},
        "required": ["item", "count"],
    }

    def even(output: dict[str, Any], ctx: ToolContext[Any]) -> None:
        if output["count"] % 2:
            raise RetryOutput("Only pairs.")

    output = OutputConfig(schema=schema, validators=[even])
    watched = await watch([order("gold", 1), order("tea", 1), order("tea", 2)], agent(output=output))

    assert watched.result.unwrap() == {"item": "tea", "count": 2}
    told = [request.messages[-1].content for request in watched.client.requests]
    assert "'gold' is not one of ['tea', 'coal']" in told[1]
    assert "Only pairs." in told[2]
    assert watched.client.requests[0].output is not None
    assert watched.client.requests[0].output.schema["properties"] == schema["properties"]
