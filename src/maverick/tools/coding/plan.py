"""The tool with which an agent writes down what it is going to do."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from maverick.exceptions import ToolError

_SIGNS = {"pending": "[ ]", "in_progress": "[>]", "done": "[x]"}


class PlanStep(TypedDict):
    """One thing to do."""

    step: str
    status: Literal["pending", "in_progress", "done"]


async def update_plan(steps: list[PlanStep]) -> str:
    """Write down the plan for a task of several steps, and keep it up to date: send all steps each time.

    Args:
        steps: All steps in order, each with its status; at most one is in progress.
    """
    if sum(step["status"] == "in_progress" for step in steps) > 1:
        raise ToolError("Only one step can be in progress. Finish one before you begin the next.")
    lines = [f"{_SIGNS[step['status']]} {' '.join(step['step'].split())}" for step in steps]
    return "\n".join(lines) or "The plan is empty."
