"""What the loop decides by that its agent sets, written down with the run.

A run that is told again, resumed or forked is decided once more, entry by entry. It has to come out as it did, whatever
the agent is by then, and whatever tools it has; so the loop goes by the terms that were in force when each entry was
written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from maverick.loop.compaction import tool_tokens
from maverick.loop.definition import AgentDefinition
from maverick.loop.subagent import AgentTool
from maverick.model import Tool


class Offer(Struct, frozen=True, omit_defaults=True):
    """The tools a model may call, as far as they change the course of a run."""

    names: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    """Those that are agents, and share what is left of the limits."""
    tokens: int = 0
    """About how many tokens of each request they take."""

    @classmethod
    def of(cls, tools: Mapping[str, Tool]) -> Offer:
        """The offer of these tools."""
        agents = tuple(name for name, tool in tools.items() if isinstance(tool, AgentTool))
        return cls(tuple(tools), agents, tool_tokens(tools.values()))


class Terms(Struct, frozen=True, omit_defaults=True):
    """The settings of an agent that change the course of a run; its limits are kept beside them."""

    max_tokens: int = 0
    context_window: int | None = None
    max_retries: int = 0
    retry_delay_ms: int = 0
    max_repairs: int = 0
    asking: dict[str, str] = {}
    """The tools that want a person asked about each call, and why if they say so."""
    offer: Offer | None = None
    """The tools there are; by default those of the agent."""
    max_calls_per_turn: int | None = None

    @classmethod
    def of(cls, definition: AgentDefinition[Any], tools: Mapping[str, Tool]) -> Terms:
        """The terms of a definition and the tools it was given."""
        model, run, output = definition.model_config, definition.run_config, definition.output_config
        return cls(
            model.max_tokens,
            model.context_window,
            run.max_retries,
            run.retry_delay_ms,
            0 if output is None else output.max_repairs,
            {
                name: wanted if isinstance(wanted, str) else ""
                for name, tool in tools.items()
                if (wanted := getattr(tool, "approval", False))
            },
            Offer.of(tools),
            run.max_calls_per_turn,
        )
