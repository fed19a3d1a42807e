"""The events of a run that someone else drives: from its journal, and from the words of an answer while it is made.

They are those that the run's own listeners see, made by the same mapper from the same entries. An answer whose words were
shown while it was made is not told again: what is shown is counted, and only the rest comes from the journal.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from zlib import crc32

from msgspec.structs import replace

from maverick.exceptions import JournalError, RunNotFoundError
from maverick.fleet.live import LiveText
from maverick.fleet.watching import Feed
from maverick.journal import Journal, RunStatus
from maverick.journal.playback import bare_loop, follow
from maverick.journal.records import ENDED
from maverick.loop.entries import (
    Entry,
    Interrupted,
    ModelCalled,
    ModelReplied,
    Resumed,
    RunStarted,
    ToolFinished,
)
from maverick.loop.event_mapper import EventMapper
from maverick.loop.events import AgentActivityEvent, ContentChunk, RetryScheduled, RunEnd, Thinking
from maverick.loop.machine import AgentLoop
from maverick.loop.result import RESUMABLE
from maverick.loop.steps import CallModel, Finish
from maverick.misuse import refuse

_PATIENCE = 60.0
"""Seconds for which a watcher waits for a database that cannot be reached."""
_PLACE = re.compile(r"(?:([0-9/]{3,200}):)?(\d{1,9})-(\d{1,9})(?:-(\d{1,9})-(\d{1,9})-(\d{1,10}))?")
_MOST_PLACES = 1000


class _Shown(NamedTuple):
    """How much was shown of the answer in progress."""

    text: int = 0
    thinking: int = 0
    check: int = 0
    """A checksum of the text."""


class _Place(NamedTuple):
    """How far a run was told."""

    entries: int = 0
    """How many of its entries."""
    events: int = 0
    """How many events of the next."""
    shown: _Shown = _Shown()
    """How much of the answer that was being made after these entries."""


class RunEvents:
    """The events of a run and of its subagents' runs, to its end. Iterate over it once.

    ``after`` is the ``cursor`` to continue from; by default the events are told from the beginning. Raises
    InvalidInputError if it is not a cursor.
    """

    def __init__(self, feed: Feed, journal: Journal, run_id: str, after: str = "") -> None:
        self._feed = feed
        self._journal = journal
        self._run_id = run_id
        self._places = dict(_parse(run_id, after)) if after else {}
        """Where to continue with runs that were not looked at yet."""
        self._readers: dict[str, _RunReader] = {}
        self._closed: set[str] = set()
        """The subagents' runs whose result their caller has."""
        self._is_over = False

    @property
    def cursor(self) -> str:
        """The place after the event that was told last: another process can continue from it."""
        places = self._places | {run_id: reader.place for run_id, reader in self._readers.items()}
        own = places.pop(self._run_id, _Place())
        start = len(self._run_id) + 1
        return ",".join(
            [_written(own), *(f"{run_id[start:]}:{_written(place)}" for run_id, place in places.items())]
        )

    async def __aiter__(self) -> AsyncGenerator[AgentActivityEvent, None]:
        async for event in self._news():
            yield event
        if self._is_over:
            return
        async with self._feed.watch(self._run_id, words=True) as subscription:
            tried: LiveText | None = None
            while True:
                subscription.has_news = False
                async for event in self._reachable_news():
                    yield event
                if self._is_over:
                    return
                while subscription.words and not subscription.has_news:
                    words = subscription.words[0]
                    if self._is_ahead(words) and words is not tried:
                        tried, subscription.has_news = words, True  # the journal says first what it answers
                        break
                    subscription.words.popleft()
                    for event in await self._said(words):
                        yield event
                if not subscription.has_news:
                    subscription.changed.clear()
                    await subscription.changed.wait()

    # From the journal -------------------------------------------------------------------------------------------

    async def _reachable_news(self) -> AsyncIterator[AgentActivityEvent]:
        """What the journal has that was not told, as soon as it can be reached."""
        patience = time.monotonic() + _PATIENCE
        while True:
            try:
                async for event in self._news():
                    yield event
            except JournalError as error:
                if not error.retryable or time.monotonic() > patience:
                    raise
                await asyncio.sleep(1)
            else:
                return

    async def _news(self) -> AsyncIterator[AgentActivityEvent]:
        """What the journal has that was not told."""
        snapshot = await self._feed.snapshot(self._run_id)
        for run_id, (entries, status) in snapshot.runs.items():
            if not self._is_closed(run_id) and entries > self._run(run_id).taken:
                async for event in self._tell(run_id, entries, status):
                    yield event
        self._is_over = snapshot.is_over
        loop = self._readers[self._run_id].loop if self._run_id in self._readers else None
        if self._is_over and (loop is None or not isinstance(loop.step, Finish)):  # no worker could end it
            yield RunEnd(
                run_id=self._run_id,
                trace_id="",
                agent=(snapshot.agent,),
                at=time.time(),
                result=snapshot.aborted(loop),
            )

    async def _tell(
        self, run_id: str, most: int | None = None, status: RunStatus = RunStatus.COMPLETE
    ) -> AsyncIterator[AgentActivityEvent]:
        """Tell the entries of a run; an ended one to its end."""
        reader = self._run(run_id)
        async for entry, following in self._entries(run_id, reader.taken, most):
            is_new = reader.begins[:2] <= (reader.taken, 0)
            for child in self._finished_by(run_id, reader, entry):
                if is_new:
                    with suppress(RunNotFoundError):
                        async for event in self._tell(child):
                            yield event
                self._close(child)
            goes_on = following is not None or status not in ENDED
            for event in reader.take(entry, following, goes_on=goes_on):
                yield event
        if reader.taken < reader.begins.entries:
            refuse(
                "after",
                f"the run {run_id!r} has no {reader.begins.entries} entries; it is another run's cursor.",
            )

    async def _entries(
        self, run_id: str, after: int, most: int | None
    ) -> AsyncIterator[tuple[Entry, Entry | None]]:
        """Entries of a run, each with the one that follows it."""
        last: Entry | None = None
        async for stored in self._journal.read(run_id, after=after):
            if most is not None and stored.seq > most:
                break
            if last is not None:
                yield last, stored.entry
            last = stored.entry
        if last is not None:
            yield last, None

    def _finished_by(self, run_id: str, reader: _RunReader, entry: Entry) -> Sequence[str]:
        """The subagents' runs that an entry shows to be over."""
        if isinstance(entry, ToolFinished) and entry.turns:
            return [f"{run_id}/{reader.loop.turn}/{entry.index}"]
        if isinstance(entry, Interrupted):
            followed = [*self._readers, *self._places]
            return [child for child in followed if child.rpartition("/")[0].rpartition("/")[0] == run_id]
        return ()

    def _run(self, run_id: str) -> _RunReader:
        if run_id not in self._readers:
            self._readers[run_id] = _RunReader(self._places.pop(run_id, _Place()))
        return self._readers[run_id]

    def _close(self, run_id: str) -> None:
        self._closed.add(run_id)
        for kept in (self._readers, self._places):
            for child in [child for child in kept if child == run_id or child.startswith(f"{run_id}/")]:
                del kept[child]

    def _is_closed(self, run_id: str) -> bool:
        parts = run_id.split("/")
        return any("/".join(parts[:end]) in self._closed for end in range(3, len(parts) + 1, 2))

    # From the worker --------------------------------------------------------------------------------------------

    def _is_ahead(self, words: LiveText) -> bool:
        """Whether words answer a call that was not read from the journal yet."""
        reader = self._readers.get(words.run_id)
        return not self._is_closed(words.run_id) and (reader is None or words.call > reader.call)

    async def _said(self, words: LiveText) -> Iterator[AgentActivityEvent]:
        """The event of words, unless they were shown or belong to another attempt."""
        reader = self._readers.get(words.run_id)
        if reader is None or not reader.is_answered or words.call != reader.call:
            return iter(())
        if words.offset > (reader.shown.thinking if words.thinking else reader.shown.text):
            await self._feed.ask_again(self._run_id)
            return iter(())
        return reader.hear(words)


class _RunReader:
    """Makes the events of one run from its entries, and yields those after a place."""

    def __init__(self, begins: _Place) -> None:
        self.begins = begins
        self.loop: AgentLoop[Any] = bare_loop()
        self.taken = 0
        """How many entries were taken in."""
        self.shown = _Shown() if begins.entries else begins.shown
        self.call = 0.0
        """The time of the last event that came from an entry."""
        self.is_answered = False
        """Whether the model was called, and its answer is being made."""
        self._events = 0 if begins.entries else begins.events
        """How many events of the next entry were told."""
        self._mapper: EventMapper | None = None

    @property
    def place(self) -> _Place:
        """How far it was told."""
        if self.taken < self.begins.entries:
            return self.begins
        return _Place(self.taken, self._events, self.shown)

    def take(self, entry: Entry, following: Entry | None, *, goes_on: bool) -> Iterator[AgentActivityEvent]:
        """Take in the next entry; yields those of its events that are to be told."""
        if isinstance(entry, RunStarted):
            self._mapper = EventMapper(self.loop, entry.run_id, entry.trace_id, entry.agent)
            self._who: dict[str, Any] = {
                "run_id": entry.run_id,
                "trace_id": entry.trace_id,
                "agent": entry.agent,
            }
        assert self._mapper is not None  # noqa: S101 - a run begins with its start
        follow(self.loop, entry)
        step = self.loop.step
        if isinstance(following, Resumed) and isinstance(step, Finish):
            goes_on = step.result.terminate_reason not in RESUMABLE  # it was not over
        events = list(self._mapper.events_of(entry, goes_on=goes_on))
        if self.taken >= self.begins.entries:
            for event in list(self._rest(entry, events))[self._events :]:
                self._events += 1
                yield event
        self.taken += 1
        self._events, self.shown = 0, _Shown()
        if self.taken == self.begins.entries:
            self._events, self.shown = self.begins.events, self.begins.shown
        self.is_answered = isinstance(entry, ModelCalled) and not entry.compaction
        self.call = entry.at if events else self.call

    def hear(self, words: LiveText) -> Iterator[AgentActivityEvent]:
        """The event of what is new in some words of the answer in progress."""
        shown = self.shown
        new = words.text[(shown.thinking if words.thinking else shown.text) - words.offset :]
        if not new:
            return
        if words.thinking:
            self.shown = shown._replace(thinking=shown.thinking + len(new))
            yield Thinking(**self._who, at=words.at, content=new)
        else:
            check = crc32(new.encode(), shown.check)
            self.shown = shown._replace(text=shown.text + len(new), check=check)
            yield ContentChunk(**self._who, at=words.at, content=new)

    def _rest(self, entry: Entry, events: list[AgentActivityEvent]) -> Iterator[AgentActivityEvent]:
        """The events of an entry without what was shown of them; what was shown in vain is declared void."""
        answered = entry if self.is_answered else None
        if isinstance(answered, Interrupted) and (rest := answered.partial_text[self.shown.text :]):
            yield ContentChunk(**self._who, at=entry.at, content=rest)
        elif isinstance(answered, ModelReplied):
            said = "".join(event.content for event in events if isinstance(event, ContentChunk))
            if crc32(said[: self.shown.text].encode(errors="replace")) == self.shown.check:
                yield from _unshown(events, self.shown)
                return
            yield self._void(entry)
        yield from events
        if isinstance(answered, Resumed) and self.shown != _Shown():
            yield self._void(entry)

    def _void(self, entry: Entry) -> AgentActivityEvent:
        step = self.loop.step
        attempt = step.attempt if isinstance(step, CallModel) else 1
        return RetryScheduled(**self._who, at=entry.at, attempt=attempt, delay=0.0)


def _unshown(events: Sequence[AgentActivityEvent], shown: _Shown) -> Iterator[AgentActivityEvent]:
    left: dict[type[Any], int] = {ContentChunk: shown.text, Thinking: shown.thinking}
    for event in events:
        skipped = left.get(type(event), 0)
        if not skipped or not isinstance(event, ContentChunk | Thinking):
            yield event
            continue
        left[type(event)] = max(skipped - len(event.content), 0)
        if skipped < len(event.content):
            yield replace(event, content=event.content[skipped:])


def _written(place: _Place) -> str:
    shown = "" if place.shown == _Shown() else "-{}-{}-{}".format(*place.shown)
    return f"{place.entries}-{place.events}{shown}"


def _parse(run_id: str, cursor: str) -> Iterator[tuple[str, _Place]]:
    places = cursor.split(",", _MOST_PLACES)
    for number, text in enumerate(places):
        found = _PLACE.fullmatch(text)
        if found is None or (number == 0) is not (found[1] is None):
            refuse("after", f"expected a cursor of the events of {run_id!r}, such as '12-0'.")
        child, entries, events, *shown = found.groups()
        read = _Shown(*map(int, shown)) if shown[0] else _Shown()
        yield f"{run_id}/{child}" if child else run_id, _Place(int(entries), int(events), read)
