"""The commit-message writer: says what a change does and why, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from maverick.agents.context import AgentContext
from maverick.agents.ready.repository import staged_changes
from maverick.agents.ready.task_agent import TaskAgent
from maverick.exceptions import InvalidInputError
from maverick.loop.inputs import Input
from maverick.model.untrusted import mark_untrusted


class CommitWriter(TaskAgent):
    """Writes the message of a commit."""

    inputs: ClassVar[Mapping[str, Input]] = {
        "diff": Input(
            str, "The change, as a diff; by default what is staged, or else all of it.", default=""
        ),
        "style": Input(str, "How your messages are written.", default="plain sentences, no prefixes"),
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(
            name="commit-writer",
            system_prompt=(
                "You write commit messages. The first line says in the imperative what the commit does, in at most 72 "
                "characters and without a full stop. If the reason is not plain from it, a blank line and a short "
                "paragraph follow that say why. Answer with the message alone: no quotes, no code fence, no remarks."
            ),
            allowed_tools=[],
            **options,
        )

    async def prompt(self, context: AgentContext, inputs: Mapping[str, Any]) -> str:
        """Ask for a message of the change."""
        diff = inputs["diff"] or await staged_changes(context.cwd)
        if not diff.strip():
            raise InvalidInputError("There is nothing to commit: git sees no change.", field="diff")
        return (
            f"Write the message of this commit on the branch {context.branch}. Style: {inputs['style']}.\n\n"
            f"{mark_untrusted('the change', diff)}"
        )
