"""A streamed answer: what each piece costs on its way to whoever watches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial

from benchmarks.figure import Figure
from benchmarks.prepared import DONE
from benchmarks.stopwatch import cpu_of, median_of
from maverick import AgentDefinition, AgentExecutor, ContentChunk
from maverick.loop.events import AgentActivityEvent
from maverick.model import Request, Response, StreamItem, TextDelta

_DELTAS = 5_000
_DELTA = TextDelta("word ")
_TELLER = AgentDefinition(name="teller", description="Tells a long story.")
_INPUTS = {"prompt": "Tell."}


class _StreamingClient:
    """Streams many pieces; ``paced`` gives way after each, as when each comes in a packet of its own."""

    def __init__(self, *, paced: bool = False) -> None:
        self._paced = paced

    async def run(self, request: Request) -> Response:  # noqa: ARG002 - always the same answer
        return DONE

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        for _ in range(_DELTAS):
            yield _DELTA
            if self._paced:
                await asyncio.sleep(0)
        yield await self.run(request)


def measure(rounds: int) -> Iterator[Figure]:
    scenarios: dict[str, Callable[[], Awaitable[object]]] = {
        "a bare async generator": _read_client,
        "execute(on_activity=…)": _listen,
        "stream()": _watch,
        "stream(), each in a packet of its own": _watch_paced,
    }
    for name, scenario in scenarios.items():
        seconds = median_of(rounds, partial(cpu_of, scenario))
        yield Figure(f"a streamed piece through {name}", seconds / _DELTAS * 1e6, "µs CPU")


async def _read_client() -> None:
    client = _StreamingClient()
    async for _ in client.stream(Request(())):
        pass


async def _listen() -> None:
    heard = 0

    def count(event: AgentActivityEvent) -> None:
        nonlocal heard
        heard += type(event) is ContentChunk

    await AgentExecutor(_StreamingClient()).execute(_TELLER, inputs=_INPUTS, on_activity=count)
    assert heard == _DELTAS


async def _watch(*, paced: bool = False) -> None:
    executor = AgentExecutor(_StreamingClient(paced=paced))
    events = executor.stream(_TELLER, inputs=_INPUTS)
    assert len([event async for event in events if type(event) is ContentChunk]) == _DELTAS


async def _watch_paced() -> None:
    await _watch(paced=True)
