"""Approvals: where requests are kept, what a decision is bound to, who may make it, and until when (promise P7)."""

from __future__ import annotations

import hashlib
import inspect
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec.structs import replace

from maverick.exceptions import ApprovalError
from maverick.journal.codec import encode_json
from maverick.journal.records import Approval, ApprovalStatus, Lease, RunRecord, check_here
from maverick.loop.fingerprint import hash_tool
from maverick.loop.steps import approval_id
from maverick.misuse import refuse
from maverick.model import Tool, ToolCall

MayApprove: TypeAlias = Callable[[Approval, str], bool]
"""Says whether a person may decide on a request."""

NOT_ASYNC = "may_approve has to be an ordinary function; look up who may decide before, not in it"
EXPIRY = "expiry"
"""Who decides on a request that no one has answered in time."""
_MOST_EDITED = 1_000_000
"""Characters of JSON that edited arguments may have."""


class ApprovalStore(ABC):
    """Keeps requests for approval."""

    @abstractmethod
    async def get(self, run_id: str) -> RunRecord:
        """What is known of a run."""

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
        if state not in (known := ("all", *ApprovalStatus)):
            refuse("state", f"expected {', '.join(map(repr, map(str, known)))}, got {state!r}.")
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

        If the run itself does this, its lease has to hold in the same transaction.

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
        """Agree to a tool call. The run continues when it is next resumed.

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


def binding_hash(value: object) -> str:
    """A hash of what a decision is bound to: it counts for exactly this, and for nothing else."""
    return hashlib.sha256(encode_json(value, sort=True)).hexdigest()[:32]


def approval_for(
    run_id: str,
    turn: int,
    index: int,
    call: ToolCall,
    tool: Tool,
    user_id: str | None,
    expires_in: float | None,
    question: str = "",
    *,
    has_rule: bool = False,
) -> Approval:
    """The request for a decision on one call."""
    arguments = encode_json(call.arguments, sort=True)
    now = time.time()
    return Approval(
        approval_id=approval_id(run_id, turn, index),
        run_id=run_id,
        turn=turn,
        index=index,
        tool_name=call.tool_name,
        arguments_json=arguments.decode(),
        arguments_hash=binding_hash(call.arguments),
        tool_hash=hash_tool(tool),
        user_id=user_id,
        requested_at=now,
        expires_at=None if expires_in is None else now + expires_in,
        status=ApprovalStatus.PENDING,
        question=question,
        has_rule=has_rule,
    )


def decided(
    pending: Approval,
    *,
    approved: bool,
    by: str,
    reason: str = "",
    at: float | None = None,
    may_approve: MayApprove | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> Approval:
    """The request with a person's decision; an ``ApprovalError`` if it is decided, expired, or another user's to decide.

    Edited arguments that are not a JSON object, or too large, are an ``InvalidInputError``.
    """
    now = time.time() if at is None else at
    if pending.status is not ApprovalStatus.PENDING:
        raise _refusal(pending, f"is already {pending.status.value}; a decision counts once")
    if not by:
        raise _refusal(pending, "needs the name of the person who decides (by=…)")
    if by == EXPIRY:
        raise _refusal(
            pending, f"cannot be decided by {EXPIRY!r}, a name that is reserved for requests that expire"
        )
    edited = "" if arguments is None or not approved else edited_json(arguments)
    if not allows(may_approve or is_own, replace(pending, edited_json=edited), by):
        by_default = may_approve is None or may_approve is decided_by_the_run
        raise _refusal(
            pending,
            "can only be decided by the run's own user" if by_default else f"cannot be decided by {by!r}",
        )
    if approved and is_expired(pending, now):
        raise _refusal(pending, "has expired, which denies it")
    status = ApprovalStatus.APPROVED if approved else ApprovalStatus.DENIED
    settled = replace(pending, status=status, approved=approved, decided_by=by, decided_at=now, reason=reason)
    return (
        replace(settled, edited_json=edited, edited_hash=_edit_hash(pending, edited)) if edited else settled
    )


def as_approved(approval: Approval) -> Approval:
    """The request with the arguments that the call would run with: what a rule on who may decide is to see."""
    return replace(approval, arguments_json=approval.edited_json) if approval.edited_json else approval


def allows(may_approve: MayApprove, approval: Approval, by: str) -> bool:
    """Whether a rule lets someone decide on a request, with the arguments that the call would run with.

    A rule that fails, or is asynchronous, has allowed nothing: that is an ``ApprovalError``.
    """
    try:
        answer: object = may_approve(as_approved(approval), by)
    except Exception as error:
        raise _refusal(approval, "cannot be decided: may_approve has failed") from error
    if inspect.iscoroutine(answer):
        answer.close()
        raise _refusal(approval, f"cannot be decided: {NOT_ASYNC}")
    return answer is True


def is_own(approval: Approval, by: str) -> bool:
    """Whether someone may decide when no executor says who may: the user that the run acts for, if there is one."""
    return approval.user_id is None or by == approval.user_id


def decided_by_the_run(approval: Approval, by: str) -> bool:
    """Who may decide where the executor's rule is not known, for ``decide(may_approve=…)``.

    If the executor has a rule, anyone may: whoever drives the run asks that rule, and a decision that it does not allow
    leaves the request as it was.
    """
    return approval.has_rule or is_own(approval, by)


def reopened(approval: Approval) -> Approval:
    """The request without its decision, which does not count."""
    return replace(
        approval,
        status=ApprovalStatus.PENDING,
        approved=False,
        decided_by="",
        decided_at=None,
        reason="",
        edited_json="",
        edited_hash="",
    )


def edited_json(arguments: Mapping[str, Any]) -> str:
    """Edited arguments as they are stored; an ``InvalidInputError`` if they are not a JSON object, or too large."""
    if not isinstance(arguments, Mapping):
        refuse("arguments", f"expected a dict of the tool's arguments, got {arguments!r}.")
    try:
        written = json.dumps(dict(arguments), allow_nan=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        refuse("arguments", f"they cannot be written as JSON: {error}.", error)
    if len(written) > _MOST_EDITED:
        refuse("arguments", f"at most {_MOST_EDITED:,} characters of JSON, got {len(written):,}.")
    return written


def expired(pending: Approval, at: float) -> Approval:
    """The request, denied because it has expired."""
    return replace(
        pending,
        status=ApprovalStatus.DENIED,
        decided_by=EXPIRY,
        decided_at=at,
        reason="No one decided in time.",
    )


def is_expired(approval: Approval, at: float) -> bool:
    """Whether the time for a decision is over."""
    return approval.expires_at is not None and at >= approval.expires_at


def still_fits(approval: Approval, asked: Approval) -> bool:
    """Whether a decision was made on exactly the call that is asked about now."""
    bound = ("run_id", "turn", "index", "tool_name", "arguments_hash", "tool_hash", "user_id")
    if any(getattr(approval, name) != getattr(asked, name) for name in bound):
        return False
    edited = approval.edited_json
    return not edited or approval.edited_hash == _edit_hash(approval, edited)


def _edit_hash(approval: Approval, edited: str) -> str:
    """Binds edited arguments to the call and the tool that were shown."""
    return binding_hash([approval.approval_id, approval.arguments_hash, approval.tool_hash, edited])


def _refusal(approval: Approval, why: str) -> ApprovalError:
    message = f"The request {approval.approval_id!r} {why}."
    return ApprovalError(message, approval_id=approval.approval_id)
