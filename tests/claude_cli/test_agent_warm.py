"""Agents on the real CLI: one that is ready before it is asked for."""

from __future__ import annotations

import asyncio
import gc
import sys
from pathlib import Path

import pytest

from claude_cli.api import CliApi, Greeter
from claude_cli.census import marked, until
from maverick.agents import AgentContext, extract_all_text
from maverick.agents.context import NO_BRANCH
from maverick.config import MaverickConfig
from maverick.exceptions import CLINotFoundError

pytestmark = [
    pytest.mark.requirement("CLI-WARM"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which is where a CLI is started ahead."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def mark(env: dict[str, str]) -> str:
    """What only the CLIs of this test have in their environment."""
    return f"CLAUDE_CONFIG_DIR={env['CLAUDE_CONFIG_DIR']}"


@pytest.mark.requirement("000-SC-003")
async def test_the_first_prompt_and_the_first_query_go_to_clis_that_were_ready_before_them(
    api: CliApi, env: dict[str, str], mark: str, here: Path
) -> None:
    async with Greeter(env=env, warm=True) as agent:
        ready = marked(mark)
        assert api.requests == []  # being ready costs nothing

        messages = [message async for message in agent.query("Hello?")]
        result = await agent.execute(AgentContext(here, NO_BRANCH, MaverickConfig()))
        answered = marked(mark)

    assert extract_all_text(messages)
    assert result.success, result.error
    assert len(ready) == 2
    assert sorted(answered) == sorted(ready)
    assert marked(mark) == []


async def test_no_more_are_started_than_may_run_at_once(api: CliApi, env: dict[str, str], mark: str) -> None:
    async with Greeter(env=env, warm=True, max_processes=1) as agent:
        ready = marked(mark)
        result = await agent.run_prompt("Hello?")
        answered = marked(mark)

    assert result.success, result.error
    assert len(ready) == 1
    assert answered == ready
    assert len(api.requests) == 1


async def test_in_an_event_loop_it_begins_with_the_agent_and_ends_with_it(
    env: dict[str, str], mark: str
) -> None:
    agent = Greeter(env=env, warm=True)
    assert await until(lambda: len(marked(mark)) == 2)

    del agent
    gc.collect()

    assert await until(lambda: marked(mark) == [])


async def test_a_query_that_comes_while_it_starts_waits_for_it_and_starts_no_other(
    api: CliApi, env: dict[str, str], mark: str
) -> None:
    agent = Greeter(env=env, warm=True)
    assert await until(lambda: len(marked(mark)) == 2)

    result = await agent.run_prompt("Hello?")
    running = marked(mark)
    await agent.aclose()

    assert result.success, result.error
    assert len(running) == 2
    assert len(api.requests) == 1
    assert marked(mark) == []


async def test_closing_the_agent_while_it_starts_ends_it(env: dict[str, str], mark: str) -> None:
    agent = Greeter(env=env, warm=True)
    assert await until(lambda: len(marked(mark)) == 2)

    await agent.aclose()

    assert await until(lambda: marked(mark) == [])


async def test_a_folder_can_be_named_for_it(
    api: CliApi, env: dict[str, str], mark: str, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    place = AgentContext(folder, NO_BRANCH, MaverickConfig())

    async with Greeter(env=env) as agent:
        await agent.warm_up(place)
        ready = marked(mark)
        result = await agent.execute(place)
        async for _ in agent.query("Hello?", folder):
            pass
        assert sorted(marked(mark)) == sorted(ready)

    assert result.success, result.error
    assert len(ready) == 2


async def test_a_cli_that_cannot_be_started_ahead_is_told_to_whoever_asks(env: dict[str, str]) -> None:
    agent = Greeter(env=env, cli_path="/no/such/claude", warm=True)
    await asyncio.sleep(0.1)

    result = await agent.run_prompt("Hello?")

    assert isinstance(result.errors[0], CLINotFoundError)
    with pytest.raises(CLINotFoundError):
        await agent.warm_up()
    await agent.aclose()


def test_without_an_event_loop_nothing_is_started(tmp_path: Path) -> None:
    mark = f"CLAUDE_CONFIG_DIR={tmp_path}"

    agent = Greeter(env={"CLAUDE_CONFIG_DIR": str(tmp_path)}, warm=True)

    assert agent.warm
    assert marked(mark) == []
