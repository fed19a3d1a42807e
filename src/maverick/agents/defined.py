"""A definition that is used like an agent class."""

from __future__ import annotations

from typing import Any, Generic

from typing_extensions import TypeVar

from maverick.agents.context import AgentContext
from maverick.loop.definition import AgentDefinition
from maverick.loop.result import AgentResult
from maverick.model import LLMClient
from maverick.runtime import AgentExecutor

T = TypeVar("T", default=str)


class DefinedAgent(Generic[T]):
    """An agent made from a definition; its inputs are the context's ``extra``.

    Args:
        definition: The agent.
        executor: What runs it; by default one that connects to the definition's own model.
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
        self._executor = executor or AgentExecutor(client)

    async def execute(self, context: AgentContext) -> AgentResult[T]:
        """Run the agent.

        ``cwd`` and ``branch`` of the context fill inputs of these names, if the definition has them; all other
        inputs come from ``extra``.

        Raises:
            InvalidInputError: An input is missing, unknown or of the wrong type.
        """
        known: dict[str, Any] = {"cwd": context.cwd, "branch": context.branch}
        inputs = {name: value for name, value in known.items() if name in self.definition.inputs}
        return await self._executor.execute(self.definition, inputs=inputs | dict(context.extra))
