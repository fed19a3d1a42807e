"""What the screen works with: agents, runs, and what runs them. Whoever starts the screen provides it."""

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
from maverick.runtime.driver import Approver

OnOutput: TypeAlias = Callable[[ToolContext, str], object]
"""Told what a tool says, while it says it."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """An agent as it will run."""

    definition: AgentDefinition[Any]
    window: int | None = None
    """How many tokens its model can read, if known."""
    remark: str = ""
    """What a person should know before, such as that the offline model answers."""


class Workplace(Protocol):
    """Where agents are found, runs are kept, and work is done."""

    @property
    def journal(self) -> Journal:
        """Where runs are kept."""
        ...

    @property
    def user(self) -> str:
        """Who decides when something is asked."""
        ...

    def agents(self) -> Sequence[DiscoveredAgent]:
        """All agents there are, by name."""
        ...

    def problems(self) -> Sequence[str]:
        """What could not be read when agents were last looked for."""
        ...

    def prepare(self, name: str) -> Prepared:
        """The agent of a name, ready to run.

        Raises:
            AgentError: There is none, or it can not be run here.
        """
        ...

    def executor(
        self, definition: AgentDefinition[Any], approve: Approver | None, on_output: OnOutput | None
    ) -> AbstractAsyncContextManager[AgentExecutor]:
        """What runs an agent, for the length of an ``async with`` block.

        Args:
            definition: The agent.
            approve: Asks the person about a tool call; without it, the run waits in its journal.
            on_output: Told what commands of the agent say, while they say it.
        """
        ...
