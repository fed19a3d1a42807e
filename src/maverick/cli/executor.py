"""Makes what runs an agent from the command line: the models as set, the tools it names, and the permissions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from maverick.agents.named_tools import named_tools, names_tools
from maverick.cli.agent_lookup import with_subagents
from maverick.cli.run_options import RunOptions
from maverick.cli.run_printer import RunPrinter, watch
from maverick.cli.screen import Screen
from maverick.cli.terminal_approver import terminal_approver
from maverick.config import AgentConfig
from maverick.journal import Journal
from maverick.loop import AgentDefinition, AgentResult
from maverick.model import ToolContext
from maverick.providers.resolve import ResolvedModel, key_variable, resolve
from maverick.runtime import AbortSignal, AgentExecutor
from maverick.runtime.driver import Approver
from maverick.runtime.event_log import Listener
from maverick.tools.permissions import Mode, load_permissions


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

    An agent that names tools gets those for coding, in the current folder, and those of the MCP servers it names. The
    user's permissions apply to every agent. Tools that an agent brings along need no approval unless a mode is given;
    tools that it only names do.

    Args:
        definition: The agent.
        settings: What the person has set.
        journal: Where its runs are kept.
        mode: What it may do without asking.
        approve: Asks the person about a tool call; without it, the run waits in its journal.
        on_output: Called with the output of the agent's commands as it comes.
        screen: Where remarks about what is left out go.

    Raises:
        ConfigError: A file with permissions cannot be read, or is wrong.
        MaverickError: An MCP server that the agent names cannot be used.
    """
    executor_class, usual = AgentExecutor, None
    if type(definition) is not AgentDefinition:
        from maverick.agents.class_executor import (  # here, since few agents are classes
            ClassExecutor,
            needed_tools,
        )

        executor_class = ClassExecutor
        definition, usual = needed_tools(definition)
    usual = usual or (Mode.ASK if names_tools(definition) else Mode.YOLO)
    permissions = load_permissions(mode, usual=usual)
    remark = None if screen is None else screen.remark
    async with (
        named_tools(definition, Path.cwd(), on_output=on_output, on_remark=remark) as tools,
        executor_class(
            None, tools, journal=journal, approve=approve, permissions=permissions, settings=settings
        ) as executor,
    ):
        yield executor


async def drive_run(
    printer: RunPrinter,
    definition: AgentDefinition[Any],
    settings: AgentConfig,
    journal: Journal | None,
    options: RunOptions,
    start: Callable[[AgentExecutor, AbortSignal, Listener], Coroutine[Any, Any, AgentResult[Any]]],
) -> int:
    """Run an agent to its end, on the terminal; returns the exit code.

    Args:
        printer: Prints the run.
        definition: The agent.
        settings: The user's settings.
        journal: Where its runs are kept.
        options: What the options of the command change about it.
        start: Starts, resumes or forks the run.
    """
    async with executor_for(
        definition,
        settings,
        journal,
        mode=options.mode,
        approve=terminal_approver(printer),
        on_output=printer.hear,
        screen=printer.console.screen,
    ) as executor:
        result = await watch(printer, partial(start, executor))
    if type(definition) is not AgentDefinition:
        from maverick.cli.run.class_agent import with_words  # here, since few agents are classes

        result = with_words(result, as_json=printer.console.as_json)
    return await printer.conclude(result)


def who_answers(definition: AgentDefinition[Any], wanted: str | None, settings: AgentConfig) -> ResolvedModel:
    """The model that answers for an agent; whether it and those of its subagents can be reached is checked.

    Args:
        definition: The agent.
        wanted: The ``provider:model`` that was asked for, if one was.
        settings: What the person has set.

    Raises:
        ConfigError: There is no key, or one of another provider, or the settings name no known provider.
        InvalidInputError: There is no such provider.
    """
    answering = resolve(settings, wanted=wanted, named=definition.model_config.model).check()
    if answering.provider != "offline":  # else nothing that costs anything is wanted
        for agent in with_subagents([definition]):
            if agent is not definition and agent.model_config.model is not None:
                resolve(settings, named=agent.model_config.model).check()
    return answering


def explain_stand_in(answering: ResolvedModel) -> str:
    """Why the offline model answers; empty if it was asked for."""
    if not answering.is_stand_in:
        return ""
    return f"offline model: no key is set; set {key_variable('claude')} for Claude"
