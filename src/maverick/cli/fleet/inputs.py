"""The inputs of a run in a fleet, whose agent may be known to the workers alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from maverick.agents.discovery import DiscoveredAgent
from maverick.cli.agent_lookup import look_up, split_source
from maverick.cli.run.inputs import PROMPT, gather_inputs
from maverick.cli.screen import Screen
from maverick.config import MaverickConfig
from maverick.exceptions import AgentError


def remote_agent(
    agent: str,
    given: Sequence[tuple[str, str]],
    prompt: str | None,
    config: MaverickConfig,
    attached: Sequence[str] = (),
) -> tuple[str, dict[str, Any]]:
    """The name of an agent, and the values of its inputs.

    They are read and checked as the agent declares them if it is known here too; else they are texts.

    Args:
        agent: Its name on the workers, or its file here.
        given: The inputs as they were written.
        prompt: The prompt as it was written.
        config: The settings.
        attached: Files that go before the prompt.

    Raises:
        InvalidInputError: The file is missing or wrong, an input is missing, or a file cannot be attached.
    """
    found: DiscoveredAgent | None
    try:
        found = look_up(agent, config)
    except AgentError:
        if split_source(agent)[0].endswith((".py", ".md")):
            raise
        found = None  # a worker may have it
    piped = PROMPT if found is None else getattr(found.agent, "piped", PROMPT)
    declared = None if found is None else found.inputs
    screen = Screen.of_process(interactive=False)
    return agent if found is None else found.name, gather_inputs(
        declared, given, prompt, screen, piped, attached
    )
