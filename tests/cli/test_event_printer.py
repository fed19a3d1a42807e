from __future__ import annotations

import io
from typing import Any

import pytest

from maverick.cli.event_printer import EventPrinter
from maverick.cli.screen import Screen
from maverick.exceptions import ServerError
from maverick.loop.events import (
    AgentActivityEvent,
    ApprovalGiven,
    Compacted,
    ContentChunk,
    ErrorEvent,
    MessageAdded,
    PrefixChanged,
    RetryScheduled,
    RunResumed,
    RunStart,
    ToolCallEnd,
    ToolCallStart,
    TurnStart,
)
from maverick.loop.prefix import PrefixReason
from maverick.loop.result import ToolOutcome
from maverick.model import ToolCall

CHIEF: dict[str, Any] = {"run_id": "r", "trace_id": "t", "at": 1.0, "agent": ("chief",)}
CLERK: dict[str, Any] = {"run_id": "r/1/0", "trace_id": "t", "at": 1.0, "agent": ("chief", "clerk")}


def shown(*events: AgentActivityEvent) -> tuple[str, str]:
    """The answer and the remarks."""
    answers, remarks = io.StringIO(), io.StringIO()
    view = EventPrinter(Screen(answers, remarks, colour=False))
    for event in events:
        view.show(event)
    return answers.getvalue(), remarks.getvalue()


def test_only_the_words_of_the_run_itself_are_its_answer() -> None:
    answer, _ = shown(
        RunStart(**CHIEF),
        ContentChunk(**CHIEF, content="Let me "),
        ContentChunk(**CLERK, content="Twelve."),
        ContentChunk(**CHIEF, content="ask."),
    )

    assert answer == "Let me ask."


def test_what_subagents_do_is_told_below_the_call_that_made_them() -> None:
    done: dict[str, Any] = {"outcome": ToolOutcome.FINISHED, "duration_ms": 1}
    _, remarks = shown(
        ToolCallStart(**CHIEF, tool_call=ToolCall("call_1", "ask", {"what": "3 * 4"})),
        ToolCallStart(**CLERK, tool_call=ToolCall("call_1", "calculate", {})),
        ToolCallEnd(**CLERK, tool_call_id="call_1", result="12", **done),
        ToolCallEnd(**CHIEF, tool_call_id="call_1", result="It is\n12.", **done),
    )

    assert remarks.splitlines() == [
        "  · ask(what='3 * 4')",
        "    · calculate()",
        "    · calculate → 12",
        "  · ask → It is 12.",
    ]


def test_the_run_of_a_subagent_can_be_shown_by_itself() -> None:
    answer, remarks = shown(RunResumed(**CLERK), ContentChunk(**CLERK, content="Twelve."))

    assert (answer, remarks) == ("Twelve.", "  (resumed)\n")


@pytest.mark.parametrize(
    ("event", "remark"),
    [
        (
            RetryScheduled(**CHIEF, attempt=2, delay=1.2),
            "(The model call failed. Retrying in about 1.2 s.)",
        ),
        (ApprovalGiven(**CHIEF, tool_call_id="c", approved=True, by="ana"), "(approved by ana)"),
        (ApprovalGiven(**CHIEF, tool_call_id="c", approved=False, by=""), "(denied by the user)"),
        (MessageAdded(**CHIEF, content="Only\nBrest."), "(a person wrote: Only Brest.)"),
        (Compacted(**CHIEF, context_tokens=5), "(the conversation was compacted)"),
    ],
)
def test_what_else_happens_is_remarked_on(event: AgentActivityEvent, remark: str) -> None:
    assert shown(event) == ("", f"  {remark}\n")


def test_a_compaction_is_remarked_on_once() -> None:
    _, remarks = shown(
        Compacted(**CHIEF, context_tokens=5),
        PrefixChanged(**CHIEF, reason=PrefixReason.CONDENSED, tokens=9000),
        PrefixChanged(**CHIEF, reason=PrefixReason.TOOLS_CHANGED, tokens=9000),
    )

    assert remarks.splitlines() == [
        "  (the conversation was compacted)",
        f"  ({PrefixReason.TOOLS_CHANGED}: about 9,000 tokens not cached)",
    ]


def test_a_retry_is_remarked_on_with_the_error_of_its_own_run() -> None:
    _, remarks = shown(
        RunStart(**CHIEF),
        ErrorEvent(**CLERK, error=ServerError("Overloaded.")),
        ErrorEvent(**CHIEF, error=ServerError("Out of order.")),
        RetryScheduled(**CLERK, attempt=1, delay=0.5),
        RetryScheduled(**CHIEF, attempt=1, delay=2),
    )

    assert remarks.splitlines() == [
        "    (Overloaded. Retrying in about 500 ms.)",
        "  (Out of order. Retrying in about 2.0 s.)",
    ]


def test_turns_are_not_worth_a_remark() -> None:
    assert shown(RunStart(**CHIEF), TurnStart(**CHIEF, turn_number=1)) == ("", "")
