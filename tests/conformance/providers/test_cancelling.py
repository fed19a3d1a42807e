"""A client whose caller gives up lets go of its connection at once, and serves the next request."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from conformance.providers.asking import HI
from conformance.providers.provider import Provider, Stage
from conformance.providers.roster import each_provider
from conformance.providers.scenarios import Scenario
from maverick.model import LLMClient, TextDelta
from maverick.providers.client import open_stream

PROMPTLY = 10.0
"""Seconds; far less than any timeout of a client, and far more than it takes."""

pytestmark = pytest.mark.requirement("002-R6", "002-AC10", "P4")


async def read_on(client: LLMClient, heard: asyncio.Event) -> None:
    async with open_stream(client, HI) as items:
        async for _ in items:
            heard.set()


async def cancelled(work: Coroutine[Any, Any, object], begun: Callable[[], Awaitable[object]]) -> None:
    """Do the work until it has begun, and cancel it."""
    task = asyncio.create_task(work)
    async with asyncio.timeout(PROMPTLY):
        await begun()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def ask_until_it_is_too_late(stage: Stage) -> None:
    """Ask with a deadline that passes as soon as the service has the question."""

    async def pass_when_asked() -> None:
        await stage.asked()
        deadline.reschedule(asyncio.get_running_loop().time())

    async with asyncio.timeout(PROMPTLY) as deadline, asyncio.TaskGroup() as tasks:
        tasks.create_task(pass_when_asked())
        await stage.client.run(HI)


async def expect_let_go(stage: Stage, provider: Provider) -> None:
    """The service has noticed, and the client can be used again."""
    async with asyncio.timeout(PROMPTLY):
        await stage.hung_up()
        response = await stage.client.run(HI)
    assert response.content == provider.hello


@each_provider(Scenario.UNFINISHED)
async def test_cancelling_in_the_middle_of_a_stream_lets_go(provider: Provider) -> None:
    async with provider.stage(Scenario.UNFINISHED, Scenario.TEXT) as stage:
        heard = asyncio.Event()
        await cancelled(read_on(stage.client, heard), heard.wait)
        await expect_let_go(stage, provider)


@each_provider(Scenario.UNFINISHED)
async def test_a_listener_that_stops_listening_lets_go(provider: Provider) -> None:
    async with provider.stage(Scenario.UNFINISHED, Scenario.TEXT) as stage:
        async with asyncio.timeout(PROMPTLY), open_stream(stage.client, HI) as items:
            assert isinstance(await anext(items), TextDelta)
        await expect_let_go(stage, provider)


@each_provider(Scenario.UNANSWERED)
async def test_cancelling_before_the_answer_begins_lets_go(provider: Provider) -> None:
    async with provider.stage(Scenario.UNANSWERED, Scenario.TEXT) as stage:
        await cancelled(stage.client.run(HI), stage.asked)
        await expect_let_go(stage, provider)


@each_provider(Scenario.UNANSWERED)
async def test_a_deadline_of_the_caller_is_kept_and_is_the_callers_own_error(provider: Provider) -> None:
    async with provider.stage(Scenario.UNANSWERED, Scenario.TEXT) as stage:
        with pytest.raises(TimeoutError) as caught:
            await ask_until_it_is_too_late(stage)
        assert type(caught.value) is TimeoutError
        await expect_let_go(stage, provider)
