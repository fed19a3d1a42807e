"""Runs an agent that is a class of its own making, and shows the values that classes answer with."""

from __future__ import annotations

import argparse
import asyncio
import inspect
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from maverick.agents import AgentContext, AgentResult
from maverick.agents.class_executor import until_stopped
from maverick.agents.discovery import DiscoveredAgent
from maverick.agents.registry import make_class_agent
from maverick.cli.run.inputs import gather_inputs
from maverick.cli.run_options import OPTIONS, RunOptions
from maverick.cli.run_printer import RunPrinter, watch
from maverick.cli.runs.console import Console
from maverick.cli.screen import Screen
from maverick.config import MaverickConfig
from maverick.exceptions import InvalidInputError
from maverick.journal import MemoryJournal
from maverick.loop import RunConfig
from maverick.providers.resolve import check_provider

_OPTIONS = {**OPTIONS, "run_id": "--run-id"}


def run_class_agent(
    found: DiscoveredAgent, options: argparse.Namespace, config: MaverickConfig, screen: Screen
) -> int:
    """Run an agent that is a class but no ``MaverickAgent``: what it does is its own, and is kept nowhere."""
    check_provider(config.agent.provider, config.agent)
    given = {name: value for name in _OPTIONS if (value := vars(options)[name]) not in (None, [])}
    assert isinstance(found.agent, type)  # noqa: S101 - it is no definition
    takes = inspect.signature(found.agent).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in takes.values())
    for name in given:
        if name not in takes and not takes_any:
            raise InvalidInputError(
                f"{_OPTIONS[name]}: the class of the agent {found.name!r} takes no {name}. Leave the option out.",
                field=name,
            )
    if options.attach:
        raise InvalidInputError("--attach: an agent that is a class takes text only.", field="attach")
    inputs = gather_inputs(found.inputs, options.inputs, options.prompt, screen)
    context = replace(AgentContext.from_cwd(Path.cwd(), config), extra=inputs)
    agent = make_class_agent(found.name, found.agent, **given)
    console = Console(MemoryJournal(), screen, options.as_json)
    printer = RunPrinter(console, RunOptions(), None, RunConfig(), found.name, kept=False)

    async def run() -> int:
        result = await watch(printer, lambda stop, _: until_stopped(agent.execute(context), stop))
        return await printer.conclude(with_words(result, as_json=options.as_json))

    return asyncio.run(run())


def with_words(result: AgentResult[Any], *, as_json: bool) -> AgentResult[Any]:
    """A result with its answer as it is written: a value as its words on a terminal, and as JSON for other programs."""
    from pydantic import BaseModel

    words = result.raw_content or (result.output if isinstance(result.output, str) else "")
    if isinstance(result.output, BaseModel):
        is_shown = sys.stdout.isatty() and not as_json
        indent = None if as_json else 2
        words = str(result.output) if is_shown else result.output.model_dump_json(indent=indent)
    return replace(result, raw_content=words)
