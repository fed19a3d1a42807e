"""Where a run that is kept in a journal gets a person's decision on a tool call (promise P7)."""

from __future__ import annotations

import time
from typing import Any

from msgspec.structs import replace

from maverick.exceptions import ApprovalError, ApprovalRequiredError
from maverick.journal import Approval, ApprovalStatus
from maverick.journal.approvals import approval_for, approval_id, expired, is_expired, still_fits
from maverick.loop.entries import ApprovalDecided
from maverick.loop.steps import AwaitApproval
from maverick.loop.tool_round import PlannedCall
from maverick.runtime.keeper import RunKeeper
from maverick.runtime.parking import RunParked
from maverick.runtime.run import Run


class ApprovalDesk:
    """Asks for decisions and takes them in.

    Args:
        run: The run that asks.
        keeper: What writes it down.
        expires_in: The seconds after which a request nobody decided on is denied.
    """

    def __init__(self, run: Run[Any], keeper: RunKeeper, expires_in: float | None) -> None:
        self._run = run
        self._keeper = keeper
        self._expires_in = expires_in

    async def decision(self, step: AwaitApproval) -> ApprovalDecided:
        """The decision on one of the calls.

        Raises:
            RunParked: There is none yet; what is asked has been written down.
        """
        asked = self._requests(step)
        await self._keeper.park(asked)
        for request in asked:
            found = await self._keeper.journal.get_approval(request.approval_id)
            if (decided := await self._decided(found, request)) is not None:
                return decided
        raise RunParked(_waits_for(asked[0]))

    async def kept_decision(self, step: AwaitApproval) -> ApprovalDecided | None:
        """A decision that was made while the run waited on the disk, if there is one."""
        for request in self._requests(step):
            try:
                found = await self._keeper.journal.get_approval(request.approval_id)
            except ApprovalError:  # it was never asked for there
                continue
            if found.status in (ApprovalStatus.APPROVED, ApprovalStatus.DENIED):
                return await self._decided(found, request)
        return None

    async def withdraw_refused(self) -> None:
        """Take back the requests for calls that are not to be run, whatever a person would say."""
        for planned in self._run.loop.tool_round.calls:
            if planned.refusal and planned.question is not None:
                await self.withdraw(planned)

    async def withdraw(self, planned: PlannedCall) -> None:
        """Take back the request for a call, which was decided on without it."""
        request_id = approval_id(self._run.start.run_id, self._run.loop.tool_round.turn, planned.index)
        try:
            found = await self._keeper.journal.get_approval(request_id)
        except ApprovalError:  # it was never asked for there
            return
        used = replace(found, status=ApprovalStatus.USED, decided_at=time.time())
        await self._settle(used, ApprovalStatus.PENDING)

    def _requests(self, step: AwaitApproval) -> list[Approval]:
        start, tools = self._run.start, self._run.toolset.tools
        return [
            approval_for(
                start.run_id,
                step.turn,
                planned.index,
                planned.call,
                tools[planned.call.tool_name],
                start.user_id,
                self._expires_in,
                planned.question or "",
            )
            for planned in step.calls
        ]

    async def _decided(self, found: Approval, asked: Approval) -> ApprovalDecided | None:
        now = time.time()  # not the run's own clock: requests are also decided on by other processes
        if found.status is ApprovalStatus.PENDING:
            if not is_expired(found, now):
                return None
            found = expired(found, now)
            if not await self._settle(found, ApprovalStatus.PENDING):
                return None
        fits = still_fits(found, asked)
        await self._settle(replace(found, status=ApprovalStatus.USED), found.status)
        return ApprovalDecided(
            at=self._run.clock.now(),
            index=found.index,
            approved=found.approved and fits,
            by=found.decided_by,
            reason=found.reason if fits else "The call is not the one that was asked about.",
        )

    async def _settle(self, approval: Approval, expected: ApprovalStatus) -> bool:
        """Say what became of a request; whoever was overtaken has no say."""
        return await self._keeper.journal.settle_approval(approval, expected, self._keeper.lease)


def _waits_for(approval: Approval) -> ApprovalRequiredError:
    why = approval.question
    return ApprovalRequiredError(
        f"The run waits for a decision on {approval.tool_name}({approval.arguments})"
        f"{f', because {why}' if why else '.'} "
        f"Decide with: maverick runs approve {approval.approval_id}",
        tool_name=approval.tool_name,
        call_id=approval.approval_id,
    )
