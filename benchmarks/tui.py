"""A long answer on the screen of ``maverick tui``: what each streamed piece costs, and that none is lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.figure import Figure, Target
from benchmarks.stopwatch import cpu_of, median_of
from maverick import AgentDefinition, AgentExecutor
from maverick.agents.discovery import DiscoveredAgent, Origin
from maverick.config.model_settings import Effort
from maverick.journal import MemoryJournal
from maverick.loop.events import AgentActivityEvent, ContentChunk
from maverick.loop.limits import Limits
from maverick.model import Request, Response, StreamItem, TextDelta
from maverick.runtime.approver import Approver
from maverick.tui.backend import Choice, OnOutput, PreparedAgent
from maverick.tui.block import Speaker, Words
from maverick.tui.conversation import ConversationModel, Status
from maverick.tui.layout import ConversationLayout

if TYPE_CHECKING:  # it brings MCP with it
    from maverick.tools.mcp import ServerPrompt

_DELTAS = 100_000
_FRAME = 100
"""Pieces between two drawings: 3,000 a second, which no model reaches, at 30 drawings a second."""
_WIDTH = 80
_TELLER = AgentDefinition(name="teller", description="Tells a long story.")


@cache  # when it is wanted, so that other benchmarks do not carry it
def _pieces() -> list[str]:
    return [f"word{number % 97} " if number % 40 else ".\n" for number in range(_DELTAS)]


@cache
def _events() -> list[ContentChunk]:
    return [_chunk(piece) for piece in _pieces()]


@cache
def _sections() -> list[ContentChunk]:
    """The same words in paragraphs, some with a strong one among them."""
    words = (piece.replace("word39 ", "**word39** ") for piece in _pieces())
    return [_chunk(word.replace("\n", "\n\n")) for word in words]


def _chunk(text: str) -> ContentChunk:
    about: dict[str, Any] = {"run_id": "run", "trace_id": "trace", "at": 0.0, "agent": ("teller",)}
    return ContentChunk(**about, content=text)


def _sent() -> str:
    return "".join(_pieces())


def measure(rounds: int) -> Iterator[Figure]:
    _events()
    _sections()
    model = median_of(rounds, partial(cpu_of, _fold))
    yield Figure(
        "100,000 pieces into the model of the screen, each", model / _DELTAS * 1e6, "µs CPU", Target(5)
    )
    lines = median_of(rounds, partial(cpu_of, _lay_out))
    yield Figure(
        "… and into its lines, drawn after every 100, each", lines / _DELTAS * 1e6, "µs CPU", Target(30)
    )
    sections = median_of(rounds, partial(cpu_of, _lay_out_sections))
    yield Figure("… as Markdown, a section every 40, each", sections / _DELTAS * 1e6, "µs CPU", Target(60))
    screen = median_of(min(rounds, 3), partial(cpu_of, _watch))
    yield Figure("… through executor and screen, each", screen / _DELTAS * 1e6, "µs CPU", Target(150))


async def _fold() -> None:
    model = _begun()
    for event in _events():
        model.tell(event)
    assert _shown(model) == _sent()


async def _lay_out() -> None:
    assert _laid_out(_events()).split() == _sent().split()


async def _lay_out_sections() -> None:
    assert _laid_out(_sections()).split() == _sent().split()


def _laid_out(events: list[ContentChunk]) -> str:
    model = _begun()
    layout = ConversationLayout(model)
    for number, event in enumerate(events, 1):
        model.tell(event)
        if number % _FRAME == 0:
            layout.update(_WIDTH)
    layout.settle(0, 0, 10_000_000)
    return "\n".join(layout.line(y).plain for y in range(layout.height))


async def _watch() -> None:
    from maverick.tui.app import MaverickApp  # here, so that other benchmarks do not carry Textual

    app = MaverickApp(_Workplace(), "teller")
    async with app.run_test(size=(_WIDTH, 24)):
        session = app.session
        await session.start({"prompt": "Tell."})
        ended = time.perf_counter()
        app.draw()
        assert time.perf_counter() - ended < 1, "the screen fell behind"
        assert session.model.status is Status.COMPLETE
        assert _shown(session.model) == _sent()


def _begun() -> ConversationModel:
    model = ConversationModel()
    model.begin("run", (), Limits(), None)
    return model


def _shown(model: ConversationModel) -> str:
    return "".join(
        block.text for block in model.blocks if isinstance(block, Words) and block.speaker is Speaker.ANSWER
    )


class _StreamingClient:
    """Streams the pieces, and gives way after each, as when each comes in a packet of its own."""

    async def run(self, request: Request) -> Response:  # noqa: ARG002 - always the same answer
        return Response(_sent())

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        for piece in _pieces():
            yield TextDelta(piece)
            await asyncio.sleep(0)
        yield await self.run(request)


class _Workplace:
    """One agent, and a journal in memory."""

    user = "bench"
    folder = Path("/")
    mode: str | None = None
    model: str | None = None
    effort: Effort | None = None

    def __init__(self) -> None:
        self.journal = MemoryJournal()

    def move_to(self, folder: Path) -> str:  # noqa: ARG002 - it stays
        return ""

    def models(self) -> Sequence[Choice]:
        return []

    def agents(self) -> Sequence[DiscoveredAgent]:
        return [DiscoveredAgent("teller", _TELLER, Origin.BUILTIN, "benchmarks")]

    def problems(self) -> Sequence[str]:
        return []

    async def events(self, run_id: str, seen: int) -> AsyncGenerator[AgentActivityEvent, None]:  # noqa: ARG002 - no fleet
        return
        yield

    def prepare(self, name: str, trace_id: str = "") -> PreparedAgent:  # noqa: ARG002 - there is only one
        return PreparedAgent(_TELLER)

    async def server_prompts(self) -> Sequence[ServerPrompt]:
        return []

    def continue_conversation(self, agent: str, trace_id: str, run_id: str, origin: str = "") -> None:
        pass

    @asynccontextmanager
    async def executor(
        self,
        definition: AgentDefinition[Any],  # noqa: ARG002 - there is only one
        approve: Approver | None,
        on_output: OnOutput | None,  # noqa: ARG002 - it runs no commands
    ) -> AsyncIterator[AgentExecutor]:
        yield AgentExecutor(_StreamingClient(), journal=self.journal, approve=approve)
