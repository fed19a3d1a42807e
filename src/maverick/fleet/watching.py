"""What a process hears of the runs it watches: their state and result, news in their journal, words of answers in progress."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from maverick.exceptions import AgentError, InvalidInputError, JournalError, RunNotFoundError
from maverick.fleet.live import RENEWS, WATCH_CHANNEL, LiveText
from maverick.fleet.store import FleetState, FleetStore
from maverick.journal import RunStatus
from maverick.journal.playback import bare_loop, follow
from maverick.journal.records import ENDED, check_here
from maverick.loop import AgentDefinition, AgentResult, AgentUsage, TerminateReason
from maverick.loop.entries import Entry, OutputChecked, RunStarted
from maverick.loop.machine import AgentLoop
from maverick.loop.steps import Finish
from maverick.runtime.event_log import log_failure

_LOOKS = 1.0
"""Seconds between two looks at all runs that a process watches, should it have missed something."""
_MOST_HEARD = 1000
"""How many notifications wait for a watcher that is slow; it then asks for what it has missed."""
_MOST_NAMED = 6000
"""Bytes of run ids in one notification."""

_words = msgspec.json.Decoder(LiveText)


class RunSnapshot(NamedTuple):
    """The state of a run and of its subagents' runs."""

    run_id: str
    state: str | None
    """Its state in the fleet; ``None`` if the fleet does not have it."""
    agent: str
    error: str
    abort: str | None
    runs: dict[str, tuple[int, RunStatus]]
    """How many entries each has, and its status."""

    @property
    def is_over(self) -> bool:
        """Whether the run has ended, or will never begin; an error if it does not exist, or could not be driven."""
        if self.state is None and self.run_id not in self.runs:
            raise RunNotFoundError(run_id=self.run_id)
        if self.run_id in self.runs and self.runs[self.run_id][1] in ENDED:
            return True
        if self.error and self.abort is None:
            raise InvalidInputError(self.error, field="run_id")
        return self.state == FleetState.ENDED and self.abort is not None

    def aborted(self, loop: AgentLoop[Any] | None) -> AgentResult[Any]:
        """The result of a run that was aborted when no worker could drive it; it has no ``loop`` if it never began."""
        error = AgentError(self.error or "The run was aborted before a worker could drive it.")
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


def result_of(
    entries: Sequence[Entry], snapshot: RunSnapshot, definition: AgentDefinition[Any] | None = None
) -> AgentResult[Any]:
    """The result of a run that is over.

    It has no entries if it never began. Without its agent's ``definition``, an answer of a
    declared type is what its JSON says, unchecked. Raises InvalidInputError if the entries do not follow from each
    other with this agent, or without one.
    """
    loop = bare_loop() if definition is None else AgentLoop(definition, {})
    for entry in entries:
        follow(loop, entry)
    if not isinstance(loop.step, Finish):
        return snapshot.aborted(loop if entries else None)
    result = loop.step.result
    if definition is None and result.success and _is_typed(entries):
        try:
            return replace(result, output=json.loads(_changed_output(entries) or result.raw_content))
        except ValueError:  # in a code fence, or between sentences: it takes the agent to read it
            return replace(result, validated=False)
    return result


def _changed_output(entries: Sequence[Entry]) -> str:
    """The output as JSON, if a validator has changed it."""
    last = entries[-1]
    return last.output if isinstance(last, OutputChecked) else ""


def _is_typed(entries: Sequence[Entry]) -> bool:
    start = entries[0]
    return isinstance(start, RunStarted) and start.settings is not None and bool(start.settings.output)


class Subscription:
    """What was received for a watcher of one run and not read yet."""

    def __init__(self, *, wants_words: bool) -> None:
        self.wants_words = wants_words
        self.words: deque[LiveText] = deque(maxlen=_MOST_HEARD)
        self.has_news = False
        """Whether the journal may have news."""
        self.changed = asyncio.Event()

    def notify(self) -> None:
        """Note that the journal may have news."""
        self.has_news = True
        self.changed.set()


class Feed:
    """What one process hears of the runs it watches, over one connection however many they are."""

    def __init__(self, store: FleetStore) -> None:
        self._store = store
        self._channel = f"{WATCH_CHANNEL}{os.urandom(8).hex()}"
        self._watched: dict[str, list[Subscription]] = {}
        self._snapshots: dict[str, RunSnapshot] = {}
        self._asked: dict[str, float] = {}
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def watch(self, run_id: str, *, words: bool) -> AsyncIterator[Subscription]:
        """Hear of a run, and with ``words`` what it says."""
        subscription = Subscription(wants_words=words)
        watched = self._watched.setdefault(run_id, [])
        watched.append(subscription)
        try:
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._listen())
            else:
                with suppress(JournalError):  # the task announces it, once the database can be reached
                    await self._announce([run_id], anew=True)
            yield subscription
        finally:
            watched.remove(subscription)
            if not watched:
                self._watched.pop(run_id, None)
                self._asked.pop(run_id, None)
            if not self._watched:
                await self.aclose()

    async def ask_again(self, run_id: str) -> None:
        """Ask for the words of a run from the beginning, once a second at most."""
        now = time.monotonic()
        if now - self._asked.get(run_id, 0.0) > 1.0:
            self._asked[run_id] = now
            with suppress(JournalError):  # what was missed comes with the journal
                await self._announce([run_id], anew=True)

    async def snapshot(self, run_id: str) -> RunSnapshot:
        """The state of a run now; raises RunMovedError if it was moved out of the fleet."""
        snapshot = (await self._read_snapshots([run_id]))[run_id]
        if run_id in snapshot.runs and snapshot.runs[run_id][1] is RunStatus.STOPPED:
            check_here(await self._store.journal.get(run_id))
        return snapshot

    async def _read_snapshots(self, run_ids: Sequence[str]) -> dict[str, RunSnapshot]:
        # Subagents' runs are those whose id begins with the run's and a slash, which comes just before the digit zero.
        rows = await self._store.journal.database.fetch(
            "SELECT watched.run_id AS root, f.state, f.agent, f.error, f.abort, r.run_id, r.entries, r.status "
            "FROM unnest($1::text[]) AS watched (run_id) "
            "LEFT JOIN maverick.fleet_runs f ON f.run_id = watched.run_id "
            "LEFT JOIN maverick.runs r ON r.run_id >= watched.run_id AND r.run_id < watched.run_id || '0' "
            "AND (r.run_id = watched.run_id OR starts_with(r.run_id, watched.run_id || '/')) ORDER BY r.run_id",
            list(run_ids),
        )
        snapshots: dict[str, RunSnapshot] = {}
        for row in rows:
            snapshot = snapshots.setdefault(
                row["root"],
                RunSnapshot(
                    row["root"], row["state"], row["agent"] or "", row["error"] or "", row["abort"], {}
                ),
            )
            if row["run_id"] is not None:
                snapshot.runs[row["run_id"]] = row["entries"], RunStatus(row["status"])
        return snapshots

    async def aclose(self) -> None:
        """Stop listening."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _listen(self) -> None:
        while True:
            lost, stop = asyncio.Event(), None
            try:
                stop = await self._store.journal.database.listen(self._channel, partial(self._hear, lost))
                await self._announce(self._watched, anew=True)
                renews_at = time.monotonic() + RENEWS
                while not lost.is_set():
                    with suppress(TimeoutError):
                        await asyncio.wait_for(lost.wait(), _LOOKS)
                    await self._look_for_news()
                    if time.monotonic() > renews_at:
                        await self._announce(self._watched, anew=False)
                        renews_at = time.monotonic() + RENEWS
            except JournalError as error:  # it may come back
                log_failure(logging.WARNING, "watching_interrupted", error, {"runs": len(self._watched)})
                for subscription in chain.from_iterable(self._watched.values()):
                    subscription.notify()
            finally:
                if stop is not None:
                    await stop()
            await asyncio.sleep(_LOOKS)

    async def _look_for_news(self) -> None:
        snapshots = await self._read_snapshots(list(self._watched))
        for run_id, snapshot in snapshots.items():
            if snapshot != self._snapshots.get(run_id):
                for subscription in self._watched.get(run_id, ()):
                    subscription.notify()
        self._snapshots = snapshots

    async def _announce(self, run_ids: Iterable[str], *, anew: bool) -> None:
        """Tell the workers what is watched here."""
        for words in (False, True):
            named = [
                run_id
                for run_id in run_ids
                if _size(run_id) < _MOST_NAMED  # else there is no such run
                if any(subscription.wants_words for subscription in self._watched.get(run_id, ())) is words
            ]
            while named:
                part, size = [], 0
                while named and (size := size + _size(named[-1])) < _MOST_NAMED:
                    part.append(named.pop())
                await self._store.notify({"watch": part, "by": self._channel, "words": words, "anew": anew})

    def _hear(self, lost: asyncio.Event, text: str) -> None:
        if not text:
            lost.set()
            return
        try:
            words = _words.decode(text)
        except msgspec.MsgspecError:
            return  # it is not from a worker of ours
        for subscription in self._watched.get(words.run_id.partition("/")[0], ()):
            if not words.text:
                subscription.notify()
            elif subscription.wants_words:
                subscription.words.append(words)
                subscription.changed.set()


def _size(run_id: str) -> int:
    """The bytes that an id takes in a notification, with its comma."""
    return len(msgspec.json.encode(run_id)) + 1
