"""Has the executor's permissions rule on the tool calls of a run, before they run."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from maverick.loop.entries import CallRuled
from maverick.loop.policy import Policy, Ruling, Verdict
from maverick.loop.tool_round import PlannedCall, ToolRound
from maverick.runtime.event_log import log_failure
from maverick.runtime.run import Run

_BROKEN = Ruling(Verdict.DENY, "the permissions could not be checked, so nothing may run. Tell the user.")


class PermissionDesk:
    """Asks the policy about each round of tools once; a resumed run has a new desk, and asks again.

    Args:
        run: The run whose calls are ruled on.
        policy: Rules on them; without it, every call may run that its tool does not want a person asked about.
    """

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
        """Whether there is a round that has not been ruled on by this policy."""
        return self._policy is not None and self._run.loop.tool_round is not self._ruled

    def rulings(self) -> Iterator[CallRuled]:
        """What stands in the way of a call; of one that may run, or that is asked about already, nothing is said.

        Calls that were under way when the process stopped are ruled on too, if they may be run again.
        """
        tools = self._ruled = self._run.loop.tool_round
        for planned in tools.unsettled:
            if planned.refusal or (tools.started and not self._run.toolset.may_run_again(planned)):
                continue
            ruling = self._rule(planned)
            if ruling.verdict is Verdict.DENY or (
                ruling.verdict is Verdict.ASK and _is_news(ruling, planned)
            ):
                yield CallRuled(
                    at=self._run.clock.now(),
                    index=planned.index,
                    verdict=ruling.verdict,
                    reason=ruling.reason,
                )

    def _rule(self, planned: PlannedCall) -> Ruling:
        assert self._policy is not None  # noqa: S101 - nothing is due without one
        name = planned.call.tool_name
        try:
            ruling = self._policy.rule(planned.call, self._run.toolset.tools[name])
        except Exception as error:  # noqa: BLE001 - a policy that fails has allowed nothing
            log_failure(logging.ERROR, "permissions_failed", error, self._run.ids | {"tool": name})
            return _BROKEN
        return ruling if isinstance(ruling, Ruling) else _BROKEN


def _is_news(ruling: Ruling, planned: PlannedCall) -> bool:
    """Whether nobody is asked about the call yet, or nobody was told why."""
    return planned.question is None or (not planned.question and bool(ruling.reason))
