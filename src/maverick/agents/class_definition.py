"""An agent that is a class, as the definition that its prompts are run with."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from maverick.agents.context import AgentContext
from maverick.agents.named_tools import BUILTIN_TOOLS, LATER_TOOLS, coding_registry, server_prefix, tools_for
from maverick.config import DEFAULT, AgentConfig
from maverick.loop import AgentDefinition, ModelConfig, OutputConfig, PromptConfig, RunConfig, ToolConfig
from maverick.loop.result import AgentResult
from maverick.providers.claude_cli.options import built_in
from maverick.providers.claude_cli.settings import FOREVER_SECONDS, cli_thinking, unsupported
from maverick.providers.claude_cli.tool import CliTool, class_tools
from maverick.providers.resolve import resolve_claude_code
from maverick.runtime import AbortSignal, AgentExecutor
from maverick.tools.permissions import Mode, load_permissions

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, Message
    from pydantic import BaseModel

DEFAULT_MODEL: str = "claude-sonnet-4-5-20250929"
"""The model of an agent that names none, until its provider retires it: see :func:`default_model`."""
RETIREMENT = date(2026, 11, 30)
"""The day from which ``DEFAULT_MODEL`` no longer answers."""
SUCCESSOR = "claude-sonnet-5-5"
"""What an agent that names no model gets from then on."""
ON_THE_CLI = "claude-code:"
"""How the names of models begin that the Claude CLI asks."""
_MODES = {"plan": Mode.PLAN, "acceptEdits": Mode.ACCEPT_EDITS, "bypassPermissions": Mode.YOLO}
"""Our modes for those of the CLI; the others refuse what is not allowed, or ask."""
_LARGEST_OUTPUT = 500_000
"""Characters of a tool's output that are kept: the CLI has its own, lower limits."""
_logger = logging.getLogger(__name__)
_warned: set[str] = set()
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class PromptRunner:
    """What runs the prompts of an ``execute()`` in another way than by themselves, and hears of its queries."""

    run: Callable[..., Awaitable[AgentResult[Any]]]
    """Runs a prompt: given the agent, the prompt, the context, the type of the answer and the signal."""
    hear: Callable[[Message], None]
    """Takes in a message of a query, or a piece of an answer."""
    signal: AbortSignal | None
    """Aborts every query that is given no signal of its own."""


prompt_runner: ContextVar[PromptRunner | None] = ContextVar("maverick_prompt_runner", default=None)
"""What runs the prompts of the ``execute()`` that is going on; by default each is run by itself, and kept nowhere."""


def define(
    name: str, description: str, options: ClaudeAgentOptions, timeout: float | None
) -> AgentDefinition[Any]:
    """The definition of an agent that is a class: one prompt is one run of it.

    What the CLI is told to do by itself (which calls its rules allow, where it works) stays in the options. What the loop
    decides is in the definition: turns, money and time. A model call is not retried: that is up to
    the class.
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
            tools=_tools(options), timeout=timeout or FOREVER_SECONDS, max_output=_LARGEST_OUTPUT
        ),
    )


def configured(
    options: ClaudeAgentOptions,
    settings: AgentConfig,
    named: str | None,
    chosen: Mapping[str, Any],
    *,
    max_tokens_open: bool,
) -> ClaudeAgentOptions:
    """The options with what the settings say of Claude and the agent leaves open.

    ``named`` is the model that the agent names, if it does; ``chosen`` are the options it was made with, which come first.
    """
    found = resolve_claude_code(settings, named)
    env = {} if found.api_key is None else {"ANTHROPIC_API_KEY": found.api_key.get_secret_value()}
    if found.base_url is not None:
        env["ANTHROPIC_BASE_URL"] = found.base_url
    if found.sources["request_timeout"] != DEFAULT and "request_seconds" not in chosen:
        env["API_TIMEOUT_MS"] = str(round(found.request_timeout * 1000))
    if found.config.max_tokens and max_tokens_open:
        env["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = str(found.config.max_tokens)
    env = {**options.env, **env, **chosen.get("env", {})}
    asked: dict[str, Any] = {"effort": found.config.effort}
    if found.config.thinking is not None:
        asked["thinking"] = cli_thinking(found.config.thinking)
    more = {name: value for name, value in asked.items() if value is not None and name not in chosen}
    return replace(options, env=env, model=found.name or options.model, **more)


def explain_unsupported(settings: AgentConfig) -> str:
    """Which of the settings the CLI does not take, in words; empty if it takes all of them."""
    names = ", ".join(f"agent.{name}" for name in unsupported(settings))
    return f"The Claude CLI does not take {names}: agents on it run without." if names else ""


def warn_of_unsupported(settings: AgentConfig) -> None:
    """Log which of the settings the CLI does not take: once in a process for the same ones."""
    warning = explain_unsupported(settings)
    if warning and warning not in _warned:
        _warned.add(warning)
        _logger.warning(warning)


def for_prompt(
    definition: AgentDefinition[Any], output_type: type[BaseModel] | None = None
) -> AgentDefinition[Any]:
    """The definition for one prompt of the class, whatever inputs the class itself takes."""
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


def executor_with_own_tools(context: AgentContext, permission_mode: str) -> AgentExecutor:
    """What runs a prompt on a model that is not on the CLI: with our coding tools, under the user's permissions."""
    return AgentExecutor(
        settings=context.config.agent,
        tool_registry=coding_registry(context.cwd),
        permissions=load_permissions(usual=mode_for(permission_mode), project=context.cwd),
    )


def mode_for(permission_mode: str) -> Mode:
    """Our mode for one of the CLI."""
    return _MODES.get(permission_mode, Mode.ASK)


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


def default_model(today: date | None = None) -> str:
    """The model of an agent that names none: ``DEFAULT_MODEL``, and its successor from the day it is retired."""
    if (today or _today()) < RETIREMENT:
        return DEFAULT_MODEL
    warnings.warn(
        f"{DEFAULT_MODEL} was retired on {RETIREMENT}; {SUCCESSOR} is used for agents that name no model.",
        stacklevel=3,
    )
    return SUCCESSOR


def _today() -> date:
    return datetime.now(UTC).date()
