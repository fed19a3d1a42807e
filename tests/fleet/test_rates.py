"""Rate limits of a provider that the workers of a fleet share, each with its own connections to a real Postgres."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from maverick import AgentDefinition, AgentExecutor
from maverick.config import RateLimit
from maverick.exceptions import ConfigError, JournalError
from maverick.fleet.rates import SharedRateLimiter, shared_rates
from maverick.journal import PostgresJournal
from maverick.model import Usage
from maverick.providers.wrappers import FallbackClient
from maverick.testing import ScriptedClient, reply


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have pieces of the limit live for a second, and asked for more often."""
    monkeypatch.setattr("maverick.fleet.rates._LIFE", 1)
    monkeypatch.setattr("maverick.fleet.rates._PAUSE", 0.05)


@asynccontextmanager
async def workers(
    url: str, count: int, limit: RateLimit, window: float = 60
) -> AsyncIterator[list[SharedRateLimiter]]:
    """The limiters of several workers."""
    async with AsyncExitStack() as stack:
        limiters = []
        for number in range(count):
            journal = PostgresJournal(url)
            stack.push_async_callback(journal.aclose)
            limiter = SharedRateLimiter("claude", limit, journal.database, f"worker-{number}", window=window)
            task = asyncio.create_task(limiter.run())
            stack.push_async_callback(asyncio.wait, [task])
            stack.callback(task.cancel)
            limiters.append(limiter)
        yield limiters


async def counted(url: str) -> tuple[int, int]:
    """Requests and tokens that count at the moment."""
    journal = PostgresJournal(url)
    try:
        (row,) = await journal.database.fetch(
            "SELECT sum((value ->> 0)::int) AS requests, sum((value ->> 1)::int) AS tokens "
            "FROM maverick.fleet_rates, jsonb_each(used)"
        )
    finally:
        await journal.aclose()
    return row["requests"], row["tokens"]


async def until_counted(url: str, expected: tuple[int, int]) -> None:
    async with asyncio.timeout(20):
        while await counted(url) != expected:  # noqa: ASYNC110 - other connections are the ones that change it
            await asyncio.sleep(0.1)


async def test_all_workers_together_begin_no_more_calls_in_a_window_than_allowed(postgres_url: str) -> None:
    began: list[float] = []

    async def ask(limiter: SharedRateLimiter) -> None:
        async with limiter.admit(10) as settle:
            began.append(time.monotonic())
            settle(Usage(input_tokens=10))

    async with (
        asyncio.timeout(60),
        workers(postgres_url, 3, RateLimit(8, 10_000), window=1) as limiters,
        asyncio.TaskGroup() as tasks,
    ):
        for number in range(12):
            tasks.create_task(ask(limiters[number % 3]))

    assert len(began) == 12
    assert max(sum(start <= at <= start + 1 for at in began) for start in began) <= 8


async def test_what_was_estimated_too_high_and_what_is_not_used_is_given_back_to_the_others(
    postgres_url: str,
) -> None:
    async with workers(postgres_url, 2, RateLimit(10, 100)) as (one, other):
        async with asyncio.timeout(20), one.admit(90) as settle:
            settle(Usage(input_tokens=10))
        async with asyncio.timeout(20), other.admit(80) as settle:
            settle(Usage(input_tokens=85))

        await until_counted(postgres_url, (2, 95))


async def test_a_large_call_is_not_overtaken_for_ever_by_the_small_ones_of_another_worker(
    postgres_url: str,
) -> None:
    async def chatter(limiter: SharedRateLimiter) -> None:
        while True:
            async with limiter.admit(30):
                pass

    async with workers(postgres_url, 2, RateLimit(None, 100), window=1) as (large, small):
        chatting = asyncio.create_task(chatter(small))
        await asyncio.sleep(0.5)  # so that some of its calls count

        async with asyncio.timeout(40), large.admit(500):
            pass

        chatting.cancel()


async def test_calls_wait_while_the_database_is_out_of_reach_and_go_on_when_it_is_back(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with workers(postgres_url, 1, RateLimit(10)) as (limiter,):
        database = limiter._database
        fetch, failures = database.fetch, iter([True, True, False])

        async def failing(*statement: Any) -> Any:
            if next(failures, False):
                raise JournalError("The database is gone.", retryable=True)
            return await fetch(*statement)

        monkeypatch.setattr(database, "fetch", failing)

        async with asyncio.timeout(20), limiter.admit():
            pass

        await until_counted(postgres_url, (1, 0))


@pytest.mark.parametrize(
    "wrapped", [lambda client: client, lambda client: FallbackClient([client])], ids=["plain", "fallback"]
)
async def test_every_executor_of_a_worker_keeps_to_the_limit(
    postgres_url: str, wrapped: Callable[[ScriptedClient], ScriptedClient]
) -> None:
    agent: AgentDefinition[str] = AgentDefinition(name="clerk", description="Notes things.")
    client = ScriptedClient([reply("One."), reply("Two."), reply("Three.")])
    waits: list[tuple[str, float]] = []
    journal = PostgresJournal(postgres_url)

    async with shared_rates(
        {"scripted": RateLimit(2)}, journal.database, "worker", lambda *wait: waits.append(wait)
    ):
        runs = [
            asyncio.create_task(AgentExecutor(wrapped(client)).execute(agent, inputs={"prompt": "Hello."}))
            for _ in range(3)
        ]
        async with asyncio.timeout(20):
            while sum(run.done() for run in runs) < 2:
                await asyncio.wait(runs, timeout=0.1)
        assert [len(client.requests), sum(run.done() for run in runs)] == [2, 2]
        for run in runs:
            run.cancel()
        await asyncio.wait(runs)
    await journal.aclose()

    assert [name for name, _ in waits] == ["scripted"] * 2


async def test_a_limit_for_a_provider_that_does_not_exist_is_refused(postgres_url: str) -> None:
    journal = PostgresJournal(postgres_url)

    with pytest.raises(ConfigError, match=r"cluade.*claude"):
        async with shared_rates({"cluade": RateLimit(2)}, journal.database, "worker"):
            pass
