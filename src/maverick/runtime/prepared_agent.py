"""An agent made ready to run: with its client, the client's defaults and its tools."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from typing_extensions import TypeVar

from maverick.config import AgentConfig, load_config
from maverick.config.model_settings import MODEL_SETTINGS
from maverick.exceptions import AgentError, InvalidInputError, InvalidToolError
from maverick.loop.config import ModelConfig
from maverick.loop.definition import AgentDefinition
from maverick.loop.entries import Execution, RunStarted
from maverick.loop.fingerprint import Fingerprint
from maverick.loop.limits import Limits
from maverick.loop.prefix import any_thought, bound_thought, without_misplaced, without_thoughts
from maverick.loop.run_settings import RunSettings
from maverick.model import History, LLMClient, Message, ModelInfo, OutputSchema, Request, Tool, model_info
from maverick.model.client import (
    NO_DEFAULTS,
    RequestDefaults,
    check_media,
    check_request,
    check_settings,
    own_model,
    request_defaults,
)
from maverick.providers import Client
from maverick.providers.catalog import open_client
from maverick.providers.client import limited
from maverick.providers.prices import warn_of_retirement
from maverick.providers.resolve import resolve
from maverick.runtime.toolset import Guidance, Toolset
from maverick.runtime.worker import worker_name
from maverick.telemetry import instruments
from maverick.tools import ToolRegistry

if TYPE_CHECKING:
    from maverick.runtime.tracing import RunTracer

T = TypeVar("T", default=str)

_STAND_IN = (
    "No model is configured, so the offline model answers, which is no language model: {}, or name a model. "
    "AgentExecutor(connect('offline:')) uses it without this warning."
)


class PreparedAgent(NamedTuple, Generic[T]):
    """A definition with the client that answers for it and the tools it names."""

    definition: AgentDefinition[T]
    client: LLMClient
    toolset: Toolset

    @property
    def model(self) -> str:
        """The ``provider:model`` that answers; empty if the client does not say."""
        return self.definition.model_config.model or own_model(self.client)

    @property
    def info(self) -> ModelInfo:
        """What the client knows of the model."""
        return model_info(self.client, self.model)

    @property
    def sample(self) -> Request:
        """A request with all that stays the same in those of its runs."""
        definition, output = self.definition, self.definition.output_config
        tools, offer = self.toolset.tools, self.toolset.settings.offer
        return Request(
            (Message.user("Hello!"),),
            tuple(tools.values()) if offer is None else offer.requested(tools),
            definition.model_config.request_config,
            definition.prompt_config.system_prompt,
            None if output is None else OutputSchema(output.output_name, output.format.json_schema),
        )

    @property
    def fingerprint(self) -> Fingerprint:
        """What the agent is, in hashes."""
        return self.toolset.fingerprint(self.definition)

    def start(
        self,
        inputs: Mapping[str, Any] | None,
        *,
        at: float,
        run_id: str,
        trace_id: str,
        user_id: str | None,
        journaled: bool,
        earlier: Sequence[Message] = (),
        caller: RunStarted | None = None,
        grant: Limits | None = None,
        execution: Execution | None = None,
    ) -> RunStarted:
        """The entry that a run of this agent begins with; refuses inputs that do not fit, or that the model does not read."""
        definition, info = self.definition, self.info
        system, first = definition.render(inputs)
        if told := self.toolset.instructions:
            system = f"{system}\n\n{told}".strip()
        limits = definition.run_config.limits if grant is None else definition.run_config.limits.within(grant)
        if limits.cost_usd is not None:
            check_price(info, self.model)
        check_media(first, info, self.model)
        earlier = self._continued(earlier, system)
        return RunStarted(
            at=at,
            run_id=run_id,
            trace_id=trace_id,
            agent=(definition.name,) if caller is None else (*caller.agent, definition.name),
            system=system,
            messages=(*earlier, *first),
            head=len(first),
            earlier=len(earlier),
            limits=limits,
            info=info.essentials(definition.model_config.thinking),
            fingerprint=self.fingerprint if journaled else None,
            settings=self.toolset.settings,
            worker=worker_name() if journaled else "",
            user_id=user_id,
            parent=None if caller is None else caller.run_id,
            execution=execution,
        )

    def _continued(self, earlier: Sequence[Message], system: str) -> Sequence[Message]:
        """The conversation so far; without thoughts that were made with other tools, or behind other messages.

        A provider would refuse them. What a run has returned is as the run has made it.
        """
        made = earlier.derived.get(RunSettings) if isinstance(earlier, History) else None
        now = self.toolset.settings.binding(system)
        if made is None:
            return without_misplaced(earlier)
        if made == now:
            return earlier
        return without_thoughts(earlier, leave_out=bound_thought if made[0] == now[0] else any_thought)

    def tracer(self, start: RunStarted) -> RunTracer | None:
        """The tracer of a run, if runs are traced."""
        if (traced := instruments()) is None:
            return None
        from maverick.runtime.tracing import RunTracer  # here, since it loads OpenTelemetry

        return RunTracer(traced, start, self.model)


class AgentPreparer:
    """Finds the client and the tools of agents. What is made for a definition is made once."""

    def __init__(
        self,
        client: LLMClient | None,
        registry: ToolRegistry,
        settings: AgentConfig | None,
        guidance: Guidance | None = None,
        hooks: tuple[str, ...] = (),
    ) -> None:
        self.registry = registry
        self._guidance = guidance
        self._hooks = hooks
        self._client = client
        self._settings = settings
        self._connected: dict[str | None, Client] = {}
        self._filled: WeakKeyDictionary[AgentDefinition[Any], AgentDefinition[Any]] = WeakKeyDictionary()
        self._checked: WeakSet[AgentDefinition[Any]] = WeakSet()
        self._toolsets: WeakKeyDictionary[AgentDefinition[Any], Toolset] = WeakKeyDictionary()

    def prepare(self, definition: AgentDefinition[T], inherited: str | None = None) -> PreparedAgent[T]:
        """An agent, ready to run, with the client's defaults for what it leaves open.

        The loop has to know them: how long an answer may get is part of what it plans with. An agent that names no model
        gets the one that is ``inherited`` from its caller.
        """
        client = self._client
        if client is None:
            client = self._connect(definition.model_config.model or inherited)
        defaults = request_defaults(client)
        if defaults is not NO_DEFAULTS:
            config = _with_defaults(definition.model_config, defaults)
            if config != definition.model_config:
                filled = self._filled.get(definition)
                if filled is None:
                    filled = self._filled[definition] = replace(definition, model_config=config)
                definition = filled
        agent = PreparedAgent(definition, limited(client), self._toolset(definition))
        if definition not in self._checked:
            self._check(agent)
        return agent

    def tool_of(self, definition: AgentDefinition[Any], path: Sequence[str], name: str) -> Tool | None:
        """A tool of an agent, or of the subagent that a path of names leads to; ``None`` if it is not there any more."""
        for subagent in path[1:]:
            inner = [ready.agent for ready in self._toolset(definition).ready.values()]
            definition = next(
                (each for each in inner if each is not None and each.name == subagent), definition
            )
        return self._toolset(definition).tools.get(name)

    def _check(self, agent: PreparedAgent[Any]) -> None:
        """Refuse what the model of an agent does not take, and a limit on money that cannot be kept: before anything is sent."""
        definition, info = agent.definition, agent.info
        warn_of_retirement(agent.model.partition(":")[2], info)
        check_settings(definition.model_config.request_config, info, agent.model, [*agent.toolset.ready])
        check_request(agent.client, agent.sample)
        if definition.run_config.max_cost_usd is not None:
            self._check_prices(agent)
        self._checked.add(definition)
        if self._client is not None:
            self._check_subagents(agent)

    def _check_subagents(self, agent: PreparedAgent[Any]) -> None:
        """Refuse what the client cannot do for a subagent: before its caller is run."""
        try:
            for ready in agent.toolset.ready.values():
                if ready.agent is not None:
                    self.prepare(ready.agent)
        except AgentError:
            self._checked.discard(agent.definition)
            raise

    def _check_prices(self, agent: PreparedAgent[Any]) -> None:
        check_price(agent.info, agent.model)
        for ready in agent.toolset.ready.values():
            if ready.agent is not None:
                self._check_prices(self.prepare(ready.agent, agent.model))

    async def aclose(self) -> None:
        """Close the clients that were connected to; not the one that was given."""
        clients, self._connected = self._connected, {}
        for client in clients.values():
            await client.aclose()

    def _connect(self, model: str | None) -> LLMClient:
        if model not in self._connected:
            settings = load_config().agent if self._settings is None else self._settings
            resolved = resolve(settings, named=model).check()
            if resolved.is_stand_in:
                warnings.warn(_STAND_IN.format(resolved.stand_in_reason), RuntimeWarning, stacklevel=2)
            self._connected[model] = open_client(resolved)
        return self._connected[model]

    def _toolset(self, definition: AgentDefinition[Any]) -> Toolset:
        toolset = self._toolsets.get(definition)
        if toolset is None:
            toolset = Toolset(definition, self.registry, self._guidance, self._hooks)
            self._toolsets[definition] = toolset
            try:
                for ready in toolset.ready.values():
                    if ready.agent is not None:  # what it names has to be there before the first model call
                        self._toolset(ready.agent)
            except InvalidToolError:
                del self._toolsets[definition]
                raise
        return toolset


def check_price(info: ModelInfo, model: str) -> None:
    """Refuse to limit the cost of a model whose price is not known, if nothing else tells the cost."""
    if info.needs_price and info.price is None:
        raise InvalidInputError(
            f"The price of {model} is not known, so its cost cannot be limited. Tell its price with "
            f"connect(…, prices={{{model.partition(':')[2]!r}: Price(…)}}), or leave the limit out.",
            field="run_config.max_cost_usd",
        )


def _with_defaults(own: ModelConfig, defaults: RequestDefaults) -> ModelConfig:
    config = defaults.completed(own.request_config)
    return replace(
        own,
        **{name: getattr(config, name) for name in MODEL_SETTINGS},
        request_timeout=own.request_timeout or defaults.request_timeout,
    )
