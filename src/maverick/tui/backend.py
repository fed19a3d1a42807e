"""What the screen needs from whoever starts it: agents, a journal, and executors."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from maverick.agents.discovery import DiscoveredAgent
from maverick.config.model_settings import Effort
from maverick.journal import Journal
from maverick.loop import AgentDefinition
from maverick.loop.events import AgentActivityEvent
from maverick.model import ToolContext
from maverick.runtime import AgentExecutor
from maverick.runtime.approver import Approver

if TYPE_CHECKING:  # it brings MCP with it
    from maverick.tools.mcp import ServerPrompt

OnOutput: TypeAlias = Callable[[ToolContext, str], object]
"""Called with a tool's output while the tool runs."""


class Choice(NamedTuple):
    """Something to choose."""

    value: str
    description: str = ""
    problem: str = ""
    """Why it cannot be chosen; empty if it can."""


@dataclass(frozen=True, slots=True)
class PreparedAgent:
    """An agent that is ready to run."""

    definition: AgentDefinition[Any]
    context_window: int | None = None
    """How many tokens its model can read, if known."""
    notice: str = ""
    """Something the user should know first, such as that the offline model answers."""
    mode: str = "ask"
    """What it may do without asking."""


class Backend(Protocol):
    """Finds agents, keeps runs and makes executors."""

    model: str | None
    """The model that answers, in place of each agent's own."""
    effort: Effort | None
    """How much work the model puts in, in place of each agent's own."""
    mode: str | None
    """What agents may do without asking, in place of the mode of the settings."""

    @property
    def journal(self) -> Journal:
        """Where runs are kept."""
        ...

    @property
    def user(self) -> str:
        """The user's name, for approvals."""
        ...

    @property
    def folder(self) -> Path:
        """The folder that agents work in."""
        ...

    def move_to(self, folder: Path) -> str:
        """Work in another folder, which has to exist, from now on; returns what the user should know about it."""
        ...

    def models(self) -> Sequence[Choice]:
        """The models that can answer."""
        ...

    def agents(self) -> Sequence[DiscoveredAgent]:
        """All agents, sorted by name."""
        ...

    def problems(self) -> Sequence[str]:
        """What went wrong when agents were last looked for."""
        ...

    async def server_prompts(self) -> Sequence[ServerPrompt]:
        """The prompts of the MCP servers that agents get here; the servers are connected to for that."""
        ...

    def prepare(self, name: str, trace_id: str = "") -> PreparedAgent:
        """The agent with a name, ready to run; that of a conversation, if it was begun with an agent in a file."""
        ...

    def continue_conversation(self, agent: str, trace_id: str, run_id: str, origin: str = "") -> None:
        """Remember a run of an agent as the next one of a conversation, or the first of a new one.

        A conversation has its trace id; ``origin`` is that of the one that a new one was forked from, if it was.
        """
        ...

    def executor(
        self, definition: AgentDefinition[Any], approve: Approver | None, on_output: OnOutput | None
    ) -> AbstractAsyncContextManager[AgentExecutor]:
        """An executor for an agent, for the length of an ``async with`` block.

        Without ``approve``, which asks the user about a tool call, the run waits in its journal. ``on_output`` gets what
        the agent's commands write while they run.
        """
        ...

    def events(self, run_id: str, seen: int) -> AsyncGenerator[AgentActivityEvent, None]:
        """The events of a run that a fleet drives, after so many of its entries; none of any other run."""
        ...
