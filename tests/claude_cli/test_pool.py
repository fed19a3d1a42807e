"""CLIs are kept for the next question, no more of them than allowed, and nothing of the last conversation with them."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from claude_cli.api import CliApi, Greeter, endless
from claude_cli.census import working_in
from maverick.exceptions import InvalidInputError, TimeoutError
from maverick.providers.claude_cli import CliSession, SessionPool, build_options

pytestmark = [
    pytest.mark.requirement("CLI-REUSE"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]


async def test_the_next_query_goes_to_the_same_cli_and_knows_nothing_of_the_last(
    api: CliApi, env: dict[str, str], tmp_path: Path
) -> None:
    async with Greeter(env=env) as agent:
        first = [message async for message in agent.query("The password is swordfish.", tmp_path)]
        (cli,) = working_in(tmp_path)
        second = [message async for message in agent.query("What is the password?", tmp_path)]
        assert working_in(tmp_path) == [cli]

    assert working_in(tmp_path) == []
    assert "swordfish" in str(api.requests[0])
    assert "swordfish" not in str(api.requests[1])
    assert first[-1].session_id != second[-1].session_id  # type: ignore[union-attr]  # both are ResultMessages
    assert first[-1].total_cost_usd == pytest.approx(second[-1].total_cost_usd)  # type: ignore[union-attr]  # as above


async def test_no_more_clis_run_at_once_than_allowed_and_the_rest_wait(
    api: CliApi, env: dict[str, str], tmp_path: Path
) -> None:
    most = 0

    async def ask(agent: Greeter) -> bool:
        nonlocal most
        async for _ in agent.query("Hello?", tmp_path):
            most = max(most, len(working_in(tmp_path)))
        return True

    async with Greeter(env=env, max_processes=2) as agent:
        answered = await asyncio.gather(*(ask(agent) for _ in range(5)))

    assert answered == [True] * 5
    assert most == 2
    assert len(api.requests) == 5
    assert working_in(tmp_path) == []


async def test_who_waits_too_long_for_a_cli_is_told_so(
    api: CliApi, env: dict[str, str], tmp_path: Path
) -> None:
    api.play(endless)
    options = build_options(env=env, cwd=tmp_path)
    pool = SessionPool(1)

    async with pool.session(CliSession(options)):
        with pytest.raises(TimeoutError, match=r"All 1 Claude CLIs were busy for 0\.01 s"):
            async with pool.session(CliSession(options), wait_seconds=0.01):
                raise AssertionError("there is no second one")


async def test_a_session_with_other_options_takes_the_place_of_one_that_nobody_uses(
    api: CliApi, env: dict[str, str], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    pool = SessionPool(1)

    for folder in (tmp_path, other):
        async with pool.session(CliSession(build_options(env=env, cwd=folder))) as session:
            async for _ in session.ask("Hello?"):
                pass

    assert working_in(tmp_path) == []
    assert len(working_in(other)) == 1
    await pool.aclose()
    assert working_in(other) == []


async def test_a_session_keeps_its_conversation_until_it_is_told_to_forget(
    api: CliApi, env: dict[str, str], tmp_path: Path
) -> None:
    session = CliSession(build_options(env=env, cwd=tmp_path))

    for prompt in ("One.", "Two."):
        async for _ in session.ask(prompt):
            pass
    await session.forget()
    async for _ in session.ask("Three."):
        pass
    await session.aclose()

    said = [str(request["messages"]) for request in api.requests]
    assert "One." in said[1]
    assert "Two." in said[1]
    assert "One." not in said[2]


def test_a_pool_has_room_for_one_at_least() -> None:
    with pytest.raises(InvalidInputError, match="size: expected 1 or more"):
        SessionPool(0)
