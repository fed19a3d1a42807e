"""The time a model call may take counts from when it is sent, not from when it queues at a rate limiter."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from leaping_clock import LeapingClock
from maverick import AgentExecutor, AgentResult, ModelConfig, TerminateReason
from maverick.exceptions import NetworkError
from maverick.exceptions import TimeoutError as OurTimeoutError
from maverick.loop.events import AgentActivityEvent, ErrorEvent
from maverick.model import LLMClient, Request, Response, StreamItem
from maverick.providers.wrappers.fallback import FallbackClient
from maverick.providers.wrappers.limiter import Clock, LimitedClient, RateLimiter, Timer
from maverick.testing import ScriptedClient, reply
from scenario import agent

LIMIT = 5
LONG = 300.0
"""Seconds that are much for a call, and not too many for a run."""


class Door(Clock):
    """The clock of a limiter that lets one request in, and the next when it is told to, from whichever thread it is."""

    def __init__(self) -> None:
        self.time = 0.0
        self._here = asyncio.get_running_loop()
        self.waited_at = asyncio.Event()
        self._wake: Callable[[], object] | None = None

    def now(self) -> float:
        return self.time

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        there = asyncio.get_running_loop()
        self._wake = lambda: there.call_soon_threadsafe(callback)
        self._here.call_soon_threadsafe(self.waited_at.set)
        return there.call_later(10 * LONG, callback)

    def open(self) -> None:
        """Let the next one in."""
        assert self._wake is not None
        self.time += 60
        self.waited_at.clear()
        self._wake()


@pytest.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> LeapingClock:
    return LeapingClock(monkeypatch)


@pytest.fixture
async def door() -> Door:
    return Door()


@pytest.fixture
async def limiter(door: Door) -> RateLimiter:
    """A limiter at which the next request waits."""
    limiter = RateLimiter(requests_per_minute=1, clock=door)
    async with limiter.admit():
        return limiter


async def leap(clock: LeapingClock, seconds: float) -> None:
    """Let time pass, and everything happen that happens then."""
    clock.leap(seconds)
    for _ in range(20):
        await asyncio.sleep(0)


class Asking:
    """A run that is under way."""

    def __init__(self, client: LLMClient, *, watched: bool = True, **limits: Any) -> None:
        self.events: list[AgentActivityEvent] = []
        definition = agent(model=ModelConfig(request_timeout=LIMIT), **limits)
        listener = self.events.append if watched else None
        running = AgentExecutor(client).execute(definition, on_activity=listener)
        self._running = asyncio.ensure_future(running)

    async def until(self, event: asyncio.Event) -> None:
        """Wait for something to happen in it; a run that ends before that fails the test."""
        happening = asyncio.ensure_future(event.wait())
        await asyncio.wait([happening, self._running], return_when=asyncio.FIRST_COMPLETED)
        happening.cancel()
        assert event.is_set(), f"the run ended first: {self._running.result().error}"

    async def result(self) -> AgentResult[str]:
        return await self._running

    @property
    def errors(self) -> list[Exception]:
        return [event.error for event in self.events if isinstance(event, ErrorEvent)]


@pytest.mark.requirement("F-REQUEST-TIME")
@pytest.mark.parametrize("watched", [True, False], ids=["watched", "unwatched"])
async def test_a_call_that_waits_for_its_turn_at_a_limiter_does_not_time_out(
    watched: bool, clock: LeapingClock, door: Door, limiter: RateLimiter
) -> None:
    client = ScriptedClient(["Hello."])
    asking = Asking(LimitedClient(client, limiter), watched=watched, max_retries=0)
    await asking.until(door.waited_at)

    await leap(clock, LONG)
    door.open()
    result = await asking.result()

    assert (result.error, result.output) == (None, "Hello.")
    assert asking.errors == []
    assert len(client.requests) == 1


@pytest.mark.requirement("F-REQUEST-TIME", "002-R6")
async def test_a_call_that_has_waited_has_its_whole_time_once_it_is_sent_and_no_more(
    clock: LeapingClock, door: Door, limiter: RateLimiter
) -> None:
    sent = asyncio.Event()

    async def answer(request: Request) -> str:
        sent.set()
        await asyncio.Event().wait()
        return "never"

    asking = Asking(LimitedClient(ScriptedClient(answer), limiter), max_retries=0)
    await asking.until(door.waited_at)
    await leap(clock, LONG)
    door.open()
    await asking.until(sent)

    await leap(clock, LIMIT - 1)
    assert asking.errors == []
    await leap(clock, 2)

    (error,) = (await asking.result()).errors
    assert isinstance(error, OurTimeoutError)
    assert f"{LIMIT} s" in str(error)


@pytest.mark.requirement("F-REQUEST-TIME", "P4", "P5")
async def test_the_time_of_the_run_goes_on_while_a_call_waits_for_its_turn(
    clock: LeapingClock, door: Door, limiter: RateLimiter
) -> None:
    client = ScriptedClient(["never"])
    asking = Asking(LimitedClient(client, limiter), timeout_ms=60_000)
    await asking.until(door.waited_at)

    await leap(clock, 61)

    assert (await asking.result()).terminate_reason is TerminateReason.TIMEOUT
    assert client.requests == []


@pytest.mark.requirement("F-REQUEST-TIME")
async def test_a_client_behind_a_limiter_may_be_the_second_that_is_asked(
    clock: LeapingClock, door: Door, limiter: RateLimiter
) -> None:
    second = LimitedClient(ScriptedClient(["Hello."]), limiter)
    asking = Asking(FallbackClient([ScriptedClient([NetworkError("Gone.")]), second]), max_retries=0)
    await asking.until(door.waited_at)

    await leap(clock, LONG)
    door.open()

    assert (await asking.result()).output == "Hello."
    assert asking.errors == []


class Racing:
    """A client that asks two others at once and takes the answer that comes first."""

    def __init__(self, *clients: LLMClient) -> None:
        self.clients = clients
        self.asked: list[asyncio.Future[Response]] = []

    async def run(self, request: Request) -> Response:
        self.asked = [asyncio.ensure_future(client.run(request)) for client in self.clients]
        try:
            done, _ = await asyncio.wait(self.asked, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            for task in self.asked:
                task.cancel()

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        yield await self.run(request)


@pytest.mark.requirement("F-REQUEST-TIME")
async def test_a_call_that_waits_at_two_limiters_counts_from_when_one_of_them_lets_it_go(
    clock: LeapingClock, door: Door, limiter: RateLimiter
) -> None:
    other_door = Door()
    other = RateLimiter(requests_per_minute=1, clock=other_door)
    async with other.admit():
        pass
    slow = LimitedClient(ScriptedClient([reply("late", delay=10 * LONG)]), limiter)
    asking = Asking(Racing(slow, LimitedClient(ScriptedClient(["never"]), other)), max_retries=0)
    await asking.until(door.waited_at)
    await asking.until(other_door.waited_at)

    await leap(clock, LONG)
    door.open()
    await leap(clock, 0)
    assert asking.errors == []
    await leap(clock, LIMIT + 1)

    (error,) = (await asking.result()).errors
    assert isinstance(error, OurTimeoutError)


@pytest.mark.requirement("F-REQUEST-TIME")
async def test_a_request_that_still_waits_when_its_call_is_over_just_ends(limiter: RateLimiter) -> None:
    racing = Racing(LimitedClient(ScriptedClient(["never"]), limiter), ScriptedClient(["Hello."]))

    result = await Asking(racing).result()
    waited, answered = await asyncio.gather(*racing.asked, return_exceptions=True)

    assert result.output == "Hello."
    assert isinstance(answered, Response)
    assert isinstance(waited, asyncio.CancelledError)


@pytest.mark.requirement("F-REQUEST-TIME")
async def test_a_client_that_queues_once_more_when_its_time_is_up_is_still_out_of_time(
    clock: LeapingClock, door: Door, limiter: RateLimiter
) -> None:
    sent = asyncio.Event()

    async def answer(request: Request) -> str:
        sent.set()
        try:
            await asyncio.Event().wait()
        finally:
            async with limiter.admit():
                pass
        return "never"

    asking = Asking(ScriptedClient(answer), max_retries=0)
    await asking.until(sent)
    await leap(clock, LIMIT + 1)
    await asking.until(door.waited_at)
    door.open()

    assert isinstance((await asking.result()).errors[0], OurTimeoutError)


class Elsewhere:
    """A client that asks another one in a thread, and so in another event loop."""

    def __init__(self, client: LLMClient) -> None:
        self.client = client

    async def run(self, request: Request) -> Response:
        return await asyncio.to_thread(lambda: asyncio.run(self._ask(request)))

    async def _ask(self, request: Request) -> Response:
        return await self.client.run(request)

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        yield await self.run(request)


@pytest.mark.requirement("F-REQUEST-TIME")
async def test_a_call_that_waits_in_another_event_loop_has_its_timeout_left_alone(
    clock: LeapingClock, door: Door, limiter: RateLimiter
) -> None:
    sent, over = asyncio.Event(), threading.Event()
    here = asyncio.get_running_loop()

    async def answer(request: Request) -> str:
        here.call_soon_threadsafe(sent.set)
        over.wait()
        return "late"

    asking = Asking(Elsewhere(LimitedClient(ScriptedClient(answer), limiter)), max_retries=0)
    await asking.until(door.waited_at)
    door.open()
    await asking.until(sent)
    await leap(clock, LIMIT + 1)
    try:
        async with asyncio.timeout(30):
            result = await asking.result()
    finally:
        over.set()

    assert isinstance(result.errors[0], OurTimeoutError)
