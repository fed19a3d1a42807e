"""``maverick agents``: lists agents, and shows an agent's prompt, tools and limits."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from maverick.agents.discovery import DiscoveredAgent
from maverick.cli.agent_lookup import discovery, look_up
from maverick.cli.exit_codes import SUCCESS
from maverick.cli.formatting import Column, duration, lay_out, money, table_width
from maverick.cli.json_text import json_text
from maverick.cli.parser import name_lines
from maverick.cli.screen import Screen, one_line
from maverick.cli.settings import load_settings
from maverick.loop import AgentDefinition, Input, RunConfig
from maverick.loop.inputs import REQUIRED

_COLUMNS = (
    Column("AGENT"),
    Column("FROM"),
    Column("WHAT IT DOES", shrinks=True),
)


def list_agents(options: argparse.Namespace) -> int:
    """List all agents; problems are printed below them."""
    looking = discovery(load_settings())
    agents = looking.all()
    screen = Screen.of_process(interactive=False)
    if options.as_json:
        problems = list(map(str, looking.problems))
        screen.say(f"{json_text({'agents': list(map(agent_fields, agents)), 'problems': problems})}\n")
        return SUCCESS
    if options.names:
        screen.say(name_lines(found.name for found in agents))
        return SUCCESS
    rows = [(found.name, found.origin.value, found.description) for found in agents]
    screen.say("".join(f"{line}\n" for line in lay_out(_COLUMNS, rows, table_width())))
    for problem in looking.problems:
        screen.complain(str(problem))
    return SUCCESS


def show_agent(options: argparse.Namespace) -> int:
    """Show an agent.

    Raises:
        AgentNotFoundError: No agent has this name.
        InvalidInputError: Its file is missing or wrong.
    """
    found = look_up(options.agent, load_settings())
    screen = Screen.of_process(interactive=False)
    if options.as_json:
        screen.say(f"{json_text(agent_fields(found))}\n")
    else:
        screen.say("".join(f"{line}\n" for line in _lines(found, options.agent)))
    return SUCCESS


def agent_fields(found: DiscoveredAgent) -> dict[str, Any]:
    """An agent, as JSON tells it."""
    told: dict[str, Any] = {
        "name": found.name,
        "description": found.description,
        "origin": found.origin.value,
        "where": found.where,
        "kind": "class" if found.definition is None else "definition",
        "inputs": {name: _input_fields(spec) for name, spec in (found.inputs or {}).items()},
    }
    if found.definition is None:
        return told
    definition = found.definition
    return told | {
        "model": definition.model_config.model,
        "settings": _settings(definition),
        "tools": _tools(definition),
        "missing_tools": list(found.missing_tools),
        "limits": definition.run_config.limits,
        "system_prompt": definition.prompt_config.system_prompt,
    }


def _lines(found: DiscoveredAgent, source: str) -> Iterator[str]:
    yield f"{'agent':<8} {found.name}"
    yield f"{'does':<8} {one_line(found.description)}"
    yield f"{'from':<8} {found.where}"
    if found.definition is not None:
        yield from _definition_lines(found.definition)
    if found.missing_tools:
        yield f"{'missing':<8} {', '.join(found.missing_tools)}"
    inputs = found.inputs or {}
    for name, spec in inputs.items():
        yield f"{'input':<8} {name}{_told(spec)}"
    yield f"{'run':<8} {_command(source, inputs)}"
    if found.definition is not None:
        yield ""
        yield found.definition.prompt_config.system_prompt or "(no system prompt)"


def _definition_lines(definition: AgentDefinition[Any]) -> Iterator[str]:
    yield f"{'model':<8} {definition.model_config.model or 'the configured one'}"
    if settings := _settings(definition):
        told = (f"{name} {_plain(setting)}" for name, setting in settings.items())
        yield f"{'settings':<8} {one_line(', '.join(told))}"
    yield f"{'tools':<8} {', '.join(_tools(definition)) or 'none'}"
    yield f"{'limits':<8} {_limits(definition.run_config)}"


def _settings(definition: AgentDefinition[Any]) -> dict[str, Any]:
    """The settings of the model that the definition makes.

    Of what is sent to the provider as it is, only the names: there may be a token in it.
    """
    config = definition.model_config
    names = (field.name for field in fields(config) if field.init and field.name != "model")
    settings = {name: setting for name in names if (setting := getattr(config, name)) is not None}
    if config.server_tools is not None:
        settings["server_tools"] = [
            tool if isinstance(tool, str) else str(tool.get("name", tool.get("type", "?")))
            for tool in config.server_tools
        ]
    if config.extra is not None:
        settings["extra"] = list(config.extra)
    return settings


def _plain(setting: object) -> str:
    return " ".join(map(str, setting)) if isinstance(setting, list | tuple) else str(setting)


def _tools(definition: AgentDefinition[Any]) -> list[str]:
    return [tool if isinstance(tool, str) else tool.name for tool in definition.tool_config.tools]


def _input_fields(spec: Input) -> dict[str, Any]:
    required = spec.default is REQUIRED
    return {
        "description": spec.description,
        "required": required,
        "default": None if required else str(spec.default),
    }


def _told(spec: Input) -> str:
    default = "" if spec.default is REQUIRED else f" (by default {spec.default})"
    return f"{default}: {spec.description}" if spec.description else default


def _limits(config: RunConfig) -> str:
    told = {
        "turns": config.max_turns,
        "tool calls": config.max_tool_calls,
        "tokens": config.max_total_tokens,
        "of cost": None if config.max_cost_usd is None else money(config.max_cost_usd),
    }
    limits = [
        f"{value:,} {name}" if isinstance(value, int) else f"{value} {name}"
        for name, value in told.items()
        if value is not None
    ]
    if config.timeout_ms is not None:
        limits.append(duration(config.timeout_ms / 1000))
    return ", ".join(limits) or "none"


def _command(source: str, inputs: Mapping[str, Input]) -> str:
    wanted = [name for name, spec in inputs.items() if spec.default is REQUIRED]
    options = ['-p "…"' if name == "prompt" else f"-i {name}=…" for name in wanted]
    return " ".join(["maverick run", source, *options])
