"""The settings of an agent that the loop decides by, recorded with the run.

A run that is replayed, resumed or forked is decided again, entry by entry. It has to come out the same, whatever the
agent and its tools are by then; so the loop uses the settings that were in force when each entry was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from msgspec import Struct

from maverick.loop.conversation import tool_tokens
from maverick.loop.definition import AgentDefinition, AgentTool
from maverick.model import Tool


class ToolOffer(Struct, frozen=True, omit_defaults=True):
    """The tools a model may call, as far as they change the course of a run."""

    names: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    """The tools that are agents, and share what is left of the limits."""
    tokens: int = 0
    """About how many tokens of each request they take."""
    shown: tuple[str, ...] = ()
    """Those that requests name, where others are deferred: called through ``call_tool``. By default all."""

    @classmethod
    def of(cls, tools: Mapping[str, Tool], deferred: AbstractSet[str] = frozenset()) -> ToolOffer:
        """What is recorded of these tools."""
        agents = tuple(name for name, tool in tools.items() if isinstance(tool, AgentTool))
        shown = tuple(name for name in tools if name not in deferred)
        tokens = tool_tokens(tools[name] for name in shown)
        return cls(tuple(tools), agents, tokens, shown if deferred else ())

    def requested(self, tools: Mapping[str, Tool]) -> tuple[Tool, ...]:
        """The tools that requests name."""
        if not self.shown:
            return tuple(tools.values())
        return tuple(tools[name] for name in self.shown if name in tools)


class RunSettings(Struct, frozen=True, omit_defaults=True):
    """The settings of an agent that change the course of a run; its limits are recorded beside them."""

    max_tokens: int = 0
    context_window: int | None = None
    max_retries: int = 0
    retry_delay_ms: int = 0
    max_repairs: int = 0
    asking: dict[str, str] = {}
    """The tools that need approval for each call, and the reason they give, if any."""
    offer: ToolOffer | None = None
    """The tools on offer; by default those of the agent."""
    max_calls_per_turn: int | None = None

    @classmethod
    def of(
        cls,
        definition: AgentDefinition[Any],
        tools: Mapping[str, Tool],
        deferred: AbstractSet[str] = frozenset(),
    ) -> RunSettings:
        """The settings of a definition and the tools it was given, some of which may be deferred."""
        model, run, output = definition.model_config, definition.run_config, definition.output_config
        return cls(
            model.max_tokens or 0,
            model.context_window,
            run.max_retries,
            run.retry_delay_ms,
            0 if output is None else output.max_repairs,
            {
                name: wanted if isinstance(wanted, str) else ""
                for name, tool in tools.items()
                if (wanted := getattr(tool, "approval", False))
            },
            ToolOffer.of(tools, deferred),
            run.max_calls_per_turn,
        )
