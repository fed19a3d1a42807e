"""Recorded runs as cases: what they answered, from the journal alone, and the checks that hold for it."""

from __future__ import annotations

from typing import Any, NamedTuple

from maverick.evals.cases_file import CallForm, CaseForm, ChecksForm
from maverick.evals.checks import plain
from maverick.exceptions import InvalidInputError
from maverick.loop import AgentDefinition, AgentResult
from maverick.loop.events import RunEnd, TurnStart
from maverick.runtime import AgentExecutor


class RecordedRun(NamedTuple):
    """What a run came to."""

    result: AgentResult[Any]
    last_turn: int
    """The turn that its answer, or its end, is from."""


async def recorded_run(executor: AgentExecutor, run_id: str, agent: AgentDefinition[Any]) -> RecordedRun:
    """How a run ended, from its journal alone: no model is called, and no tool is run.

    Raises:
        RunNotFoundError: There is no such run.
        InvalidInputError: It has not ended, or the executor has no journal.
    """
    result: AgentResult[Any] | None = None
    last_turn = 1
    async for event in executor.replay(run_id, agent):
        if event.run_id == run_id:  # and not that of a subagent
            result = event.result if isinstance(event, RunEnd) else None
            last_turn = event.turn_number if isinstance(event, TurnStart) else last_turn
    if result is None:
        raise InvalidInputError(
            f"The run {run_id!r} has not ended. Resume it first: maverick runs resume {run_id}", field="run"
        )
    return RecordedRun(result, last_turn)


def case_from_result(run_id: str, result: AgentResult[Any]) -> CaseForm:
    """A case of a recorded run, with checks that hold for it: the tools it called, how it ended, and its answer."""
    found = [
        ChecksForm(
            calls=CallForm(record.tool_name, plain(record.arguments))
            if record.arguments
            else record.tool_name
        )
        for record in result.tool_calls
    ]
    checks = list({repr(check): check for check in found}.values())
    if not result.success:
        checks.append(ChecksForm(ends=result.terminate_reason.value))
    elif result.output is not None:
        checks.append(ChecksForm(equals=plain(result.output)))
    return CaseForm(run_id, run=run_id, checks=checks)
