"""The words of answers in progress, past Temporal: from the worker that drives a run to whoever watches it.

A journal has what the model said once it has said all of it. What it says meanwhile travels by Postgres' NOTIFY, and only
while someone watches. It may get lost: whoever misses some of it finds it in the journal later, or asks for it again.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from maverick.exceptions import JournalError
from maverick.journal.postgres.journal import PostgresJournal
from maverick.loop.events import AgentActivityEvent, ContentChunk, RunEnd, Thinking
from maverick.runtime.event_log import Listener, log_failure

WATCH_CHANNEL = "maverick_watch_"
"""How the channels of watching processes begin."""
_CHANNEL = re.compile(rf"{WATCH_CHANNEL}[0-9a-f]{{16}}")
RENEWS = 2.0
"""Seconds after which a process says again what it watches."""
_FORGETS = 3 * RENEWS
_BATCH = 0.05
"""Seconds in which words are collected, so that a worker sends twenty times a second, however many runs it drives."""
_MOST_CHARACTERS = 1000
"""Of one notification, which may take 8000 bytes; JSON may need six for a character."""
_MOST_AT_ONCE = 1000


class LiveText(NamedTuple):
    """Some of an answer in progress; without any text, word that the journal has, or will have, something new."""

    run_id: str
    """The run, which may be a subagent's."""
    call: float = 0.0
    """Which model call it answers: the time of the run's last event before it, which is the same for all who see it."""
    thinking: bool = False
    offset: int = 0
    """How many characters of the answer, or of its thinking, come before."""
    at: float = 0.0
    text: str = ""


class _Answer:
    """What the model has said so far to a call."""

    __slots__ = ("call", "chunks", "sent")

    def __init__(self, call: float) -> None:
        self.call = call
        self.chunks: list[ContentChunk | Thinking] = []
        self.sent = 0
        """How many of them were sent to those who watch all the time."""


class _Watcher(NamedTuple):
    until: float
    words: bool
    """Whether it wants words too, or only to know when there is news in the journal."""


class Broadcast:
    """Sends what the runs of one worker say to those who watch them."""

    def __init__(self, journal: PostgresJournal) -> None:
        self._journal = journal
        self._watchers: dict[str, dict[str, _Watcher]] = {}
        """For each run, the channels on which it is watched."""
        self._answers: dict[str, dict[str, _Answer]] = {}
        """For each run that is driven here, its answer in progress and its subagents'."""
        self._anew: dict[str, set[str]] = {}
        """For each run, the channels that need its answers from their beginning."""
        self._due: set[str] = set()
        """The runs of which there is something to send."""
        self._news: dict[str, bool] = {}
        """Of these, those of which the journal has, or will have, something new; and whether that is their end."""
        self._woken = asyncio.Event()
        self._forgets_at = 0.0

    @contextmanager
    def listening(self, run_id: str) -> Iterator[Listener]:
        """The listener for a run, as long as it is driven here."""
        answers = self._answers[run_id] = {}

        def listen(event: AgentActivityEvent) -> None:
            # Asking a struct what it is an instance of takes a microsecond.
            is_watched, is_end = run_id in self._watchers, type(event) is RunEnd
            if type(event) is ContentChunk or type(event) is Thinking:
                answers[event.run_id].chunks.append(event)
            else:
                answers[event.run_id] = _Answer(event.at)
                if is_watched:
                    self._news[run_id] = is_end and event.run_id == run_id
            if is_end:
                del answers[event.run_id]
            if is_watched:
                self._wake(run_id)

        try:
            yield listen
        finally:
            if self._answers.get(run_id) is answers:
                del self._answers[run_id]

    def hear(self, message: Mapping[str, Any]) -> None:
        """Take in that a process watches runs, if that is what a message to all workers says."""
        roots, channel = message.get("watch"), message.get("by")
        if not isinstance(roots, list) or not _CHANNEL.fullmatch(str(channel)):
            return
        now = time.monotonic()
        self._forget(now)
        for root in map(str, roots):
            watchers = self._watchers.setdefault(root, {})
            if root in self._answers and (message.get("anew") or channel not in watchers):
                self._anew.setdefault(root, set()).add(str(channel))
                self._wake(root)
            watchers[str(channel)] = _Watcher(now + _FORGETS, bool(message.get("words")))

    async def run(self) -> None:
        """Send what there is to send, until this task is cancelled."""
        while True:
            await self._woken.wait()
            await asyncio.sleep(_BATCH)
            self._woken.clear()
            messages = list(self._messages())
            for start in range(0, len(messages), _MOST_AT_ONCE):
                await self._send(messages[start : start + _MOST_AT_ONCE])

    async def _send(self, messages: list[tuple[str, str]]) -> None:
        channels, texts = zip(*messages, strict=True)
        try:
            await self._journal.database.fetch(
                "SELECT pg_notify(channel, message) FROM unnest($1::text[], $2::text[]) AS sent (channel, message)",
                channels,
                texts,
            )
        except JournalError as error:  # those who watch find the rest in the journal
            log_failure(logging.WARNING, "words_not_sent", error, {"messages": len(messages)})

    def _wake(self, run_id: str) -> None:
        self._due.add(run_id)
        self._woken.set()

    def _messages(self) -> Iterator[tuple[str, str]]:
        """The channel and the text of each notification that is due."""
        due, self._due = self._due, set()
        news, self._news = self._news, {}
        anew, self._anew = self._anew, {}
        for root in due:
            watchers, late = self._watchers.get(root, {}), anew.get(root, set())
            for run_id, answer in self._answers.get(root, {}).items():
                start, answer.sent = answer.sent, len(answer.chunks)
                for channel in [channel for channel, watcher in watchers.items() if watcher.words]:
                    for words in _words(run_id, answer, 0 if channel in late else start):
                        yield channel, msgspec.json.encode(words).decode()
            for channel, watcher in watchers.items():
                if root in news and (watcher.words or news[root]):
                    yield channel, msgspec.json.encode(LiveText(root)).decode()

    def _forget(self, now: float) -> None:
        """Forget those who have not said for long that they still watch."""
        if now < self._forgets_at:
            return
        self._forgets_at = now + _FORGETS
        kept = {
            root: {channel: watcher for channel, watcher in watchers.items() if watcher.until > now}
            for root, watchers in self._watchers.items()
        }
        self._watchers = {root: watchers for root, watchers in kept.items() if watchers}


def _words(run_id: str, answer: _Answer, start: int) -> Iterator[LiveText]:
    """The chunks of an answer from one on, in as few pieces as fit into notifications."""
    offsets = [0, 0]
    for chunk in answer.chunks[:start]:
        offsets[type(chunk) is Thinking] += len(chunk.content)
    for thinking, chunks in groupby(answer.chunks[start:], lambda chunk: type(chunk) is Thinking):
        same = list(chunks)
        # What is not valid Unicode has no place in a notification; the journal has it.
        text = "".join(chunk.content for chunk in same).encode(errors="replace").decode()
        for at in range(0, len(text), _MOST_CHARACTERS):
            piece = text[at : at + _MOST_CHARACTERS]
            yield LiveText(run_id, answer.call, thinking, offsets[thinking] + at, same[0].at, piece)
        offsets[thinking] += len(text)
