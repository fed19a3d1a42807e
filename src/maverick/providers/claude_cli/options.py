"""The SDK's options for the CLI, with defaults for an agent that runs unattended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maverick.exceptions import CLINotFoundError, InvalidInputError, describe_unknown
from maverick.misuse import refuse

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions

REQUEST_SECONDS = 600.0
"""How long the API may take to start an answer."""
IDLE_SECONDS = 120.0
"""How long a streamed answer may pause."""

_LEAST_IDLE_SECONDS = 10.0  # the CLI takes no less

_FRACTIONS = {"timeout", "request_seconds", "idle_seconds", "max_budget_usd"}
_AMOUNTS = _FRACTIONS | {"max_tokens", "max_turns", "max_processes", "max_buffer_size", "max_thinking_tokens"}
"""Options that have to be above 0; no tokens for thinking switch it off."""

DEFAULT_ENVIRONMENT: Mapping[str, str] = {
    "CLAUDE_CODE_MAX_RETRIES": "0",
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
}
"""No retries by the CLI, since that is the caller's decision; no second request after a failed stream; no telemetry and
no updates."""


def build_options(
    *,
    system_prompt: str | None = None,
    allowed_tools: Iterable[str] = (),
    cwd: str | Path | None = None,
    max_tokens: int | None = None,
    request_seconds: float = REQUEST_SECONDS,
    idle_seconds: float = IDLE_SECONDS,
    env: Mapping[str, str] | None = None,
    **chosen: Any,
) -> ClaudeAgentOptions:
    """The SDK's options. What is given takes precedence over the defaults; ``chosen`` is any other field of them.

    The model is offered only the built-in tools among ``allowed_tools``. Settings, hooks and MCP servers of the folder
    or of the user are not loaded, because the folder may be a stranger's. Prompts are verbatim, so that an ``@path`` does
    not make the CLI read a file. Partial messages are on, because otherwise an answer that breaks off is lost. The API may
    take ``request_seconds`` to begin an answer, and pause a streamed one for ``idle_seconds``, at least 10.

    Raises:
        CLINotFoundError: The SDK, which brings the CLI, is not installed.
        InvalidInputError: A field is unknown, or a number is out of range.
    """
    check_numbers(max_tokens=max_tokens, request_seconds=request_seconds, idle_seconds=idle_seconds, **chosen)
    check_names(chosen)
    allowed = list(allowed_tools)
    environment = {
        **DEFAULT_ENVIRONMENT,
        "API_TIMEOUT_MS": str(round(request_seconds * 1000)),
        "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS": str(round(max(idle_seconds, _LEAST_IDLE_SECONDS) * 1000)),
        **({} if max_tokens is None else {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(max_tokens)}),
        **(env or {}),
    }
    defaults: dict[str, Any] = {
        "system_prompt": system_prompt,
        "allowed_tools": allowed,
        "tools": built_in(allowed),
        "cwd": cwd,
        "env": environment,
        "setting_sources": [],
        "strict_mcp_config": True,
        "verbatim_prompts": True,
        "include_partial_messages": True,
    }
    options: ClaudeAgentOptions = sdk().ClaudeAgentOptions(**defaults | chosen)
    return options


def check_names(chosen: Iterable[str]) -> None:
    """Refuse options that neither the SDK nor :func:`build_options` has; the error names the nearest."""
    known = {field.name for field in fields(sdk().ClaudeAgentOptions)} | {"request_seconds", "idle_seconds"}
    for name in chosen:
        if name not in known:
            raise InvalidInputError(describe_unknown("option", name, sorted(known)), field=name)


def check_numbers(**given: Any) -> None:
    """Refuse amounts among the options that are not numbers above 0, or from 0 for thinking."""
    for name in _AMOUNTS & given.keys():
        value = given[name]
        whole = name not in _FRACTIONS
        if value is None and name != "max_processes":
            continue
        is_number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        may_be_zero = name == "max_thinking_tokens"
        if not is_number or not (value > 0 or (may_be_zero and value == 0)):
            what = "a whole number" if whole else "a number"
            least = "from 0" if may_be_zero else "above 0"
            refuse(name, f"expected {what} {least}, got {value!r}.")


def built_in(tools: Iterable[str]) -> list[str]:
    """The built-in tools among these, without what a rule such as ``Bash(git:*)`` narrows them to."""
    names = (tool.partition("(")[0] for tool in tools)
    return list(dict.fromkeys(name for name in names if not name.startswith("mcp__")))


def sdk() -> Any:  # noqa: ANN401 - the module itself, which mypy cannot describe as a return type
    """The Claude Agent SDK, loaded on first use."""
    try:
        import claude_agent_sdk
    except ImportError as error:
        from maverick.config.installation import install_command  # here, since it is seldom wanted

        raise CLINotFoundError(
            "The Claude Agent SDK, which brings the Claude CLI, is not installed. "
            f"Install it with: {install_command('claude-code')}"
        ) from error
    return claude_agent_sdk
