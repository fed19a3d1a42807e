"""Recorded runs as cases: what they answered, from the journal alone, and the checks that hold for it."""

from __future__ import annotations

from typing import Any

from maverick.evals.cases_file import CallForm, CaseForm, ChecksForm
from maverick.evals.checks import plain
from maverick.exceptions import InvalidInputError
from maverick.loop import AgentDefinition, AgentResult
from maverick.loop.events import RunEnd
from maverick.runtime import AgentExecutor


async def recorded_result(
    executor: AgentExecutor, run_id: str, agent: AgentDefinition[Any]
) -> AgentResult[Any]:
    """How a run ended, from its journal alone: no model is called, and no tool is run.

    Raises:
        RunNotFoundError: There is no such run.
        InvalidInputError: It has not ended, or the executor has no journal.
    """
    result: AgentResult[Any] | None = None
    async for event in executor.replay(run_id, agent):
        if event.run_id == run_id:  # and not that of a subagent
            result = event.result if isinstance(event, RunEnd) else None
    if result is None:
        raise InvalidInputError(
            f"The run {run_id!r} has not ended. Resume it first: maverick runs resume {run_id}", field="run"
        )
    return result


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
