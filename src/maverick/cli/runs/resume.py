"""``maverick runs resume``, ``replay`` and ``fork``: a run that continues, or is shown again, in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import structs

from maverick.agents.conversations import FolderConversations, agent_of_run, new_conversation
from maverick.agents.discovery import DiscoveredAgent
from maverick.agents.named_tools import coding_registry, names_tools
from maverick.cli.agent_lookup import find_agent, look_up, runnable, split_source, who_answers
from maverick.cli.exit_codes import FAILURE, WAITING
from maverick.cli.run.inputs import with_files
from maverick.cli.run_options import RunOptions
from maverick.cli.run_printer import RunPrinter
from maverick.cli.runs.console import Console
from maverick.cli.runs.in_fleet import fork_in_fleet, is_driven_in_fleet, resume_in_fleet, state_in_fleet
from maverick.cli.settings import load_settings
from maverick.cli.terminal_run import drive_run
from maverick.config import AgentConfig, MaverickConfig
from maverick.exceptions import ConfigError, InvalidInputError
from maverick.journal import Journal, RunRecord, RunStatus
from maverick.journal.records import check_here
from maverick.loop import AgentDefinition, AgentResult
from maverick.loop.events import AgentActivityEvent, RunEnd
from maverick.providers.resolve import OFFLINE
from maverick.runtime import AgentExecutor
from maverick.runtime.arguments import checked_run_id
from maverick.runtime.event_log import Listener
from maverick.runtime.replay import load_beginning

Running: TypeAlias = Coroutine[Any, Any, AgentResult[Any]]
"""A run in progress."""


async def resume_run(
    console: Console, *, run_id: str, agents: str | None, accept_changes: bool, **different: Any
) -> int:
    """Resume a run."""
    record = await console.journal.get(run_id)
    if record.parent is not None:
        raise InvalidInputError(
            f"The run {run_id!r} belongs to a subagent. Resume the run that called it: "
            f"{console.command('resume', record.parent, *RunOptions().words(agents))}",
            field="run_id",
        )
    check_here(record)
    changes = RunOptions.from_options(different)
    if await state_in_fleet(console.journal, run_id) is not None:
        return await resume_in_fleet(console, run_id, accept_changes=accept_changes, changes=changes)
    return await continue_run(console, run_id, agents, changes, accept_changes=accept_changes)


async def continue_run(
    console: Console, run_id: str, agents: str | None, changes: RunOptions, *, accept_changes: bool = False
) -> int:
    """Continue a run of this journal, in the terminal; returns the exit code."""

    def resume(executor: AgentExecutor, definition: AgentDefinition[Any], **running: Any) -> Running:
        return executor.resume(run_id, definition, accept_changes=accept_changes, **running)

    return await _drive(console, run_id, agents, changes, resume, is_same_run=True)


async def fork_run(
    console: Console,
    *,
    run_id: str,
    agents: str | None,
    turn: int,
    edit: str | None,
    attach: Sequence[str],
    new_id: str | None,
    **different: Any,
) -> int:
    """Run again from a turn on: in the fleet if it has the run, unless the agent is named or changed here."""
    if attach and edit is None:
        raise InvalidInputError('--attach: files go with a message. Add: --edit "…"', field="edit")
    message, changes = edit if edit is None else with_files(edit, attach), RunOptions.from_options(different)
    if not agents and not changes.words() and await is_driven_in_fleet(console.journal, run_id):
        return await fork_in_fleet(console, run_id, turn, message, new_id)

    new_id = checked_run_id(new_id)
    source = _named_like(await console.journal.get(run_id), agents)

    def fork(
        executor: AgentExecutor, definition: AgentDefinition[Any], on_activity: Listener, **running: Any
    ) -> Running:
        is_known = False

        def listen(event: AgentActivityEvent[Any]) -> None:
            nonlocal is_known
            if not is_known:
                is_known = True
                begun = structs.replace(new_conversation(source), id=event.trace_id, runs=(new_id,))
                FolderConversations().remember(begun)
            on_activity(event)

        return executor.fork(
            run_id, definition, turn=turn, edit=message, new_run_id=new_id, on_activity=listen, **running
        )

    return await _drive(console, run_id, agents, changes, fork)


def _named_like(record: RunRecord, agents: str | None) -> str:
    """The agent of a run as a user would name it: by its file, if it has one."""
    name, file = record.agent.rpartition("/")[2], agents or file_of_run(record.run_id) or ""
    if file.endswith(".md"):
        return file
    return f"{file}:{name}" if file.endswith(".py") else name


async def _drive(
    console: Console,
    run_id: str,
    agents: str | None,
    changes: RunOptions,
    start: Callable[..., Running],
    *,
    is_same_run: bool = False,
) -> int:
    """Continue from what a run has done, in the same run or in a new one."""
    config = load_settings(asks=True, as_json=console.as_json, for_agents=True)
    record = await console.journal.get(run_id)
    found, agent = agent_of(record, agents, config)
    model = await model_of_run(console.journal, run_id, found, agent, changes, config)
    definition = changes.applied_to(agent, model)
    printer = RunPrinter(
        console,
        changes,
        # Whether a new run is known by its file shows only when it has begun.
        agents if is_same_run else agents or file_of_run(run_id),
        definition.run_config,
        run_id if is_same_run else "",
        streams=definition.output_config is None,
        plain=model == OFFLINE,
    )
    return await drive_run(
        printer,
        structs.replace(found, agent=definition),
        config,
        lambda executor, stop, listen: start(executor, definition, signal=stop, on_activity=listen),
        record.user_id,
    )


async def replay_run(console: Console, *, run_id: str, agents: str | None) -> int:
    """Tell a run again, from the journal alone; returns the exit code the run itself would have had."""
    record = await console.journal.get(run_id)
    _, definition = agent_of(
        record, agents, load_settings(asks=True, as_json=console.as_json, for_agents=True)
    )
    printer = RunPrinter(console, RunOptions(), agents, definition.run_config, run_id)
    result = None
    async with replaying_executor(definition, console.journal) as executor:
        async for event in executor.replay(run_id, definition):
            printer.show(event)
            # A run that was stopped may have gone on.
            result = event.result if isinstance(event, RunEnd) else None
    if result is not None:
        return await printer.conclude(result)
    await printer.leave("not ended")
    return WAITING if record.status is RunStatus.WAITING else FAILURE


def replaying_executor(
    definition: AgentDefinition[Any], journal: Journal, settings: AgentConfig | None = None
) -> AgentExecutor:
    """What plays runs back: without MCP servers, since what their tools did is in the journal."""
    tools = coding_registry(Path.cwd()) if names_tools(definition) else None
    return AgentExecutor(None, tools, journal=journal, settings=settings)


async def model_of_run(
    journal: Journal,
    run_id: str,
    found: DiscoveredAgent,
    agent: AgentDefinition[Any],
    changes: RunOptions,
    config: MaverickConfig,
) -> str | None:
    """The model that continues a run: an agent that names none keeps the one it began with, if that was recorded."""
    fingerprint = (await load_beginning(journal, run_id)).fingerprint
    begun_with = None if fingerprint is None else fingerprint.model or None
    kept = begun_with if agent.model_config.model is None else None
    try:
        answering = who_answers(found, agent, changes.model or kept, config.agent)
        if answering is None or (fingerprint is not None and not fingerprint.model and changes.model is None):
            return None  # as it was begun: the executor finds the model
        return answering.model
    except ConfigError:
        if changes.model is None and begun_with == OFFLINE:  # as who had no key could begin one
            return OFFLINE
        raise


def file_of_run(run_id: str) -> str | None:
    """The file of a run's agent, if it was started with one on this computer."""
    named = agent_of_run(run_id.partition("/")[0])
    return None if named is None else split_source(named)[0]


def agent_of(
    record: RunRecord, agents: str | None, config: MaverickConfig
) -> tuple[DiscoveredAgent, AgentDefinition[Any]]:
    """A run's agent, and its definition: from the file that is named, or it was started with, or by its name."""
    name = record.agent.rpartition("/")[2]
    agents = agents or file_of_run(record.run_id)
    if agents is not None and not agents.endswith(".md"):
        found = find_agent(agents, name)
    else:
        found = look_up(agents or name, config)
    return found, runnable(found, config)
