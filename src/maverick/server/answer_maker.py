"""Makes answers and saves them: in the process of the server, or in a worker of a fleet."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple

from maverick.chat import AgentRunner, AnswerTimeoutError
from maverick.exceptions import AgentError, MaverickError
from maverick.loop.events import AgentActivityEvent, RunEnd
from maverick.runtime import AbortSignal
from maverick.runtime.event_log import Listener, log_failure
from maverick.server.answer_body import AnswerBody, AnswerStatus
from maverick.server.answer_store import AnswerJob, AnswerStore
from maverick.server.errors import log_in_full, reason_of
from maverick.server.limits import AdmissionQueue
from maverick.tools.threads import run_in_thread

STOPPED = "the user stopped it"
_LOOK_AGAIN = 1.0
"""Seconds between two checks for requests to stop."""


class _Work(NamedTuple):
    user_id: str
    signal: AbortSignal


class AnswerMaker:
    """Makes any number of answers at once, and saves them."""

    def __init__(self, runner: AgentRunner, store: AnswerStore, queue: AdmissionQueue) -> None:
        self.runner = runner
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
        end: RunEnd | None = None

        def hear(event: AgentActivityEvent) -> None:
            nonlocal end
            if isinstance(event, RunEnd) and len(event.agent) == 1:
                end = event
            if on_activity is not None:
                on_activity(event)

        failure: AgentError | None
        with self._watched(user_id, job.record.run_id, signal):
            try:
                result = await self.runner.run(
                    job.context,
                    job.message,
                    run_id=run_id,
                    signal=signal,
                    attachments=job.attachments,
                    on_activity=hear,
                    filtered=filtered,
                )
                failure = end.result.errors[0] if end is not None and end.result.errors else None
            except AnswerTimeoutError as error:
                result, failure = error.result, error  # the run itself may only know that it was stopped
        status, reason = AnswerStatus.COMPLETE, ""
        if not result.is_answer:
            status = AnswerStatus.STOPPED if signal.aborted else AnswerStatus.FAILED
        if status is AnswerStatus.FAILED and failure is not None:
            reason = reason_of(failure)
            log_in_full("answer_failed", failure, run_id=job.record.run_id)
        cost = 0.0 if end is None else end.result.usage.total_cost_usd or 0.0
        async with self._queue.leave():
            return await run_in_thread(
                self.store.save, user_id, job, result, status, last_event(), cost, reason
            )

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
