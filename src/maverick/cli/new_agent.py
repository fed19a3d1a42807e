"""``maverick agents new``: an agent to begin with, as Markdown or Python."""

from __future__ import annotations

import argparse
from pathlib import Path
from string import Template

from maverick.agents.named_tools import CODING_TOOLS
from maverick.cli.exit_codes import SUCCESS
from maverick.cli.new_file import write_new_file
from maverick.cli.screen import Screen
from maverick.config.own_files import own_folder
from maverick.exceptions import InvalidInputError
from maverick.loop import AgentDefinition

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


def write_agent(options: argparse.Namespace) -> int:
    """Write a new agent.

    Raises:
        InvalidInputError: The name is invalid or taken, or the file cannot be written.
        ConfigError: The person has no home.
    """
    name, python = options.name, options.python
    AgentDefinition(name, "Its name is checked.")
    if python and options.home:
        raise InvalidInputError(
            "--home is for Markdown: a Python agent is run by its file, wherever that is.", field="home"
        )
    folder = Path() if python else (own_folder() if options.home else Path(".maverick")) / "agents"
    path = folder / f"{name}{'.py' if python else '.md'}"
    template = Template(_PYTHON if python else _MARKDOWN)
    text = template.substitute(name=name, file=path, tools=", ".join(CODING_TOOLS))
    write_new_file(path, text, force=options.force)
    screen = Screen.of_process(interactive=False)
    screen.say(f"{path}\n")
    source, question = (
        (path, "how many words are in 'to be or not to be'?") if python else (name, "what is in here?")
    )
    screen.remark(f'Run it: maverick run {source} -p "{question}"')
    return SUCCESS
