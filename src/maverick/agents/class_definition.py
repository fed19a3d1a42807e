"""An agent that is a class, as the definition that its prompts are run with."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maverick.agents.tool_names import BUILTIN_TOOLS, LATER_TOOLS, server_prefix, tools_for
from maverick.loop import AgentDefinition, ModelConfig, OutputConfig, PromptConfig, RunConfig, ToolConfig
from maverick.providers.claude_cli.options import built_in
from maverick.providers.claude_cli.settings import FOREVER_SECONDS
from maverick.providers.claude_cli.tool import CliTool, class_tools

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions
    from pydantic import BaseModel

ON_THE_CLI = "claude-code:"
"""How the names of models begin that the Claude CLI asks."""
_LARGEST_OUTPUT = 500_000
"""Characters of a tool's output that are kept: the CLI has its own, lower limits."""
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")


def define(
    name: str, description: str, options: ClaudeAgentOptions, timeout: float | None
) -> AgentDefinition[Any]:
    """The definition of an agent that is a class: one prompt is one run of it.

    What the CLI is told to do by itself (which calls its rules allow, where it works) stays in the options. What the loop
    decides is in the definition: turns, money and time. A model call is not tried again: that is up to whoever wrote
    the class.

    Args:
        name: The agent's name; what a definition's name cannot have in it becomes ``-``.
        description: What it does.
        options: What its CLI is started with.
        timeout: How many seconds a prompt may take.
    """
    milliseconds = None if timeout is None else max(1, round(timeout * 1000))
    system = options.system_prompt if isinstance(options.system_prompt, str) else ""
    return AgentDefinition(
        name=definition_name(name),
        description=description or name,
        prompt_config=PromptConfig(system.replace("${", "$${")),
        model_config=ModelConfig(
            f"{ON_THE_CLI}{options.model or ''}",
            max_tokens=int(options.env.get("CLAUDE_CODE_MAX_OUTPUT_TOKENS") or 0),
        ),
        run_config=RunConfig(
            max_turns=options.max_turns,
            timeout_ms=milliseconds,
            max_calls_per_turn=None,
            max_cost_usd=options.max_budget_usd,
            max_retries=0,
        ),
        tool_config=ToolConfig(
            tools=_tools(options),
            timeout_ms=milliseconds or FOREVER_SECONDS * 1000,
            max_output=_LARGEST_OUTPUT,
        ),
    )


def for_prompt(
    definition: AgentDefinition[Any], output_type: type[BaseModel] | None = None
) -> AgentDefinition[Any]:
    """The definition for one prompt of the class, whatever inputs the class itself takes.

    Args:
        definition: The agent's definition.
        output_type: The type of the answer; by default the definition's own.
    """
    output = definition.output_config
    if output is None and output_type is not None:
        output = OutputConfig("answer", output_type)
    return replace(
        definition,
        prompt_config=PromptConfig(definition.prompt_config.system_prompt),
        input_config=None,
        output_config=output,
    )


def is_on_the_cli(definition: AgentDefinition[Any]) -> bool:
    """Whether the Claude CLI asks the agent's model."""
    return (definition.model_config.model or "").startswith(ON_THE_CLI)


def with_own_tools(definition: AgentDefinition[Any]) -> AgentDefinition[Any]:
    """The agent for a model that is not on the CLI: with our coding tools in place of the CLI's.

    A tool that the class narrows with a rule, such as ``Bash(git:*)``, and one that has no counterpart are left out.
    """
    tools = definition.tool_config.tools
    ours, _ = tools_for(tool.name for tool in tools if isinstance(tool, CliTool) and not tool.narrowed)
    own = [tool for tool in tools if not isinstance(tool, CliTool)]
    return replace(definition, tool_config=replace(definition.tool_config, tools=[*ours, *own]))


def _tools(options: ClaudeAgentOptions) -> list[CliTool]:
    """The tools that the CLI will offer, whether or not its rules allow each call of them."""
    servers = options.mcp_servers if isinstance(options.mcp_servers, dict) else {}
    prefixes = list(dict.fromkeys(map(server_prefix, servers)))
    names = options.tools if isinstance(options.tools, list) else sorted(BUILTIN_TOOLS | LATER_TOOLS)
    allowed = [tool for tool in options.allowed_tools if tool.startswith("mcp__") and tool not in prefixes]
    tools = class_tools([*names, *filter(_TOOL_NAME.fullmatch, allowed)], prefixes)
    whole = {tool for tool in options.allowed_tools if "(" not in tool}
    for tool in tools:
        tool.narrowed = tool.name not in whole and tool.name in built_in(options.allowed_tools)
    return tools


def definition_name(name: str) -> str:
    """The name of an agent as one that a definition can have."""
    plain = _NOT_IN_NAMES.sub("-", name).strip("-")[:63]
    return plain if plain[:1].isalpha() else f"agent-{plain}"[:63].rstrip("-")
