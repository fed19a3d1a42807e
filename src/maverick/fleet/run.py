"""A run in a fleet, from the outside: its events and its result, and what steers it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Any

from typing_extensions import TypeVar

from maverick.exceptions import ApprovalError, InvalidInputError, RunNotFoundError
from maverick.fleet.events import RunEvents
from maverick.fleet.request import check_reason
from maverick.fleet.store import FleetRecord, FleetState, FleetStore
from maverick.fleet.watching import Feed, RunSnapshot, result_of
from maverick.fleet.workflows import Workflows
from maverick.journal import RunRecord
from maverick.journal.approvals import decided_by_the_run
from maverick.loop import AgentDefinition, AgentResult
from maverick.model import Part
from maverick.runtime.replay import load

_PATIENCE, _LOOKS = 5.0, 0.05
"""Seconds to wait for a request whose event was heard, and between two looks for it."""

T = TypeVar("T", default=Any)


class FleetRun:
    """A run in a fleet. Get one from :class:`Fleet`."""

    def __init__(self, store: FleetStore, workflows: Workflows, feed: Feed, run_id: str) -> None:
        self.run_id = run_id
        self._store = store
        self._journal = store.journal
        self._workflows = workflows
        self._feed = feed

    def __repr__(self) -> str:
        return f"<FleetRun {self.run_id}>"

    def events(self, *, after: str = "") -> RunEvents:
        """The events of the run and of its subagents' runs, to its end, as an executor's listener sees them.

        The words of an answer come while it is made. Where an attempt at an answer is given up, as when its worker died,
        a ``RetryScheduled`` says that what was shown of it is void; what is shown of the next one comes once.

        Args:
            after: The ``cursor`` of another such iteration, here or in another process: the events that follow.
        """
        return RunEvents(self._feed, self._journal, self.run_id, after)

    async def result(self, definition: AgentDefinition[T] | None = None) -> AgentResult[T]:
        """Wait for the end of the run.

        Args:
            definition: Its agent. Without it, an answer of a declared type is what its JSON says, unchecked.

        Raises:
            RunNotFoundError: There is no such run.
            InvalidInputError: It could not be driven; or the definition is not its agent's.
        """
        snapshot = await self._over()
        began = self.run_id in snapshot.runs
        entries = await load(self._journal, self.run_id, with_blobs=False) if began else []
        return result_of(entries, snapshot, definition)

    async def status(self) -> FleetRecord:
        """The state of the run in the fleet, which worker drives it, and what it waits for.

        Raises:
            RunNotFoundError: The fleet does not have it.
        """
        record = await self._store.get(self.run_id)
        if record is None:
            raise RunNotFoundError(run_id=self.run_id)
        return record

    async def say(
        self, content: str | Iterable[str | Part], *, by: str = "", user_id: str | None = None
    ) -> None:
        """Say something to the run; it is heard before its next turn.

        Raises:
            RunNotFoundError: There is no such run, or it is another user's.
            InvalidInputError: It has not begun, has ended, or the message is too long.
        """
        try:
            await self._journal.say(self.run_id, content, by=by, user_id=user_id)
        except RunNotFoundError:
            record = await self.status()
            if user_id is not None and record.user_id != user_id:
                raise
            raise InvalidInputError(
                f"run_id: no worker has begun the run {self.run_id!r}. Say it once one has.", field="run_id"
            ) from None

    async def abort(self, reason: str = "") -> None:
        """Stop the run, whoever drives it; the reason is recorded with it.

        Raises:
            InvalidInputError: The reason is too long.
        """
        check_reason(reason)
        record = await self._store.request_abort(self.run_id, reason)
        if record is not None and record.state is FleetState.ENDED:
            await self._workflows.close(self.run_id)
            await self._workflows.offer(await self._store.admit(record.user_id))
        elif record is not None:
            await self._workflows.wake(self.run_id)

    async def approve(
        self, approval_id: str, *, by: str, reason: str = "", arguments: Mapping[str, Any] | None = None
    ) -> None:
        """Approve a tool call that the run waits for, and wake the run.

        If the agent's executor says who may decide (``may_approve``), the worker that drives the run asks it: a decision
        that it does not allow leaves the request as it was. Otherwise the run's own user decides.

        Args:
            approval_id: The request.
            by: Who decides: the verified user of your program.
            reason: Why.
            arguments: All the arguments to make the call with, in place of the model's; if they do not fit the tool, the
                call is denied.

        Raises:
            ApprovalError: It is unknown, of another run, already decided, expired, or another user's to decide.
            InvalidInputError: The arguments are not a JSON object, or too large.
        """
        await self._decide(approval_id, approved=True, by=by, reason=reason, arguments=arguments)

    async def deny(self, approval_id: str, *, by: str, reason: str = "") -> None:
        """Deny a tool call that the run waits for, and wake the run; the model sees the reason. See :meth:`approve`."""
        await self._decide(approval_id, approved=False, by=by, reason=reason)

    async def _decide(
        self,
        approval_id: str,
        *,
        approved: bool,
        by: str,
        reason: str,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        await self._check_request(approval_id)
        await self._journal.decide(
            approval_id,
            approved=approved,
            by=by,
            reason=reason,
            may_approve=decided_by_the_run,
            arguments=arguments,
        )
        await self._workflows.wake(self.run_id)

    async def _check_request(self, approval_id: str) -> None:
        """Check that a request is this run's; its event may be heard a moment before the request is written."""
        patience = time.monotonic() + _PATIENCE
        while True:
            try:
                asked = await self._journal.get_approval(approval_id)
                break
            except ApprovalError:
                is_own = approval_id.startswith((f"{self.run_id}:", f"{self.run_id}/"))
                if not is_own or time.monotonic() > patience:
                    raise
            await asyncio.sleep(_LOOKS)
        if asked.run_id.partition("/")[0] != self.run_id:
            raise ApprovalError(
                f"The run {self.run_id!r} has no request {approval_id!r}.", approval_id=approval_id
            )

    async def ended(self) -> RunRecord:
        """Wait until the fleet is done with the run.

        Raises:
            InvalidInputError: It could not be run.
            RunNotFoundError: There is no such run.
        """
        await self._over(in_fleet=True)
        return await self._journal.get(self.run_id)

    async def _over(self, *, in_fleet: bool = False) -> RunSnapshot:
        """Wait for the end of the run, or until the fleet has noted it too."""

        def is_done(snapshot: RunSnapshot) -> bool:
            return snapshot.is_over and (not in_fleet or snapshot.state == FleetState.ENDED)

        if is_done(snapshot := await self._feed.snapshot(self.run_id)):
            return snapshot
        async with self._feed.watch(self.run_id, words=False) as subscription:
            while not is_done(snapshot := await self._feed.snapshot(self.run_id)):
                await subscription.changed.wait()
                subscription.changed.clear()
        return snapshot
