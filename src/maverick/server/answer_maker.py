"""Makes answers and saves them: in the process of the server, or in a worker of a fleet."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple

from maverick.exceptions import MaverickError
from maverick.runtime import AbortSignal
from maverick.runtime.event_log import Listener, log_failure
from maverick.server.agents import Agents
from maverick.server.answer_body import AnswerBody, AnswerStatus
from maverick.server.answer_job import AnswerJob, Reply
from maverick.server.answer_store import AnswerStore
from maverick.server.limits import AdmissionQueue
from maverick.tools.threads import run_in_thread

STOPPED = "the user stopped it"
_GONE = "This server does not have the agent of this conversation any more. Please start a new one."
_LOOK_AGAIN = 1.0
"""Seconds between two checks for requests to stop."""


class _Work(NamedTuple):
    user_id: str
    signal: AbortSignal


class AnswerMaker:
    """Makes any number of answers at once, and saves them."""

    def __init__(self, agents: Agents, store: AnswerStore, queue: AdmissionQueue) -> None:
        self.agents = agents
        self.store = store
        self._queue = queue
        self._at_work: dict[str, _Work] = {}
        self._watcher: asyncio.Task[None] | None = None

    async def make(
        self,
        user_id: str,
        job: AnswerJob,
        run_id: str,
        signal: AbortSignal,
        *,
        on_activity: Listener | None,
        last_event: Callable[[], int],
        filtered: bool = True,
    ) -> AnswerBody:
        """Make an answer and save it. One whose run was begun before is continued.

        Args:
            user_id: Whose answer it is.
            job: What is to be answered.
            run_id: The id of its run in the journal.
            signal: Stops it when it is aborted.
            on_activity: Receives the events of its run.
            last_event: Says which number the last event of its stream has, once it is complete.
            filtered: Whether the events have only the words that the user gets, or all of the model's.

        Raises:
            LeaseLostError: Another process has taken the run over.
            RunHandedOverError: The run was left to another process.
            StorageError: The answer could not be saved.
        """
        answerer = self.agents.find(job.agent)
        if answerer is None:
            reply = Reply(status=AnswerStatus.FAILED, response="", reason=_GONE)
        else:
            with self._watched(user_id, job.record.run_id, signal):
                reply = await answerer.answer(job, run_id, signal, on_activity, filtered=filtered)
        async with self._queue.leave():
            return await run_in_thread(self.store.save, user_id, job, reply, last_event())

    async def aclose(self) -> None:
        """Stop looking for requests to stop."""
        if self._watcher is not None and not self._watcher.done():
            self._watcher.cancel()
            await asyncio.wait([self._watcher])

    @contextlib.contextmanager
    def _watched(self, user_id: str, run_id: str, signal: AbortSignal) -> Iterator[None]:
        """Stop an answer in progress when any process was asked to stop it."""
        self._at_work[run_id] = _Work(user_id, signal)
        if self._watcher is None or self._watcher.done():
            self._watcher = asyncio.create_task(self._stop_requested())
        try:
            yield
        finally:
            self._at_work.pop(run_id, None)

    async def _stop_requested(self) -> None:
        """Stop the answers that are not wanted any more, for as long as any is in progress."""
        while self._at_work:
            await asyncio.sleep(_LOOK_AGAIN)
            running: dict[str, list[str]] = {}
            for run_id, work in self._at_work.items():
                running.setdefault(work.user_id, []).append(run_id)
            try:
                for run_id in await run_in_thread(self.store.to_stop, running):
                    if run_id in self._at_work:
                        self._at_work[run_id].signal.abort(STOPPED)
            except MaverickError as error:  # the next look may succeed
                log_failure(logging.WARNING, "answers_out_of_touch", error, {"answers": len(running)})
