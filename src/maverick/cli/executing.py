"""Makes what runs an agent from the command line: the models as set, the tools it names, and the permissions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from maverick.agents.named_tools import named_tools, names_tools, servers_named
from maverick.cli.connecting import ConfiguredModels
from maverick.cli.screen import Screen
from maverick.config import AgentConfig
from maverick.journal import Journal
from maverick.loop import AgentDefinition
from maverick.model import ToolContext
from maverick.runtime import AgentExecutor
from maverick.runtime.driver import Approver


@asynccontextmanager
async def executor_for(
    definition: AgentDefinition[Any],
    settings: AgentConfig,
    journal: Journal | None,
    *,
    mode: str | None = None,
    approve: Approver | None = None,
    on_output: Callable[[ToolContext, str], object] | None = None,
    screen: Screen | None = None,
) -> AsyncIterator[AgentExecutor]:
    """What runs an agent, for the length of an ``async with`` block.

    An agent that names tools gets those for coding, in the current folder and under the person's permissions, and those
    of the MCP servers it names. One that has tools of its own has what its author gave it; permissions hold for it if a
    mode is asked for.

    Args:
        definition: The agent.
        settings: What the person has set.
        journal: Where its runs are kept.
        mode: How much it may do without being told.
        approve: Asks the person about a tool call; without it, the run waits in its journal.
        on_output: Told what commands of the agent say, while they say it.
        screen: Where a person is told of what is left out, and asked about MCP servers of the project if they can be.

    Raises:
        MaverickError: An MCP server that the agent names can not be used.
    """
    permissions = None
    if names_tools(definition) or mode is not None:
        from maverick.tools.permissions import load_permissions  # here, since not every agent needs them

        permissions = load_permissions(mode)
    if screen is not None and approve is not None and (servers := servers_named(definition)):
        from maverick.cli.mcp.agreeing import ask_for_consent  # here, since most agents name no server

        await ask_for_consent(servers, screen)
    remark = None if screen is None else screen.remark
    async with (
        named_tools(definition, Path.cwd(), on_output=on_output, on_remark=remark) as tools,
        ConfiguredModels(settings) as models,
    ):
        yield AgentExecutor(models, tools, journal=journal, approve=approve, permissions=permissions)
