"""What the screen needs from whoever starts it: agents, a journal, and executors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from maverick.agents.discovery import DiscoveredAgent
from maverick.journal import Journal
from maverick.loop import AgentDefinition
from maverick.model import ToolContext
from maverick.runtime import AgentExecutor
from maverick.runtime.approver import Approver

OnOutput: TypeAlias = Callable[[ToolContext, str], object]
"""Called with a tool's output while the tool runs."""


@dataclass(frozen=True, slots=True)
class PreparedAgent:
    """An agent that is ready to run."""

    definition: AgentDefinition[Any]
    context_window: int | None = None
    """How many tokens its model can read, if known."""
    notice: str = ""
    """Something the user should know first, such as that the offline model answers."""


class Backend(Protocol):
    """Finds agents, keeps runs and makes executors."""

    @property
    def journal(self) -> Journal:
        """Where runs are kept."""
        ...

    @property
    def user(self) -> str:
        """The user's name, for approvals."""
        ...

    def agents(self) -> Sequence[DiscoveredAgent]:
        """All agents, sorted by name."""
        ...

    def problems(self) -> Sequence[str]:
        """What went wrong when agents were last looked for."""
        ...

    def prepare(self, name: str) -> PreparedAgent:
        """The agent with a name, ready to run.

        Raises:
            AgentError: There is no such agent, or it cannot run here.
        """
        ...

    def executor(
        self, definition: AgentDefinition[Any], approve: Approver | None, on_output: OnOutput | None
    ) -> AbstractAsyncContextManager[AgentExecutor]:
        """An executor for an agent, for the length of an ``async with`` block.

        Args:
            definition: The agent.
            approve: Asks the user about a tool call; without it, the run waits in its journal.
            on_output: Called with the output of the agent's commands while they run.
        """
        ...
