"""Runs an agent that is a class: made with what was asked for, and executed in the current folder."""

from __future__ import annotations

import argparse
import asyncio
import inspect
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from maverick.agents import AgentContext, AgentResult, AgentUsage, MaverickAgent
from maverick.agents.discovery import DiscoveredAgent
from maverick.agents.registry import Agent, make_agent
from maverick.cli.changes import Changes
from maverick.cli.run.inputs import gather_inputs
from maverick.cli.run.narration import Narration
from maverick.cli.run_printer import RunPrinter, Start, watch
from maverick.cli.runs.console import Console
from maverick.cli.screen import Screen
from maverick.config import MaverickConfig
from maverick.exceptions import AbortedError, InvalidInputError
from maverick.journal import MemoryJournal
from maverick.loop import RunConfig, TerminateReason
from maverick.providers.resolve import check_provider
from maverick.runtime import AbortSignal
from maverick.runtime.event_log import Listener

_CALLED = {"model": "model", "timeout": "timeout", "max_turns": "max_turns", "max_cost_usd": "max_budget_usd"}
"""What an option of the command is called when a :class:`~maverick.agents.MaverickAgent` is made."""
_NOT_FOR_CLASSES = {
    "max_total_tokens": "--max-tokens",
    "max_tool_calls": "--max-tool-calls",
    "output_schema": "--output-schema",
    "mode": "--mode",
    "mcp": "--mcp",
    "run_id": "--run-id",
}


def run_class_agent(
    found: DiscoveredAgent, options: argparse.Namespace, config: MaverickConfig, screen: Screen
) -> int:
    """Run the agent to its end; its run is kept nowhere. Returns the exit code.

    Raises:
        InvalidInputError: An option is not for agents like this, or an input is missing.
        ConfigError: The settings name a provider that does not exist.
    """
    check_provider(config.agent.provider, config.agent)
    given = vars(options)
    for name, option in _NOT_FOR_CLASSES.items():
        if given[name] is not None:
            raise InvalidInputError(
                f"{option} is for agents that are definitions; {found.name} is a class, which decides this itself.",
                field=name,
            )
    inputs = gather_inputs(found.inputs, options.inputs, options.prompt, screen)
    context = replace(AgentContext.from_cwd(Path.cwd(), config), extra=inputs)
    agent = _made(found, {_CALLED[name]: given[name] for name in _CALLED if given[name] is not None})
    console = Console(MemoryJournal(), screen, options.as_json)
    return asyncio.run(_run(found.name, agent, context, console))


def _made(found: DiscoveredAgent, wanted: Mapping[str, Any]) -> Agent:
    assert isinstance(found.agent, type)  # noqa: S101 - it is no definition
    takes = inspect.signature(found.agent).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in takes.values())
    for name in wanted:
        if name not in takes and not takes_any:
            raise InvalidInputError(f"The agent {found.name!r} has no {name} that could be set.", field=name)
    return make_agent(found.name, found.agent, **wanted)


async def _run(name: str, agent: Agent, context: AgentContext, console: Console) -> int:
    streams = sys.stdout.isatty() and getattr(agent, "output_type", None) is None
    printer = RunPrinter(console, Changes(), None, RunConfig(), name, streams=streams, kept=False)
    result = await watch(printer, _start(name, agent, context))
    return await printer.conclude(replace(result, raw_content=_shown(result, console)))


def _start(name: str, agent: Agent, context: AgentContext) -> Start:
    async def start(stop: AbortSignal, listen: Listener) -> AgentResult[Any]:
        if isinstance(agent, MaverickAgent):
            narration = Narration(name)
            agent.signal = stop
            agent.on_message = lambda message: [listen(event) for event in narration.tell(message)]
            return await agent.execute(context)
        return await _until_stopped(agent, context, stop)

    return start


async def _until_stopped(agent: Agent, context: AgentContext, stop: AbortSignal) -> AgentResult[Any]:
    running = asyncio.ensure_future(agent.execute(context))

    def cancel() -> None:
        running.cancel()

    unsubscribe = stop.subscribe(cancel)
    try:
        return await running
    except asyncio.CancelledError:
        if not stop.aborted:
            raise
        stopped = AbortedError("Somebody stopped the agent.")
        nothing = AgentResult.failure_result([stopped], AgentUsage(0, 0, None, 0))
        return replace(nothing, terminate_reason=TerminateReason.ABORTED)
    finally:
        unsubscribe()


def _shown(result: AgentResult[Any], console: Console) -> str:
    """The answer as it is written: a value as its words on a terminal, and as JSON for other programs."""
    from pydantic import BaseModel

    if not isinstance(result.output, BaseModel):
        return result.raw_content or (result.output if isinstance(result.output, str) else "")
    if sys.stdout.isatty() and not console.as_json:
        return str(result.output)
    return result.output.model_dump_json(indent=None if console.as_json else 2)
