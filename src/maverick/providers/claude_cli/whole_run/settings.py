"""How the CLI is set up for whole runs, and its options for one conversation."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from maverick.model import Request, Tool
from maverick.providers.claude_cli.options import build_options
from maverick.providers.claude_cli.whole_run.tool import CliTool
from maverick.providers.model_names import ModelNames
from maverick.providers.prices import PriceTable

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions

DEFAULT_URL = "https://api.anthropic.com"
DEFAULT_MAX_TOKENS = 32_000
"""The most tokens of an answer when a request does not say; what the CLI itself takes."""
FOREVER_SECONDS = 1_000_000
"""How long the CLI waits for the loop. The loop has deadlines of its own; the CLI's must never be the shorter ones."""

_ENVIRONMENT = {
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "DISABLE_AUTO_COMPACT": "1",
    "ENABLE_TOOL_SEARCH": "false",
    "MAX_MCP_OUTPUT_TOKENS": "1000000",
    "MCP_TOOL_TIMEOUT": str(FOREVER_SECONDS * 1000),
}
"""What keeps decisions with the loop: it condenses, waits and caps, so that the CLI must not."""


class CliSettings(Struct, frozen=True):
    """What all conversations of a client share."""

    names: ModelNames
    """Which model a request is for; an empty name is the CLI's own choice."""
    cwd: str
    cli_path: str | None
    env: Mapping[str, str]
    """What is added to, or replaces, the environment of this process."""
    prices: PriceTable

    @property
    def url(self) -> str:
        """Where the CLI will look for its model."""
        return self.env.get("ANTHROPIC_BASE_URL") or os.environ.get("ANTHROPIC_BASE_URL") or DEFAULT_URL

    def options(self, request: Request, **more: Any) -> ClaudeAgentOptions:
        """The SDK's options for a conversation.

        Args:
            request: The request it begins with.
            **more: Options that depend on who listens to it.
        """
        return build_options(
            model=self.names.of(request) or None,
            cwd=self.cwd,
            cli_path=self.cli_path,
            env={**_ENVIRONMENT, **self.env},
            max_tokens=max_tokens_of(request),
            system_prompt=request.system,
            tools=[tool.name for tool in request.tools if isinstance(tool, CliTool)],
            extra_args={"no-session-persistence": None},
            **more,
        )


def max_tokens_of(request: Request) -> int:
    """The most tokens an answer to the request may have."""
    return min(request.config.max_tokens or DEFAULT_MAX_TOKENS, DEFAULT_MAX_TOKENS)


def own_tools(request: Request) -> list[Tool]:
    """The tools of the request that are not the CLI's."""
    return [tool for tool in request.tools if not isinstance(tool, CliTool)]
