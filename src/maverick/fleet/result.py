"""How a run in a fleet ended, from its journal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from maverick.exceptions import AgentError, InvalidInputError, RunNotFoundError
from maverick.fleet.store import FleetState
from maverick.fleet.watching import RunSnapshot
from maverick.journal.playback import bare_loop, follow
from maverick.journal.store import ENDED
from maverick.loop import AgentDefinition, AgentResult, AgentUsage, TerminateReason
from maverick.loop.entries import Entry, OutputChecked, RunStarted
from maverick.loop.machine import AgentLoop
from maverick.loop.steps import Finish


def is_over(run_id: str, snapshot: RunSnapshot) -> bool:
    """Whether a run has ended, or will never begin.

    Raises:
        RunNotFoundError: There is no such run.
        InvalidInputError: It could not be driven.
    """
    if snapshot.state is None and run_id not in snapshot.runs:
        raise RunNotFoundError(run_id=run_id)
    if run_id in snapshot.runs and snapshot.runs[run_id][1] in ENDED:
        return True
    if snapshot.error and snapshot.abort is None:
        raise InvalidInputError(snapshot.error, field="run_id")
    return snapshot.state == FleetState.ENDED and snapshot.abort is not None


def result_of(
    entries: Sequence[Entry], snapshot: RunSnapshot, definition: AgentDefinition[Any] | None = None
) -> AgentResult[Any]:
    """The result of a run that is over.

    Args:
        entries: Its entries; none if it never began.
        snapshot: Its state.
        definition: Its agent. Without it, an answer of a declared type is what its JSON says, unchecked.

    Raises:
        InvalidInputError: The entries do not follow from each other with this agent, or without one.
    """
    loop = bare_loop() if definition is None else AgentLoop(definition, {})
    for entry in entries:
        follow(loop, entry)
    if not isinstance(loop.step, Finish):
        return aborted(loop if entries else None, snapshot)
    result = loop.step.result
    if definition is None and result.success and _is_typed(entries):
        try:
            return replace(result, output=json.loads(_changed_output(entries) or result.raw_content))
        except ValueError:  # in a code fence, or between sentences: it takes the agent to read it
            return replace(result, validated=False)
    return result


def aborted(loop: AgentLoop[Any] | None, snapshot: RunSnapshot) -> AgentResult[Any]:
    """The result of a run that was aborted when no worker could drive it."""
    error = AgentError(snapshot.error or "The run was aborted before a worker could drive it.")
    if loop is not None:
        return loop.outcome(TerminateReason.ABORTED, error)
    return AgentResult(
        success=False,
        output=None,
        errors=[error],
        usage=AgentUsage(0, 0, None, 0),
        terminate_reason=TerminateReason.ABORTED,
        validated=False,
    )


def _changed_output(entries: Sequence[Entry]) -> str:
    """The output as JSON, if a validator has changed it."""
    last = entries[-1]
    return last.output if isinstance(last, OutputChecked) else ""


def _is_typed(entries: Sequence[Entry]) -> bool:
    start = entries[0]
    return isinstance(start, RunStarted) and start.settings is not None and bool(start.settings.output)
