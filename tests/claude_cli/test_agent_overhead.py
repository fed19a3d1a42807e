"""What an agent costs beside the CLI itself, with a CLI that answers at once. ``make bench`` has the figures."""

from __future__ import annotations

import stat
import time
from contextlib import aclosing
from pathlib import Path

import pytest

from claude_cli.api import Greeter
from maverick.agents import AgentContext
from maverick.agents.context import NO_BRANCH
from maverick.config import MaverickConfig

STAND_IN = Path(__file__).parents[2] / "benchmarks" / "stand_in_cli.sh"


@pytest.fixture
def quick(env: dict[str, str], tmp_path: Path) -> Greeter:
    program = tmp_path / "claude"
    program.write_bytes(STAND_IN.read_bytes())
    program.chmod(stat.S_IRWXU)
    return Greeter(env=env, cli_path=program)


@pytest.mark.requirement("000-SC-002")
async def test_a_result_takes_far_less_than_100_ms_of_our_own(quick: Greeter, tmp_path: Path) -> None:
    place = AgentContext(tmp_path, NO_BRANCH, MaverickConfig())
    assert (await quick.execute(place)).output == "Hello."  # the first one loads modules

    began = time.process_time()
    result = await quick.execute(place)
    spent = time.process_time() - began

    assert result.success
    assert spent < 0.1
    assert result.usage.duration_ms >= 0
    assert result.metadata["duration_api_ms"] == 1  # the time spent waiting for the API is told apart


@pytest.mark.requirement("000-SC-003")
async def test_the_first_message_takes_far_less_than_500_ms_of_our_own(
    quick: Greeter, tmp_path: Path
) -> None:
    assert [message async for message in quick.query("Hello?", tmp_path)]

    async with aclosing(quick.query("Hello?", tmp_path)) as messages:
        began = time.process_time()
        await anext(messages)
        spent = time.process_time() - began

    assert spent < 0.5
