"""Answers that the server's own process makes.

The journal's lease decides which process makes an answer. A process that finds no other at work on it takes its run
over; the former process, if it is alive after all, cannot write to the run any more and waits for the other's answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

from maverick.exceptions import LeaseLostError, MaverickError, RunNotFoundError
from maverick.loop.events import AgentActivityEvent, RunEnd
from maverick.runtime.event_log import log_failure
from maverick.runtime.replay import load
from maverick.runtime.worker import Predecessor
from maverick.server.answer_body import AnswerBody
from maverick.server.answer_job import AnswerJob
from maverick.server.answer_maker import STOPPED, AnswerMaker
from maverick.server.answer_store import later_event
from maverick.server.errors import log_in_full
from maverick.server.events import Answer, EventName, stream_event
from maverick.server.metrics import ServerMetrics
from maverick.server.updates import CONVERSATIONS, TASKS, Updates
from maverick.tools.threads import run_in_thread

_LOOK_AGAIN = 1.0
"""Seconds between two checks for an answer of another process."""
_GRACE = 10.0
"""Seconds beyond the time limit of a run after which its process is taken for dead."""
_UNLIMITED = 600.0
"""Seconds a run without a limit may be silent."""


class LocalAnswers:
    """Makes answers in tasks of this process, and waits for those of other processes on the same database."""

    def __init__(self, maker: AnswerMaker, updates: Updates, metrics: ServerMetrics) -> None:
        self._maker = maker
        self._updates = updates
        self._metrics = metrics

    async def follow(self, answer: Answer, job: AnswerJob | None) -> None:
        """Publish the events of an answer until its end: of a new one, or of one that another process makes."""
        if job is None:
            await self._await_other(answer)
        else:
            await self._make(answer, job, answer.run_id)

    async def stop(self, answer: Answer) -> None:
        """Stop an answer that this process makes; another one finds out by itself."""
        answer.signal.abort(STOPPED)

    async def is_in_progress(self, job: AnswerJob, run_id: str | None = None) -> bool:
        """Whether another process makes an answer: by its name in the journal, or else by the time since it was asked for."""
        run_id, answerer = run_id or job.record.run_id, self._maker.agents.find(job.agent)
        if answerer is None:
            return False
        seen, journal = job.asked_at.timestamp(), answerer.journal
        if journal is not None:
            with contextlib.suppress(RunNotFoundError):
                maker = Predecessor.of(run_id, await load(journal, run_id, with_blobs=False))
                if maker.is_there is False:
                    return False
                seen = maker.last_seen
        limit = answerer.timeout_ms
        return time.time() - seen < _GRACE + (_UNLIMITED if limit is None else limit / 1000)

    async def check(self) -> None:
        """Nothing but the database is needed."""

    async def aclose(self) -> None:
        """Leave all answers as they are; they are resumed when a client asks for them."""
        await self._maker.aclose()

    async def _await_other(self, answer: Answer) -> None:
        """Wait for an answer that another process makes, and take it over if that process is gone."""
        try:
            while True:
                record, kept = await run_in_thread(self._maker.store.get, answer.user_id, answer.run_id)
                if isinstance(kept, AnswerBody):
                    return answer.conclude(kept, record.last_event)
                answerer = self._maker.agents.find(kept.agent)
                run_id = answer.run_id if answerer is None else await answerer.known_run(kept)
                # Without its agent, this process can only end it: that is for whoever stops it, not for one who looks.
                is_left = answerer is None and not answer.signal.aborted
                if not is_left and not await self.is_in_progress(kept, run_id):
                    begun = (answer.log.last_id, later_event(kept.asked_at), record.last_event)
                    answer.log.last_id = max(begun)
                    return await self._make(answer, kept, run_id)
                await asyncio.sleep(_LOOK_AGAIN)
        except MaverickError as error:
            log_failure(logging.WARNING, "answer_not_found_again", error, {"run_id": answer.run_id})
            answer.fail()

    async def _make(self, answer: Answer, job: AnswerJob, run_id: str) -> None:
        answer.log.last_id = max(answer.log.last_id, job.record.last_event)
        answer.begin(goes_on=job.goes_on)

        def publish(event: AgentActivityEvent) -> None:
            streamed = stream_event(event)
            if streamed is not None:
                answer.log.append(*streamed)
                if streamed[0] == EventName.TOOL_END:
                    self._updates.publish(answer.user_id, TASKS)
            if isinstance(event, RunEnd) and len(event.agent) == 1:
                self._metrics.count_usage(event.result.usage)

        try:
            body = await self._maker.make(
                answer.user_id,
                job,
                run_id,
                answer.signal,
                on_activity=publish,
                last_event=lambda: answer.log.last_id + 1,
            )
        except LeaseLostError:  # another process has taken it over
            await self._await_other(answer)
            return
        except MaverickError as error:
            log_in_full("answer_not_kept", error, run_id=answer.run_id)
            answer.fail()
            return
        self._metrics.answers.labels(body.status.value).inc()
        if body.approval is not None:
            answer.log.append(EventName.APPROVAL, body.approval.model_dump(mode="json"))
        answer.log.append(EventName.DONE, body.model_dump(mode="json"))
        for what in (TASKS, CONVERSATIONS):
            self._updates.publish(answer.user_id, what)
