"""The executor and ``claude:`` over loopback, beside a bare loop of aiohttp and msgspec in the same minutes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from statistics import median
from typing import Protocol

from benchmarks.bare_agent import BareAgent
from benchmarks.figure import Figure, Target
from benchmarks.model_server import model_server
from benchmarks.prepared import add
from maverick import (
    AgentDefinition,
    AgentExecutor,
    ContentChunk,
    PromptConfig,
    RunConfig,
    ToolConfig,
    connect,
)

_TURNS, _MANY_TURNS = 50, 200
_WORDS = 2_000
_AGENTS, _TURNS_OF_EACH = 500, 5


class _Agent(Protocol):
    async def run(self, prompt: str) -> str: ...
    async def count_words(self, prompt: str) -> int: ...
    async def aclose(self) -> None: ...


class MaverickAgent:
    def __init__(self, base_url: str) -> None:
        self._client = connect("claude:claude-bench", api_key="any", base_url=base_url, max_tokens=1024)
        self._executor = AgentExecutor(self._client)
        self._definition = AgentDefinition(
            name="adder",
            description="Adds numbers.",
            prompt_config=PromptConfig("Be brief."),
            run_config=RunConfig(max_turns=None, timeout_ms=None),
            tool_config=ToolConfig(tools=[add]),
        )

    async def run(self, prompt: str) -> str:
        result = await self._executor.execute(self._definition, inputs={"prompt": prompt})
        return result.output or str(result.error)

    async def count_words(self, prompt: str) -> int:
        events = self._executor.stream(self._definition, inputs={"prompt": prompt})
        return len([event async for event in events if type(event) is ContentChunk])

    async def aclose(self) -> None:
        await self._client.aclose()


def measure(rounds: int) -> Iterator[Figure]:
    with model_server() as base_url:
        pairs = [_measure_both(base_url) for _ in range(rounds)]
    bare, ours = (_medians(side) for side in zip(*pairs, strict=True))
    yield Figure("over loopback, a turn of a bare aiohttp + msgspec loop", bare["turn"] * 1e6, "µs CPU")
    yield Figure("over loopback, a turn of ours", ours["turn"] * 1e6, "µs CPU")
    yield Figure("… against the bare loop", ours["turn"] / bare["turn"], "×", Target(1.8))
    grown = ours["late turn"] / ours["turn"]
    yield Figure(f"… in runs of {_MANY_TURNS} turns against runs of {_TURNS}", grown, "×", Target(1.2))
    yield Figure("over loopback, a streamed word of ours", ours["word"] * 1e6, "µs CPU")
    yield Figure("… against the bare loop", ours["word"] / bare["word"], "×", Target(3))
    yield Figure(f"{_AGENTS} agents at once", 1 / ours["turn of many"], "turns/s")
    speed = bare["turn of many"] / ours["turn of many"]
    yield Figure("… against the bare loop", speed, "×", Target(0.5, at_least=True))


def _medians(rounds: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: median(costs[name] for costs in rounds) for name in rounds[0]}


def _measure_both(base_url: str) -> tuple[dict[str, float], dict[str, float]]:
    """What the bare agent and ours cost, one right after the other."""

    async def both() -> tuple[dict[str, float], dict[str, float]]:
        bare = await _costs(BareAgent(base_url, add))
        return bare, await _costs(MaverickAgent(base_url))

    return asyncio.run(both())


async def _costs(agent: _Agent) -> dict[str, float]:
    """The seconds of a turn, of a turn of a long run, of a word, and of a turn when many agents run at once."""
    await check(agent.run("loop-20"), "done")
    await check(agent.count_words("stream-200"), 200)
    try:
        return {
            "turn": await cpu(lambda: check(agent.run(f"loop-{_TURNS}"), "done")) / _TURNS,
            "late turn": await cpu(lambda: check(agent.run(f"loop-{_MANY_TURNS}"), "done")) / _MANY_TURNS,
            "word": await cpu(lambda: check(agent.count_words(f"stream-{_WORDS}"), _WORDS)) / _WORDS,
            "turn of many": await _wall_of_many(agent) / (_AGENTS * _TURNS_OF_EACH),
        }
    finally:
        await agent.aclose()


async def check(work: Awaitable[object], expected: object) -> None:
    """Make sure that the work was really done."""
    done = await work
    assert done == expected, done


async def cpu(work: Callable[[], Awaitable[None]]) -> float:
    began = time.process_time()
    await work()
    return time.process_time() - began


async def _wall_of_many(agent: _Agent) -> float:
    began = time.perf_counter()
    await asyncio.gather(*(check(agent.run(f"loop-{_TURNS_OF_EACH}"), "done") for _ in range(_AGENTS)))
    return time.perf_counter() - began
