"""The tools of a definition, made ready to run: looked up and inspected once, not in every run."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from maverick.loop.definition import AgentDefinition, check_tool
from maverick.loop.fingerprint import Fingerprint
from maverick.loop.subagent import AgentTool
from maverick.model import Effect, Outcome, Tool, ToolContext
from maverick.tools import FunctionTool, ToolRegistry


class ReadyTool:
    """A tool with everything settled that running it needs."""

    __slots__ = ("agent", "effect", "execute", "max_output", "reconcile", "takes_context", "timeout", "tool")

    def __init__(self, tool: Tool, timeout: float, max_output: int) -> None:
        self.tool = tool
        self.agent = tool.definition if isinstance(tool, AgentTool) else None
        """The definition, when the tool is an agent."""
        self.timeout: float = getattr(tool, "timeout", None) or timeout
        self.max_output: int = getattr(tool, "max_output", None) or max_output
        self.effect = Effect(getattr(tool, "effect", Effect.IRREVERSIBLE))
        self.reconcile: Callable[[dict[str, Any], ToolContext], Awaitable[Outcome]] | None = getattr(
            tool, "reconciler", None
        )
        """Asks after a crash whether a call took effect, if the tool can tell."""
        self.execute: Callable[..., Awaitable[Any]] = tool.execute
        self.takes_context = _takes_context(tool)
        """Whether ``execute`` has a second parameter, for the :class:`~maverick.model.ToolContext`."""


class Toolset:
    """A definition's tools by name.

    Args:
        definition: The agent.
        registry: Where tools are found that the definition only names.

    Raises:
        InvalidToolError: A named tool is not in the registry.
    """

    __slots__ = ("_fingerprint", "ready", "tools")

    def __init__(self, definition: AgentDefinition[Any], registry: ToolRegistry) -> None:
        config = definition.tool_config
        self._fingerprint: Fingerprint | None = None
        found = [registry.get(tool) if isinstance(tool, str) else tool for tool in config.tools]
        self.tools: Mapping[str, Tool] = {check_tool("tool_config.tools", tool): tool for tool in found}
        self.ready = {
            name: ReadyTool(tool, config.timeout_ms / 1000, config.max_output)
            for name, tool in self.tools.items()
        }

    def fingerprint(self, definition: AgentDefinition[Any]) -> Fingerprint:
        """What the agent is, in hashes; made once."""
        if self._fingerprint is None:
            self._fingerprint = Fingerprint.of(definition, self.tools)
        return self._fingerprint


def _takes_context(tool: Tool) -> bool:
    if isinstance(tool, FunctionTool):
        return tool.takes_context
    parameters = inspect.signature(tool.execute).parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(positional) >= 2 or any(p.kind is p.VAR_POSITIONAL for p in parameters)
