"""Answers that the workers of a fleet make: any number of servers follow them, and none is needed for one to be finished."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Any

from maverick.chat import phrases
from maverick.chat.tables import TASKS_AGENT
from maverick.exceptions import MaverickError
from maverick.fleet import Fleet
from maverick.fleet.driving import OwnDrive
from maverick.fleet.store import FleetRecord, FleetState
from maverick.loop import TerminateReason
from maverick.loop.events import AgentActivityEvent, ApprovalRequested, RunEnd, RunResumed, RunStart
from maverick.runtime import AbortSignal
from maverick.runtime.event_log import Listener, log_failure
from maverick.server.answer import AnswerBody, AnswerJob, AnswerStatus, Reply
from maverick.server.answer_maker import AnswerMaker
from maverick.server.answer_service import STOPPED, AnswerService
from maverick.server.answer_store import AnswerStore
from maverick.server.answerers import Filter
from maverick.server.errors import RequestRefusedError
from maverick.server.event_stream import Updates
from maverick.server.events import Answer, EventName, stream_event
from maverick.server.limits import AdmissionQueue
from maverick.server.middleware import ServerMetrics
from maverick.tools.threads import run_in_thread

CHAT = "maverick:chat"
"""What the fleet calls the task chat; no other agent can be called that."""
_ATTEMPT = 10**9
"""How many events of an answer are numbered from one attempt to the next."""
LAST_EVENT = 10**12
"""The number of an answer's last event; after each decision it waited for, there are as many more."""
_CHECKED_FOR = 2.0
"""Seconds for which Temporal is taken to be reachable after it was."""
_SOON, _LOOK_AGAIN = 0.02, 1.0
"""Seconds between two looks for an answer whose run has ended: at first, and later."""


class FleetAnswers(AnswerService):
    """Has answers made by the workers of a fleet, which is closed with it, and publishes what they say."""

    def __init__(
        self,
        fleet: Fleet,
        store: AnswerStore,
        queue: AdmissionQueue,
        updates: Updates,
        metrics: ServerMetrics,
    ) -> None:
        super().__init__(store, queue, updates, metrics)
        self._fleet = fleet
        self._checked_at = float("-inf")
        self._checking = asyncio.Lock()

    async def follow(self, answer: Answer, job: AnswerJob | None) -> None:
        """Publish the events of an answer until a worker has saved it."""
        stream, pause = _Stream(answer), _SOON
        while True:
            try:
                record, kept = await run_in_thread(self._store.get, answer.user_id, answer.run_id)
                if isinstance(kept, AnswerBody):
                    break
                if await self._is_given_up(answer, kept):
                    continue
                if not stream.has_ended:
                    answerer = self._store.agents.of(kept.agent)
                    stream.begin(await answerer.filter(kept), record.last_event, in_turns=answerer.in_turns)
                    await self._listen(answer, stream, kept, is_new=job is not None)
                    continue
            except RequestRefusedError:  # it was deleted
                answer.fail()
                return
            except MaverickError as error:  # the answer is made all the same
                log_failure(logging.WARNING, "answer_out_of_touch", error, {"run_id": answer.run_id})
                pause = _LOOK_AGAIN
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LOOK_AGAIN)
        if kept.status is AnswerStatus.WAITING:
            asked = await self.approvals.waits_for(answer.user_id, answer.run_id)
            kept = kept.model_copy(update={"approval": asked})
        stream.conclude(kept, record.last_event)
        self._ended(answer, kept, counts=job is not None)

    async def stop_making(self, answer: Answer) -> None:
        """Stop an answer, whichever worker makes it."""
        try:
            await self._fleet.run(answer.run_id).abort(STOPPED)
        except MaverickError as error:  # its worker finds out by the database
            log_failure(logging.WARNING, "answer_not_stopped_at_once", error, {"run_id": answer.run_id})

    async def is_made(self, job: AnswerJob) -> bool:  # noqa: ARG002 - one shape for all services
        """A worker makes it, now or later."""
        return True

    async def check(self) -> None:
        """Make sure that Temporal can be reached, or could be a moment ago: probes are many, and it is one."""
        async with self._checking:
            if time.monotonic() - self._checked_at > _CHECKED_FOR:
                await self._fleet.check()
                self._checked_at = time.monotonic()

    async def aclose(self) -> None:
        """Leave all answers to the workers, and close the fleet's connections."""
        await super().aclose()
        await self._fleet.aclose()

    async def _listen(self, answer: Answer, stream: _Stream, job: AnswerJob, *, is_new: bool) -> None:
        """Start the run unless the fleet has it, and publish its events until it has ended or waits for a decision."""
        began = time.monotonic()
        run = await self._fleet.start(fleet_name(job.agent), run_id=answer.run_id, user_id=answer.user_id)
        if is_new and job.goes_on:
            await self._fleet.workflows.wake(answer.run_id)
        events, pause = run.events(after=stream.cursor), _SOON
        told = aiter(events)
        following = asyncio.ensure_future(anext(told, None))
        try:
            while True:
                await asyncio.wait([following], timeout=pause if stream.may_wait else None)
                if not following.done():
                    pause = min(2 * pause, _LOOK_AGAIN)
                    record, _ = await run_in_thread(self._store.get, answer.user_id, answer.run_id)
                    if record.status == AnswerStatus.RUNNING:
                        continue
                    break
                if (event := following.result()) is None:
                    break
                stream.put(event)
                stream.cursor, pause = events.cursor, _SOON
                self._observe(answer, event, counts=is_new)
                if is_new and isinstance(event, RunStart) and len(event.agent) == 1:
                    self._metrics.queued.observe(time.monotonic() - began)
                following = asyncio.ensure_future(anext(told, None))
        finally:
            following.cancel()
            await asyncio.wait([following])
            await told.aclose()
        stream.has_ended = True

    async def _is_given_up(self, answer: Answer, job: AnswerJob) -> bool:
        """Whether the run has ended without an answer: it was stopped before it began, or could not be driven."""
        record = await self._fleet.store.get(answer.run_id)
        if record is None or record.state is not FleetState.ENDED:
            return False
        status = AnswerStatus.FAILED if record.abort is None else AnswerStatus.STOPPED
        words = phrases.TROUBLE if record.abort is None else ""
        reply = Reply(status=status, response=words, may_ask=True)
        last_event = job.record.last_event + LAST_EVENT
        await run_in_thread(self._store.save, job, reply, last_event)
        return True


class _Stream:
    """Turns the events of a run in a fleet into those of an answer's stream, with the same numbers in every process.

    An event's number says in which attempt to make the answer it belongs, and how much comes before it: a character of
    text counts as one, whatever the pieces in which it arrives.
    """

    def __init__(self, answer: Answer) -> None:
        self.cursor = ""
        """Up to where the run's events were taken in."""
        self.has_ended = False
        """Whether there are no more of them."""
        self.may_wait = False
        """Whether the newest event says that the run waits for a decision, as it may have before."""
        self._answer = answer
        self._base = 0
        self._attempt = 0
        self._sent = ""
        self._in_turns = False
        self._filter: Filter = lambda publish: publish
        self._put: Listener | None = None
        self._open: dict[str, Mapping[str, Any]] = {}
        """Tool calls that have no result yet."""
        self._settled: list[tuple[EventName, Mapping[str, Any]]] = []
        """What happened beside the words, and is not repeated in another attempt."""

    def begin(self, words: Filter, base: int, *, in_turns: bool) -> None:
        """Begin, unless it has, after the event before a decision that the answer waited for.

        The words are filtered as the user gets them. If each turn's words are their own, the answer is the last.
        """
        if self._put is None:
            self._filter, self._base, self._in_turns = words, base, in_turns
            self._put = self._begin(0)

    def put(self, event: AgentActivityEvent) -> None:
        """Take in an event of the run."""
        assert self._put is not None  # noqa: S101 - it has begun
        self.may_wait = isinstance(event, ApprovalRequested) or (
            isinstance(event, RunEnd) and event.result.terminate_reason is TerminateReason.AWAITING_APPROVAL
        )
        if isinstance(event, RunResumed) and len(event.agent) == 1:
            # Another worker makes the answer: it does not know which words of it were shown.
            self._attempt += 1
            self._put = self._begin(self._attempt * _ATTEMPT)
        self._put(event)

    def conclude(self, body: AnswerBody, last_event: int) -> None:
        """Add the rest of the answer as it was saved, and its last event."""
        log = self._answer.log
        if self._put is None:  # it was saved before
            self._answer.conclude(body, last_event)
            return
        if not body.response.startswith(self._sent):  # this process missed part of a failed attempt
            self._begin(LAST_EVENT - _ATTEMPT)
        rest = body.response.removeprefix(self._sent)
        if rest and (self._sent or body.status is not AnswerStatus.FAILED):
            log.append(EventName.TEXT, {"text": rest}, width=len(rest))
        if body.approval is not None:
            log.last_id = last_event - 2
            log.append(EventName.APPROVAL, body.approval.model_dump(mode="json"))
        self._answer.conclude(body, last_event)

    def _begin(self, number: int) -> Listener:
        self._answer.log.last_id = self._base + number
        self._answer.begin()
        for settled in self._settled:
            self._answer.log.append(*settled)
        self._sent = ""
        return self._filter(self._publish)

    def _publish(self, event: AgentActivityEvent) -> None:
        if (streamed := stream_event(event)) is None:
            return
        name, data = streamed
        if name is EventName.TEXT:
            self._sent += data["text"]
            self._answer.log.append(name, data, width=len(data["text"]))
            return
        self._answer.log.append(name, data)
        if name is EventName.TOOL_START:
            self._open[data["id"]] = data
            self._sent = "" if self._in_turns else self._sent
            return
        if name is EventName.TOOL_END and data["id"] in self._open:
            self._settled.append((EventName.TOOL_START, self._open.pop(data["id"])))
        self._settled.append(streamed)


def fleet_name(agent: str) -> str:
    """What the fleet calls the conversations with an agent."""
    return CHAT if agent == TASKS_AGENT else f"{CHAT}:{agent}"


def chat_drive(maker: AnswerMaker) -> OwnDrive:
    """What a worker drives the runs of conversations with: it makes an answer that a server has admitted, and saves it."""

    async def drive(record: FleetRecord, signal: AbortSignal, listener: Listener) -> bool:
        user_id, store = record.user_id or "", maker.store
        try:
            kept_record, kept = await run_in_thread(store.get, user_id, record.run_id)
            if kept_record.status == AnswerStatus.WAITING:
                await run_in_thread(store.reopen, user_id, record.run_id)
                _, kept = await run_in_thread(store.get, user_id, record.run_id)
        except RequestRefusedError:
            return False  # its conversation was deleted
        if not isinstance(kept, AnswerJob):
            return False
        last_event = kept.record.last_event + LAST_EVENT
        body = await maker.make(kept, signal, listener, lambda: last_event, filtered=False)
        return body.status is AnswerStatus.WAITING

    return drive
