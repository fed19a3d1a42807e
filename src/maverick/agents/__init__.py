"""Agents to write, register and run by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maverick.agents.registry import AgentRegistry, DefinitionAgent, registry
from maverick.agents.result import AgentResult, AgentUsage
from maverick.misuse import load_on_use

if TYPE_CHECKING:
    from claude_agent_sdk import Message as AgentMessage

    from maverick.agents.base import BUILTIN_TOOLS, DEFAULT_MODEL, DEFAULT_PERMISSION_MODE, MaverickAgent
    from maverick.agents.class_executor import ClassExecutor, define_class
    from maverick.agents.context import AgentContext
    from maverick.agents.query import extract_all_text, extract_text
    from maverick.providers.claude_cli import extract_usage

__all__ = [
    "BUILTIN_TOOLS", "DEFAULT_MODEL", "DEFAULT_PERMISSION_MODE", "AgentContext", "AgentMessage",
    "AgentRegistry", "AgentResult", "AgentUsage", "ClassExecutor", "DefinitionAgent", "MaverickAgent",
    "define_class", "extract_all_text", "extract_text", "extract_usage", "registry",
]  # fmt: skip

_FOR_CLASSES = {
    "BUILTIN_TOOLS": "maverick.agents.base",
    "DEFAULT_MODEL": "maverick.agents.base",
    "DEFAULT_PERMISSION_MODE": "maverick.agents.base",
    "AgentContext": "maverick.agents.context",
    "MaverickAgent": "maverick.agents.base",
    "ClassExecutor": "maverick.agents.class_executor",
    "define_class": "maverick.agents.class_executor",
    "extract_all_text": "maverick.agents.query",
    "extract_text": "maverick.agents.query",
    "extract_usage": "maverick.providers.claude_cli",
}
"""Where to find what only agents on the Claude CLI need; definitions do without it."""


if not TYPE_CHECKING:  # else any name would be one to a type checker
    _load = load_on_use(__name__, _FOR_CLASSES)

    def __getattr__(name: str) -> object:
        if name == "AgentMessage":
            from claude_agent_sdk import Message

            return Message
        return _load(name)
