"""The rules of approvals: what a decision is bound to, who may make it, and until when (promise P7)."""

from __future__ import annotations

import hashlib
import inspect
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec.structs import replace

from maverick.exceptions import ApprovalError, InvalidInputError
from maverick.journal.codec import encode_json
from maverick.journal.records import Approval, ApprovalStatus
from maverick.loop.fingerprint import hash_tool
from maverick.loop.steps import approval_id
from maverick.model import Tool, ToolCall

MayApprove: TypeAlias = Callable[[Approval, str], bool]
"""Says whether a person may decide on a request."""

NOT_ASYNC = "may_approve has to be an ordinary function; look up who may decide before, not in it"
EXPIRY = "expiry"
"""Who decides on a request that no one has answered in time."""
_MOST_EDITED = 1_000_000
"""Characters of JSON that edited arguments may have."""


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
    """The request with a person's decision.

    Raises:
        ApprovalError: It is already decided, expired, or another user's to decide.
        InvalidInputError: The edited arguments are not a JSON object, or too large.
    """
    now = time.time() if at is None else at
    if pending.status is not ApprovalStatus.PENDING:
        raise _refusal(pending, f"is already {pending.status.value}; a decision counts once")
    if not by:
        raise _refusal(pending, "needs the name of the person who decides (by=…)")
    if by == EXPIRY:
        raise _refusal(pending, f"cannot be decided by {EXPIRY!r}, which no person is called")
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

    Raises:
        ApprovalError: The rule has failed, or is asynchronous; it has allowed nothing.
    """
    try:
        answer: object = may_approve(as_approved(approval), by)
    except Exception as error:
        raise _refusal(approval, "cannot be decided: may_approve has failed", error) from error
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
    """Edited arguments as they are stored.

    Raises:
        InvalidInputError: They are not a JSON object, or too large.
    """
    if not isinstance(arguments, Mapping):
        raise InvalidInputError(
            f"arguments: expected a dict of the tool's arguments, got {arguments!r}.", field="arguments"
        )
    try:
        written = json.dumps(dict(arguments), allow_nan=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"arguments: they cannot be written as JSON: {error}.", field="arguments", cause=error
        ) from error
    if len(written) > _MOST_EDITED:
        raise InvalidInputError(
            f"arguments: at most {_MOST_EDITED:,} characters of JSON, got {len(written):,}.",
            field="arguments",
        )
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


def _refusal(approval: Approval, why: str, cause: Exception | None = None) -> ApprovalError:
    message = f"The request {approval.approval_id!r} {why}."
    return ApprovalError(message, approval_id=approval.approval_id, cause=cause)
