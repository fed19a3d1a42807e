"""An agent on the Claude CLI, beside the bare SDK doing the same in the same minutes.

What we add is measured with a stand-in for the CLI that answers at once, so that nothing else is in the figure: both
sides start a process, talk to it and end it. The real CLI follows, to see what that is a share of.
"""

from __future__ import annotations

import asyncio
import stat
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from statistics import median
from typing import TypeAlias

from benchmarks.figure import Figure, Target
from benchmarks.model_server import model_server
from maverick.agents import AgentContext, AgentResult, MaverickAgent
from maverick.agents.context import NO_BRANCH
from maverick.config import MaverickConfig

_STAND_IN = Path(__file__).with_name("stand_in_cli.sh")
_QUERIES = 15

_Times: TypeAlias = tuple[float, float]
"""Seconds to the first message, and to the end."""
_Way: TypeAlias = Callable[[], Awaitable[_Times]]


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
    asking, executing, bare = await _in_turns(
        rounds * _QUERIES, _asking(agent, folder), _executing(agent, folder), _bare(agent, folder)
    )
    return [
        Figure("CLI that answers at once: first message, bare SDK", bare[0] * 1e3, "ms"),
        Figure(
            "CLI that answers at once: first message, our share", (asking[0] - bare[0]) * 1e3, "ms", Target(2)
        ),
        Figure("CLI that answers at once: a whole query, bare SDK", bare[1] * 1e3, "ms"),
        Figure(
            "CLI that answers at once: execute(), our share", (executing[1] - bare[1]) * 1e3, "ms", Target(5)
        ),
    ]


async def _real(rounds: int, folder: Path, env: dict[str, str]) -> list[Figure]:
    agent = _Teller("teller", "You tell.", env=env)
    asking, bare = await _in_turns(rounds, _asking(agent, folder), _bare(agent, folder))
    async with agent:
        (kept,) = await _in_turns(rounds, _asking(agent, folder, pause=0.5))
    return [
        Figure("real CLI: first message, bare SDK", bare[0] * 1e3, "ms"),
        Figure("real CLI: first message, an agent", asking[0] * 1e3, "ms"),
        Figure("real CLI: first message, an agent that keeps its CLI", kept[0] * 1e3, "ms"),
        Figure("real CLI: a whole query, bare SDK", bare[1] * 1e3, "ms"),
        Figure("real CLI: a whole query, an agent", asking[1] * 1e3, "ms"),
        Figure("real CLI: a whole query, an agent that keeps its CLI", kept[1] * 1e3, "ms"),
    ]


async def _in_turns(count: int, *ways: _Way) -> list[_Times]:
    """The medians of several ways to do the same, taken in turns so that a busy minute is busy for all."""
    times: list[list[_Times]] = [[] for _ in ways]
    for number in range(count + 1):
        for way, taken in zip(ways, times, strict=True):
            measured = await way()
            if number:  # the first one loads modules
                taken.append(measured)
    return [(median(first for first, _ in taken), median(end for _, end in taken)) for taken in times]


def _bare(agent: MaverickAgent, folder: Path) -> _Way:
    from claude_agent_sdk import query

    options = agent._build_options(folder)  # noqa: SLF001 - the same options on both sides
    return lambda: _timed(query(prompt="stream-20", options=options))


def _asking(agent: MaverickAgent, folder: Path, pause: float = 0) -> _Way:
    async def ask() -> _Times:
        await asyncio.sleep(pause)  # a CLI that is kept begins its new conversation meanwhile
        return await _timed(agent.query("stream-20", folder))

    return ask


def _executing(agent: _Teller, folder: Path) -> _Way:
    context = AgentContext(folder, NO_BRANCH, MaverickConfig())

    async def execute() -> _Times:
        began = time.perf_counter()
        result = await agent.execute(context)
        assert result.success, result.error
        return 0, time.perf_counter() - began

    return execute


async def _timed(messages: AsyncIterator[object]) -> _Times:
    began = time.perf_counter()
    first = 0.0
    async for _ in messages:
        first = first or time.perf_counter() - began
    return first, time.perf_counter() - began
