"""A run's journal as a cassette: a client that answers as the model answered then, and never goes live."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any

from msgspec import UNSET, Struct

from maverick.exceptions import (
    AgentError,
    CassetteMissError,
    InvalidInputError,
    InvalidToolError,
    JournalError,
)
from maverick.journal.codec import to_plain
from maverick.journal.compare import Divergence, first_difference
from maverick.journal.store import Journal
from maverick.loop.definition import AgentDefinition, AgentTool
from maverick.loop.entries import Entry, ModelFailed, ModelReplied, RunStarted
from maverick.loop.machine import AgentLoop
from maverick.loop.steps import CallModel
from maverick.model import (
    ModelInfo,
    Request,
    Response,
    StreamItem,
    Text,
    TextDelta,
    ThinkingDelta,
    Thought,
    Tool,
)
from maverick.model.client import UNKNOWN_MODEL


class _Exchange(Struct, frozen=True):
    """What the model was asked, and what came of it."""

    number: int
    """The number of the entry that tells of it."""
    request: Request
    answer: Response | AgentError


class RunPlayback:
    """An ``LLMClient`` that answers from a run, its subagents' runs included.

    It answers each request of the run once, in order. A conversation that is not the recorded one is refused: the agent
    is another, or one of its tools has answered something else. Make one with :meth:`load`.
    """

    def __init__(self) -> None:
        self._runs: list[deque[_Exchange]] = []
        """What is left to play of each run, the outermost first."""
        self._models: dict[str, ModelInfo] = {}

    @classmethod
    async def load(
        cls,
        journal: Journal,
        run_id: str,
        definition: AgentDefinition[Any],
        tools: Mapping[str, Tool] | None = None,
    ) -> RunPlayback:
        """Read a run.

        Args:
            journal: The journal.
            run_id: The run.
            definition: Its agent; with it, what the model was asked is worked out from what happened.
            tools: The tools that definitions only name.

        Raises:
            RunNotFoundError: There is no such run.
            InvalidToolError: A tool the definition names is not among the tools.
            JournalError: The run is not one of this agent.
        """
        playback = cls()
        await playback._load(journal, run_id, definition, tools or {})
        return playback

    async def run(self, request: Request) -> Response:
        """Return the answer of then, or raise the error of then.

        Raises:
            CassetteMissError: Nothing like this was asked next.
        """
        answer = self._next(request)
        if isinstance(answer, AgentError):
            raise answer
        return answer

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Yield the answer of then, part by part and then whole, or raise the error of then.

        Raises:
            CassetteMissError: Nothing like this was asked next.
        """
        answer = await self.run(request)
        for part in answer.parts:
            if isinstance(part, Text):
                yield TextDelta(part.text)
            elif isinstance(part, Thought):
                yield ThinkingDelta(part.text)
        yield answer

    def model_info(self, model: str) -> ModelInfo:
        """What the client of then knew of a model."""
        return self._models.get(model, UNKNOWN_MODEL)

    # Answering --------------------------------------------------------------------------------------------------

    def _next(self, request: Request) -> Response | AgentError:
        for left in self._runs:
            if left and _is_asked(left[0].request, request):
                return left.popleft().answer
        raise self._miss(request)

    def _miss(self, request: Request) -> CassetteMissError:
        expected = next((left[0] for left in self._runs if left), None)
        if expected is None:
            return CassetteMissError(
                "The run has answered all it was asked; it knows no more. Run the agent live to go on."
            )
        found = first_difference(_conversation(expected.request), _conversation(request))
        assert found is not None  # noqa: S101 - conversations that are the same were answered
        path, recorded, asked = found
        return CassetteMissError(
            f"The run was asked something else: {path} was {_shown(recorded)} and is {_shown(asked)} now. "
            "Undo what has changed, or run the agent live.",
            line=expected.number,
            difference=Divergence(expected.number, path, recorded, asked),
        )

    # Reading ----------------------------------------------------------------------------------------------------

    async def _load(
        self, journal: Journal, run_id: str, definition: AgentDefinition[Any], named: Mapping[str, Tool]
    ) -> None:
        tools = _tools_of(definition, named)
        loop: AgentLoop[Any] = AgentLoop(definition, tools)
        exchanges: deque[_Exchange] = deque()
        self._runs.append(exchanges)
        async for stored in journal.read(run_id):
            entry, step = stored.entry, loop.step
            if isinstance(entry, RunStarted):
                self._models[definition.model_config.model or ""] = entry.info
            elif isinstance(step, CallModel) and isinstance(entry, ModelReplied | ModelFailed):
                answer = entry.response if isinstance(entry, ModelReplied) else entry.error
                exchanges.append(_Exchange(stored.seq, step.request, answer))
            _feed(loop, entry, run_id)
        await self._load_subagents(journal, run_id, tools, named)

    async def _load_subagents(
        self, journal: Journal, run_id: str, tools: Mapping[str, Tool], named: Mapping[str, Tool]
    ) -> None:
        agents = {
            tool.definition.name: tool.definition for tool in tools.values() if isinstance(tool, AgentTool)
        }
        for child in reversed(await journal.list_runs(parent=run_id, limit=1_000_000)):
            name = child.agent.rpartition("/")[2]
            if name not in agents:
                raise JournalError(
                    f"The run {child.run_id!r} is one of the agent {name!r}, which is none of the tools. "
                    "Play it back with the definition it was made with."
                )
            await self._load(journal, child.run_id, agents[name], named)


def _feed(loop: AgentLoop[Any], entry: Entry, run_id: str) -> None:
    try:
        loop.feed(entry)
    except InvalidInputError as error:
        raise JournalError(
            f"The run {run_id!r} does not follow from this definition: {error} Play it back with the one it was made with.",
            cause=error,
        ) from error


def _tools_of(definition: AgentDefinition[Any], named: Mapping[str, Tool]) -> dict[str, Tool]:
    tools = [_named(tool, named) if isinstance(tool, str) else tool for tool in definition.tool_config.tools]
    return {tool.name: tool for tool in tools}


def _named(name: str, named: Mapping[str, Tool]) -> Tool:
    if name not in named:
        raise InvalidToolError(tool_name=name, available_tools=list(named))
    return named[name]


def _is_asked(recorded: Request, request: Request) -> bool:
    return recorded.system == request.system and recorded.messages == request.messages


def _conversation(request: Request) -> dict[str, Any]:
    return {"system": request.system, "messages": to_plain(list(request.messages))}


def _shown(value: object) -> str:
    whole = "nothing" if value is UNSET else repr(value)
    return whole if len(whole) <= 160 else f"{whole[:160]}…"
