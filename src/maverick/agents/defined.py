"""A definition that is used like an agent class."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Generic

from typing_extensions import TypeVar

from maverick.agents.context import AgentContext
from maverick.agents.named_tools import coding_registry, names_tools
from maverick.loop.definition import AgentDefinition
from maverick.loop.result import AgentResult
from maverick.model import LLMClient
from maverick.runtime import AgentExecutor

T = TypeVar("T", default=str)


class DefinedAgent(Generic[T]):
    """An agent made from a definition; its inputs are the context's ``extra``.

    Args:
        definition: The agent.
        executor: What runs it; by default one that connects to the definition's own model. Tools that the definition
            only names are then those for coding, in the context's folder and under the person's permissions.
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
        self._executors: dict[Path | None, AgentExecutor] = {}

    async def execute(self, context: AgentContext) -> AgentResult[T]:
        """Run the agent.

        ``cwd`` and ``branch`` of the context fill inputs of these names, if the definition has them; all other
        inputs come from ``extra``.

        Raises:
            InvalidInputError: An input is missing, unknown or of the wrong type.
        """
        known: dict[str, Any] = {"cwd": context.cwd, "branch": context.branch}
        inputs = {name: value for name, value in known.items() if name in self.definition.inputs}
        executor = self._executor or self._executor_in(context.cwd)
        return await executor.execute(self.definition, inputs=inputs | dict(context.extra))

    def _executor_in(self, folder: Path) -> AgentExecutor:
        place = folder if names_tools(self.definition) else None  # else it makes no difference
        if place not in self._executors:
            self._executors[place] = self._executor_for(place)
        return self._executors[place]

    def _executor_for(self, place: Path | None) -> AgentExecutor:
        if place is None:
            return AgentExecutor(self._client)
        from maverick.tools.permissions import load_permissions  # here, since not every agent has such tools

        return AgentExecutor(
            self._client, coding_registry(place), permissions=load_permissions(project=place)
        )
