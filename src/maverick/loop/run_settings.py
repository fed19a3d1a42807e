"""The settings of an agent that the loop decides by, recorded with the run, and the requests they make.

A run that is replayed, resumed or forked is decided again, entry by entry. It has to come out the same, whatever the
agent and its tools are by then; so the loop uses the settings that were in force when each entry was written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from maverick.loop.conversation import tool_tokens
from maverick.loop.definition import AgentDefinition, AgentTool
from maverick.loop.fingerprint import hash_offer, hash_output
from maverick.loop.prefix import PrefixReason
from maverick.model import History, OutputSchema, Request, Tool
from maverick.model.request import DEFAULT_CONFIG

_FREE_CHOICES = (None, "auto", "none")


class ToolOffer(Struct, frozen=True, omit_defaults=True):
    """The tools a model may call, as far as they change the course of a run."""

    names: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    """The tools that are agents, and share what is left of the limits."""
    tokens: int = 0
    """About how many tokens of each request they take."""
    shown: tuple[str, ...] = ()
    """Those that requests name, where others are deferred: called through ``call_tool``. By default all."""
    digest: str = ""
    """A hash of what a model is told of them, and of the provider's own tools; empty in runs from before it was recorded."""

    def same_as(self, other: ToolOffer) -> bool:
        """Whether a model is told the same, as far as is known."""
        if self.digest and other.digest:
            return self.digest == other.digest
        return replace(self, digest="") == replace(other, digest="")

    @classmethod
    def of(
        cls,
        tools: Mapping[str, Tool],
        deferred: AbstractSet[str] = frozenset(),
        server_tools: Sequence[str | dict[str, Any]] = (),
    ) -> ToolOffer:
        """What is recorded of these tools."""
        agents = tuple(name for name, tool in tools.items() if isinstance(tool, AgentTool))
        shown = tuple(name for name in tools if name not in deferred)
        told = [tools[name] for name in shown]
        digest = hash_offer(told, server_tools)
        return cls(tuple(tools), agents, tool_tokens(told), shown if deferred else (), digest)

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
    model: str = ""
    """The model that the agent names; empty when it names none."""
    output: str | None = None
    """A hash of what the answer has to be, if anything; ``None`` in runs that were made before it was recorded."""
    checks_output: bool = False
    """Whether validators are asked about an answer of the declared type."""

    def binding(self, system: str) -> tuple[str, ...]:
        """What a signed thought is valid with, besides the messages before it: the model first."""
        return (self.model, system, "" if self.offer is None else self.offer.digest, self.output or "")

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
            round(run.retry_delay * 1000),
            0 if output is None else output.max_repairs,
            {
                name: wanted if isinstance(wanted, str) else ""
                for name, tool in tools.items()
                if (wanted := getattr(tool, "approval", False))
            },
            ToolOffer.of(tools, deferred, model.server_tools or ()),
            run.max_calls_per_turn,
            model.model or "",
            "" if output is None else hash_output(output.output_name, output.format.json_schema),
            output is not None and bool(output.validators),
        )


class RequestBuilder:
    """Makes the requests of one run: what stays the same in them, so that each extends the one before it."""

    __slots__ = ("_definition", "_offered", "_output", "_tools", "config", "offer", "settings", "system")

    def __init__(
        self,
        definition: AgentDefinition[Any],
        tools: Mapping[str, Tool],
        settings: RunSettings | None,
        system: str,
        *,
        native_output: bool,
    ) -> None:
        self._definition = definition
        self._tools = tools
        self._offered: tuple[Tool, ...] = ()
        """The tools that requests name."""
        self._output: OutputSchema | None = None
        self.system = system
        """The system prompt."""
        self.settings = settings or RunSettings.of(definition, tools)
        """What the run is decided by."""
        self.offer = ToolOffer()
        """The tools on offer."""
        self.config = DEFAULT_CONFIG
        """The settings of the next request."""
        if (output := definition.output_config) is not None:
            self._output = OutputSchema(output.output_name, output.format.json_schema)
            if not native_output:
                self.system = f"{system}\n\n{output.format.instructions()}".lstrip()

    def apply(self, settings: RunSettings | None, *, answered: bool) -> PrefixReason | None:
        """Continue with these settings, or else with those of the agent; says why a request does not extend the last one.

        Once the model has ``answered``, a tool that it has to call is called.
        """
        before, offered, model = self.settings, self.offer, self._definition.model_config
        self.settings = settings = settings or RunSettings.of(self._definition, self._tools)
        self.offer = settings.offer or ToolOffer.of(self._tools)
        self._offered = self.offer.requested(self._tools)
        self.config = model.request_config
        if settings.max_tokens != (self.config.max_tokens or 0):
            self.config = replace(self.config, max_tokens=settings.max_tokens)
        if answered:
            self.release_choice()
        if not self.offer.same_as(offered):
            return PrefixReason.TOOLS_CHANGED
        if settings.model and before.model and settings.model != before.model:
            return PrefixReason.MODEL_CHANGED
        unknown = settings.output is None or before.output is None
        return None if unknown or settings.output == before.output else PrefixReason.SETTINGS_CHANGED

    def release_choice(self) -> bool:
        """Leave the choice of tools to the model from now on; says whether it was forced."""
        if self.config.tool_choice in _FREE_CHOICES:
            return False
        # It is said, or else the client's default would come back.
        self.config = replace(self.config, tool_choice="auto")
        return True

    def request(self, history: History, max_tokens: int) -> Request:
        """The request with this conversation, for an answer of at most so many tokens."""
        config = self.config
        if max_tokens != (config.max_tokens or 0):
            config = replace(config, max_tokens=max_tokens)
        return Request(history, self._offered, config, self.system, self._output)
