"""The part of a journal that keeps requests for approval, and the decisions on them (promise P7)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from maverick.exceptions import ApprovalError
from maverick.journal.approvals import MayApprove, decided
from maverick.journal.records import Approval, ApprovalStatus, Lease, RunRecord, check_here


class ApprovalStore(ABC):
    """Keeps requests for approval."""

    @abstractmethod
    async def get(self, run_id: str) -> RunRecord:
        """What is known of a run.

        Raises:
            RunNotFoundError: There is no such run.
        """

    async def request_approvals(self, lease: Lease, approvals: Sequence[Approval]) -> None:
        """Store requests for a decision and park the run; one that exists already is left as it is.

        Raises:
            LeaseLostError: Another process has claimed the run, or an earlier write under this lease failed.
            JournalError: They could not be written; the lease has ended.
        """
        with lease:
            await self._request_approvals(lease, approvals)

    @abstractmethod
    async def _request_approvals(self, lease: Lease, approvals: Sequence[Approval]) -> None:
        """Write the requests that are not there yet, if the lease's token is the run's newest."""

    @abstractmethod
    async def get_approval(self, approval_id: str) -> Approval:
        """One request.

        Raises:
            ApprovalError: There is no such request.
        """

    async def list_approvals(
        self,
        *,
        run_id: str | None = None,
        user_id: str | None = None,
        state: ApprovalStatus | Literal["pending", "approved", "denied", "used", "all"] = "pending",
    ) -> list[Approval]:
        """The requests that wait for a decision, or others, oldest first.

        Args:
            run_id: Those of this run only; each subagent has a run of its own.
            user_id: Those of runs that act for this user only.
            state: Which; ``all`` for those that were decided, too.
        """
        status = None if state == "all" else ApprovalStatus(state)
        return await self._list_approvals(run_id, user_id, status)

    @abstractmethod
    async def _list_approvals(
        self, run_id: str | None, user_id: str | None, status: ApprovalStatus | None
    ) -> list[Approval]:
        """Requests, oldest first."""

    @abstractmethod
    async def settle_approval(
        self, approval: Approval, expected: ApprovalStatus, lease: Lease | None = None
    ) -> bool:
        """Replace a request by its new state, if its status still is the expected one; says whether it was.

        Args:
            approval: The new state.
            expected: The status it has to have until now.
            lease: The right to write the run, if the run itself does this: it has to hold in the same transaction.

        Raises:
            LeaseLostError: Another process has claimed the run.
        """

    async def approve(
        self,
        approval_id: str,
        *,
        by: str,
        reason: str = "",
        at: float | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> Approval:
        """Agree to a tool call. The run goes on when it is next resumed.

        Args:
            approval_id: The request.
            by: Who decides.
            reason: Why.
            at: When; by default now.
            arguments: All the arguments to make the call with, in place of the model's. If they do not fit the tool, the
                call is denied when the run is resumed; an executor's ``approve`` says so at once.

        Raises:
            ApprovalError: It is unknown, already decided, expired, or another user's to decide.
            InvalidInputError: The arguments are not a JSON object, or too large.
        """
        return await self.decide(approval_id, approved=True, by=by, reason=reason, at=at, arguments=arguments)

    async def deny(self, approval_id: str, *, by: str, reason: str = "", at: float | None = None) -> Approval:
        """Refuse a tool call; the model is told so when the run is next resumed.

        Raises:
            ApprovalError: It is unknown, already decided, expired, or another user's to decide.
        """
        return await self.decide(approval_id, approved=False, by=by, reason=reason, at=at)

    async def decide(
        self,
        approval_id: str,
        *,
        approved: bool,
        by: str,
        reason: str = "",
        at: float | None = None,
        may_approve: MayApprove | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> Approval:
        """Decide on a tool call.

        Args:
            approval_id: The request.
            approved: Whether it may be made.
            by: Who decides.
            reason: Why; the model sees the reason of a refusal.
            at: When; by default now.
            may_approve: Says who may decide; by default the run's own user.
            arguments: What to make the call with, in place of the model's arguments.

        Raises:
            ApprovalError: It is unknown, already decided, expired, or another user's to decide.
            InvalidInputError: The arguments are not a JSON object, or too large.
        """
        pending = await self.get_approval(approval_id)
        check_here(await self.get(pending.run_id.partition("/")[0]))
        settled = decided(
            pending,
            approved=approved,
            by=by,
            reason=reason,
            at=at,
            may_approve=may_approve,
            arguments=arguments,
        )
        if not await self.settle_approval(settled, ApprovalStatus.PENDING):
            raise ApprovalError(
                f"The request {approval_id!r} was just decided by someone else.", approval_id=approval_id
            )
        return settled
