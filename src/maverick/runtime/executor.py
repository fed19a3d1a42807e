"""The way in: runs agents, one or many at once, on asyncio."""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self
from weakref import WeakKeyDictionary

from typing_extensions import TypeVar

from maverick.exceptions import InvalidInputError
from maverick.loop.definition import AgentDefinition
from maverick.loop.entries import RunStarted
from maverick.loop.events import AgentActivityEvent
from maverick.loop.limits import Limits
from maverick.loop.machine import AgentLoop
from maverick.loop.result import AgentResult
from maverick.loop.steps import PlannedCall
from maverick.model import ExecutionMetrics, LLMClient, Message, model_info
from maverick.providers import Client, connect
from maverick.runtime.abort import AbortSignal
from maverick.runtime.driver import Approver, Driver
from maverick.runtime.event_feed import EventFeed
from maverick.runtime.event_log import is_logged, log_event
from maverick.runtime.run import Listener, Run
from maverick.runtime.toolset import Toolset
from maverick.tools import ToolRegistry

T = TypeVar("T", default=str)


class AgentExecutor:
    """Runs agents. One executor serves any number of runs at once.

    Args:
        client: The model to call; without one, each definition's own ``provider:model`` is connected to.
        tool_registry: Where tools are found that a definition only names.
        approve: Asks a person about tools that need approval; without it, such a call ends the run.
        max_depth: How deep agents may be nested in each other.
    """

    def __init__(
        self,
        client: LLMClient | None = None,
        tool_registry: ToolRegistry | None = None,
        *,
        approve: Approver | None = None,
        max_depth: int = 5,
    ) -> None:
        self.metrics = ExecutionMetrics()
        """The tokens of all model calls this executor has made."""
        self._client = client
        self._connected: dict[str, Client] = {}
        self._registry = ToolRegistry() if tool_registry is None else tool_registry
        self._toolsets: WeakKeyDictionary[AgentDefinition[Any], Toolset] = WeakKeyDictionary()
        self._approve = approve
        self._max_depth = max_depth

    async def execute(
        self,
        definition: AgentDefinition[T],
        *,
        inputs: Mapping[str, Any] | None = None,
        signal: AbortSignal | None = None,
        on_activity: Listener | None = None,
        messages: Sequence[Message] = (),
        run_id: str | None = None,
        trace_id: str | None = None,
        user_id: str | None = None,
    ) -> AgentResult[T]:
        """Run an agent to its end.

        Args:
            definition: The agent.
            inputs: The values of its variables.
            signal: Stops the run when it is aborted.
            on_activity: Called with each event, in order.
            messages: The conversation so far, if the run continues one.
            run_id: The run's id, if it is to have a certain one.
            trace_id: The id of the request it serves; it is on every event and log line.
            user_id: The verified user it acts for; tools see it, the model does not.

        Returns:
            How the run ended. A run that fails or is stopped has a result too; it does not raise.

        Raises:
            InvalidInputError: An input is missing, unknown or of the wrong type.
        """
        if inspect.iscoroutinefunction(on_activity):
            raise InvalidInputError(
                "on_activity: expected a plain function; to await something for each event, use stream().",
                field="on_activity",
            )
        listeners: list[Listener] = [log_event] if is_logged() else []
        if on_activity is not None:
            listeners.append(on_activity)
        client = self._client_for(definition)
        system, first = definition.render(inputs)
        start = RunStarted(
            at=time.time(),
            run_id=run_id or f"run_{os.urandom(8).hex()}",
            trace_id=trace_id or os.urandom(16).hex(),
            agent=(definition.name,),
            system=system,
            messages=(*messages, *first),
            head=0 if messages else len(first),
            limits=definition.run_config.limits,
            info=model_info(client, definition.model_config.model),
        )
        return await self._driver(definition, start, client, listeners, user_id).drive(signal)

    async def stream(
        self, definition: AgentDefinition[Any], **options: Any
    ) -> AsyncIterator[AgentActivityEvent]:
        """Run an agent and yield its events; the last one is ``RunEnd``, with the result.

        Takes what :meth:`execute` takes, but for ``on_activity``. Leaving the loop early stops the run.
        """
        feed = EventFeed()
        if "on_activity" in options:
            raise InvalidInputError("on_activity: stream() yields the events itself.", field="on_activity")
        running = asyncio.ensure_future(self.execute(definition, on_activity=feed.put, **options))
        running.add_done_callback(lambda _: feed.close())
        try:
            async for event in feed.read():
                yield event
            await running
        finally:
            running.cancel()
            await asyncio.wait([running])

    async def aclose(self) -> None:
        """Close the clients this executor has connected; not the one it was given."""
        clients, self._connected = self._connected, {}
        for client in clients.values():
            await client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _driver(
        self,
        definition: AgentDefinition[T],
        start: RunStarted,
        client: LLMClient,
        listeners: Sequence[Listener],
        user_id: str | None,
    ) -> Driver[T]:
        toolset = self._toolsets.get(definition)
        if toolset is None:
            toolset = self._toolsets[definition] = Toolset(definition, self._registry)
        loop = AgentLoop(definition, toolset.tools, max_depth=self._max_depth)
        run = Run(start, loop, client, toolset, listeners, user_id)
        return Driver(run, self.metrics, self._approve, self._subagent)

    def _subagent(self, parent: Run[Any], planned: PlannedCall, turn: int) -> Driver[Any]:
        definition = parent.toolset.ready[planned.call.tool_name].agent
        assert definition is not None  # noqa: S101 - asked only about tools that are agents
        client = self._client_for(definition)
        system, first = definition.render(planned.call.arguments)
        start = RunStarted(
            at=time.time(),
            run_id=f"{parent.start.run_id}/{turn}/{planned.index}",
            trace_id=parent.start.trace_id,
            agent=(*parent.start.agent, definition.name),
            system=system,
            messages=first,
            head=len(first),
            limits=definition.run_config.limits.within(planned.grant or Limits()),
            info=model_info(client, definition.model_config.model),
        )
        return self._driver(definition, start, client, parent.listeners, parent.user_id)

    def _client_for(self, definition: AgentDefinition[Any]) -> LLMClient:
        if self._client is not None:
            return self._client
        model = definition.model_config.model
        if model not in self._connected:
            self._connected[model] = connect(model)
        return self._connected[model]
