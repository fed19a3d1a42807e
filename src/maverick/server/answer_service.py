"""Starts answers, finds them and stops them, wherever they are made; each is followed in a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol

from maverick.chat.conversations import ConversationBusyError
from maverick.server.answer_body import AnswerBody
from maverick.server.answer_records import AnswerRecord
from maverick.server.answer_store import AnswerJob, AnswerStore, Question
from maverick.server.errors import RequestRefusedError
from maverick.server.events import Answer
from maverick.server.limits import AdmissionQueue, ConcurrencyLimit
from maverick.server.updates import CONVERSATIONS, Updates
from maverick.tools.threads import run_in_thread

_KEPT = 120.0
"""Seconds the events of an answer are kept after its end; after that, only the answer is."""


class AnswerSource(Protocol):
    """Where answers are made: in this process, or by the workers of a fleet."""

    async def follow(self, answer: Answer, job: AnswerJob | None) -> None:
        """Publish the events of an answer until its end; a new one has a job."""

    async def stop(self, answer: Answer) -> None:
        """Stop an answer in progress; whoever makes it also finds out by the database, if later."""

    async def is_in_progress(self, job: AnswerJob) -> bool:
        """Whether an answer that this process does not follow is being made."""

    async def check(self) -> None:
        """Make sure that answers can be made.

        Raises:
            MaverickError: A service that is needed for it cannot be reached.
        """

    async def aclose(self) -> None:
        """Close all connections; answers in progress stay as they are."""


class AnswerService:
    """The answers that clients of this process follow."""

    def __init__(
        self,
        source: AnswerSource,
        store: AnswerStore,
        *,
        queue: AdmissionQueue,
        in_progress: ConcurrencyLimit,
        updates: Updates,
    ) -> None:
        self.source = source
        self._store = store
        self._in_progress = in_progress
        self._updates = updates
        self._queue = queue
        self._answers: dict[tuple[str, str], Answer] = {}
        self._tasks: set[asyncio.Task[None]] = set()

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
        self._spawn(answer, self.source.follow(answer, found), takes_place=True)
        self._updates.publish(user_id, CONVERSATIONS)
        return answer

    async def find(self, user_id: str, run_id: str) -> Answer:
        """An answer of the user, whichever process makes it.

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
            answer.conclude(kept, record.last_event)
            answer.log.close()
            return answer
        self._answers[user_id, run_id] = answer
        self._spawn(answer, self.source.follow(answer, None))
        return answer

    async def stop(self, user_id: str, run_id: str) -> Answer:
        """Stop an answer, whichever process makes it, and keep the partial text. One that has ended stays as it is.

        Raises:
            RequestRefusedError: The user has no such answer.
        """
        answer = await self.find(user_id, run_id)
        if not answer.log.is_closed:  # another process may be the one that makes it
            await run_in_thread(self._store.request_stop, user_id, run_id)
            await self.source.stop(answer)
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
        """Leave all answers as they are; a client that asks for one again gets it from any process."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self.source.aclose()

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
        return isinstance(kept, AnswerJob) and await self.source.is_in_progress(kept)
