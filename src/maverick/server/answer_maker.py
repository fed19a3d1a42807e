"""Makes answers and saves them: in the process of the server, or in a worker of a fleet.

The journal's lease decides which process makes an answer. A process that finds no other at work on it takes its run
over; the former process, if it is alive after all, cannot write to the run any more and waits for the other's answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator

from maverick.exceptions import LeaseLostError, MaverickError, RunNotFoundError
from maverick.loop.events import AgentActivityEvent
from maverick.runtime import AbortSignal
from maverick.runtime.event_log import Listener, log_failure
from maverick.runtime.replay import load
from maverick.runtime.worker import Predecessor
from maverick.server.answer import AnswerBody, AnswerJob, AnswerStatus, Reply
from maverick.server.answer_service import STOPPED, AnswerService
from maverick.server.answer_store import AnswerStore, later_event
from maverick.server.errors import log_in_full
from maverick.server.event_stream import Updates
from maverick.server.events import Answer, EventName, stream_event
from maverick.server.limits import AdmissionQueue
from maverick.server.middleware import ServerMetrics
from maverick.tools.threads import run_in_thread

_GONE = "This server does not have the agent of this conversation any more. Please start a new one."
_INTERRUPTED = (
    "The server was restarted while this was being answered. What was not complete is answered again."
)
_LOOK_AGAIN = 1.0
"""Seconds between two checks for requests to stop, or for an answer of another process."""
_GRACE = 10.0
"""Seconds beyond the time limit of a run after which its process is taken for dead."""
_UNLIMITED = 600.0
"""Seconds a run without a limit may be silent."""


class AnswerMaker:
    """Makes any number of answers at once, and saves them."""

    def __init__(self, store: AnswerStore, queue: AdmissionQueue) -> None:
        self.store = store
        self._queue = queue
        self._at_work: dict[str, tuple[str, AbortSignal]] = {}
        """The user and the signal of each answer in progress."""
        self._watcher: asyncio.Task[None] | None = None

    async def make(
        self,
        job: AnswerJob,
        signal: AbortSignal,
        on_activity: Listener | None,
        last_event: Callable[[], int],
        *,
        filtered: bool = True,
    ) -> AnswerBody:
        """Make an answer and save it. One whose run was begun before is continued.

        ``last_event`` says which number the last event of its stream has, once it is complete. If the events are
        ``filtered``, they have only the words that the user gets, and not all of the model's.

        Raises:
            LeaseLostError: Another process has taken the run over.
            RunHandedOverError: The run was left to another process.
            StorageError: The answer could not be saved.
        """
        answerer = self.store.agents.find(job.agent)
        if answerer is None:
            reply = Reply(status=AnswerStatus.FAILED, response="", reason=_GONE)
        else:
            with self._watched(job, signal):
                reply = await answerer.answer(job, signal, on_activity, filtered=filtered)
        async with self._queue.leave():
            return await run_in_thread(self.store.save, job, reply, last_event())

    async def aclose(self) -> None:
        """Stop looking for requests to stop."""
        if self._watcher is not None and not self._watcher.done():
            self._watcher.cancel()
            await asyncio.wait([self._watcher])

    @contextlib.contextmanager
    def _watched(self, job: AnswerJob, signal: AbortSignal) -> Iterator[None]:
        """Stop an answer in progress when any process was asked to stop it."""
        run_id = job.record.run_id
        self._at_work[run_id] = (job.user_id, signal)
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
            for run_id, (user_id, _) in self._at_work.items():
                running.setdefault(user_id, []).append(run_id)
            try:
                for run_id in await run_in_thread(self.store.to_stop, running):
                    if run_id in self._at_work:
                        self._at_work[run_id][1].abort(STOPPED)
            except MaverickError as error:  # the next look may succeed
                log_failure(logging.WARNING, "answers_out_of_touch", error, {"answers": len(running)})


class LocalAnswers(AnswerService):
    """Makes answers in tasks of this process, and waits for those of other processes on the same database."""

    def __init__(
        self, store: AnswerStore, queue: AdmissionQueue, updates: Updates, metrics: ServerMetrics
    ) -> None:
        super().__init__(store, queue, updates, metrics)
        self._maker = AnswerMaker(store, queue)

    async def follow(self, answer: Answer, job: AnswerJob | None) -> None:
        """Publish the events of an answer until its end: of a new one, or of one that another process makes."""
        if job is None:
            await self._await_other(answer)
        else:
            await self._make(answer, job)

    async def stop_making(self, answer: Answer) -> None:
        """Stop an answer that this process makes; another one finds out by itself."""
        answer.signal.abort(STOPPED)

    async def is_made(self, job: AnswerJob) -> bool:
        """Whether another process makes an answer: by its name in the journal, or else by the time since it was asked for."""
        answerer = self._store.agents.find(job.agent)
        if answerer is None:
            return False
        seen, journal = job.asked_at.timestamp(), answerer.journal
        if journal is not None:
            with contextlib.suppress(RunNotFoundError):
                maker = Predecessor.of(job.run_id, await load(journal, job.run_id, with_blobs=False))
                if maker.is_there is False:
                    return False
                seen = maker.last_seen
        limit = answerer.timeout_ms
        return time.time() - seen < _GRACE + (_UNLIMITED if limit is None else limit / 1000)

    async def aclose(self) -> None:
        """Leave all answers as they are; they are resumed when a client asks for them."""
        await super().aclose()
        await self._maker.aclose()

    async def _await_other(self, answer: Answer) -> None:
        """Wait for an answer that another process makes, and take it over if that process is gone."""
        try:
            while True:
                record, kept = await run_in_thread(self._store.get, answer.user_id, answer.run_id)
                if isinstance(kept, AnswerBody):
                    return answer.conclude(kept, record.last_event)
                answerer = self._store.agents.find(kept.agent)
                job = kept if answerer is None else await answerer.found_again(kept)
                # Without its agent, this process can only end it: that is for whoever stops it, not for one who looks.
                is_left = answerer is None and not answer.signal.aborted
                if not is_left and not await self.is_made(job):
                    begun = (answer.log.last_id, later_event(job.asked_at), record.last_event)
                    answer.log.last_id = max(begun)
                    return await self._make(answer, job, again=not job.goes_on)
                await asyncio.sleep(_LOOK_AGAIN)
        except MaverickError as error:
            log_failure(logging.WARNING, "answer_not_found_again", error, {"run_id": answer.run_id})
            answer.fail()

    async def _make(self, answer: Answer, job: AnswerJob, *, again: bool = False) -> None:
        log = answer.log
        log.last_id = max(log.last_id, job.record.last_event)
        answer.begin(goes_on=job.goes_on)
        if again:
            log.append(EventName.NOTE, {"text": _INTERRUPTED})

        def publish(event: AgentActivityEvent) -> None:
            if (streamed := stream_event(event)) is not None:
                log.append(*streamed)
            self._observe(answer, event)

        try:
            body = await self._maker.make(job, answer.signal, publish, lambda: log.last_id + 1)
        except LeaseLostError:  # another process has taken it over
            await self._await_other(answer)
            return
        except MaverickError as error:
            log_in_full("answer_not_kept", error, run_id=answer.run_id)
            answer.fail()
            return
        if body.approval is not None:
            log.append(EventName.APPROVAL, body.approval.model_dump(mode="json"))
        answer.conclude(body, log.last_id + 1)
        self._ended(answer, body)
