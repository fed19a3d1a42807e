"""What the ready agents have in common: inputs, a prompt made from them, and an answer of a type."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from maverick.agents.base import MaverickAgent
from maverick.agents.context import AgentContext
from maverick.agents.result import AgentResult, AgentUsage
from maverick.exceptions import AgentError
from maverick.loop.inputs import Input, bind_inputs

if TYPE_CHECKING:
    from pydantic import BaseModel


class TaskAgent(MaverickAgent):
    """An agent whose work is one prompt. A subclass says what the prompt is, and perhaps what type the answer has."""

    inputs: ClassVar[Mapping[str, Input]] = {}
    """What it takes, from the context's ``extra``."""
    output_type: ClassVar[type[BaseModel] | None] = None
    """What its answer is; text if there is no type."""

    @abstractmethod
    async def prompt(self, context: AgentContext, inputs: Mapping[str, Any]) -> str:
        """What to ask.

        Args:
            context: Where it works.
            inputs: The values of its inputs.
        """

    async def execute(self, context: AgentContext) -> AgentResult[Any]:
        """Do the work; what goes wrong is in the result."""
        try:
            prompt = await self.prompt(context, bind_inputs(self.inputs, context.extra))
        except AgentError as error:
            return AgentResult.failure_result([error], AgentUsage(0, 0, None, 0))
        if self.output_type is None:
            return await self.run_prompt(prompt, context)
        return await self.run_prompt(prompt, context, output_type=self.output_type)
