"""An agent on the Claude CLI, beside the bare SDK doing the same in the same minutes.

What we add is measured with a stand-in for the CLI that answers at once, so that nothing else is in the figure: both
sides start a process, talk to it and end it. The real CLI follows, to see what that is a share of.
"""

from __future__ import annotations

import asyncio
import stat
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

from benchmarks.figure import Figure, Target
from benchmarks.model_server import model_server
from maverick.agents import AgentContext, AgentResult, MaverickAgent
from maverick.agents.context import NO_BRANCH
from maverick.config import MaverickConfig

_STAND_IN = Path(__file__).with_name("stand_in_cli.sh")
_QUERIES = 15

_Times: TypeAlias = tuple[float, float]
"""Seconds to the first message, and to the end."""
_Ask: TypeAlias = Callable[[], AsyncIterator[Any]]


class _Teller(MaverickAgent):
    """An agent of the usual shape."""

    async def execute(self, context: AgentContext) -> AgentResult[str]:
        return await self.run_prompt("stream-20", context)


def measure(rounds: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder, model_server() as url:
        home = Path(folder)
        env = {
            "HOME": folder,
            "CLAUDE_CONFIG_DIR": str(home / ".claude"),
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "any",
        }
        stand_in = home / "claude"
        stand_in.write_bytes(_STAND_IN.read_bytes())
        stand_in.chmod(stat.S_IRWXU)
        yield from asyncio.run(_stand_in(rounds, home, env, stand_in))
        yield from asyncio.run(_real(rounds, home, env))


async def _stand_in(rounds: int, folder: Path, env: dict[str, str], program: Path) -> list[Figure]:
    agent = _Teller("teller", "You tell.", env=env, cli_path=program)
    ours, bare = await _alternate(rounds * _QUERIES, lambda: agent.query("stream-20", folder), _bare(agent, folder))
    executing = await _executing(rounds * _QUERIES, agent, folder)
    return [
        Figure("CLI that answers at once: first message, bare SDK", bare[0] * 1e3, "ms"),
        Figure("CLI that answers at once: first message, our share", (ours[0] - bare[0]) * 1e3, "ms", Target(2)),
        Figure("CLI that answers at once: a whole query, bare SDK", bare[1] * 1e3, "ms"),
        Figure("CLI that answers at once: execute(), our share", (executing - bare[1]) * 1e3, "ms", Target(5)),
    ]


async def _real(rounds: int, folder: Path, env: dict[str, str]) -> list[Figure]:
    agent = _Teller("teller", "You tell.", env=env)
    ours, bare = await _alternate(rounds, lambda: agent.query("stream-20", folder), _bare(agent, folder))
    async with agent:
        kept, _ = await _alternate(rounds + 1, lambda: agent.query("stream-20", folder), None)
    return [
        Figure("real CLI: first message, bare SDK", bare[0] * 1e3, "ms"),
        Figure("real CLI: first message, an agent", ours[0] * 1e3, "ms"),
        Figure("real CLI: first message, an agent that keeps its CLI", kept[0] * 1e3, "ms"),
        Figure("real CLI: a whole query, bare SDK", bare[1] * 1e3, "ms"),
        Figure("real CLI: a whole query, an agent", ours[1] * 1e3, "ms"),
        Figure("real CLI: a whole query, an agent that keeps its CLI", kept[1] * 1e3, "ms"),
    ]


def _bare(agent: MaverickAgent, folder: Path) -> _Ask:
    from claude_agent_sdk import query

    options = agent._build_options(folder)  # noqa: SLF001 - the same options on both sides
    return lambda: query(prompt="stream-20", options=options)


async def _alternate(count: int, one: _Ask, other: _Ask | None) -> tuple[_Times, _Times]:
    """The medians of two ways to ask, taken in turns so that a busy minute is busy for both."""
    times: tuple[list[_Times], list[_Times]] = ([], [])
    for number in range(count + 1):
        for ask, taken in zip((one, other), times, strict=True):
            if ask is not None:
                measured = await _timed(ask)
                if number:  # the first one loads modules
                    taken.append(measured)
        if other is None:
            await asyncio.sleep(0.5)  # a kept CLI begins its new conversation meanwhile
    return _middle(times[0]), _middle(times[1])


def _middle(times: list[_Times]) -> _Times:
    return (median(first for first, _ in times), median(end for _, end in times)) if times else (0.0, 0.0)


async def _timed(ask: _Ask) -> _Times:
    began = time.perf_counter()
    first = 0.0
    async with aclosing(ask()) as messages:  # type: ignore[type-var]  # both are async generators
        async for _ in messages:
            first = first or time.perf_counter() - began
    return first, time.perf_counter() - began


async def _executing(count: int, agent: _Teller, folder: Path) -> float:
    context = AgentContext(folder, NO_BRANCH, MaverickConfig())
    times = []
    for _ in range(count):
        began = time.perf_counter()
        result = await agent.execute(context)
        times.append(time.perf_counter() - began)
        assert result.success, result.error
    return median(times)
