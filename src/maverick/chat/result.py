"""What the chat agent gives back: its answer, and what it did for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolCallRecord:
    """A tool call the agent made."""

    tool_name: str
    """The tool."""
    parameters: dict[str, Any]
    """What the model passed. The user it acted for is injected below the model and is not among them."""
    result: dict[str, Any]
    """``{"success": true, "data": …}`` or ``{"success": false, "error": {"code", "message", "details"}}``."""
    duration_ms: int
    """How long it took."""


@dataclass(frozen=True, slots=True)
class AgentResult:
    """The result of one invocation."""

    success: bool
    """Whether the agent came to an answer."""
    response: str
    """The answer, in words for the user."""
    tool_calls: Sequence[ToolCallRecord]
    """The tools it called, in order."""
    error: str | None = None
    """What went wrong, in words for the user."""

    @property
    def has_tool_calls(self) -> bool:
        """Whether the agent called any tool."""
        return len(self.tool_calls) > 0
