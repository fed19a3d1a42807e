"""Makes answers: each in a task of its own, which goes on whoever listens, until it is over or is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from maverick.chat import AgentResult, AgentRunner, AnswerTimeoutError, phrases
from maverick.exceptions import AgentError, MaverickError
from maverick.loop.events import AgentActivityEvent, RunEnd
from maverick.runtime import AbortSignal
from maverick.runtime.event_log import log_failure
from maverick.server.answer_body import AnswerBody, AnswerStatus
from maverick.server.answer_records import AnswerRecord
from maverick.server.answer_store import LEASE, AnswerStore, Assignment, Question
from maverick.server.entrance import Entrance
from maverick.server.events import EventLog, EventName, stream_event
from maverick.server.failures import log_in_full, reason_of
from maverick.server.limits import Places
from maverick.server.metrics import ServerMetrics
from maverick.server.refusal import RequestRefusedError
from maverick.server.updates import CONVERSATIONS, TASKS, Updates
from maverick.tools.threads import run_in_thread

_KEPT = 120.0
"""Seconds the events of an answer are kept after its end; then only its words are."""
_LOOK_AGAIN = 1.0
"""Seconds between two looks at what another process has made of an answer, or wants of it."""
_LOOKS_A_RENEWAL = int(LEASE / 3 / _LOOK_AGAIN)
"""How many looks there are to a sign of life."""
_EVENTS_AN_ATTEMPT = 1 << 20
"""Where the numbers of the next attempt's events begin: after all of the one before."""


_STOPPED = "the user stopped it"


@dataclass(slots=True)
class Answer:
    """An answer in the making, or one that is over."""

    user_id: str
    run_id: str
    log: EventLog = field(default_factory=EventLog)
    """What happened so far. The last event has the whole answer."""
    signal: AbortSignal = field(default_factory=AbortSignal)
    conversation_id: str = ""
    cost_usd: float = 0
    failure: AgentError | None = None
    """What ended its run without an answer, if something did."""

    async def finished(self) -> AnswerBody:
        """The answer, once it is over.

        Raises:
            RequestRefusedError: The server was shut down before.
        """
        return AnswerBody.model_validate(await self.told())

    async def told(self) -> Mapping[str, Any]:
        """The same, as JSON values.

        Raises:
            RequestRefusedError: The server was shut down before.
        """
        await self.log.closed()
        newest = self.log.newest
        if newest is None or newest.name != EventName.DONE:
            raise RequestRefusedError(
                503, "unavailable", "The server is restarting. Ask for the answer again."
            )
        return newest.data


class AnswerDesk:
    """Starts answers, finds them again, and stops them.

    Args:
        runner: Who answers.
        store: Where answers are kept.
        places: How many answers a user may have in the making.
        updates: Who is told that something has changed.
        metrics: What is counted.
        entrance: Where questions wait to be taken in.
    """

    def __init__(
        self,
        runner: AgentRunner,
        store: AnswerStore,
        *,
        entrance: Entrance,
        places: Places,
        updates: Updates,
        metrics: ServerMetrics,
    ) -> None:
        self._runner = runner
        self._store = store
        self._places = places
        self._updates = updates
        self._metrics = metrics
        self._entrance = entrance
        self._answers: dict[tuple[str, str], Answer] = {}
        self._at_work: dict[str, tuple[Answer, AnswerRecord]] = {}
        self._caretaker: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, user_id: str, question: Question, request_key: str | None = None) -> Answer:
        """Begin to answer; a request that is sent again gets the answer of the first time.

        Raises:
            RequestRefusedError: The conversation is not the user's, or is being written to; or a limit is reached.
        """
        self._places.take(user_id)
        try:
            running = self._places.taken(user_id) - 1
            async with self._entrance.enter():
                found = await run_in_thread(self._store.admit, user_id, question, request_key, running)
        except BaseException:
            self._places.give_back(user_id)
            raise
        if isinstance(found, AnswerRecord):
            self._places.give_back(user_id)
            return await self.find(user_id, found.run_id)
        record = found.record
        answer = Answer(user_id, record.run_id, conversation_id=record.conversation_id)
        self._answers[user_id, record.run_id] = answer
        self._spawn(answer, self._make(answer, found), takes_place=True)
        self._updates.publish(user_id, CONVERSATIONS)
        return answer

    async def find(self, user_id: str, run_id: str) -> Answer:
        """An answer of the user, wherever it is made; one whose maker is gone is made again.

        Raises:
            RequestRefusedError: The user has no such answer.
        """
        if (user_id, run_id) in self._answers:
            return self._answers[user_id, run_id]
        record, body, _ = await run_in_thread(self._store.look, user_id, run_id)
        if (user_id, run_id) in self._answers:  # somebody else has asked for it in the meantime
            return self._answers[user_id, run_id]
        answer = Answer(user_id, run_id, conversation_id=record.conversation_id)
        if body is not None:
            _conclude(answer, record, body)
            return answer
        self._answers[user_id, run_id] = answer
        self._spawn(answer, self._await_other(answer))
        return answer

    async def stop(self, user_id: str, run_id: str) -> Answer:
        """Stop an answer, wherever it is made; what there is of it is kept. One that is over stays as it is.

        Raises:
            RequestRefusedError: The user has no such answer.
        """
        answer = await self.find(user_id, run_id)
        answer.signal.abort(_STOPPED)
        if not answer.log.is_closed:  # another process may be the one that makes it
            await run_in_thread(self._store.want_stop, user_id, run_id)
        return answer

    async def stop_in(self, user_id: str, conversation_id: str) -> None:
        """Stop what is being answered in a conversation and is known here, and wait until it is over.

        A process that answers in it unknown to this one stops when it finds that the conversation is gone.
        """
        for answer in list(self._answers.values()):
            if (answer.user_id, answer.conversation_id) == (user_id, conversation_id):
                await self.stop(user_id, answer.run_id)
                await answer.log.closed()

    async def aclose(self) -> None:
        """Leave all answers as they are; they are made again when they are asked for."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _spawn(self, answer: Answer, work: Coroutine[Any, Any, None], *, takes_place: bool = False) -> None:
        def end(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if takes_place:
                self._places.give_back(answer.user_id)
            self._leave(answer)

        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(end)  # and no part of the work, which may be cancelled before it begins

    async def _await_other(self, answer: Answer) -> None:
        """Watch an answer that another process makes, and make it if that process is gone."""
        try:
            while True:
                record, body, alive = await run_in_thread(self._store.look, answer.user_id, answer.run_id)
                if body is not None:
                    return _conclude(answer, record, body)
                if not alive:
                    taken = await run_in_thread(self._store.take_over, answer.user_id, record)
                    if taken is not None:
                        return await self._make(answer, taken)
                await asyncio.sleep(_LOOK_AGAIN)
        except MaverickError as error:
            log_failure(logging.WARNING, "answer_not_found_again", error, {"run_id": answer.run_id})
            answer.log.append(EventName.DONE, _trouble(answer).model_dump(mode="json"))

    async def _make(self, answer: Answer, assignment: Assignment) -> None:
        record = assignment.record
        answer.log.last_id = record.attempt * _EVENTS_AN_ATTEMPT
        answer.log.append(
            EventName.START, {"run_id": record.run_id, "conversation_id": record.conversation_id}
        )
        with self._in_touch(answer, record):
            result = await self._run(answer, assignment)
        status = AnswerStatus.COMPLETE if result.is_answer else AnswerStatus.FAILED
        if answer.signal.aborted and not result.is_answer:
            status = AnswerStatus.STOPPED
        self._metrics.answers.add(status.value)
        reason = ""
        if status is AnswerStatus.FAILED and answer.failure is not None:
            reason = reason_of(answer.failure)
            log_in_full("answer_failed", answer.failure, run_id=record.run_id)
        try:
            async with self._entrance.leave():
                body = await run_in_thread(
                    self._store.keep,
                    answer.user_id,
                    assignment,
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
    def _in_touch(self, answer: Answer, record: AnswerRecord) -> Iterator[None]:
        """Keep the right to write into the conversation, and stop if another process was told to, while it takes."""
        self._at_work[record.run_id] = (answer, record)
        if self._caretaker is None or self._caretaker.done():
            self._caretaker = asyncio.create_task(self._take_care())
            self._tasks.add(self._caretaker)
            self._caretaker.add_done_callback(self._tasks.discard)
        try:
            yield
        finally:
            self._at_work.pop(record.run_id, None)

    async def _take_care(self) -> None:
        """Renew the rights of all answers that are being made, and stop those that are not wanted, until there are none."""
        looks = 0
        while self._at_work:
            await asyncio.sleep(_LOOK_AGAIN)
            looks += 1
            running: dict[str, list[AnswerRecord]] = {}
            for answer, record in self._at_work.values():
                running.setdefault(answer.user_id, []).append(record)
            try:
                for run_id in await run_in_thread(self._store.unwanted, running):
                    if run_id in self._at_work:
                        self._at_work[run_id][0].signal.abort(_STOPPED)
                if running and looks % _LOOKS_A_RENEWAL == 0:
                    await run_in_thread(self._store.renew, running)
            except MaverickError as error:  # the next one may do; without any, somebody else takes over
                log_failure(logging.WARNING, "answers_out_of_touch", error, {"answers": len(running)})

    async def _run(self, answer: Answer, assignment: Assignment) -> AgentResult:
        stream = self._runner.stream(
            assignment.context, assignment.message, run_id=answer.run_id, signal=answer.signal
        )
        try:
            async with contextlib.aclosing(stream):
                async for item in stream:
                    if isinstance(item, AgentResult):
                        return item
                    self._tell(answer, item)
        except AnswerTimeoutError as error:
            answer.failure = error  # the run itself may only know that it was stopped
            return error.result
        raise AssertionError("a stream ends with its result")

    def _tell(self, answer: Answer, event: AgentActivityEvent) -> None:
        streamed = stream_event(event)
        if streamed is not None:
            answer.log.append(*streamed)
            if streamed[0] == EventName.TOOL_END:
                self._updates.publish(answer.user_id, TASKS)
        if isinstance(event, RunEnd) and len(event.agent) == 1:
            answer.failure = event.result.errors[0] if event.result.errors else None
            usage = event.result.usage
            answer.cost_usd = usage.total_cost_usd or 0
            self._metrics.tokens.add("input", by=usage.input_tokens)
            self._metrics.tokens.add("output", by=usage.output_tokens)
            self._metrics.cost.add(by=answer.cost_usd)

    def _leave(self, answer: Answer) -> None:
        """Keep the events for those who come back, for a while."""
        answer.log.close()
        key = (answer.user_id, answer.run_id)
        asyncio.get_running_loop().call_later(_KEPT, self._answers.pop, key, None)


def _conclude(answer: Answer, record: AnswerRecord, body: AnswerBody) -> None:
    """Give an answer that was made before, or elsewhere, its last event."""
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
