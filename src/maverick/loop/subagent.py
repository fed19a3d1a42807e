"""An agent as a tool of another agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from maverick.exceptions import InvalidToolError
from maverick.loop.definition import AgentDefinition
from maverick.loop.inputs import inputs_schema


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A definition that another agent can call. The driver runs it as a run of its own, nested in the caller's."""

    definition: AgentDefinition[Any]
    name: str
    description: str
    parameters: Mapping[str, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", inputs_schema(self.definition.inputs))

    async def execute(self, args: dict[str, Any], /) -> NoReturn:  # noqa: ARG002 - the shape of a Tool
        """Refuse: an agent needs a driver to run it.

        Raises:
            InvalidToolError: Always.
        """
        raise InvalidToolError(
            f"The agent {self.name!r} runs inside an AgentExecutor; put it into a ToolConfig there.",
            tool_name=self.name,
        )
