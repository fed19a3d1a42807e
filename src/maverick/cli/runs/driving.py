"""``maverick runs resume``, ``replay`` and ``fork``: a run that goes on, or is told again, in the terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeAlias

from maverick.cli.ctrl_c import on_ctrl_c
from maverick.cli.exit_codes import FAILURE, WAITING
from maverick.cli.runs.agents_file import find_agent
from maverick.cli.runs.console import Console
from maverick.cli.runs.spectator import Spectator
from maverick.exceptions import InvalidInputError
from maverick.journal import RunRecord, RunStatus
from maverick.loop import AgentDefinition, AgentResult
from maverick.loop.events import RunEnd
from maverick.runtime import AbortSignal, AgentExecutor
from maverick.runtime.event_feed import EventFeed
from maverick.runtime.run import Listener

_Start: TypeAlias = Callable[[AgentExecutor, AbortSignal, Listener], Coroutine[Any, Any, AgentResult[Any]]]


async def resume_run(console: Console, *, run_id: str, agents: str, accept_changes: bool) -> int:
    """Go on with a run.

    Args:
        console: Where.
        run_id: The run.
        agents: The file or module with its agent.
        accept_changes: Whether to go on although the agent is not what it was.

    Raises:
        RunNotFoundError: There is no such run.
        RunChangedError: The agent has changed, and nobody accepted that.
        InvalidInputError: The run is a subagent's, or its agent can not be loaded.
    """
    record = await console.journal.get(run_id)
    if record.parent is not None:
        raise InvalidInputError(
            f"The run {run_id!r} is a subagent's. It goes on with the run that called it: "
            f"{console.command('resume', record.parent, '--agents', agents)}",
            field="run_id",
        )
    definition = _agent_of(record, agents)
    return await _drive(
        Spectator(console, agents, run_id),
        lambda executor, stop, listen: executor.resume(
            run_id, definition, signal=stop, on_activity=listen, accept_changes=accept_changes
        ),
    )


async def fork_run(
    console: Console,
    *,
    run_id: str,
    agents: str,
    turn: int,
    edit: str | None,
    model: str | None,
    new_id: str | None,
) -> int:
    """Run again from a turn on.

    Args:
        console: Where.
        run_id: The run to fork.
        agents: The file or module with its agent.
        turn: The turn to begin with.
        edit: Words to put before it.
        model: The model from here on, if it is to be another.
        new_id: The id of the new run, if it is to have a certain one.

    Raises:
        RunNotFoundError: There is no such run.
        InvalidInputError: It has no such turn, or its agent can not be loaded.
    """
    definition = _agent_of(await console.journal.get(run_id), agents)
    if model is not None:
        definition = replace(definition, model_config=replace(definition.model_config, model=model))
    return await _drive(
        Spectator(console, agents),
        lambda executor, stop, listen: executor.fork(
            run_id, definition, turn=turn, edit=edit, new_run_id=new_id, signal=stop, on_activity=listen
        ),
    )


async def replay_run(console: Console, *, run_id: str, agents: str) -> int:
    """Tell a run again, from the journal alone.

    Args:
        console: Where.
        run_id: The run.
        agents: The file or module with its agent.

    Returns:
        The exit code the run itself would have had.

    Raises:
        RunNotFoundError: There is no such run.
        InvalidInputError: Its agent can not be loaded.
    """
    record = await console.journal.get(run_id)
    spectator = Spectator(console, agents, run_id)
    result = None
    async for event in AgentExecutor(journal=console.journal).replay(run_id, _agent_of(record, agents)):
        spectator.show(event)
        result = (
            event.result if isinstance(event, RunEnd) else None
        )  # a run that was stopped may have gone on
    if result is not None:
        return await spectator.conclude(result)
    await spectator.leave("it has not ended")
    return WAITING if record.status is RunStatus.WAITING else FAILURE


async def _drive(spectator: Spectator, start: _Start) -> int:
    """Watch a run to its end; Ctrl-C stops it, and pressed twice kills the process."""
    from maverick.cli.connecting import ConfiguredModels  # here, since reading the settings is slow
    from maverick.config import load_config

    stop = AbortSignal()
    async with ConfiguredModels(load_config().agent) as models:
        executor = AgentExecutor(models, journal=spectator.console.journal)
        with on_ctrl_c(stop.abort, twice_kills=True):
            result = await _watched(spectator, lambda listen: start(executor, stop, listen))
    return await spectator.conclude(result)


async def _watched(
    spectator: Spectator, start: Callable[[Listener], Coroutine[Any, Any, AgentResult[Any]]]
) -> AgentResult[Any]:
    """Show a run's events outside of it: what fails here, as when nobody reads the output, stops the run."""
    feed = EventFeed()
    running = asyncio.ensure_future(start(feed.put))
    running.add_done_callback(lambda _: feed.close())
    try:
        async for event in feed.read():
            spectator.show(event)
        return await running
    finally:
        running.cancel()
        await asyncio.wait([running])


def _agent_of(record: RunRecord, agents: str) -> AgentDefinition[Any]:
    return find_agent(agents, record.agent.rpartition("/")[2])
