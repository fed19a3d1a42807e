"""The tools of a run that is told again: those there still are, and what stands for those that are not here now.

A run is told from its journal alone. So tools that are only named, as those of MCP servers are, need not be connected
for it: the journal knows their names, and by which terms a person was asked about their calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from maverick.exceptions import InvalidToolError
from maverick.loop.definition import AgentDefinition
from maverick.loop.entries import RunStarted
from maverick.model import Tool
from maverick.tools import ToolRegistry


@dataclass(frozen=True, slots=True)
class RetoldTool:
    """A tool that a run had, by its name."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})

    async def execute(self, args: dict[str, Any], /) -> NoReturn:  # noqa: ARG002 - the shape of a Tool
        """Refuse: what it did is in the journal.

        Raises:
            InvalidToolError: Always.
        """
        raise InvalidToolError(
            f"The tool {self.name!r} is not here; its run is only told.", tool_name=self.name
        )


def retold_tools(
    definition: AgentDefinition[Any], registry: ToolRegistry, start: RunStarted
) -> dict[str, Tool]:
    """The tools of a run by name.

    Args:
        definition: Its agent.
        registry: Where tools are found that the definition only names; those that are not in it are stood for.
        start: The run's beginning.
    """
    tools = {tool.name: tool for named in definition.tool_config.tools for tool in _found(named, registry)}
    had = {} if start.fingerprint is None else start.fingerprint.tools
    return {name: RetoldTool(name) for name in had} | tools


def _found(named: Tool | str, registry: ToolRegistry) -> Sequence[Tool]:
    if not isinstance(named, str):
        return (named,)
    try:
        return registry.find(named)
    except InvalidToolError:
        return ()
