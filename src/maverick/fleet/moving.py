"""Moves runs into a fleet and out of it, while they are in progress or wait: same id, same entries."""

from __future__ import annotations

import asyncio
import builtins
import contextlib

from temporalio.client import WorkflowFailureError

from maverick.exceptions import MaverickError, RunExistsError
from maverick.fleet.client import Fleet
from maverick.fleet.connection import reaching_temporal
from maverick.fleet.request import check_run_id
from maverick.fleet.run import FleetRun
from maverick.journal import Journal
from maverick.journal.records import Departure
from maverick.journal.transfer import move_run

_PATIENCE = 10.0
"""Seconds that a worker has to hand a run over before it is taken away from it."""


def place_of(fleet: Fleet) -> str:
    """What a fleet is called where a run is looked for that was moved to it."""
    return f"temporal://{fleet.temporal.service_client.config.target_host}/{fleet.temporal.namespace}"


async def move_in(fleet: Fleet, run_id: str, source: Journal | None = None) -> FleetRun:
    """Have a fleet continue a run. Whoever drives it elsewhere can no longer write to it.

    The ``source`` is the journal that has it, if that is not the fleet's.

    Raises:
        RunNotFoundError: There is no such run.
        RunMovedError: It was moved to another place before.
        RunExistsError: The fleet has another run of this id.
        InvalidInputError: It is a subagent's run, or a prompt of an agent that is a class.
    """
    check_run_id(run_id)
    taken = await fleet.store.get(run_id)
    if taken is not None and taken.user_id != (await (source or fleet.journal).get(run_id)).user_id:
        raise RunExistsError(run_id=run_id)
    if source is not None:
        await move_run(source, run_id, fleet.journal, place_of(fleet))
    record = await fleet.journal.get(run_id)
    if taken is not None:
        return fleet.run(run_id)
    await fleet.journal.claim(run_id)
    return await fleet.start(record.agent, user_id=record.user_id, run_id=run_id)


async def move_out(fleet: Fleet, run_id: str, target: Journal | None = None, place: str = "") -> None:
    """Take a run out of a fleet; it can then be resumed by whoever has the journal.

    Its worker hands it over first. If that takes too long, the run is taken away from it.

    The ``target`` is the journal to move it to, if that is not the fleet's, and ``place`` what it is called, without
    passwords.

    Raises:
        RunNotFoundError: The journal of the fleet has no such run.
        RunMovedError: It was moved to another place before.
        RunExistsError: The target has another run of this id.
        NetworkError: Temporal cannot be reached.
    """
    await fleet.journal.get(run_id)
    left = await fleet.store.remove(run_id)  # first, so that no worker takes it any more
    if left is not None and left.worker is not None:
        await _handed_over(fleet, run_id)
    await fleet.workflows.close(run_id)
    if left is not None:
        await fleet.workflows.offer(await fleet.store.admit(left.user_id))
    if target is None:
        await fleet.journal.claim(run_id)
        return
    try:
        await move_run(fleet.journal, run_id, target, place)
    except MaverickError:
        if left is not None and Departure.of(await fleet.journal.get(run_id)) is None:  # it stays
            await fleet.start(left.agent, user_id=left.user_id, run_id=run_id, priority=left.priority)
        raise


async def _handed_over(fleet: Fleet, run_id: str) -> None:
    """Wait for the worker of a run to leave it: its workflow then finds that the fleet does not have it, and ends."""
    await fleet.store.notify({"move": run_id})
    with (
        contextlib.suppress(builtins.TimeoutError, WorkflowFailureError),
        reaching_temporal(or_not_found=True),
    ):
        async with asyncio.timeout(_PATIENCE):
            await fleet.temporal.get_workflow_handle(run_id).result()
