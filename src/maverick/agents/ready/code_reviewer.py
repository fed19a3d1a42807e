"""The code reviewer: findings on a change, each with its place and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, Field

from maverick.agents.context import AgentContext
from maverick.agents.ready.repository import changes_since
from maverick.agents.ready.task_agent import TaskAgent
from maverick.exceptions import InvalidInputError
from maverick.loop.inputs import Input
from maverick.model.untrusted import mark_untrusted


class Finding(BaseModel):
    """Something that is wrong with a change."""

    file: str
    line: int | None = Field(default=None, description="The line in the new version of the file.")
    severity: Literal["critical", "major", "minor"]
    problem: str = Field(description="What goes wrong, when, and for whom.")
    suggestion: str = Field(description="What to do about it.")

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}  {self.severity}: {self.problem}\n    → {self.suggestion}"


class Review(BaseModel):
    """What there is to say about a change."""

    summary: str
    findings: list[Finding]

    def __str__(self) -> str:
        return "\n".join([self.summary, *map(str, self.findings)])


class CodeReviewer(TaskAgent):
    """Reviews a change and lists what is wrong with it."""

    inputs: ClassVar[Mapping[str, Input]] = {
        "diff": Input(str, "The change, as a diff; by default what git says.", default=""),
        "base": Input(str, "The revision to compare the folder with.", default="HEAD"),
        "focus": Input(str, "What to look at in particular.", default="correctness, security and tests"),
    }
    output_type = Review

    def __init__(self, **options: Any) -> None:
        super().__init__(
            name="code-reviewer",
            system_prompt=(
                "You review changes to code. Report only what is wrong in the change itself and would matter to its "
                "author: defects, security holes, lost errors, missing tests. Read the files around the change before "
                "you judge it, and report nothing you have not checked. No praise, no style that a formatter decides."
            ),
            allowed_tools=["Read", "Grep", "Glob"],
            **options,
        )

    async def prompt(self, context: AgentContext, inputs: Mapping[str, Any]) -> str:
        """Ask for a review of the change."""
        diff = inputs["diff"] or await changes_since(context.cwd, inputs["base"])
        if not diff.strip():
            raise InvalidInputError(
                f"There is nothing to review: nothing differs from {inputs['base']}. Name another base, or a diff.",
                field="diff",
            )
        return (
            f"Review this change, with an eye on {inputs['focus']}.\n\n{mark_untrusted('the change', diff)}"
        )
