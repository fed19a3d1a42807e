"""Moves runs into a fleet and out of it, while they are in progress or wait: same id, same entries."""

from __future__ import annotations

import asyncio
import builtins

from temporalio.client import WorkflowFailureError
from temporalio.service import RPCError, RPCStatusCode

from maverick.exceptions import NetworkError
from maverick.fleet.client import Fleet, FleetRun
from maverick.journal import Journal
from maverick.journal.transfer import move_run

_PATIENCE = 10.0
"""Seconds that a worker has to hand a run over before it is taken away from it."""


def place_of(fleet: Fleet) -> str:
    """What a fleet is called where a run is looked for that was moved to it."""
    return f"temporal://{fleet.temporal.service_client.config.target_host}/{fleet.temporal.namespace}"


async def move_in(fleet: Fleet, run_id: str, source: Journal | None = None) -> FleetRun:
    """Have a fleet continue a run. Whoever drives it elsewhere can no longer write to it.

    Args:
        fleet: The fleet.
        run_id: The run.
        source: The journal that has it, if that is not the fleet's.

    Raises:
        RunNotFoundError: There is no such run.
        RunMovedError: It was moved to another place before.
        RunExistsError: The fleet has another run of this id.
        InvalidInputError: It is a subagent's run, or a prompt of an agent that is a class.
    """
    if source is not None:
        await move_run(source, run_id, fleet.journal, place_of(fleet))
    record = await fleet.journal.get(run_id)
    return await fleet.start(record.agent, user_id=record.user_id, run_id=run_id)


async def move_out(fleet: Fleet, run_id: str, target: Journal | None = None, place: str = "") -> None:
    """Take a run out of a fleet; it can then be resumed by whoever has the journal.

    Its worker hands it over first. If that takes too long, the run is taken away from it.

    Args:
        fleet: The fleet.
        run_id: The run.
        target: The journal to move it to, if that is not the fleet's.
        place: What that one is called, without passwords.

    Raises:
        RunNotFoundError: The journal of the fleet has no such run.
        RunMovedError: It was moved to another place before.
        RunExistsError: The target has another run of this id.
        NetworkError: Temporal cannot be reached.
    """
    record = await fleet.journal.get(run_id)
    left = await fleet.store.remove(run_id)  # first, so that no worker takes it any more
    await fleet.store.notify({"move": run_id})
    try:
        await _end_workflow(fleet, run_id)
        if left:
            await fleet.offer(await fleet.store.admit(record.user_id))
    except RPCError as error:
        raise NetworkError(
            f"Temporal could not be told that the run {run_id!r} leaves. Try again.", cause=error
        ) from error
    if target is None:
        await fleet.journal.claim(run_id)
    else:
        await move_run(fleet.journal, run_id, target, place)


async def _end_workflow(fleet: Fleet, run_id: str) -> None:
    """Let the workflow of a run that has left find that out, or end it."""
    workflow = fleet.temporal.get_workflow_handle(run_id)
    try:
        await fleet.wake(run_id)
        async with asyncio.timeout(_PATIENCE):
            await workflow.result()
    except builtins.TimeoutError:
        await fleet.close(run_id)
    except WorkflowFailureError:  # it was ended by others
        return
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
