"""The agents that a server has, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from maverick.chat import AgentRunner
from maverick.exceptions import InvalidInputError, ToolError, describe_unknown
from maverick.journal import Journal
from maverick.misuse import refuse
from maverick.server.answer import Question
from maverick.server.answerers import AgentAnswerer, Answerer, TaskChat
from maverick.server.errors import RequestRefusedError
from maverick.server.served_agent import CommandBody, InputBody
from maverick.tools.threads import run_in_thread

_TASKS = "Helps one person with their list of tasks."
_TASK_IDEAS = ["Add buy milk tomorrow", "What is due this week?", "Show my tasks", "What can you do?"]


class AgentBody(BaseModel):
    """An agent that conversations can be had with."""

    name: str
    description: str
    inputs: list[InputBody] = []
    """What it is given with the first message, besides words."""
    takes_words: bool = True
    """Whether a conversation with it can begin with words; else only with its inputs."""
    typed: bool = False
    """Whether its answers have an ``output`` of a declared type."""
    ideas: list[str] = []
    """What a user may say first."""
    model: str = ""
    """The model that answers, unless another one is chosen."""
    models: list[str] = []
    """The models that can be chosen."""
    commands: list[CommandBody] = []
    """The skills that can be asked for by name, as ``/name``."""
    problem: str = ""
    """Why it cannot answer now; empty if it can."""


class Agents:
    """The agents of a server. The first is the one that answers in a conversation for which none was named."""

    def __init__(self, answerers: Iterable[Answerer]) -> None:
        self.task_chat: AgentRunner | None = None
        """What answers about tasks, if that is one of them."""
        self.journal: Journal | None = None
        """Where the runs of the agents are kept that are not the task chat."""
        self._all: dict[str, Answerer] = {}
        self._problems: dict[str, str] = {}
        for answerer in answerers:
            if answerer.name in self._all:
                refuse("agents", f"two agents are named {answerer.name!r}. Rename one of them.")
            self._all[answerer.name] = answerer
            if isinstance(answerer, TaskChat):
                self.task_chat = answerer.runner
            else:
                self.journal = answerer.journal
        if not self._all:
            refuse("agents", "expected at least one agent to serve.")
        self.default = next(iter(self._all))
        """The name of the first."""

    def find(self, name: str) -> Answerer | None:
        """The agent of this name, if there is one."""
        return self._all.get(name)

    def of(self, name: str) -> Answerer:
        """The agent of this name; a request for one that is not there is refused."""
        if name not in self._all:
            raise _invalid(f"agent: {describe_unknown('agent', name, list(self._all))}", "unknown_agent")
        return self._all[name]

    def check(
        self, name: str, question: Question, kept: Mapping[str, Any] | None, *, is_first: bool
    ) -> Mapping[str, Any] | None:
        """The inputs with which the agent of a conversation answers a message; ``kept`` are those of the first message.

        What is for another agent, or has wrong inputs, is refused.
        """
        if question.agent not in (None, name):
            raise _invalid(
                f"agent: this conversation is with {name}. Start a new one for another.", "other_agent"
            )
        if name not in self._all:
            raise _invalid(
                f"This conversation is with {name}, which this server does not have. Start a new conversation.",
                "unknown_agent",
            )
        answerer = self._all[name]
        agent = answerer.agent if isinstance(answerer, AgentAnswerer) else None
        offered = () if agent is None else agent.models
        if question.model is not None and question.model not in offered:
            unknown = describe_unknown("model", question.model[:100], list(offered))
            raise _invalid(f"model: {unknown}", "unknown_model")
        if question.inputs is not None and (agent is None or not is_first):
            raise _invalid("inputs: only the first message to an agent that takes inputs has some.")
        if agent is None:
            return None
        try:
            agent.expanded(question.message)
        except (InvalidInputError, ToolError) as error:
            raise _invalid(str(error), "unknown_command") from error
        if is_first:
            try:
                return agent.first_inputs(question.message, question.inputs or kept)
            except InvalidInputError as error:
                raise _invalid(str(error)) from error
        if not question.message:
            raise _invalid("message: expected some text.")
        return kept

    async def listing(self) -> list[AgentBody]:
        """All agents, for a user to choose from."""
        return [await self._body(answerer) for answerer in self._all.values()]

    async def aclose(self) -> None:
        """Close the connections of all."""
        for answerer in self._all.values():
            await answerer.aclose()

    async def _body(self, answerer: Answerer) -> AgentBody:
        if not isinstance(answerer, AgentAnswerer):
            model = "" if self.task_chat is None else self.task_chat.model or ""
            return AgentBody(name=answerer.name, description=_TASKS, ideas=_TASK_IDEAS, model=model)
        agent, definition = answerer.agent, answerer.agent.definition
        if self._problems.get(answerer.name) != "":  # one that could be run once stays in the list
            self._problems[answerer.name] = await agent.problem()
        return AgentBody(
            name=definition.name,
            description=definition.description,
            inputs=agent.inputs(),
            takes_words=agent.words_input is not None,
            typed=definition.output_config is not None,
            ideas=list(agent.ideas),
            model=definition.model_config.model or "",
            models=list(agent.models),
            commands=await run_in_thread(agent.commands),
            problem=self._problems[answerer.name],
        )


def _invalid(message: str, code: str = "invalid") -> RequestRefusedError:
    return RequestRefusedError(422, code, message)
