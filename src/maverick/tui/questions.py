"""Asks the user about the tool calls of a conversation that wait for approval."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from maverick.journal.approvals import decided_by_the_run
from maverick.loop import AgentDefinition
from maverick.runtime.approver import ApprovalAnswer, ApprovalRequest
from maverick.runtime.consent import CHANGED, CallPreview, Grants, GrantScope, consent, preview_call
from maverick.tui.backend import Backend


@dataclass(frozen=True, slots=True)
class Question:
    """A tool call that waits for approval."""

    agent: str
    """The agent that makes the call."""
    tool_name: str
    arguments: dict[str, Any]
    preview: CallPreview
    """What the call would do."""
    reason: str = ""
    """Why approval is needed, unless the tool always needs it."""
    scopes: Sequence[GrantScope] = ()
    """For how long the user may allow calls like this one."""
    form: dict[str, Any] | None = None
    """The JSON schema of the form that the user fills in, if an MCP server asks for one."""


Answer: TypeAlias = tuple[ApprovalAnswer, GrantScope | None]
"""The user's decision, and for how long they do not want to be asked again."""
Ask: TypeAlias = Callable[[Question], Awaitable[Answer | None]]
"""Asks the user about a tool call; ``None`` means later."""


class Approvals:
    """The approvals of a conversation's tool calls."""

    def __init__(
        self,
        backend: Backend,
        agent: str,
        ask: Ask,
        grants: Callable[[], Grants],
        put_off: Callable[[bool], None],
    ) -> None:
        self._backend = backend
        self._agent = agent
        self._ask = ask
        self._grants = grants
        self._asking = asyncio.Lock()
        self._reminder = asyncio.Event()
        self._put_off = put_off
        """Told when the user puts a question of a live run off, and when it is asked again."""

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Ask about a call of a live run until the user decides, unless they have allowed calls like it."""
        grants = self._grants()

        async def ask(preview: CallPreview) -> Answer:
            question = Question(
                self._agent,
                request.tool_name,
                request.arguments,
                preview,
                request.reason,
                grants.scopes(preview) if request.form is None else (),
                request.form,
            )
            while (answer := await self._ask(question)) is None:
                self._reminder.clear()
                self._put_off(True)
                try:
                    await self._reminder.wait()
                finally:
                    self._put_off(False)
            return answer

        async with self._asking:  # one call at a time, also when subagents run in parallel
            return await consent(request, grants, ask, self._backend.folder)

    def remind(self) -> None:
        """Ask again about the call that the user has put off."""
        self._reminder.set()

    async def decide_parked(self, run_id: str, definition: AgentDefinition[Any]) -> bool:
        """Ask for the approvals a run waits for, and record them in its journal; says whether all are decided."""
        journal = self._backend.journal
        for approval in await journal.list_approvals():
            if approval.run_id.partition("/")[0] != run_id:  # the ids of its subagents have a slash
                continue
            tool_name, arguments = approval.tool_name, approval.arguments
            folder = self._backend.folder if _works_here(definition, tool_name) else None
            preview = preview_call(tool_name, arguments, folder)
            decided = await self._ask(Question(self._agent, tool_name, arguments, preview))
            if decided is None:
                return False
            answer, _ = decided
            if answer.approved and preview != preview_call(tool_name, arguments, folder):
                answer = ApprovalAnswer(approved=False, reason=CHANGED)
            await journal.decide(
                approval.approval_id,
                approved=answer.approved,
                by=self._backend.user,
                reason=answer.reason,
                may_approve=decided_by_the_run,
                arguments=answer.arguments,
            )
        return True


def _works_here(definition: AgentDefinition[Any], tool_name: str) -> bool:
    """Whether a tool is one of those that are made for the folder, and none that the agent brings with it."""
    for tool in definition.tool_config.tools:
        inner = getattr(tool, "definition", None)
        if isinstance(inner, AgentDefinition) and not _works_here(inner, tool_name):
            return False
        if not isinstance(tool, str) and tool.name == tool_name:
            return False
    return True
