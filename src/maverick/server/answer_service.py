"""Makes answers, each in a task of its own, whether or not a client listens.

The journal's lease decides which process makes an answer. A process that finds no other at work on it takes its run
over; the former process, if it is alive after all, cannot write to the run any more and waits for the other's answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from maverick.chat import AgentResult, AgentRunner, AnswerTimeoutError, phrases
from maverick.chat.conversations import ConversationBusyError
from maverick.exceptions import AgentError, LeaseLostError, MaverickError, RunNotFoundError
from maverick.loop.events import AgentActivityEvent, RunEnd
from maverick.runtime import AbortSignal
from maverick.runtime.event_log import log_failure
from maverick.runtime.replay import load
from maverick.runtime.worker import Predecessor
from maverick.server.answer_body import AnswerBody, AnswerStatus
from maverick.server.answer_records import AnswerRecord
from maverick.server.answer_store import AnswerJob, AnswerStore, Question, later_event
from maverick.server.errors import RequestRefusedError, log_in_full, reason_of
from maverick.server.events import EventLog, EventName, stream_event
from maverick.server.limits import AdmissionQueue, ConcurrencyLimit
from maverick.server.metrics import ServerMetrics
from maverick.server.updates import CONVERSATIONS, TASKS, Updates
from maverick.tools.threads import run_in_thread

_KEPT = 120.0
"""Seconds the events of an answer are kept after its end; after that, only the answer is."""
_LOOK_AGAIN = 1.0
"""Seconds between two checks for an answer of another process, or a request to stop."""
_GRACE = 10.0
"""Seconds beyond the time limit of a run after which its process is taken for dead."""
_UNLIMITED = 600.0
"""Seconds a run without a limit may be silent."""
_STOPPED = "the user stopped it"


@dataclass(slots=True)
class Answer:
    """An answer, in progress or ended, and its events."""

    user_id: str
    run_id: str
    log: EventLog = field(default_factory=EventLog)
    """Its events so far. The last one has the whole answer."""
    signal: AbortSignal = field(default_factory=AbortSignal)
    conversation_id: str = ""
    cost_usd: float = 0
    failure: AgentError | None = None
    """The error that ended its run, if one did."""

    async def body(self) -> Mapping[str, Any]:
        """The :class:`AnswerBody` as JSON values, as soon as the answer has ended.

        Raises:
            RequestRefusedError: The server was shut down first.
        """
        await self.log.closed()
        newest = self.log.newest
        if newest is None or newest.name != EventName.DONE:
            raise RequestRefusedError(
                503, "unavailable", "The server is restarting. Ask for the answer again."
            )
        return newest.data


class AnswerService:
    """Starts answers, finds them, and stops them.

    Args:
        runner: Runs the agent.
        store: Saves answers.
        queue: The queue for the database.
        in_progress: Limits the answers a user has in progress.
        updates: Notifies the user's pages.
        metrics: Counts answers, tokens and cost.
    """

    def __init__(
        self,
        runner: AgentRunner,
        store: AnswerStore,
        *,
        queue: AdmissionQueue,
        in_progress: ConcurrencyLimit,
        updates: Updates,
        metrics: ServerMetrics,
    ) -> None:
        self._runner = runner
        self._store = store
        self._in_progress = in_progress
        self._updates = updates
        self._metrics = metrics
        self._queue = queue
        self._answers: dict[tuple[str, str], Answer] = {}
        self._at_work: dict[str, Answer] = {}
        self._watcher: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        limit = runner.limits.timeout_ms
        self._patience = _GRACE + (_UNLIMITED if limit is None else limit / 1000)

    async def start(self, user_id: str, question: Question, request_key: str | None = None) -> Answer:
        """Start an answer; a request that is sent again gets the same answer.

        Raises:
            RequestRefusedError: The user has no such conversation, it is being answered, or a limit is reached.
        """
        self._in_progress.acquire(user_id)
        try:
            async with self._queue.enter():
                found = await self._admit(user_id, question, request_key)
        except BaseException:
            self._in_progress.release(user_id)
            raise
        if isinstance(found, AnswerRecord):
            self._in_progress.release(user_id)
            return await self.find(user_id, found.run_id)
        record = found.record
        answer = Answer(user_id, record.run_id, conversation_id=record.conversation_id)
        self._answers[user_id, record.run_id] = answer
        self._spawn(answer, self._make(answer, found, record.run_id), takes_place=True)
        self._updates.publish(user_id, CONVERSATIONS)
        return answer

    async def find(self, user_id: str, run_id: str) -> Answer:
        """An answer of the user, whichever process makes it; one whose process is gone is resumed here.

        Raises:
            RequestRefusedError: The user has no such answer.
        """
        if (user_id, run_id) in self._answers:
            return self._answers[user_id, run_id]
        record, kept = await run_in_thread(self._store.get, user_id, run_id)
        if (user_id, run_id) in self._answers:  # another request has asked for it in the meantime
            return self._answers[user_id, run_id]
        answer = Answer(user_id, run_id, conversation_id=record.conversation_id)
        if isinstance(kept, AnswerBody):
            _conclude(answer, record, kept)
            return answer
        self._answers[user_id, run_id] = answer
        self._spawn(answer, self._await_other(answer))
        return answer

    async def stop(self, user_id: str, run_id: str) -> Answer:
        """Stop an answer, whichever process makes it, and keep the partial text. One that has ended stays as it is.

        Raises:
            RequestRefusedError: The user has no such answer.
        """
        answer = await self.find(user_id, run_id)
        answer.signal.abort(_STOPPED)
        if not answer.log.is_closed:  # another process may be the one that makes it
            await run_in_thread(self._store.request_stop, user_id, run_id)
        return answer

    async def stop_in(self, user_id: str, conversation_id: str) -> None:
        """Stop the answers in a conversation that this process knows, and wait for their end.

        Another process stops its answer when it finds that the conversation is gone.
        """
        for answer in list(self._answers.values()):
            if (answer.user_id, answer.conversation_id) == (user_id, conversation_id):
                await self.stop(user_id, answer.run_id)
                await answer.log.closed()

    async def aclose(self) -> None:
        """Leave all answers as they are; they are resumed when a client asks for them."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _spawn(self, answer: Answer, work: Coroutine[Any, Any, None], *, takes_place: bool = False) -> None:
        def end(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if takes_place:
                self._in_progress.release(answer.user_id)
            answer.log.close()
            # For clients that reconnect.
            key = (answer.user_id, answer.run_id)
            asyncio.get_running_loop().call_later(_KEPT, self._answers.pop, key, None)

        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(end)  # not in the work itself, which may be cancelled before it begins

    async def _admit(
        self, user_id: str, question: Question, request_key: str | None
    ) -> AnswerJob | AnswerRecord:
        asked = (user_id, question, request_key, self._in_progress.in_use(user_id) - 1)
        try:
            try:
                return await run_in_thread(self._store.admit, *asked)
            except ConversationBusyError as busy:
                if await self._is_in_progress(user_id, busy.run_id):
                    raise
                return await run_in_thread(self._store.admit, *asked, busy.run_id)
        except ConversationBusyError as busy:
            raise RequestRefusedError(
                409, "busy", "This conversation is still being answered. Wait for the answer, or stop it."
            ) from busy

    async def _is_in_progress(self, user_id: str, run_id: str) -> bool:
        """Whether a process makes an answer, this one or another."""
        if (user_id, run_id) in self._answers:
            return not self._answers[user_id, run_id].log.is_closed
        try:
            _, kept = await run_in_thread(self._store.get, user_id, run_id)
        except RequestRefusedError:
            return False
        return isinstance(kept, AnswerJob) and await self._is_worked_on(kept, run_id)

    async def _is_worked_on(self, job: AnswerJob, run_id: str) -> bool:
        """Whether a process works on an answer's run: by its name in the journal, or else by the time since."""
        seen = job.asked_at.timestamp()
        if self._runner.journal is not None:
            with contextlib.suppress(RunNotFoundError):
                entries = await load(self._runner.journal, run_id, with_blobs=False)
                maker = Predecessor.of(run_id, entries)
                if maker.is_there is False:
                    return False
                seen = maker.last_seen
        return time.time() - seen < self._patience

    async def _await_other(self, answer: Answer) -> None:
        """Wait for an answer that another process makes, and take it over if that process is gone."""
        try:
            while True:
                record, kept = await run_in_thread(self._store.get, answer.user_id, answer.run_id)
                if isinstance(kept, AnswerBody):
                    return _conclude(answer, record, kept)
                run_id = await self._runner.known_run(kept.context, answer.run_id)
                if not await self._is_worked_on(kept, run_id):
                    answer.log.last_id = max(answer.log.last_id, later_event(kept.asked_at))
                    return await self._make(answer, kept, run_id)
                await asyncio.sleep(_LOOK_AGAIN)
        except MaverickError as error:
            log_failure(logging.WARNING, "answer_not_found_again", error, {"run_id": answer.run_id})
            answer.log.append(EventName.DONE, _trouble(answer).model_dump(mode="json"))

    async def _make(self, answer: Answer, job: AnswerJob, run_id: str) -> None:
        record = job.record
        answer.log.append(
            EventName.START, {"run_id": record.run_id, "conversation_id": record.conversation_id}
        )
        try:
            with self._watched(answer):
                result = await self._run(answer, job, run_id)
        except LeaseLostError:  # another process has taken it over
            await self._await_other(answer)
            return
        status = AnswerStatus.COMPLETE if result.is_answer else AnswerStatus.FAILED
        if answer.signal.aborted and not result.is_answer:
            status = AnswerStatus.STOPPED
        self._metrics.answers.labels(status.value).inc()
        reason = ""
        if status is AnswerStatus.FAILED and answer.failure is not None:
            reason = reason_of(answer.failure)
            log_in_full("answer_failed", answer.failure, run_id=record.run_id)
        try:
            async with self._queue.leave():
                body = await run_in_thread(
                    self._store.save,
                    answer.user_id,
                    job,
                    result,
                    status,
                    answer.log.last_id + 1,
                    answer.cost_usd,
                    reason,
                )
        except MaverickError as error:
            log_in_full("answer_not_kept", error, run_id=record.run_id)
            body = _trouble(answer)
        if body.approval is not None:
            answer.log.append(EventName.APPROVAL, body.approval.model_dump(mode="json"))
        answer.log.append(EventName.DONE, body.model_dump(mode="json"))
        for what in (TASKS, CONVERSATIONS):
            self._updates.publish(answer.user_id, what)

    @contextlib.contextmanager
    def _watched(self, answer: Answer) -> Iterator[None]:
        """Stop an answer in progress when another process was asked to stop it."""
        self._at_work[answer.run_id] = answer
        if self._watcher is None or self._watcher.done():
            self._watcher = asyncio.create_task(self._stop_requested())
            self._tasks.add(self._watcher)
            self._watcher.add_done_callback(self._tasks.discard)
        try:
            yield
        finally:
            self._at_work.pop(answer.run_id, None)

    async def _stop_requested(self) -> None:
        """Stop the answers that are not wanted any more, for as long as any is in progress."""
        while self._at_work:
            await asyncio.sleep(_LOOK_AGAIN)
            running: dict[str, list[str]] = {}
            for answer in self._at_work.values():
                running.setdefault(answer.user_id, []).append(answer.run_id)
            try:
                for run_id in await run_in_thread(self._store.to_stop, running):
                    if run_id in self._at_work:
                        self._at_work[run_id].signal.abort(_STOPPED)
            except MaverickError as error:  # the next look may succeed
                log_failure(logging.WARNING, "answers_out_of_touch", error, {"answers": len(running)})

    async def _run(self, answer: Answer, job: AnswerJob, run_id: str) -> AgentResult:
        stream = self._runner.stream(
            job.context,
            job.message,
            run_id=run_id,
            signal=answer.signal,
            attachments=job.attachments,
        )
        try:
            async with contextlib.aclosing(stream):
                async for item in stream:
                    if isinstance(item, AgentResult):
                        return item
                    self._publish(answer, item)
        except AnswerTimeoutError as error:
            answer.failure = error  # the run itself may only know that it was stopped
            return error.result
        raise AssertionError("a stream ends with its result")

    def _publish(self, answer: Answer, event: AgentActivityEvent) -> None:
        streamed = stream_event(event)
        if streamed is not None:
            answer.log.append(*streamed)
            if streamed[0] == EventName.TOOL_END:
                self._updates.publish(answer.user_id, TASKS)
        if isinstance(event, RunEnd) and len(event.agent) == 1:
            answer.failure = event.result.errors[0] if event.result.errors else None
            usage = event.result.usage
            answer.cost_usd = usage.total_cost_usd or 0
            self._metrics.tokens.labels("input").inc(usage.input_tokens)
            self._metrics.tokens.labels("output").inc(usage.output_tokens)
            self._metrics.cost.inc(answer.cost_usd)


def _conclude(answer: Answer, record: AnswerRecord, body: AnswerBody) -> None:
    """Give a saved answer its last event."""
    answer.log.last_id = record.last_event - 1
    answer.log.append(EventName.DONE, body.model_dump(mode="json"))
    answer.log.close()


def _trouble(answer: Answer) -> AnswerBody:
    return AnswerBody(
        run_id=answer.run_id,
        conversation_id=answer.conversation_id,
        status=AnswerStatus.FAILED,
        response=phrases.TROUBLE,
    )
