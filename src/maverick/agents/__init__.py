"""Agents to write, register and run by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from maverick.agents.base import (
    BUILTIN_TOOLS,
    DEFAULT_MODEL,
    DEFAULT_PERMISSION_MODE,
    MaverickAgent,
)
from maverick.agents.context import AgentContext
from maverick.agents.defined import DefinedAgent
from maverick.agents.registry import AgentRegistry, registry
from maverick.agents.result import AgentResult, AgentUsage
from maverick.agents.text import extract_all_text, extract_text
from maverick.providers.claude_cli import extract_usage

if TYPE_CHECKING:
    from claude_agent_sdk import Message

    AgentMessage: TypeAlias = Message

__all__ = [
    "BUILTIN_TOOLS",
    "DEFAULT_MODEL",
    "DEFAULT_PERMISSION_MODE",
    "AgentContext",
    "AgentMessage",
    "AgentRegistry",
    "AgentResult",
    "AgentUsage",
    "DefinedAgent",
    "MaverickAgent",
    "extract_all_text",
    "extract_text",
    "extract_usage",
    "registry",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    """Load the SDK for the one name that is the SDK's own."""
    if name == "AgentMessage":
        from claude_agent_sdk import Message

        return Message
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
