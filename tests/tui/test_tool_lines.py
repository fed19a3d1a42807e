"""Tool calls on the screen: plans as steps, and calls that were not run with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from maverick.loop.result import ToolOutcome
from maverick.tui.block import ToolState, ToolUse
from maverick.tui.renderer import Renderer
from maverick.tui.tool_lines import tool_lines

pytestmark = pytest.mark.requirement("007-TUI-KEYS")


def lines(name: str, arguments: dict[str, Any], width: int = 60, **fields: Any) -> list[str]:
    about: dict[str, Any] = {"run_id": "r", "turn": 1, "call_id": "c", "state": ToolState.OVER} | fields
    tool = ToolUse(name=name, arguments=arguments, **about)
    return [line.plain.rstrip() for line in tool_lines(tool, width, Renderer())]


def test_a_plan_is_shown_as_steps_with_marks_one_line_each() -> None:
    steps = [
        {"step": "look", "status": "done"},
        {"step": "change\nit", "status": "in_progress"},
        {"step": "test " * 20, "status": "pending"},
    ]

    head, *shown = lines("update_plan", {"steps": steps}, outcome=ToolOutcome.FINISHED, duration_ms=3)

    assert head.split() == ["▸", "update_plan", "✓", "3", "ms"]
    assert [line.lstrip(" │")[:12] for line in shown] == ["✓ look", "▸ change it", "○ test test "]
    assert shown[-1].endswith("…")


def test_a_plan_that_is_not_written_as_one_is_shown_as_any_other_call() -> None:
    (head,) = lines("update_plan", {"steps": ["look"]}, outcome=ToolOutcome.FINISHED)

    assert "['look']" in head


@pytest.mark.parametrize(
    ("decision", "result", "state", "reason"),
    [
        ("denied by you", "Not run: denied by the user. later", "✗ denied", "denied by the user. later"),
        ("", "Not run: the mode plan changes nothing.", "✗ not run", "the mode plan changes nothing."),
    ],
)
def test_a_call_that_was_not_run_took_no_time_and_says_why(
    decision: str, result: str, state: str, reason: str
) -> None:
    outcome = ToolOutcome.DENIED

    head, why = lines("shell", {"command": "ls"}, decision=decision, result=result, outcome=outcome)
    expanded = lines("shell", {"command": "ls"}, result=result, outcome=outcome, folded=False)

    assert head.endswith(state)
    assert why.lstrip(" │") == reason
    assert not any(" ms" in line for line in (head, *expanded))
