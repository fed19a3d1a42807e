"""Tools for agents that only name them, as files do: those for coding, in the folder the agent works in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from maverick.loop.definition import AgentDefinition
from maverick.loop.subagent import AgentTool
from maverick.model import ToolContext
from maverick.tools import ToolRegistry


def names_tools(definition: AgentDefinition[Any]) -> bool:
    """Whether an agent, or one it calls, names tools it does not bring."""
    return any(_named(definition))


def coding_registry(
    folder: Path, on_output: Callable[[ToolContext, str], object] | None = None
) -> ToolRegistry:
    """The tools for coding, by name.

    Args:
        folder: Where they work; none of them leaves it.
        on_output: Told what commands say, while they say it.
    """
    from maverick.tools.coding.toolbox import coding_tools  # here, since not every agent has them
    from maverick.tools.coding.workspace import Workspace

    return ToolRegistry(coding_tools(Workspace(folder), on_output=on_output))


def _named(definition: AgentDefinition[Any]) -> Iterator[str]:
    for tool in definition.tool_config.tools:
        if isinstance(tool, str):
            yield tool
        elif isinstance(tool, AgentTool):
            yield from _named(tool.definition)
