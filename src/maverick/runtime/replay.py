"""What can be done with the recorded entries of a run: load, check, replay, fork."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from maverick.exceptions import InvalidInputError, InvalidToolError, JournalDamagedError, RunChangedError
from maverick.journal import Journal
from maverick.journal.codec import decode_entry
from maverick.journal.damage import damaged_run
from maverick.journal.records import DAMAGED, Lease, RunRecord, RunStatus, check_here
from maverick.journal.words import words_for
from maverick.loop.definition import AgentDefinition, AgentTool
from maverick.loop.entries import Edited, Entry, ModelCalled, RequestReviewed, RunStarted, Said
from maverick.loop.event_mapper import EventMapper
from maverick.loop.events import AgentActivityEvent
from maverick.loop.fingerprint import Fingerprint
from maverick.loop.machine import AgentLoop
from maverick.misuse import refuse
from maverick.model import Message, ModelInfo, Part, Tool
from maverick.tools import ToolRegistry

R = TypeVar("R")


class Fork(Struct, frozen=True):
    """A run to fork, for :meth:`AgentExecutor.stream`; the fields are the arguments of :meth:`AgentExecutor.fork`."""

    run_id: str
    """The run to fork; it stays as it is."""
    turn: int
    """The turn to begin with."""
    edit: str | Iterable[str | Part] | None = None
    """A message to put before that turn."""
    new_run_id: str | None = None
    """The new run's id, if it is to have a certain one."""


async def load(journal: Journal, run_id: str, *, with_blobs: bool = True) -> list[Entry]:
    """All entries of a run, with the images and documents in them unless no model is to see those.

    A run that is not there is a ``RunNotFoundError``, one that is not all there a ``JournalDamagedError``.
    """
    entries = [stored.entry async for stored in journal.read(run_id)]
    if with_blobs:
        await journal.load_blobs(entries, run_id)
    return entries


async def load_beginning(journal: Journal, run_id: str) -> RunStarted:
    """The entry a run begins with, without the others; raises RunNotFoundError if there is no such run."""
    if not (page := await journal.read_page(run_id, 0, 1)):
        await journal.get(run_id)
    try:
        return beginning(run_id, [decode_entry(payload, version) for _, version, payload in page])
    except JournalDamagedError as error:
        raise damaged_run(run_id, 0, "entry 1 cannot be read", error) from error


def beginning(run_id: str, entries: Sequence[Entry]) -> RunStarted:
    """The entry a run begins with, or a JournalDamagedError if it does not begin with one."""
    if not entries or not isinstance(entries[0], RunStarted) or entries[0].run_id != run_id:
        raise damaged_run(run_id, 0, "it does not begin with its start")
    return entries[0]


def follow(run_id: str, entries: Sequence[Entry], feed: Callable[[Entry], R]) -> Iterator[R]:
    """Feed the recorded entries of a run, one after the other; yields what comes of each.

    An entry that cannot follow with the agent as it is now is an ``InvalidInputError``, one that never could a
    ``JournalDamagedError``.
    """
    for number, entry in enumerate(entries, start=1):
        try:
            fed = feed(entry)
        except InvalidInputError:  # it may follow with the agent as it was
            raise
        except Exception as error:  # entries that no loop has written may do anything
            why = f"entry {number} does not follow from those before it ({error})"
            raise damaged_run(run_id, number - 1, why, error) from error
        yield fed


async def check_complete(journal: Journal, run_id: str, caller: Lease | None) -> RunRecord:
    """Make sure that a run is here, and that nothing is missing of it; returns its record.

    ``caller`` is the lease on the run that called it as a subagent, if that one continues it.

    Raises:
        RunMovedError: It was moved to another journal.
        JournalDamagedError: Its last entries are lost: what they did would be done again.
    """
    record = await journal.get(run_id)
    check_here(record)
    if caller is None and record.parent is not None:
        check_here(await journal.get(run_id.partition("/")[0]))
    if record.reason == DAMAGED:
        raise JournalDamagedError(
            f"The run {record.run_id!r} was saved from a damaged journal with its first {record.entries} entries; what "
            "happened after them is lost, and could happen twice. Look at it, then fork it to continue in a new run.",
            run_id=record.run_id,
            readable=record.entries,
        )
    return record


def has_answer(record: RunRecord, start: RunStarted, now: Fingerprint) -> bool:
    """Whether a run only gives its answer again, which no change of its prompt, model, tools or hooks concerns."""
    begun = start.fingerprint
    same = begun is not None and (begun.agent, begun.output) == (now.agent, now.output)
    return same and record.status is RunStatus.COMPLETE


def check_unchanged(start: RunStarted, now: Fingerprint | None, *, accept_changes: bool) -> None:
    """Make sure that the agent is the one the run was made with (promise P10), unless a change was accepted."""
    if accept_changes or start.fingerprint is None or now is None:
        return
    if changes := start.fingerprint.changes(now):
        raise RunChangedError(
            f"The run {start.run_id!r} was made with another version of its agent: {'; '.join(changes)}. "
            "Undo that, or resume with accept_changes=True (--accept-changes).",
            changes=changes,
        )


def check_inputs(start: RunStarted, now: Fingerprint, rendered: tuple[str, Sequence[Message]]) -> None:
    """Make sure that a run was begun with the inputs it is to continue with, of which its agent makes what is ``rendered``.

    If its prompt has changed, the resumption says so instead.
    """
    if start.fingerprint is not None and start.fingerprint.prompt != now.prompt:
        return
    system, first = rendered
    begun_with = [message.content for message in start.messages[start.earlier :]]
    if not start.system.startswith(system.strip()) or begun_with != [message.content for message in first]:
        refuse(
            "inputs",
            f"the run {start.run_id!r} was begun with others. Leave them out to continue it, or give another "
            "run_id to begin a new run.",
        )


async def replayed(
    journal: Journal, run_id: str, definition: AgentDefinition[Any], registry: ToolRegistry, max_depth: int
) -> Iterator[AgentActivityEvent]:
    """The events of a run and of its subagents' runs, in the order they happened in."""
    replays: list[Iterator[AgentActivityEvent]] = []

    async def add(run_id: str, definition: AgentDefinition[Any]) -> None:
        tools = _tools_here(definition, registry)
        loop: AgentLoop[Any] = AgentLoop(definition, tools, max_depth=max_depth)
        replays.append(_replay(run_id, await load(journal, run_id, with_blobs=False), loop))
        agents = {t.definition.name: t.definition for t in tools.values() if isinstance(t, AgentTool)}
        for child in await journal.list_runs(parent=run_id, limit=1_000_000):
            if (agent := agents.get(child.agent.rpartition("/")[2])) is not None:
                await add(child.run_id, agent)

    await add(run_id, definition)
    return heapq.merge(*replays, key=attrgetter("at"))


def _replay(run_id: str, entries: Sequence[Entry], loop: AgentLoop[Any]) -> Iterator[AgentActivityEvent]:
    """The events of one run, made from its entries."""
    start = beginning(run_id, entries)
    mapper = EventMapper(loop, start.run_id, start.trace_id, start.agent)
    following = iter(entries[1:])

    def feed(entry: Entry) -> list[AgentActivityEvent]:
        loop.feed(entry)
        return list(mapper.events_of(entry, goes_on=isinstance(next(following, None), Said)))

    for events in follow(run_id, entries, feed):
        yield from events


def _tools_here(definition: AgentDefinition[Any], registry: ToolRegistry) -> dict[str, Tool]:
    """The tools of an agent that are available now; a replay does without others, such as those of MCP servers."""
    tools: list[Tool] = []
    for named in definition.tool_config.tools:
        with suppress(InvalidToolError):  # one that is only named, and is not here
            tools += registry.find(named) if isinstance(named, str) else (named,)
    return {tool.name: tool for tool in tools}


def forked(
    old_run_id: str,
    entries: Sequence[Entry],
    turn: int,
    edit: str | Iterable[str | Part] | None,
    *,
    run_id: str,
    trace_id: str,
    fingerprint: Fingerprint | None,
    info: ModelInfo,
) -> list[Entry]:
    """The entries of a new run that has everything of this one from before a turn.

    Raises:
        InvalidInputError: The run has no such turn.
        RunChangedError: It was made with hooks that are not there; its agent and its tools may be others.
    """
    start = beginning(old_run_id, entries)
    hooks = (
        () if start.fingerprint is None or fingerprint is None else start.fingerprint.lost_hooks(fingerprint)
    )
    if hooks:
        raise RunChangedError(
            f"The run {start.run_id!r} cannot be forked without its hooks: {'; '.join(hooks)}. Give them to the executor.",
            changes=hooks,
        )
    called = [(index, entry) for index, entry in enumerate(entries) if isinstance(entry, ModelCalled)]
    begun = [
        index for index, entry in called if (entry.turn, entry.attempt) == (turn, 1) and not entry.compaction
    ]
    if not begun:
        turns = max((entry.turn for _, entry in called), default=0)
        refuse("turn", f"the run {start.run_id!r} has turns 1 to {turns}, not {turn}.")
    new = replace(start, run_id=run_id, trace_id=trace_id, fingerprint=fingerprint, info=info)
    prefix: list[Entry] = [replace(new, parent=None, execution=None), *entries[1 : begun[0]]]
    if edit is None:
        return prefix
    while isinstance(prefix[-1], RequestReviewed):  # of a request that is not the one that is made
        prefix.pop()
    at = prefix[-1].at
    if isinstance(edit, str):
        return [*prefix, Edited(at=at, content=edit, keeps_media=True)]
    words = words_for(edit, "", at)
    return [*prefix, Edited(at=at, content=words.content, parts=words.parts)]
