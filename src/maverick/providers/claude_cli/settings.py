"""What the CLI is started with for the conversations of a run, in which the loop decides and the CLI waits."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from maverick.config.model_settings import ThinkingMode, is_set
from maverick.exceptions import InvalidInputError
from maverick.misuse import refuse
from maverick.model import Request, RequestConfig, Tool
from maverick.providers.claude_cli.options import build_options
from maverick.providers.claude_cli.pool import SessionPool
from maverick.providers.claude_cli.tool import CliTool
from maverick.providers.client import requested_model
from maverick.providers.prices import PriceTable

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, ResultMessage

    from maverick.config import AgentConfig

DEFAULT_URL = "https://api.anthropic.com"
DEFAULT_MAX_TOKENS = 32_000
"""The most tokens of an answer when a request sets no limit; the CLI's own default."""
FOREVER_SECONDS = 1_000_000
"""How long the CLI waits for the loop. The loop has deadlines of its own; the CLI's must never be the shorter ones."""

_ENVIRONMENT = {
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "DISABLE_AUTO_COMPACT": "1",
    "ENABLE_TOOL_SEARCH": "false",
    "MAX_MCP_OUTPUT_TOKENS": "1000000",
    "MCP_TOOL_TIMEOUT": str(FOREVER_SECONDS * 1000),
}
"""The loop compacts, waits and caps, so the CLI must not."""


class CliSettings(Struct, frozen=True):
    """What all conversations of a client share."""

    model: str
    """The ``provider:model`` to ask when a request names none; an empty name is the CLI's own choice."""
    start: ClaudeAgentOptions | Mapping[str, Any]
    """What the CLI is started with: the SDK's options of an agent that is a class, or else fields of them."""
    prices: PriceTable
    on_result: Callable[[ResultMessage], object] | None = None
    """Told how the CLI sums up an answer."""
    pool: SessionPool | None = None
    """Where CLIs come from, and are kept for the next conversation; without it, each is started for its conversation."""

    @property
    def is_class(self) -> bool:
        """Whether it is an agent that is a class: the CLI's own rules then decide on calls the loop lets through."""
        return not isinstance(self.start, Mapping)

    @property
    def url(self) -> str:
        """Where the CLI will look for its model."""
        env = self.start["env"] if isinstance(self.start, Mapping) else self.start.env
        return env.get("ANTHROPIC_BASE_URL") or os.environ.get("ANTHROPIC_BASE_URL") or DEFAULT_URL

    def options(self, request: Request, **more: Any) -> ClaudeAgentOptions:
        """The SDK's options for a conversation."""
        start = build_options(**self.start) if isinstance(self.start, Mapping) else _as_rules(self.start)
        changes: dict[str, Any] = {
            "model": requested_model(request, self.model) or start.model,
            "env": {
                **start.env,
                **_ENVIRONMENT,
                "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(max_tokens_of(request)),
                **more.pop("env", {}),
            },
            "extra_args": {**start.extra_args, "no-session-persistence": None},
            "include_partial_messages": True,
            # The loop counts turns and money, and reads answers.
            "max_turns": None,
            "max_budget_usd": None,
            "output_format": None,
        }
        if request.config.effort is not None:
            changes["effort"] = request.config.effort
        if request.config.thinking is not None:
            changes["thinking"] = cli_thinking(request.config.thinking)
        if start.system_prompt is None or isinstance(start.system_prompt, str):
            changes["system_prompt"] = request.system
        if isinstance(start.tools, list):
            names = (tool.name for tool in request.tools if isinstance(tool, CliTool))
            changes["tools"] = [name for name in names if not name.startswith("mcp__")]
        return replace(start, **changes | more)


def _as_rules(options: ClaudeAgentOptions) -> ClaudeAgentOptions:
    """The options with what is allowed as rules of the CLI's settings, and with its mode as an argument.

    Beside ``can_use_tool`` the SDK takes both for a mistake, and warns.
    """
    if options.settings is not None:
        return options
    mode = {} if options.permission_mode is None else {"permission-mode": options.permission_mode}
    return replace(
        options,
        settings=msgspec.json.encode({"permissions": {"allow": options.allowed_tools}}).decode(),
        allowed_tools=[],
        permission_mode=None,
        extra_args={**options.extra_args, **mode},
    )


_NOT_SUPPORTED = ("temperature", "top_p", "stop_sequences", "tool_choice", "cache", "server_tools", "extra")


def check_supported(config: RequestConfig, *, tools: bool) -> None:
    """Refuse the settings that the CLI has no counterpart of; ``tools`` is whether there are any to choose from."""
    for name in unsupported(config, tools=tools):
        problem = f"{name}: the Claude Code CLI does not support it. Leave it out, or use 'claude:…'."
        raise InvalidInputError(problem, field=name)
    if config.thinking is not None:
        cli_thinking(config.thinking)


def unsupported(config: RequestConfig | AgentConfig, *, tools: bool = True) -> list[str]:
    """The settings that the CLI has no counterpart of."""
    chosen = {name: value for name in _NOT_SUPPORTED if is_set(value := getattr(config, name))}
    if not tools or chosen.get("tool_choice") == "auto":
        chosen.pop("tool_choice", None)
    return list(chosen)


def cli_thinking(mode: ThinkingMode) -> dict[str, Any]:
    """When the model thinks, as the SDK's options say it."""
    if isinstance(mode, int):
        return {"type": "enabled", "budget_tokens": mode}
    if mode == "between_tools":
        refuse(
            "thinking",
            "the Claude Code CLI takes 'adaptive', 'off' or a number of tokens, not 'between_tools'. "
            "Choose one of them, or use 'claude:…'.",
        )
    return {"type": "adaptive" if mode == "adaptive" else "disabled"}


def max_tokens_of(request: Request) -> int:
    """The most tokens an answer to the request may have."""
    return min(request.config.max_tokens or DEFAULT_MAX_TOKENS, DEFAULT_MAX_TOKENS)


def own_tools(request: Request) -> list[Tool]:
    """The tools of the request that are not the CLI's."""
    return [tool for tool in request.tools if not isinstance(tool, CliTool)]
