"""What a person wants different about an agent for one run, and how to say it again when the run is resumed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from msgspec import Struct, structs

from maverick.config.mcp_server import group_of
from maverick.exceptions import InvalidInputError
from maverick.loop import AgentDefinition, AgentResult, OutputConfig, RunConfig, TerminateReason, ToolConfig

_LARGEST_SCHEMA = 1024 * 1024
_OWN = {"model": "--model", "output_schema": "--output-schema", "mode": "--mode"}
_SETTINGS = {"effort": "--effort", "thinking": "--thinking"}
"""The options for settings of :class:`~maverick.loop.ModelConfig`."""
_LIMITS = {
    "max_turns": "--max-turns",
    "max_cost_usd": "--max-cost",
    "max_total_tokens": "--max-tokens",
    "max_tool_calls": "--max-tool-calls",
}
"""The options for the limits of :class:`~maverick.loop.RunConfig`, but for the time, which has units."""
OPTIONS = {**_OWN, **_SETTINGS, **_LIMITS, "timeout": "--timeout", "mcp": "--mcp"}
"""All options that change something about an agent, by the names of their values."""


def refuse_in_fleet(words: Sequence[str]) -> None:
    """Refuse options for a run in a fleet, whose workers have settings of their own."""
    if words:
        raise InvalidInputError(
            f"{words[0]} does not apply to a run in a fleet: its workers' settings do. Leave the option out.",
            field="on",
        )


class RunOptions(Struct, frozen=True):
    """What the options of a command change about an agent for one run."""

    model: str | None = None
    """The ``provider:model`` that answers."""
    output_schema: str | None = None
    """The file with a JSON Schema of the answer."""
    mode: str | None = None
    """What the agent may do without asking."""
    mcp: Sequence[str] = ()
    """MCP servers whose tools the agent gets, beside its own."""
    settings: Mapping[str, Any] = {}
    """Settings of the model by their names in :class:`~maverick.loop.ModelConfig`."""
    limits: Mapping[str, Any] = {}
    """Limits by their names in :class:`~maverick.loop.RunConfig`."""

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """The changes that the options of a command ask for; what a command does not have is not changed."""
        given = {name: value for name, value in options.items() if value is not None}
        limits = {name: given[name] for name in _LIMITS if name in given}
        if "timeout" in given:
            limits["timeout_ms"] = round(given["timeout"] * 1000)
        settings = {name: given[name] for name in _SETTINGS if name in given}
        own = {name: given[name] for name in (*_OWN, "mcp") if name in given}
        return cls(**own, settings=settings, limits=limits)

    def applied_to(self, definition: AgentDefinition[Any], model: str | None) -> AgentDefinition[Any]:
        """The agent with what is different about it; without a ``provider:model`` that answers, the executor finds it."""
        model = model or self.model or definition.model_config.model
        return replace(
            definition,
            model_config=replace(definition.model_config, model=model, **self.settings),
            run_config=replace(definition.run_config, **self.limits),
            tool_config=_with_servers(definition.tool_config, self.mcp),
            output_config=definition.output_config
            if self.output_schema is None
            else _output(self.output_schema),
        )

    def raised(self, result: AgentResult[Any], limits: RunConfig) -> Self:
        """These changes with twice as much of what the run had too little of."""
        usage = result.usage
        used: Mapping[TerminateReason, tuple[str, float]] = {
            TerminateReason.MAX_TURNS: ("max_turns", result.turn_count),
            TerminateReason.MAX_COST: ("max_cost_usd", float(f"{usage.total_cost_usd or 0:.3g}")),
            TerminateReason.MAX_TOTAL_TOKENS: ("max_total_tokens", usage.total_tokens),
            TerminateReason.MAX_TOOL_CALLS: ("max_tool_calls", 0),
            TerminateReason.TIMEOUT: ("timeout_ms", usage.duration_ms),
        }
        name, enough = used.get(result.terminate_reason, ("", 0))
        limit = getattr(limits, name, None)
        if limit is None:
            return self
        # It may have used more than its limit: how much an answer takes is known when it is there.
        return structs.replace(self, limits={**self.limits, name: 2 * max(limit, enough) or 1})

    def words(self, agents: str | None = None) -> list[str]:
        """What to write after ``maverick runs resume ID`` for a run that was begun so, with the file of its agent if it was named."""
        options: dict[str, Any] = {
            "--agents": agents,
            **{option: getattr(self, name) for name, option in _OWN.items()},
            **{option: self.settings.get(name) for name, option in _SETTINGS.items()},
            **{option: self.limits.get(name) for name, option in _LIMITS.items()},
        }
        if "timeout_ms" in self.limits:
            options["--timeout"] = f"{self.limits['timeout_ms'] / 1000:g}s"
        words = [
            word for option, value in options.items() if value is not None for word in (option, f"{value}")
        ]
        return [*words, *(word for server in self.mcp for word in ("--mcp", server))]


def _with_servers(own: ToolConfig, servers: Sequence[str]) -> ToolConfig:
    more = [group for group in dict.fromkeys(map(group_of, servers)) if group not in own.tools]
    return replace(own, tools=[*own.tools, *more]) if more else own


def _output(file: str) -> OutputConfig[Any]:
    from maverick.loop.json_schema import JsonSchema  # here, since it is rarely needed

    path = Path(file)
    try:
        with path.open("rb") as opened:
            schema = json.loads(opened.read(_LARGEST_SCHEMA))
    except OSError as error:
        problem = (
            f"--output-schema: {file} could not be read: {error.strerror}. Name a file with a JSON Schema."
        )
        raise InvalidInputError(problem, field="output_schema") from error
    except (ValueError, RecursionError) as error:
        where = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        problem = f"--output-schema: {file}{where}: this is not valid JSON."
        raise InvalidInputError(problem, field="output_schema") from error
    return OutputConfig("answer", JsonSchema(schema, file).as_type())
