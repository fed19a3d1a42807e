"""``maverick agents list``: all agents, where each comes from, and what could not be read."""

from __future__ import annotations

from maverick.cli.agent_lookup import discovery
from maverick.cli.agents.page import agent_fields
from maverick.cli.exit_codes import SUCCESS
from maverick.cli.json_text import json_text
from maverick.cli.screen import Screen
from maverick.cli.table import Column, lay_out, terminal_width
from maverick.cli.trust.asking import load_settings

_COLUMNS = (
    Column("AGENT"),
    Column("FROM"),
    Column("WHAT IT DOES", shrinks=True),
)


def list_agents(*, as_json: bool, names: bool = False) -> int:
    """List all agents; what could not be read is told below them."""
    looking = discovery(load_settings())
    agents = looking.all()
    screen = Screen.of_process(interactive=False)
    if as_json:
        problems = list(map(str, looking.problems))
        screen.say(f"{json_text({'agents': list(map(agent_fields, agents)), 'problems': problems})}\n")
        return SUCCESS
    if names:
        screen.say("".join(f"{found.name}\n" for found in agents))
        return SUCCESS
    rows = [(found.name, found.origin.value, found.description) for found in agents]
    screen.say("".join(f"{line}\n" for line in lay_out(_COLUMNS, rows, terminal_width())))
    for problem in looking.problems:
        screen.complain(str(problem))
    return SUCCESS
