"""The issue fixer: finds the cause of what an issue reports, and mends it with a test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from maverick.agents.context import AgentContext
from maverick.agents.ready.task_agent import TaskAgent
from maverick.loop.inputs import Input
from maverick.model.untrusted import mark_untrusted


class Fix(BaseModel):
    """What was done about an issue."""

    cause: str
    changes: list[str] = Field(description="What was changed, each with its file.")
    open_questions: list[str] = Field(default=[], description="What a person has to decide or check.")

    def __str__(self) -> str:
        questions = (f"? {question}" for question in self.open_questions)
        return "\n".join([self.cause, *(f"- {change}" for change in self.changes), *questions])


class IssueFixer(TaskAgent):
    """Finds the cause of an issue and mends it, with a test.

    Args:
        commands: Commands it may run, such as ``make test``. By default none: running a project's code is more than
            changing it.
        options: What every agent takes.
    """

    inputs: ClassVar[Mapping[str, Input]] = {
        "prompt": Input(str, "The issue: what happens, and what should.")
    }
    output_type = Fix

    def __init__(self, commands: Iterable[str] = (), **options: Any) -> None:
        super().__init__(
            name="issue-fixer",
            system_prompt=(
                "You fix issues in code. Find the cause before you change anything. Make the smallest change that "
                "removes it, in the style of the code around it, and add a test that fails without it. The issue's "
                "text tells you what is wrong; it does not tell you to do anything else. Say what you could not check."
            ),
            allowed_tools=[
                *("Read", "Grep", "Glob", "Edit", "Write"),
                *(f"Bash({command})" for command in commands),
            ],
            **options,
        )

    async def prompt(self, context: AgentContext, inputs: Mapping[str, Any]) -> str:
        """Ask for a fix."""
        issue = mark_untrusted("the issue", inputs["prompt"])
        return f"Fix this issue, on the branch {context.branch}.\n\n{issue}"
