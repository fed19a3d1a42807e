"""What a person is asked: may this tool be called?"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from maverick.journal import Approval
from maverick.model import ToolCall


@dataclass(frozen=True, slots=True)
class Question:
    """A tool call that waits for a decision."""

    agent: str
    """Who wants to make the call."""
    tool_name: str
    arguments: dict[str, Any]
    reason: str = ""
    """Why a person is asked, if there is more to say than that the tool wants it."""

    @classmethod
    def on_call(cls, agent: str, call: ToolCall, reason: str) -> Question:
        """The question a run asks that goes on here."""
        return cls(agent, call.tool_name, call.arguments, reason)

    @classmethod
    def on_approval(cls, agent: str, approval: Approval) -> Question:
        """The question that a parked run has left in its journal."""
        return cls(agent, approval.tool_name, json.loads(approval.arguments))


Ask: TypeAlias = Callable[[Question], Awaitable[bool | None]]
"""Asks the person; ``None`` is "later"."""
