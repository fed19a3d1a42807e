"""Starts answers, finds them and stops them, wherever they are made; each is followed in a task of its own."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from maverick.agents.conversations import unheard_by
from maverick.chat.conversations import ConversationBusyError
from maverick.exceptions import InvalidInputError, RunNotFoundError
from maverick.loop.events import AgentActivityEvent, RunEnd, ToolCallEnd
from maverick.server.answer import AnswerBody, AnswerJob, AnswerRecord, AnswerStatus, Question
from maverick.server.answer_store import AnswerStore, TooManyAnswersError
from maverick.server.approvals import Approvals
from maverick.server.errors import RequestRefusedError, too_many
from maverick.server.event_stream import CONVERSATIONS, TASKS, Updates
from maverick.server.events import Answer
from maverick.server.limits import AdmissionQueue
from maverick.server.middleware import ServerMetrics
from maverick.tools.threads import run_in_thread

STOPPED = "the user stopped it"
_KEPT = 120.0
"""Seconds the events of an answer are kept after its end; after that, only the answer is."""
_WAITS_ELSEWHERE = (
    "This answer waits for a decision, and this server does not have its agent. "
    "Decide it on a server that has, or stop the answer."
)


class AnswerService(ABC):
    """The answers that clients of this process follow. A subclass says where they are made.

    What the user may not do, or not now, raises ``RequestRefusedError``.
    """

    def __init__(
        self, store: AnswerStore, queue: AdmissionQueue, updates: Updates, metrics: ServerMetrics
    ) -> None:
        self.approvals = Approvals(store)
        self._store = store
        self._queue = queue
        self._updates = updates
        self._metrics = metrics
        self._answers: dict[tuple[str, str], Answer] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @abstractmethod
    async def follow(self, answer: Answer, job: AnswerJob | None) -> None:
        """Publish the events of an answer until its end; a new one has a job."""

    @abstractmethod
    async def stop_making(self, answer: Answer) -> None:
        """Stop an answer in progress; whoever makes it also finds out by the database, if later."""

    @abstractmethod
    async def is_made(self, job: AnswerJob) -> bool:
        """Whether an answer that this process does not follow is being made."""

    async def check(self) -> None:  # noqa: B027 - most need no more
        """Make sure that the services besides the database can be reached which answers need: here there are none."""

    async def start(self, user_id: str, question: Question, request_key: str | None = None) -> Answer:
        """Start an answer, unless the conversation is being answered; a request that is sent again gets the same answer."""
        async with self._queue.enter():
            found = await self._admit(user_id, question, request_key)
        if isinstance(found, AnswerRecord):
            return await self.find(user_id, found.run_id)
        return self._spawn(Answer.of(user_id, found.record), found)

    @property
    def count(self) -> int:
        """How many answers are followed here."""
        return len(self._tasks)

    async def find(self, user_id: str, run_id: str) -> Answer:
        """An answer of the user, whichever process makes it. One that can continue after a decision does."""
        if (followed := self._followed(user_id, run_id)) is not None:
            return followed
        record, kept = await run_in_thread(self._store.get, user_id, run_id)
        if (followed := self._followed(user_id, run_id)) is not None:  # another request has asked for it
            return followed
        answer = Answer.of(user_id, record)
        if isinstance(kept, AnswerBody) and record.status == AnswerStatus.WAITING:
            asked = await self.approvals.waits_for(user_id, run_id)
            if asked is not None:
                kept = kept.model_copy(update={"approval": asked})
            elif await self.approvals.is_served(user_id, run_id):
                return await self.go_on(user_id, run_id)
            else:  # a server that has its agent can continue it: to look at it here must not end it
                kept = kept.model_copy(update={"reason": _WAITS_ELSEWHERE})
        if isinstance(kept, AnswerBody):
            answer.conclude(kept, record.last_event)
            answer.log.close()
            return answer
        return self._spawn(answer)

    async def go_on(self, user_id: str, run_id: str, *, stopped: bool = False) -> Answer:
        """Continue an answer that waited for a decision, or end it, if it is stopped. At a limit, it waits on."""
        try:
            is_ours = await run_in_thread(self._store.reopen, user_id, run_id, to_stop=stopped)
        except TooManyAnswersError as error:
            await self._look_for(user_id, error)
            message = "Too many answers in progress. This one continues when one of them is complete and you ask again."
            raise too_many(message, 1) from error
        record, kept = await run_in_thread(self._store.get, user_id, run_id)
        if not is_ours or isinstance(kept, AnswerBody):  # another process continues it
            return await self.find(user_id, run_id)
        answer = Answer.of(user_id, record)
        if stopped:
            await self.stop_making(answer)
        return self._spawn(answer, kept)

    async def decide(
        self,
        user_id: str,
        approval_id: str,
        request_key: str | None = None,
        *,
        approved: bool,
        reason: str = "",
        arguments: Mapping[str, Any] | None = None,
    ) -> Answer | None:
        """Decide on a request, once, and return the answer that continues; ``None`` if it is another user's."""
        if ":" not in approval_id:  # else it is a request in the journal
            question = Question("", approval_id=approval_id, approved=approved)
            return await self.start(user_id, question, request_key)
        owner, run_id = await self.approvals.decide(
            user_id, approval_id, approved=approved, reason=reason, arguments=arguments
        )
        if owner == user_id:
            return await self.go_on(owner, run_id)
        # It may be refused by a limit of its owner; then it continues when they ask for it.
        with contextlib.suppress(RequestRefusedError):
            await self.go_on(owner, run_id)
        return None

    async def stop(self, user_id: str, run_id: str) -> Answer:
        """Stop an answer, whichever process makes it, and keep the partial text. One that has ended stays as it is."""
        if self._followed(user_id, run_id) is None:
            record, _ = await run_in_thread(self._store.get, user_id, run_id)
            if record.status == AnswerStatus.WAITING:
                await run_in_thread(self._store.request_stop, user_id, run_id)
                return await self.go_on(user_id, run_id, stopped=True)
        answer = await self.find(user_id, run_id)
        if not answer.log.is_closed:  # another process may be the one that makes it
            await run_in_thread(self._store.request_stop, user_id, run_id)
            await self.stop_making(answer)
        return answer

    async def say(self, user_id: str, run_id: str, words: str) -> None:
        """Say something to an answer in progress: the agent hears it before its next turn."""
        answer = await self.find(user_id, run_id)
        journal = self._store.agents.journal
        try:
            if journal is None or (answer.log.is_closed and answer.status != AnswerStatus.WAITING):
                raise RequestRefusedError(409, "ended", "This answer is over. Send a message instead.")
            await journal.say(run_id, words, by=user_id, user_id=user_id)
        except InvalidInputError as error:  # it has just ended, or too much was said already
            raise RequestRefusedError(409, "ended", str(error)) from error
        except RunNotFoundError as error:  # it has not begun, or is the task chat's
            message = "This answer hears nothing now. Send a message when it is there."
            raise RequestRefusedError(409, "not_listening", message) from error

    async def queued(self, run_id: str) -> list[str]:
        """What was said to an answer of the user in progress that its agent has not heard yet."""
        journal = self._store.agents.journal
        return [] if journal is None else [said.content for said in await unheard_by(journal, run_id)]

    async def stop_in(self, user_id: str, conversation_id: str) -> None:
        """Stop the answers in a conversation that this process knows, or that wait, and wait for their end.

        Another process stops its answer when it finds that the conversation is gone.
        """
        waiting = await run_in_thread(self._store.waiting, user_id)
        known = {run for run, (where, _) in waiting.items() if where == conversation_id}
        for answer in self._answers.values():
            if (answer.user_id, answer.conversation_id) == (user_id, conversation_id):
                known.add(answer.run_id)
        for run_id in known:
            await (await self.stop(user_id, run_id)).log.closed()

    async def aclose(self) -> None:
        """Leave all answers as they are; a client that asks for one again gets it from any process."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _observe(self, answer: Answer, event: AgentActivityEvent, *, counts: bool = True) -> None:
        """Update the user's pages after a tool call; count what a run has used, unless another process does."""
        if isinstance(event, ToolCallEnd):
            self._updates.publish(answer.user_id, TASKS)
        if counts and isinstance(event, RunEnd) and len(event.agent) == 1:
            self._metrics.count_usage(event.result.usage)

    def _ended(self, answer: Answer, body: AnswerBody, *, counts: bool = True) -> None:
        """Count an answer, unless another process does, and update the user's pages."""
        if counts:
            self._metrics.answers.labels(body.status.value).inc()
        for what in (TASKS, CONVERSATIONS):
            self._updates.publish(answer.user_id, what)

    def _followed(self, user_id: str, run_id: str) -> Answer | None:
        """An answer that this process follows, or whose last word it knows."""
        answer = self._answers.get((user_id, run_id))
        if answer is not None and answer.log.is_closed and answer.status == AnswerStatus.WAITING:
            return None
        return answer

    def _spawn(self, answer: Answer, job: AnswerJob | None = None) -> Answer:
        """Follow an answer in a task of its own; a new one has a job."""
        key = (answer.user_id, answer.run_id)

        def forget() -> None:
            if self._answers.get(key) is answer:  # it may have gone on since
                del self._answers[key]

        def end(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            answer.log.close()
            asyncio.get_running_loop().call_later(_KEPT, forget)  # kept for clients that reconnect

        self._answers[key] = answer
        task = asyncio.create_task(self.follow(answer, job))
        self._tasks.add(task)
        task.add_done_callback(end)  # not in the work itself, which may be cancelled before it begins
        if job is not None:
            self._updates.publish(answer.user_id, CONVERSATIONS)
        return answer

    async def _admit(
        self, user_id: str, question: Question, request_key: str | None
    ) -> AnswerJob | AnswerRecord:
        asked = (user_id, question, request_key)
        try:
            try:
                return await run_in_thread(self._store.admit, *asked)
            except ConversationBusyError as busy:
                if await self._is_in_progress(user_id, busy.run_id):
                    raise
                return await run_in_thread(self._store.admit, *asked, busy.run_id)
        except ConversationBusyError as busy:
            message = "This conversation is still being answered. Wait for the answer, or stop it."
            raise RequestRefusedError(409, "busy", message) from busy
        except TooManyAnswersError as error:
            await self._look_for(user_id, error)
            raise too_many("Too many answers in progress. Wait for one, or stop one.", 1) from error

    async def _look_for(self, user_id: str, error: TooManyAnswersError) -> None:
        """Continue the answers that no process works on any more."""
        for run_id in error.run_ids:
            with contextlib.suppress(RequestRefusedError):
                await self.find(user_id, run_id)

    async def _is_in_progress(self, user_id: str, run_id: str) -> bool:
        """Whether a process makes an answer, this one or another."""
        if (followed := self._followed(user_id, run_id)) is not None:
            return not followed.log.is_closed
        try:
            record, kept = await run_in_thread(self._store.get, user_id, run_id)
        except RequestRefusedError:
            return False
        if record.status == AnswerStatus.WAITING:
            message = "This conversation waits for a decision. Approve or deny it first, or stop the answer."
            raise RequestRefusedError(409, "waiting", message)
        return isinstance(kept, AnswerJob) and await self.is_made(kept)
