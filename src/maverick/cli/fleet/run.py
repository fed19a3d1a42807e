"""``maverick run AGENT --on temporal://…``: starts a run in a fleet and watches it."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import Any

from maverick.agents.discovery import GENERAL
from maverick.cli.agent_lookup import look_up, named_file
from maverick.cli.fleet.connection import open_fleet
from maverick.cli.fleet.watching import watch_in_fleet
from maverick.cli.run.inputs import PROMPT, gather_inputs
from maverick.cli.run_options import RunOptions, refuse_in_fleet
from maverick.cli.runs.console import Console
from maverick.cli.screen import Screen
from maverick.config import MaverickConfig
from maverick.exceptions import AgentError, InvalidInputError
from maverick.fleet.request import DEFAULT_PRIORITY

HERE = "fleet"
"""What stands for the fleet in the settings, in place of an address."""


def run_in_fleet(options: argparse.Namespace, config: MaverickConfig) -> int:
    """Start a run in a fleet, and show it until it ends."""
    unkept = [] if options.kept else ["--no-journal"]
    refuse_in_fleet([*RunOptions.from_options(vars(options)).words(), *unkept])
    return asyncio.run(_run(options, config, *remote_agent(options, config)))


def remote_agent(options: argparse.Namespace, config: MaverickConfig) -> tuple[str, dict[str, Any]]:
    """The name of the agent that is meant, and the values of its inputs.

    The agent may be known to the workers alone: then its inputs are texts, which the workers check.
    """
    agent, found = options.agent or GENERAL.name, None
    try:
        found = look_up(agent, config)
    except AgentError:
        if named_file(agent):
            raise
    declared, piped = (
        (None, PROMPT) if found is None else (found.inputs, getattr(found.agent, "piped", PROMPT))
    )
    attached = vars(options).get("attach", ())
    inputs = gather_inputs(declared, options.inputs, options.prompt, Screen.of_process(), piped, attached)
    return agent if found is None else found.name, inputs


async def _run(
    options: argparse.Namespace, config: MaverickConfig, agent: str, inputs: dict[str, Any]
) -> int:
    temporal = None if options.on == HERE else options.on
    option = "--on temporal://host:port"
    async with await open_fleet(config, temporal, options.journal, option=option) as fleet:
        run = await fleet.start(
            agent,
            inputs=inputs,
            run_id=options.run_id,
            user_id=options.user,
            priority=options.priority or DEFAULT_PRIORITY,
        )
        console = Console(fleet.journal, Screen.of_process(), options.as_json, options.journal)
        try:
            return await watch_in_fleet(console, fleet, run, streams=sys.stdout.isatty())
        except InvalidInputError as error:
            problem, is_about_inputs, _ = str(error).partition(" Pass inputs=")
            if not is_about_inputs:
                raise
            # The agent is known to the workers alone; what they say is for those who write Python.
            raise InvalidInputError(
                f'{agent}: {problem} Add -p "…" or -i NAME=VALUE.', field="inputs"
            ) from error
