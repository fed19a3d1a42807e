"""How a run ended, for whoever started it: an exit code for programs, a line for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maverick.cli.exit_codes import (
    FAILURE,
    INTERRUPTED,
    INVALID_OUTPUT,
    LIMIT,
    REFUSED,
    SUCCESS,
    TIMED_OUT,
    WAITING,
)
from maverick.cli.figures import counted, duration, money
from maverick.loop import AgentResult, TerminateReason

_CODES: Mapping[TerminateReason, int] = {
    TerminateReason.COMPLETE: INVALID_OUTPUT,  # it came to its end, and yet has no success
    TerminateReason.MAX_TURNS: LIMIT,
    TerminateReason.MAX_TOTAL_TOKENS: LIMIT,
    TerminateReason.MAX_COST: LIMIT,
    TerminateReason.MAX_TOOL_CALLS: LIMIT,
    TerminateReason.MAX_TOKENS: LIMIT,
    TerminateReason.TIMEOUT: TIMED_OUT,
    TerminateReason.ABORTED: INTERRUPTED,
    TerminateReason.REFUSED: REFUSED,
    TerminateReason.AWAITING_APPROVAL: WAITING,
    TerminateReason.ERROR: FAILURE,
}


def exit_code(result: AgentResult[Any]) -> int:
    """What the command ends with."""
    return SUCCESS if result.success else _CODES[result.terminate_reason]


def summary(result: AgentResult[Any]) -> str:
    """Why the run ended and what it used, in a line."""
    usage = result.usage
    return ", ".join(
        (
            result.terminate_reason.value,
            counted(result.turn_count, "turn"),
            counted(usage.total_tokens, "token"),
            f"cost {money(usage.total_cost_usd)}",
            duration(usage.duration_ms / 1000),
        )
    )
