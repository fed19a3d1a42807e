"""Runs an agent from the command line, on the model that is set."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from maverick.agents.discovery import DiscoveredAgent
from maverick.agents.running import agent_executor, has_own_executor
from maverick.cli.agent_lookup import with_subagents
from maverick.cli.run_options import RunOptions
from maverick.cli.run_printer import RunPrinter, watch
from maverick.cli.terminal_approver import terminal_approver
from maverick.config import AgentConfig, MaverickConfig
from maverick.journal import Journal
from maverick.loop import AgentDefinition, AgentResult
from maverick.providers.resolve import ResolvedModel, resolve
from maverick.runtime import AbortSignal, AgentExecutor
from maverick.runtime.event_log import Listener


async def drive_run(
    printer: RunPrinter,
    found: DiscoveredAgent,
    config: MaverickConfig,
    journal: Journal | None,
    options: RunOptions,
    start: Callable[[AgentExecutor, AbortSignal, Listener], Coroutine[Any, Any, AgentResult[Any]]],
    user_id: str | None = None,
) -> int:
    """Run an agent to its end, on the terminal; returns the exit code.

    Args:
        printer: Prints the run.
        found: The agent, with what the options of the command change about it.
        config: The user's settings.
        journal: Where its runs are kept.
        options: The options of the command.
        start: Starts, resumes or forks the run.
        user_id: The user it acts for, if it was started for one.
    """
    async with agent_executor(
        found,
        config,
        journal,
        user_id=user_id,
        mode=options.mode,
        approve=terminal_approver(printer, Path.cwd()),
        on_output=printer.hear,
        on_remark=printer.console.screen.remark,
    ) as executor:
        result = await watch(printer, partial(start, executor))
    if type(found.agent) is not AgentDefinition:
        from maverick.cli.run.class_agent import with_words  # here, since few agents are classes

        result = with_words(result, as_json=printer.console.as_json)
    return await printer.conclude(result)


def who_answers(
    found: DiscoveredAgent, definition: AgentDefinition[Any], wanted: str | None, settings: AgentConfig
) -> ResolvedModel | None:
    """The model that answers for an agent; whether it and those of its subagents can be reached is checked.

    ``None`` if the agent's module brings its own executor, and with it the model.

    Args:
        found: The agent.
        definition: Its definition.
        wanted: The ``provider:model`` that was asked for, if one was.
        settings: What the person has set.

    Raises:
        ConfigError: There is no key, or one of another provider, or the settings name no known provider.
        InvalidInputError: There is no such provider.
    """
    if has_own_executor(found):
        return None
    answering = resolve(settings, wanted=wanted, named=definition.model_config.model).check()
    if answering.provider != "offline":  # else nothing that costs anything is wanted
        for agent in with_subagents([definition]):
            if agent is not definition and agent.model_config.model is not None:
                resolve(settings, named=agent.model_config.model).check()
    return answering


def explain_stand_in(answering: ResolvedModel | None) -> str:
    """Why the offline model answers; empty if it was asked for."""
    if answering is None or not answering.is_stand_in:
        return ""
    return f"offline model: {answering.stand_in_reason}"
