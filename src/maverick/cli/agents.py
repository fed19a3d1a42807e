"""``maverick agents``: lists agents, and shows an agent's prompt, tools and limits."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from string import Template
from typing import Any

from maverick.agents.discovery import DiscoveredAgent
from maverick.agents.named_tools import CODING_TOOLS
from maverick.cli.agent_lookup import discovery, look_up
from maverick.cli.formatting import columns_of, json_text, table
from maverick.cli.new_file import write_new_file
from maverick.cli.parser import name_lines
from maverick.cli.screen import Screen
from maverick.cli.settings import load_settings
from maverick.config.own_files import own_folder
from maverick.exceptions import InvalidInputError
from maverick.loop import AgentDefinition, Input, RunConfig
from maverick.loop.inputs import REQUIRED
from maverick.tui.figures import duration, money
from maverick.tui.plain_text import one_line

_COLUMNS = columns_of("AGENT", "FROM", "WHAT IT DOES…")


def list_agents(options: argparse.Namespace) -> None:
    """List all agents; problems are printed below them."""
    looking = discovery(load_settings(for_agents=True))
    agents = looking.all()
    screen = Screen.of_process()
    problems = list(map(str, looking.problems))
    if options.as_json:
        screen.say(f"{json_text({'agents': list(map(agent_fields, agents)), 'problems': problems})}\n")
    elif options.names:
        screen.say(name_lines(found.name for found in agents))
    else:
        screen.say(table(_COLUMNS, [(found.name, found.origin.value, found.description) for found in agents]))
        for problem in problems:
            screen.complain(problem)


def show_agent(options: argparse.Namespace) -> None:
    """Show an agent."""
    found = look_up(options.agent, load_settings(for_agents=True))
    screen = Screen.of_process()
    if options.as_json:
        screen.say(f"{json_text(agent_fields(found))}\n")
    else:
        screen.say("".join(f"{line}\n" for line in _lines(found, options.agent)))


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
    inputs = found.inputs or {}
    facts = [("agent", found.name), ("does", one_line(found.description)), ("from", found.where)]
    if (definition := found.definition) is not None:
        settings = ", ".join(f"{name} {_plain(setting)}" for name, setting in _settings(definition).items())
        facts += [
            ("model", definition.model_config.model or "the configured one"),
            ("settings", one_line(settings)),
            ("tools", ", ".join(_tools(definition)) or "none"),
            ("limits", _limits(definition.run_config)),
        ]
    facts.append(("missing", ", ".join(found.missing_tools)))
    facts += [("input", f"{name}{_told(spec)}") for name, spec in inputs.items()]
    facts.append(("run", _command(source, inputs)))
    yield from (f"{name:<8} {fact}" for name, fact in facts if fact or name in ("does", "from"))
    if definition is not None:
        yield ""
        yield definition.prompt_config.system_prompt or "(no system prompt)"


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
    counts = {
        "turns": config.max_turns,
        "tool calls": config.max_tool_calls,
        "tokens": config.max_total_tokens,
    }
    limits = [f"{value:,} {name}" for name, value in counts.items() if value is not None]
    if config.max_cost_usd is not None:
        limits.append(f"{money(config.max_cost_usd)} of cost")
    if config.timeout_ms is not None:
        limits.append(duration(config.timeout_ms / 1000))
    return ", ".join(limits) or "none"


def _command(source: str, inputs: Mapping[str, Input]) -> str:
    wanted = [name for name, spec in inputs.items() if spec.default is REQUIRED]
    options = ['-p "…"' if name == "prompt" else f"-i {name}=…" for name in wanted]
    return " ".join(["maverick run", source, *options])


_MARKDOWN = """\
---
# What the agent is called, and what it does: `maverick agents list` shows both.
name: $name
description: Explains the files of a project.

# Who answers: a provider and a model. Without this line it is the configured one.
# model: claude:claude-sonnet-5-5

# What it may use: some of $tools.
# [] is nothing, and without this line it may use all of them. What they may do without asking is up to your
# permissions and --mode.
tools: [read_file, list_files, grep]

# What it is given with -i NAME=VALUE; each is a variable below. The prompt, -p, is its first message.
inputs:
  audience: {description: Who reads the answer., default: a new colleague}

# How far it may go; also max_cost_usd, max_total_tokens and max_tool_calls.
max_turns: 20
timeout: 5m
---
You explain the files of the current folder. Look at them before you say anything about them, and name the file and
line for what you say.

Write for $${audience}. Be brief.
"""

_PYTHON = '''\
# The agent $name. Run it with: maverick run $file -p "how many words are in 'to be or not to be'?"

from maverick import AgentDefinition, PromptConfig, RunConfig, ToolConfig, tool


@tool(effect="pure")  # it changes nothing, so it may be run again after a crash
async def count_words(text: str) -> str:
    """Count the words of a text.

    Args:
        text: The text to count in.
    """
    return f"The text has {len(text.split())} words."


agent = AgentDefinition(
    name="$name",
    description="Counts words.",
    # $${prompt} is what -p says; any other $${variable} would be an input, given with -i variable=value.
    prompt_config=PromptConfig(
        system_prompt="You count words. Use your tool, and answer in one sentence.",
        initial_messages=["$${prompt}"],
    ),
    # Who answers is up to the settings and --model; model_config=ModelConfig(model="provider:model") fixes it.
    tool_config=ToolConfig(tools=[count_words]),
    run_config=RunConfig(max_turns=10, timeout=60),
)
'''


def write_agent(options: argparse.Namespace) -> None:
    """Write a new agent."""
    name = options.name
    AgentDefinition(name, "Its name is checked.")
    if options.python and options.home:
        raise InvalidInputError(
            "--home is for Markdown: a Python agent is run by its file, wherever that is.", field="home"
        )
    path = (own_folder() if options.home else Path(".maverick")) / "agents" / f"{name}.md"
    template, source, question = _MARKDOWN, name, "what is in here?"
    if options.python:
        path = Path(f"{name}.py")
        template, source, question = _PYTHON, path, "how many words are in 'to be or not to be'?"
    text = Template(template).substitute(name=name, file=path, tools=", ".join(CODING_TOOLS))
    write_new_file(path, text, force=options.force)
    screen = Screen.of_process()
    screen.say(f"{path}\n")
    screen.remark(f'Run it: maverick run {source} -p "{question}"')
