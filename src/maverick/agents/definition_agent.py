"""A definition that is used like an agent that is a class."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self

from typing_extensions import TypeVar

from maverick.agents.context import AgentContext
from maverick.agents.named_tools import coding_registry, named_tools, names_tools, servers_named
from maverick.config import AgentConfig
from maverick.loop.definition import AgentDefinition
from maverick.loop.policy import Policy
from maverick.loop.result import AgentResult
from maverick.model import LLMClient
from maverick.runtime import AgentExecutor

T = TypeVar("T", default=str)


class DefinitionAgent(Generic[T]):
    """An agent made from a definition; its inputs are the context's ``extra``.

    Args:
        definition: The agent.
        executor: Runs it; by default one that connects to the definition's own model, or to that of the context's
            settings. Tools that the definition refers to by name are then the coding tools, in the context's folder and
            under the user's permissions, and those of configured MCP servers, which are connected for each run.
        client: The model to call, if there is no executor.
    """

    def __init__(
        self,
        definition: AgentDefinition[T],
        *,
        executor: AgentExecutor | None = None,
        client: LLMClient | None = None,
    ) -> None:
        self.definition = definition
        self.name = definition.name
        self._executor = executor
        self._client = client
        self._executors: dict[tuple[Path | None, AgentConfig], AgentExecutor] = {}

    async def execute(self, context: AgentContext) -> AgentResult[T]:
        """Run the agent.

        ``cwd`` and ``branch`` of the context fill inputs of these names, if the definition has them; all other
        inputs come from ``extra``.

        Raises:
            InvalidInputError: An input is missing, unknown or of the wrong type.
            MaverickError: An MCP server that it refers to cannot be used.
        """
        known: dict[str, Any] = {"cwd": context.cwd, "branch": context.branch}
        inputs = {name: value for name, value in known.items() if name in self.definition.inputs}
        inputs |= dict(context.extra)
        if self._executor is None and servers_named(self.definition):
            return await self._execute_connected(context, inputs)
        executor = self._executor or self._executor_in(context)
        return await executor.execute(self.definition, inputs=inputs)

    async def aclose(self) -> None:
        """Close the clients it has connected; not an executor or a client it was given."""
        executors, self._executors = self._executors, {}
        for executor in executors.values():
            await executor.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _execute_connected(self, context: AgentContext, inputs: dict[str, Any]) -> AgentResult[T]:
        permissions, settings = _permissions(context.cwd), context.config.agent
        async with (
            named_tools(self.definition, context.cwd) as tools,
            AgentExecutor(self._client, tools, permissions=permissions, settings=settings) as executor,
        ):
            return await executor.execute(self.definition, inputs=inputs)

    def _executor_in(self, context: AgentContext) -> AgentExecutor:
        place = context.cwd if names_tools(self.definition) else None  # else it makes no difference
        key = (place, context.config.agent)
        if key not in self._executors:
            self._executors[key] = self._executor_for(*key)
        return self._executors[key]

    def _executor_for(self, place: Path | None, settings: AgentConfig) -> AgentExecutor:
        if place is None:
            return AgentExecutor(self._client, settings=settings)
        tools, permissions = coding_registry(place), _permissions(place)
        return AgentExecutor(self._client, tools, permissions=permissions, settings=settings)


def _permissions(project: Path) -> Policy:
    from maverick.tools.permissions import load_permissions  # here, since not every agent has such tools

    return load_permissions(project=project)
