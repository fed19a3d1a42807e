"""What the screen works with when it is started from the command line: the person's agents, settings and journal."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from maverick.agents.discovery import DiscoveredAgent
from maverick.cli.agent_lookup import discovery, look_up
from maverick.cli.changes import Changes
from maverick.cli.executing import executor_for, explain_stand_in, who_answers
from maverick.config import MaverickConfig
from maverick.exceptions import InvalidInputError
from maverick.journal import Journal
from maverick.loop import AgentDefinition
from maverick.model import model_info
from maverick.providers.catalog import open_client
from maverick.runtime import AgentExecutor
from maverick.runtime.driver import Approver
from maverick.tui.workplace import OnOutput, Prepared


class CommandLineWorkplace:
    """The person's own.

    Args:
        config: What they have set.
        journal: Where runs are kept.
        named: The agent they named on the command line.
        file: The file it is in, if they named that.
        model: The model to use in place of each agent's own, if one was asked for.
        mode: What agents may do without being told, if that was said.
        mcp: MCP servers whose tools agents get beside their own.
    """

    def __init__(
        self,
        config: MaverickConfig,
        journal: Journal,
        named: DiscoveredAgent,
        *,
        file: str | None = None,
        model: str | None = None,
        mode: str | None = None,
        mcp: Sequence[str] = (),
    ) -> None:
        self.journal = journal
        self._config = config
        self._named = named
        self._file = file
        self._model = model
        self._mode = mode
        self._changes = Changes(model=model, mode=mode, mcp=mcp)
        self._problems: list[str] = []

    @property
    def user(self) -> str:
        """Who decides when something is asked.

        Raises:
            InvalidInputError: The user of this computer has no name, as in some containers.
        """
        try:
            return getpass.getuser()
        except (KeyError, OSError, ImportError) as error:
            raise InvalidInputError(
                "This computer's user has no name, so nobody would have decided. Set the variable USER.",
                field="user",
                cause=error,
            ) from error

    def agents(self) -> Sequence[DiscoveredAgent]:
        """All agents there are, by name."""
        found = discovery(self._config)
        agents = {agent.name: agent for agent in found.all()} | {self._named.name: self._named}
        self._problems = [str(problem) for problem in found.problems]
        return [agents[name] for name in sorted(agents)]

    def problems(self) -> Sequence[str]:
        """What could not be read when agents were last looked for."""
        return self._problems

    def prepare(self, name: str) -> Prepared:
        """The agent of a name, on the model that answers here: with nothing configured, the offline one.

        Raises:
            ConfigError: Its model can not be reached with what is set.
            AgentNotFoundError: There is none.
            InvalidInputError: It is a class, which keeps no runs.
        """
        own = self._definition(name)
        answering = who_answers(own, self._model, self._config.agent)
        definition = self._changes.applied_to(own, answering.model)
        window = definition.model_config.context_window
        if window is None:
            window = model_info(open_client(answering), answering.model).context_window
        return Prepared(definition, window, explain_stand_in(answering))

    def words_to_resume(self, name: str) -> list[str]:
        """What to write after ``maverick runs resume ID`` for a run of an agent that was begun here."""
        return self._changes.words(self._file if name == self._named.name else None)

    def executor(
        self, definition: AgentDefinition[Any], approve: Approver | None, on_output: OnOutput | None
    ) -> AbstractAsyncContextManager[AgentExecutor]:
        """What runs an agent, for the length of an ``async with`` block."""
        return executor_for(
            definition,
            self._config.agent,
            self.journal,
            mode=self._mode,
            approve=approve,
            on_output=on_output,
        )

    def _definition(self, name: str) -> AgentDefinition[Any]:
        found = self._named if name == self._named.name else look_up(name, self._config)
        if found.definition is None:
            raise InvalidInputError(
                f"The agent {name!r} is a class, whose runs are not kept. Run it with: maverick run {name}",
                field="agent",
            )
        return found.definition
