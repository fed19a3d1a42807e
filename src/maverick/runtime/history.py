"""What can be done with the entries of a run that happened: load, check, retell, fork."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from maverick.exceptions import InvalidInputError, InvalidToolError, JournalError, RunChangedError
from maverick.journal import Journal
from maverick.journal.codec import decode_entry
from maverick.loop.definition import AgentDefinition
from maverick.loop.entries import Edited, Entry, ModelCalled, RunStarted
from maverick.loop.events import AgentActivityEvent
from maverick.loop.fingerprint import Fingerprint
from maverick.loop.machine import AgentLoop
from maverick.loop.narrator import Narrator
from maverick.loop.subagent import AgentTool
from maverick.model import ModelInfo, Tool
from maverick.tools import ToolRegistry


async def load(journal: Journal, run_id: str) -> list[Entry]:
    """All entries of a run.

    Raises:
        RunNotFoundError: There is no such run.
    """
    return [stored.entry async for stored in journal.read(run_id)]


async def load_beginning(journal: Journal, run_id: str) -> RunStarted:
    """The entry a run begins with, without the others.

    Raises:
        RunNotFoundError: There is no such run.
    """
    if not (page := await journal.read_page(run_id, 0, 1)):
        await journal.get(run_id)
    return beginning([decode_entry(payload, version) for _, version, payload in page])


def beginning(entries: Sequence[Entry]) -> RunStarted:
    """The entry a run begins with.

    Raises:
        JournalError: It does not begin with one.
    """
    if not entries or not isinstance(entries[0], RunStarted):
        raise JournalError("The run does not begin with its start; the journal is damaged.")
    return entries[0]


def check_unchanged(start: RunStarted, now: Fingerprint | None, *, accept_changes: bool) -> None:
    """Make sure that the agent is the one the run was made with (promise P10).

    Raises:
        RunChangedError: It is not, and nobody accepted that.
    """
    if accept_changes or start.fingerprint is None or now is None:
        return
    if changes := start.fingerprint.changes(now):
        raise RunChangedError(
            f"The run {start.run_id!r} was made with another version of its agent: {'; '.join(changes)}. "
            "Undo that, or resume with accept_changes=True (--accept-changes).",
            changes=changes,
        )


def retell(
    entries: Sequence[Entry], definition: AgentDefinition[Any], tools: Mapping[str, Tool], max_depth: int
) -> Iterator[AgentActivityEvent]:
    """The events of a run, told from its entries."""
    start = beginning(entries)
    loop: AgentLoop[Any] = AgentLoop(definition, tools, max_depth=max_depth)
    narrator = Narrator(loop, start.run_id, start.trace_id, start.agent)
    for entry in entries:
        loop.feed(entry)
        yield from narrator.tell(entry)


async def retold(
    journal: Journal,
    run_id: str,
    definition: AgentDefinition[Any],
    registry: ToolRegistry,
    max_depth: int,
) -> Iterator[AgentActivityEvent]:
    """The events of a run and of its subagents' runs, in the order they happened in.

    Raises:
        RunNotFoundError: There is no such run.
    """
    return heapq.merge(
        *await _tellings(journal, run_id, definition, registry, max_depth), key=attrgetter("at")
    )


async def _tellings(
    journal: Journal,
    run_id: str,
    definition: AgentDefinition[Any],
    registry: ToolRegistry,
    max_depth: int,
) -> list[Iterator[AgentActivityEvent]]:
    """The events of a run, and those of each of its subagents' runs."""
    tools = _tools_here(definition, registry)
    tellings = [retell(await load(journal, run_id), definition, tools, max_depth)]
    agents = {tool.definition.name: tool.definition for tool in tools.values() if isinstance(tool, AgentTool)}
    for child in await journal.list_runs(parent=run_id, limit=1_000_000):
        if (agent := agents.get(child.agent.rpartition("/")[2])) is not None:
            tellings += await _tellings(journal, child.run_id, agent, registry, max_depth)
    return tellings


def _tools_here(definition: AgentDefinition[Any], registry: ToolRegistry) -> dict[str, Tool]:
    """The tools of an agent that are here now. A run is told without the others, such as those of MCP servers."""
    tools: dict[str, Tool] = {}
    for named in definition.tool_config.tools:
        with suppress(InvalidToolError):  # one that is only named, and is not here
            tools |= {
                tool.name: tool for tool in (registry.find(named) if isinstance(named, str) else (named,))
            }
    return tools


def forked(
    entries: Sequence[Entry],
    turn: int,
    edit: str | None,
    *,
    run_id: str,
    trace_id: str,
    fingerprint: Fingerprint | None,
    info: ModelInfo,
) -> list[Entry]:
    """The entries of a new run that has everything of this one from before a turn.

    Raises:
        InvalidInputError: The run has no such turn.
    """
    start = beginning(entries)
    begun = [
        index
        for index, entry in enumerate(entries)
        if isinstance(entry, ModelCalled)
        and entry.turn == turn
        and entry.attempt == 1
        and not entry.compaction
    ]
    if not begun:
        turns = max((entry.turn for entry in entries if isinstance(entry, ModelCalled)), default=0)
        raise InvalidInputError(
            f"turn: the run {start.run_id!r} has turns 1 to {turns}, not {turn}.", field="turn"
        )
    new_start = replace(
        start, run_id=run_id, trace_id=trace_id, fingerprint=fingerprint, info=info, parent=None
    )
    prefix: list[Entry] = [new_start, *entries[1 : begun[0]]]
    return prefix if edit is None else [*prefix, Edited(at=prefix[-1].at, content=edit)]
