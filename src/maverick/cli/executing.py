"""Makes what runs an agent from the command line: the models as set, the tools it names, and the permissions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from maverick.cli.connecting import ConfiguredModels
from maverick.config import AgentConfig
from maverick.journal import Journal
from maverick.loop import AgentDefinition
from maverick.loop.subagent import AgentTool
from maverick.runtime import AgentExecutor
from maverick.runtime.driver import Approver
from maverick.tools import ToolRegistry


@asynccontextmanager
async def executor_for(
    definition: AgentDefinition[Any],
    settings: AgentConfig,
    journal: Journal | None,
    *,
    mode: str | None = None,
    approve: Approver | None = None,
) -> AsyncIterator[AgentExecutor]:
    """What runs an agent, for the length of an ``async with`` block.

    An agent that names tools gets those for coding, in the current folder and under the person's permissions. One
    that has tools of its own has what its author gave it; permissions hold for it if a mode is asked for.

    Args:
        definition: The agent.
        settings: What the person has set.
        journal: Where its runs are kept.
        mode: How much it may do without being told.
        approve: Asks the person about a tool call; without it, the run waits in its journal.
    """
    tools, permissions = ToolRegistry(), None
    names_tools = any(_named_tools(definition))
    if names_tools:
        from maverick.tools.coding.toolbox import coding_tools  # here, since not every agent has them
        from maverick.tools.coding.workspace import Workspace

        tools = ToolRegistry(coding_tools(Workspace(Path.cwd())))
    if names_tools or mode is not None:
        from maverick.tools.permissions import load_permissions  # the same

        permissions = load_permissions(mode)
    async with ConfiguredModels(settings) as models:
        yield AgentExecutor(models, tools, journal=journal, approve=approve, permissions=permissions)


def _named_tools(definition: AgentDefinition[Any]) -> Iterator[str]:
    for tool in definition.tool_config.tools:
        if isinstance(tool, str):
            yield tool
        elif isinstance(tool, AgentTool):
            yield from _named_tools(tool.definition)
