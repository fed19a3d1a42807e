"""A client opens on first use, serves many at once, and can be closed and used again, in another event loop too."""

from __future__ import annotations

import asyncio
import gc

import pytest

from conformance.providers.asking import HI, Way, ask, listen
from conformance.providers.provider import Provider
from conformance.providers.roster import both_ways, can_have, each_provider
from conformance.providers.scenarios import Scenario
from maverick.exceptions import AgentError, ErrorKind
from maverick.model import LLMClient, Message, Request
from maverick.providers.client import close_client

AT_ONCE = 100
SOON = 60.0
"""Seconds; far more than it takes, and an end for a client that hangs."""


@pytest.mark.requirement("F-CONCURRENT")
@each_provider(Scenario.TEXT, strict=False)
async def test_a_hundred_requests_are_served_at_once_and_each_gets_its_own_answer(provider: Provider) -> None:
    questions = [f"question {number}" for number in range(AT_ONCE)]
    echoes = can_have(provider, {Scenario.ECHO})
    async with provider.stage(Scenario.ECHO if echoes else Scenario.TEXT) as stage, asyncio.timeout(SOON):
        requests = [Request([Message.user(question)]) for question in questions]
        asked = [
            listen(stage.client, request) if number % 2 else stage.client.run(request)
            for number, request in enumerate(requests)
        ]
        responses = await asyncio.gather(*asked)

    answers = questions if echoes else [provider.hello] * AT_ONCE
    assert [response.content for response in responses] == answers


@both_ways
@each_provider(Scenario.TEXT, strict=False)
async def test_it_can_be_closed_at_any_time_and_used_again(provider: Provider, way: Way) -> None:
    async with provider.stage(Scenario.TEXT) as stage:
        await close_client(stage.client)
        for _ in range(2):
            assert (await ask(stage.client, HI, way)).content == provider.hello
            await close_client(stage.client)


@each_provider(Scenario.UNFINISHED, Scenario.CUT)
async def test_closing_it_while_an_answer_is_read_is_an_error_for_the_reader(provider: Provider) -> None:
    async with provider.stage(Scenario.UNFINISHED) as stage, asyncio.timeout(SOON):
        reading = asyncio.create_task(listen(stage.client, HI))
        await stage.asked()
        await close_client(stage.client)
        with pytest.raises(AgentError) as caught:
            await reading

    assert caught.value.kind is ErrorKind.NETWORK


@pytest.mark.filterwarnings(
    "ignore:unclosed:ResourceWarning"
)  # the first loop ended without closing the client
@each_provider(Scenario.TEXT, strict=False)
async def test_it_works_in_one_event_loop_after_another(provider: Provider) -> None:
    async def use(client: LLMClient, *, close: bool) -> list[str]:
        said = [(await client.run(HI)).content, (await listen(client, HI)).content]
        if close:
            await close_client(client)
        return said

    async with provider.stage(Scenario.TEXT) as stage:
        first = await asyncio.to_thread(asyncio.run, use(stage.client, close=False))
        second = await asyncio.to_thread(asyncio.run, use(stage.client, close=True))
    del stage
    gc.collect()  # so that what was left open is warned of here and not in a later test

    assert first == second == [provider.hello] * 2


@both_ways
@each_provider(Scenario.TLS)
async def test_it_speaks_tls_with_a_private_authority(provider: Provider, way: Way) -> None:
    async with provider.stage(Scenario.TLS) as stage:
        assert (await ask(stage.client, HI, way)).content == provider.hello
