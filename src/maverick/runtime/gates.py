"""The two gates that a tool call passes before it runs: the permissions, and a person's approval (promise P7)."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from maverick.exceptions import ApprovalError, ApprovalRequiredError, ToolError
from maverick.journal import Approval, ApprovalStatus
from maverick.journal.approvals import (
    EXPIRY,
    allows,
    approval_for,
    expired,
    is_expired,
    is_own,
    reopened,
    still_fits,
)
from maverick.loop.entries import ApprovalDecided, CallRuled
from maverick.loop.policy import Policy, PolicyDecision, Verdict
from maverick.loop.steps import AwaitApproval, approval_id
from maverick.loop.tool_round import PlannedCall, ToolRound
from maverick.model import Tool
from maverick.runtime.deciding import ExecutorOptions
from maverick.runtime.event_log import log_failure
from maverick.runtime.interruption import RunParked
from maverick.runtime.run import Run
from maverick.runtime.run_writer import RunWriter
from maverick.tools.argument_check import check_arguments

_BROKEN = PolicyDecision(
    Verdict.DENY, "the permissions could not be checked, so nothing may run. Tell the user."
)


class PermissionGate:
    """Asks the policy about each round of tools once; a resumed run has a new gate, and asks again."""

    __slots__ = ("_policy", "_ruled", "_run")

    def __init__(self, run: Run[Any], policy: Policy | None) -> None:
        if policy is None and any(getattr(tool, "question", None) for tool in run.toolset.tools.values()):
            from maverick.tools.permissions.policy import ToolQuestions  # here, since few runs need it

            policy = ToolQuestions()
        self._run = run
        self._policy = policy
        self._ruled: ToolRound | None = None

    @property
    def is_due(self) -> bool:
        """Whether there is a round that this policy has not ruled on."""
        return self._policy is not None and self._run.loop.tool_round is not self._ruled

    def forget(self) -> None:
        """Rule on the round once more: a person has changed the arguments of a call."""
        self._ruled = None

    def decisions(self) -> Iterator[CallRuled]:
        """The decisions against calls; one that may run, or that a person is asked about already, has none.

        Calls that were under way when the process stopped are ruled on too, if they may be run again.
        """
        tools = self._ruled = self._run.loop.tool_round
        for planned in tools.unsettled:
            if planned.refusal or (tools.started and not self._run.toolset.may_run_again(planned)):
                continue
            decision = self._decide(planned)
            if decision.verdict is Verdict.DENY or (
                # Whoever has edited the arguments has agreed to them.
                decision.verdict is Verdict.ASK and planned.edited_by is None and _is_news(decision, planned)
            ):
                yield CallRuled(
                    at=self._run.clock.now(),
                    index=planned.index,
                    verdict=decision.verdict,
                    reason=decision.reason,
                )

    def _decide(self, planned: PlannedCall) -> PolicyDecision:
        assert self._policy is not None  # noqa: S101 - nothing is due without one
        name = planned.call.tool_name
        try:
            decision = self._policy.decide(planned.call, self._run.toolset.tools[name])
        except Exception as error:  # noqa: BLE001 - a policy that fails has allowed nothing
            log_failure(logging.ERROR, "permissions_failed", error, self._run.ids | {"tool": name})
            return _BROKEN
        return decision if isinstance(decision, PolicyDecision) else _BROKEN


class ApprovalGate:
    """Gets a person's decisions on tool calls through the journal of the run."""

    def __init__(self, run: Run[Any], writer: RunWriter, options: ExecutorOptions) -> None:
        self._run = run
        self._writer = writer
        self._expires_in = options["approval_expires_in"]
        self._may_approve = options["may_approve"]
        self._ignored = ""
        """What became of a decision that does not count, if there was one."""

    async def decision(self, step: AwaitApproval) -> ApprovalDecided:
        """The decision on one of the calls; until there is one, the requests are recorded, and the run is parked."""
        asked = self._requests(step)
        await self._writer.park(asked)
        for request in asked:
            found = await self._writer.journal.get_approval(request.approval_id)
            if (decided := await self._decided(found, request)) is not None:
                return decided
        raise RunParked(_waits_for(asked[0], self._ignored))

    async def recorded_decision(self, step: AwaitApproval) -> ApprovalDecided | None:
        """A decision that was made while the run was parked, if there is one."""
        await self.withdraw_refused()
        for request in self._requests(step):
            found = await self._find(request.approval_id)
            if found is not None and found.status in (ApprovalStatus.APPROVED, ApprovalStatus.DENIED):
                return await self._decided(found, request)
        return None

    async def withdraw_refused(self) -> None:
        """Withdraw the requests for calls that are not to be run, whatever a person would say."""
        for planned in self._run.loop.tool_round.calls:
            if planned.refusal and planned.question is not None:
                await self.withdraw(planned)

    async def withdraw(self, planned: PlannedCall) -> None:
        """Withdraw the request for a call that was decided on without it."""
        request_id = approval_id(self._run.start.run_id, self._run.loop.tool_round.turn, planned.index)
        if (found := await self._find(request_id)) is not None:
            used = replace(found, status=ApprovalStatus.USED, decided_at=time.time())
            await self._settle(used, ApprovalStatus.PENDING)

    async def _find(self, request_id: str) -> Approval | None:
        try:
            return await self._writer.journal.get_approval(request_id)
        except ApprovalError:  # this journal was never asked for it
            return None

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
                has_rule=self._may_approve is not None,
            )
            for planned in step.calls
        ]

    async def _decided(self, found: Approval, asked: Approval) -> ApprovalDecided | None:
        now = time.time()  # not the run's own clock: other processes decide on requests too
        if found.status is ApprovalStatus.PENDING:
            if not is_expired(found, now):
                return None
            found = expired(found, now)
            if not await self._settle(found, ApprovalStatus.PENDING):
                return None
        if not self._may_decide(found):
            self._ignored = (
                f"The decision of {found.decided_by!r} does not count: they may not decide on it. "
            )
            await self._settle(reopened(found), found.status)
            return None
        await self._settle(replace(found, status=ApprovalStatus.USED), found.status)
        decided = ApprovalDecided(
            at=self._run.clock.now(),
            index=found.index,
            approved=found.approved,
            by=found.decided_by,
            reason=found.reason,
            arguments=found.edited_arguments,
        )
        if not still_fits(found, asked):
            why = "The call is not the one that was asked about."
            return replace(decided, approved=False, arguments=None, reason=why)
        return fitting(decided, self._run.toolset.tools[found.tool_name])

    def _may_decide(self, found: Approval) -> bool:
        """Whether whoever decided may: the decision may have been written where the executor's rule is not known."""
        if found.decided_by == EXPIRY and not found.approved:
            return True
        if self._may_approve is None:
            return not found.has_rule or is_own(found, found.decided_by)
        try:
            return allows(self._may_approve, found, found.decided_by)
        except ApprovalError as error:
            log_failure(logging.ERROR, "may_approve_failed", error, self._run.ids | {"tool": found.tool_name})
            return False

    async def _settle(self, approval: Approval, expected: ApprovalStatus) -> bool:
        """Record what became of a request, unless another process has taken the run over."""
        return await self._writer.journal.settle_approval(approval, expected, self._writer.lease)


def fitting(decided: ApprovalDecided, tool: Tool) -> ApprovalDecided:
    """The decision; one with edited arguments that do not fit the tool denies the call, and says why."""
    if decided.arguments is None:
        return decided
    try:
        check_arguments(tool, decided.arguments)
    except ToolError as error:
        why = f"It was approved with other arguments. {error}"
        return replace(decided, approved=False, arguments=None, reason=why)
    return decided


def _is_news(decision: PolicyDecision, planned: PlannedCall) -> bool:
    """Whether no person is asked about the call yet, or none was told why."""
    return planned.question is None or (not planned.question and bool(decision.reason))


def _waits_for(approval: Approval, ignored: str) -> ApprovalRequiredError:
    why = approval.question
    return ApprovalRequiredError(
        f"{ignored}The run waits for a decision on {approval.tool_name}({approval.arguments_json})"
        f"{f', because {why}' if why else '.'} "
        f"Decide with: maverick runs approve {approval.approval_id}",
        tool_name=approval.tool_name,
        call_id=approval.approval_id,
    )
