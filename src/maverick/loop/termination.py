"""Why a run ended without an answer, as errors that say what to do about it."""

from __future__ import annotations

from maverick.exceptions import (
    AbortedError,
    AgentError,
    ApprovalRequiredError,
    HookRefusedError,
    InvalidInputError,
    LimitExceededError,
    RefusalError,
    StreamingError,
    StreamTimeoutError,
    TimeoutError,
)
from maverick.loop.entries import Interrupted
from maverick.loop.limits import Limits
from maverick.loop.result import TerminateReason
from maverick.loop.steps import AwaitApproval, Step
from maverick.model import Message, Response, StopReason

_ADVICE = {
    TerminateReason.MAX_TURNS: ("max_turns", "turns", "It may need more turns or a simpler task"),
    TerminateReason.MAX_TOTAL_TOKENS: ("max_total_tokens", "tokens", "Shorten the task or its tool results"),
    TerminateReason.MAX_COST: ("max_cost_usd", "cost_usd", "Use a cheaper model or shorten the task"),
    TerminateReason.MAX_TOOL_CALLS: (
        "max_tool_calls",
        "tool_calls",
        "It may need more calls or a simpler task",
    ),
}
_REASON_OF_LIMIT = {setting: reason for reason, (setting, _, _) in _ADVICE.items()}
_REASON_OF_LIMIT["max_budget_usd"] = TerminateReason.MAX_COST  # what the Claude CLI calls it


def reason_of(error: BaseException | None) -> TerminateReason:
    """Why a run ended that ended with this error."""
    match error:
        case LimitExceededError(limit=limit):
            return _REASON_OF_LIMIT.get(limit, TerminateReason.ERROR)
        case TimeoutError():
            return TerminateReason.TIMEOUT
        case AbortedError():
            return TerminateReason.ABORTED
        case RefusalError():
            return TerminateReason.REFUSED
        case StreamingError():
            return reason_of(error.__cause__)
    return TerminateReason.ERROR


def broken_off(error: AgentError, partial: str) -> AgentError:
    """The error of a model call; if its time was up in the middle of an answer, with what had arrived of that."""
    if not partial or not isinstance(error, TimeoutError) or isinstance(error, StreamingError):
        return error
    said = [Message.assistant(partial)]
    return StreamTimeoutError(str(error), partial_messages=said, cause=error.__cause__)


def limit_reached(reason: TerminateReason, limits: Limits) -> AgentError:
    """A limit of the run was reached."""
    if reason is TerminateReason.TIMEOUT:
        seconds, milliseconds = limits.seconds or 0, round((limits.seconds or 0) * 1000)
        # Who writes timeout_ms=30 means seconds: no model answers in so few milliseconds.
        meant = f" For {milliseconds} seconds, write timeout={milliseconds}." if milliseconds <= 300 else ""
        return TimeoutError(
            f"The run was stopped after its {seconds:g} s. If it needs longer, raise RunConfig(timeout=…), or the timeout=… of "
            f"its class.{meant}"
        )
    setting, attribute, advice = _ADVICE[reason]
    return LimitExceededError(
        f"The run was stopped at its limit of {getattr(limits, attribute)} ({setting}). "
        f"{advice}, or raise RunConfig.{setting}.",
        limit=setting,
    )


def interrupted(entry: Interrupted, step: Step) -> AgentError:
    """The run was aborted, or there was no one to ask for approval."""
    if entry.reason is TerminateReason.AWAITING_APPROVAL and isinstance(step, AwaitApproval):
        call = step.calls[0].call
        return ApprovalRequiredError(
            entry.message or f"The tool {call.tool_name!r} needs a person's approval.",
            tool_name=call.tool_name,
            call_id=call.id,
        )
    because = f": {entry.message}" if entry.message else ""
    said = [Message.assistant(entry.partial_text)] if entry.partial_text else []
    return AbortedError(f"The run was stopped{because}.", reason=entry.message, partial_messages=said)


def no_price(model: str) -> AgentError:
    """A limit in money cannot be enforced."""
    return InvalidInputError(
        f"max_cost_usd is set, but the price of {model!r} is not known, so the limit cannot be enforced. "
        "Add its price, or limit max_total_tokens instead.",
        field="run_config.max_cost_usd",
    )


def refused(response: Response) -> AgentError:
    """The model declined."""
    said = " What it said is the result's raw_content." if response.content else ""
    return RefusalError(f"The model declined to answer.{said} Rephrase the task or use another model.")


def refused_by_hook(hook: str, reason: str) -> AgentError:
    """A hook did not let the model be called, or its answer pass."""
    return HookRefusedError(f"The hook {hook} stopped the run: {reason}", hook=hook, reason=reason)


def cut_off(reason: StopReason) -> AgentError:
    """The final answer is not whole."""
    if reason is StopReason.MAX_TOKENS:
        return LimitExceededError(
            "The answer was cut off at the token limit of one answer. Raise ModelConfig.max_tokens.",
            limit="max_tokens",
        )
    return LimitExceededError(
        "The answer was cut off because the context window was full. Shorten the task or its tool results.",
        limit="context_window",
    )
