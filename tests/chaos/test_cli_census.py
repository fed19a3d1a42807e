"""Cycles of starting the real CLI and ending it in every way there is, and a count of what is left: nothing.

``make chaos`` makes ``CHAOS_N`` of them; without it, each way is tried twice.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

pytest.importorskip("claude_agent_sdk", reason="the extra claude-code is not installed")

from claude_cli.api import CliApi, Greeter, calls, endless, surroundings
from claude_cli.census import gone, open_handles, there, until, working_in
from maverick import AbortSignal
from maverick.exceptions import AgentError

pytestmark = [
    pytest.mark.requirement("CLI-NO-ORPHANS", "P4"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]

CYCLES = int(os.environ.get("CHAOS_N", "0")) or 10
COMMAND = "(setsid sleep 600 &) ; exec tail -f /dev/null"
"""What the CLI runs when it is ended: a command in a session of its own, and a daemon that has lost its parent."""

Cycle = Callable[[dict[str, str], Path, str], Awaitable[None]]


@pytest.fixture
async def api() -> AsyncIterator[CliApi]:
    async with CliApi() as api:
        yield api


def agent(env: dict[str, str], **options: object) -> Greeter:
    return Greeter(env=env, allowed_tools=["Bash"], **options)


async def aborted(env: dict[str, str], folder: Path, mark: str) -> None:
    stop = AbortSignal()
    run = asyncio.create_task(_drain(agent(env), folder, stop))
    await there(mark, 3)
    stop.abort()
    await run


async def timed_out(env: dict[str, str], folder: Path, mark: str) -> None:
    await _drain(agent(env, timeout=random.Random(mark).uniform(0.1, 3)), folder)


async def cancelled(env: dict[str, str], folder: Path, mark: str) -> None:
    run = asyncio.create_task(_drain(agent(env), folder))
    await asyncio.sleep(random.Random(mark).uniform(0, 3))
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)


async def cli_killed(env: dict[str, str], folder: Path, mark: str) -> None:
    run = asyncio.create_task(_drain(agent(env), folder))
    await there(mark, 3)
    for pid in working_in(folder)[:1]:
        os.kill(pid, signal.SIGKILL)
    await run


async def left_early(env: dict[str, str], folder: Path, mark: str) -> None:
    async for _ in agent(env).query("Wait.", folder):
        break


async def owner_killed(env: dict[str, str], folder: Path, mark: str) -> None:
    owner = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).with_name("cli_owner.py")),
        json.dumps({"env": env, "cwd": str(folder)}),
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=asyncio.subprocess.DEVNULL,
    )
    await there(mark, 3)
    owner.send_signal(random.Random(mark).choice([signal.SIGKILL, signal.SIGTERM]))
    await owner.wait()


WAYS: list[Cycle] = [aborted, timed_out, cli_killed, owner_killed, left_early, cancelled]


async def _drain(greeter: Greeter, folder: Path, stop: AbortSignal | None = None) -> None:
    try:
        async for _ in greeter.query("Wait.", folder, signal=stop):
            pass
    except AgentError:
        pass  # that it fails is the point; what is left is the question


def no_more_than(handles: int) -> Callable[[], bool]:
    return lambda: open_handles() <= handles


@pytest.mark.parametrize("share", range(2))
async def test_nothing_is_left_however_a_cli_ends(api: CliApi, tmp_path: Path, share: int) -> None:
    left: dict[str, list[int]] = {}
    handles: int | None = None

    for cycle in range(share, CYCLES, 2):
        way = WAYS[cycle // 2 % len(WAYS)]
        folder = tmp_path / str(cycle)
        folder.mkdir()
        env = surroundings(folder, api.url)
        mark = f"CLAUDE_CONFIG_DIR={env['CLAUDE_CONFIG_DIR']}"
        api.play(calls(("Bash", {"command": COMMAND, "description": "Wait."})), endless)
        await way(env, folder, mark)
        if pids := await gone(mark):
            left[f"{cycle} {way.__name__}"] = pids
        if handles is None:
            handles = open_handles()
        assert await until(no_more_than(handles)), f"{cycle} {way.__name__}"

    assert left == {}
