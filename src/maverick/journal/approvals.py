"""The rules of approvals: what a decision is bound to, who may make it, and until when (promise P7)."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import TypeAlias

from msgspec.structs import replace

from maverick.exceptions import ApprovalError
from maverick.journal.codec import encode_json
from maverick.journal.records import Approval, ApprovalStatus
from maverick.loop.fingerprint import hash_tool
from maverick.model import Tool, ToolCall

MayApprove: TypeAlias = Callable[[Approval, str], bool]
"""Says whether a person may decide on a request."""


def approval_id(run_id: str, turn: int, index: int) -> str:
    """The id of the request for a decision on one call; it is the call's own, so asking twice is asking once."""
    return f"{run_id}:{turn}:{index}"


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
    )


def decided(
    pending: Approval,
    *,
    approved: bool,
    by: str,
    reason: str = "",
    at: float | None = None,
    may_approve: MayApprove | None = None,
) -> Approval:
    """The request with a person's decision.

    Raises:
        ApprovalError: It is already decided, expired, or another user's to decide.
    """
    now = time.time() if at is None else at
    if pending.status is not ApprovalStatus.PENDING:
        raise _refusal(pending, f"is already {pending.status.value}; a decision counts once")
    if not by:
        raise _refusal(pending, "needs the name of the person who decides (by=…)")
    if may_approve is None and pending.user_id is not None and by != pending.user_id:
        raise _refusal(pending, "can only be decided by the run's own user")
    if may_approve is not None and may_approve(pending, by) is not True:
        raise _refusal(pending, f"cannot be decided by {by!r}")
    if approved and is_expired(pending, now):
        raise _refusal(pending, "has expired, which denies it")
    status = ApprovalStatus.APPROVED if approved else ApprovalStatus.DENIED
    return replace(pending, status=status, approved=approved, decided_by=by, decided_at=now, reason=reason)


def expired(pending: Approval, at: float) -> Approval:
    """The request, denied because it has expired."""
    return replace(
        pending,
        status=ApprovalStatus.DENIED,
        decided_by="expiry",
        decided_at=at,
        reason="No one decided in time.",
    )


def is_expired(approval: Approval, at: float) -> bool:
    """Whether the time for a decision is over."""
    return approval.expires_at is not None and at >= approval.expires_at


def still_fits(approval: Approval, asked: Approval) -> bool:
    """Whether a decision was made on exactly the call that is asked about now."""
    bound = ("run_id", "turn", "index", "tool_name", "arguments_hash", "tool_hash", "user_id")
    return all(getattr(approval, name) == getattr(asked, name) for name in bound)


def _refusal(approval: Approval, why: str) -> ApprovalError:
    return ApprovalError(f"The request {approval.approval_id!r} {why}.", approval_id=approval.approval_id)
