from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maverick.exceptions import InvalidInputError, NetworkError
from maverick.model import (
    Message,
    ModelInfo,
    Request,
    RequestConfig,
    Response,
    StreamItem,
    TextDelta,
    ToolCall,
    Usage,
)
from maverick.providers.wrappers.limiter import (
    Clock,
    LimitedClient,
    RateLimiter,
    RollingMinute,
    Timer,
    estimate_tokens,
)
from maverick.testing import ScriptedClient, reply

HELLO = Request(messages=[Message.user("hello")])


class Alarm:
    def __init__(self, at: float, callback: Callable[[], None]) -> None:
        self.at = at
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class HandClock(Clock):
    """A clock that goes only when it is told to."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.alarms: list[Alarm] = []

    def now(self) -> float:
        return self.time

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        self.alarms.append(Alarm(self.time + seconds, callback))
        return self.alarms[-1]

    @property
    def pending(self) -> list[Alarm]:
        return [alarm for alarm in self.alarms if not alarm.cancelled]

    async def advance(self, seconds: float) -> None:
        """Go forward, stopping at each timer."""
        end = self.time + seconds
        await settle()
        while due := [alarm for alarm in self.pending if alarm.at <= end]:
            alarm = min(due, key=lambda alarm: alarm.at)
            self.time = max(self.time, alarm.at)
            alarm.cancel()
            alarm.callback()
            await settle()
        self.time = end


async def settle() -> None:
    """Let everything that can happen now happen."""
    for _ in range(50):
        await asyncio.sleep(0)


class Desk:
    """Callers at a limiter: who was let in, and when."""

    def __init__(self, limiter: RateLimiter, clock: HandClock) -> None:
        self.limiter = limiter
        self.clock = clock
        self.admitted: list[tuple[str, float]] = []
        self.leave: dict[str, asyncio.Event] = {}
        self.callers: dict[str, asyncio.Task[None]] = {}

    @property
    def names(self) -> str:
        return "".join(name for name, _ in self.admitted)

    def come(self, name: str, tokens: int = 0, used: int = 0, *, stay: bool = False) -> None:
        self.leave[name] = asyncio.Event()
        if not stay:
            self.leave[name].set()
        self.callers[name] = asyncio.create_task(self._visit(name, tokens, used))

    async def _visit(self, name: str, tokens: int, used: int) -> None:
        async with self.limiter.admit(tokens) as report:
            self.admitted.append((name, self.clock.time - 1000))
            await self.leave[name].wait()
            report(Usage(input_tokens=used))


def desk(**limits: Any) -> Desk:
    clock = HandClock()
    return Desk(RateLimiter(clock=clock, **limits), clock)


async def test_without_limits_everybody_goes_at_once() -> None:
    d = desk()
    for name in "abcdef":
        d.come(name, tokens=10**9, stay=True)
    await settle()
    assert d.names == "abcdef"


async def test_no_more_requests_begin_in_a_minute_than_allowed() -> None:
    d = desk(requests_per_minute=2)
    for name in "abcde":
        d.come(name)
    await settle()
    assert d.names == "ab"
    await d.clock.advance(59)
    assert d.names == "ab"
    await d.clock.advance(200)
    assert d.admitted == [("a", 0), ("b", 0), ("c", 60), ("d", 60), ("e", 120)]


async def test_the_minute_rolls_and_is_not_reset_at_a_full_one() -> None:
    d = desk(requests_per_minute=2)
    d.come("a")
    await d.clock.advance(50)
    for name in "bcd":
        d.come(name)
    await d.clock.advance(100)
    assert d.admitted == [("a", 0), ("b", 50), ("c", 60), ("d", 110)]


async def test_no_more_are_under_way_at_once_than_allowed() -> None:
    d = desk(concurrency=2)
    for name in "abcd":
        d.come(name, stay=True)
    await settle()
    assert d.names == "ab"
    d.leave["b"].set()
    await settle()
    assert d.names == "abc"
    d.leave["a"].set()
    await settle()
    assert d.names == "abcd"


async def test_no_more_tokens_are_used_in_a_minute_than_allowed() -> None:
    d = desk(tokens_per_minute=100)
    d.come("a", tokens=60)
    d.come("b", tokens=60)
    d.come("c", tokens=40)
    await d.clock.advance(130)
    assert d.admitted == [("a", 0), ("b", 60), ("c", 60)]


async def test_a_smaller_request_does_not_overtake() -> None:
    d = desk(tokens_per_minute=100)
    d.come("a", tokens=90)
    d.come("b", tokens=50)
    d.come("c", tokens=1)
    await settle()
    assert d.names == "a"
    await d.clock.advance(60)
    assert d.names == "abc"


async def test_real_usage_below_the_estimate_lets_the_next_one_in_sooner() -> None:
    d = desk(tokens_per_minute=100)
    d.come("a", tokens=90, used=10, stay=True)
    d.come("b", tokens=80)
    await d.clock.advance(5)
    assert d.names == "a"
    d.leave["a"].set()
    await settle()
    assert d.admitted == [("a", 0), ("b", 5)]


async def test_the_next_one_need_not_wait_for_a_settled_call_to_leave() -> None:
    d = desk(tokens_per_minute=100)
    async with d.limiter.admit(90) as report:
        d.come("b", tokens=80)
        await settle()
        assert d.names == ""
        report(Usage(input_tokens=10))
        await settle()
        assert d.names == "b"


async def test_real_usage_above_the_estimate_counts_from_when_it_is_known() -> None:
    d = desk(tokens_per_minute=100)
    d.come("a", tokens=10, used=100, stay=True)
    await d.clock.advance(30)
    d.leave["a"].set()
    await settle()
    d.come("b", tokens=20)
    await d.clock.advance(100)
    assert d.admitted == [("a", 0), ("b", 90)]


async def test_a_provider_that_reports_no_usage_leaves_the_estimate_standing() -> None:
    d = desk(tokens_per_minute=100)
    d.come("a", tokens=90, used=0)
    await settle()
    d.come("b", tokens=20)
    await d.clock.advance(61)
    assert d.admitted == [("a", 0), ("b", 60)]


async def test_usage_that_is_known_after_its_minute_gives_nothing_back_twice() -> None:
    d = desk(tokens_per_minute=100)
    d.come("a", tokens=90, used=10, stay=True)
    await d.clock.advance(70)
    d.come("b", tokens=100)
    await settle()
    d.leave["a"].set()
    await settle()
    d.come("c", tokens=10)
    await d.clock.advance(100)
    assert d.admitted == [("a", 0), ("b", 70), ("c", 130)]


async def test_a_wish_above_the_whole_limit_waits_for_an_empty_minute_and_then_goes() -> None:
    d = desk(tokens_per_minute=100)
    d.come("a", tokens=1)
    d.come("b", tokens=5000)
    d.come("c", tokens=1)
    await d.clock.advance(130)
    assert d.admitted == [("a", 0), ("b", 60), ("c", 120)]


async def test_a_cancelled_waiter_gives_up_its_place_and_uses_nothing() -> None:
    d = desk(requests_per_minute=2, tokens_per_minute=100)
    d.come("a", tokens=50)
    d.come("b", tokens=90)
    d.come("c", tokens=50)
    await settle()
    assert d.names == "a"

    d.callers["b"].cancel()
    await settle()

    assert d.names == "ac"
    assert d.callers["b"].cancelled()


async def test_a_cancelled_waiter_in_the_middle_leaves_the_order_of_the_others() -> None:
    d = desk(concurrency=1)
    d.come("a", stay=True)
    for name in "bcd":
        d.come(name)
    await settle()
    d.callers["c"].cancel()
    d.leave["a"].set()
    await settle()
    assert d.names == "abd"


@pytest.mark.parametrize("moment", range(10))
async def test_a_waiter_cancelled_around_the_moment_it_is_woken_passes_the_place_on(moment: int) -> None:
    d = desk(concurrency=1)
    d.come("a", stay=True)
    d.come("b")
    d.come("c")
    await settle()
    d.leave["a"].set()
    for _ in range(moment):
        await asyncio.sleep(0)
    d.callers["b"].cancel()
    await settle()
    assert d.names == ("ac" if d.callers["b"].cancelled() else "abc")


async def test_a_call_cancelled_under_way_gives_its_place_back() -> None:
    d = desk(concurrency=1)
    d.come("a", stay=True)
    d.come("b")
    await settle()
    d.callers["a"].cancel()
    await settle()
    assert d.names == "ab"


async def test_waiting_sets_one_timer_however_many_wait() -> None:
    d = desk(requests_per_minute=1)
    for name in "abcdefgh":
        d.come(name)
    await settle()
    assert [alarm.at for alarm in d.clock.pending] == [1060]
    for caller in d.callers.values():
        caller.cancel()
    await settle()
    assert d.clock.pending == []


async def test_with_the_real_clock_a_waiter_is_woken_by_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("maverick.providers.wrappers.limiter.MINUTE", 0.02)
    limiter = RateLimiter(requests_per_minute=1)
    async with asyncio.timeout(10):
        for _ in range(3):
            async with limiter.admit():
                pass


def test_one_limiter_serves_several_event_loops_one_after_another() -> None:
    limiter = RateLimiter(concurrency=1)

    async def crowd() -> int:
        async def visit() -> None:
            async with limiter.admit():
                await asyncio.sleep(0)

        await asyncio.gather(*(visit() for _ in range(5)))
        return 5

    assert [asyncio.run(crowd()) for _ in range(3)] == [5, 5, 5]


def test_one_limiter_serves_several_threads_at_once() -> None:
    limiter = RateLimiter(concurrency=2)
    inside: list[int] = []
    most: list[int] = []

    async def crowd() -> None:
        async def visit() -> None:
            async with limiter.admit():
                inside.append(1)
                most.append(len(inside))
                await asyncio.sleep(0)
                inside.pop()

        await asyncio.wait_for(asyncio.gather(*(visit() for _ in range(50))), timeout=60)

    threads = [threading.Thread(target=asyncio.run, args=(crowd(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 200
    assert max(most) <= 2


async def test_a_waiter_in_another_thread_is_woken_though_its_loop_is_idle() -> None:
    limiter = RateLimiter(concurrency=1)
    asleep = threading.Event()

    async def queue_up() -> None:
        asyncio.get_running_loop().call_later(0.05, asleep.set)  # the last thing its loop has to do
        async with limiter.admit():
            pass

    thread = threading.Thread(target=lambda: asyncio.run(queue_up()), daemon=True)
    async with limiter.admit():
        thread.start()
        await asyncio.to_thread(asleep.wait, 30)
    await asyncio.to_thread(thread.join, 30)
    assert not thread.is_alive()


async def test_a_waiter_whose_event_loop_is_gone_does_not_block_the_others() -> None:
    limiter = RateLimiter(concurrency=1)

    def wait_and_vanish() -> None:
        async def queue_up() -> None:
            async with limiter.admit():
                raise AssertionError("it can never be admitted")

        loop = asyncio.new_event_loop()
        loop.set_exception_handler(lambda *_: None)  # the loop complains that its task was left behind
        task = loop.create_task(queue_up())
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        left_behind.append(task)

    left_behind: list[asyncio.Task[None]] = []
    async with limiter.admit():
        await asyncio.to_thread(wait_and_vanish)
    async with asyncio.timeout(10), limiter.admit():
        pass

    left_behind.clear()
    gc.collect()
    async with asyncio.timeout(10), limiter.admit():
        pass


@pytest.mark.parametrize("name", ["requests_per_minute", "tokens_per_minute", "concurrency"])
def test_a_limit_below_one_is_refused(name: str) -> None:
    limits: dict[str, Any] = {name: 0}
    with pytest.raises(InvalidInputError, match=name):
        RateLimiter(**limits)


@given(
    st.integers(1, 50),
    st.lists(st.tuples(st.floats(0, 40), st.integers(0, 60), st.integers(0, 60)), max_size=40),
)
@settings(deadline=None)
def test_any_sixty_seconds_stay_within_the_limit_if_estimates_are_right(
    limit: int, calls: list[tuple[float, int, int]]
) -> None:
    minute = RollingMinute(limit)
    now = 0.0
    used: list[tuple[float, int]] = []
    for pause, estimate, real in calls:
        now += pause
        while (wait := minute.time_to_wait(estimate, now)) > 0:
            now += max(wait, 1e-6)
        charge = minute.charge(estimate, now)
        actual = min(real, estimate)
        minute.correct(charge, actual, now)
        used.append((now, actual))
    for start, _ in used:
        window = [amount for at, amount in used if start <= at < start + 60 - 1e-3]
        assert sum(window) <= limit or max(window) > limit


# The client


async def collect(client: LimitedClient) -> list[StreamItem]:
    return [item async for item in client.stream(HELLO)]


async def test_a_limited_client_answers_as_the_client_it_wraps() -> None:
    script = [reply("one two"), reply("three four")]
    plain, limited = ScriptedClient(script), LimitedClient(ScriptedClient(script), RateLimiter(concurrency=1))
    assert await limited.run(HELLO) == await plain.run(HELLO)
    assert await collect(limited) == [item async for item in plain.stream(HELLO)]


async def test_clients_that_share_a_limiter_share_its_limits() -> None:
    clock = HandClock()
    limiter = RateLimiter(requests_per_minute=2, clock=clock)
    first, second = ScriptedClient(lambda _: "first"), ScriptedClient(lambda _: "second")
    clients = [LimitedClient(first, limiter), LimitedClient(second, limiter)]

    asked = [asyncio.create_task(client.run(HELLO)) for client in clients * 2]
    await settle()
    assert [task.done() for task in asked] == [True, True, False, False]
    await clock.advance(60)
    assert [task.result().content for task in asked] == ["first", "second", "first", "second"]


@pytest.mark.parametrize("way", ["run", "stream"])
async def test_what_an_answer_really_used_replaces_the_estimate(way: str) -> None:
    limiter = RateLimiter(tokens_per_minute=1000, clock=HandClock())
    scripted = ScriptedClient(lambda _: reply("ok", usage=Usage(input_tokens=5, output_tokens=5)))
    client = LimitedClient(scripted, limiter, estimate=lambda _: 600)

    async with asyncio.timeout(10):
        for _ in range(10):
            await (client.run(HELLO) if way == "run" else collect(client))

    assert len(scripted.requests) == 10


@pytest.mark.parametrize("way", ["run", "stream"])
async def test_a_failed_call_gives_its_place_back(way: str) -> None:
    client = LimitedClient(ScriptedClient([NetworkError("gone"), "back"]), RateLimiter(concurrency=1))
    with pytest.raises(NetworkError):
        await (client.run(HELLO) if way == "run" else collect(client))
    async with asyncio.timeout(10):
        assert (await client.run(HELLO)).content == "back"


async def test_a_stream_keeps_its_place_until_it_is_closed() -> None:
    client = LimitedClient(ScriptedClient(lambda _: reply("a b c")), RateLimiter(concurrency=1))
    stream = client.stream(HELLO)
    assert await anext(stream) == TextDelta("a ")
    waiting = asyncio.create_task(client.run(HELLO))
    await settle()
    assert not waiting.done()

    await stream.aclose()  # type: ignore[attr-defined]
    await settle()
    assert waiting.done()


async def test_the_length_of_a_request_is_not_measured_without_a_token_limit() -> None:
    def estimate(request: Request) -> int:
        raise AssertionError("there is no need to know")

    client = LimitedClient(ScriptedClient(["ok"]), RateLimiter(concurrency=1), estimate=estimate)
    assert (await client.run(HELLO)).content == "ok"


def test_the_estimate_grows_with_everything_that_is_sent_and_the_answer_that_is_allowed() -> None:
    class Search:
        name = "search"
        description = "Finds pages about something." * 10
        parameters: ClassVar[dict[str, Any]] = {
            "type": "object",
            "properties": {"query": {"type": "string"}},
        }

        async def execute(self, args: dict[str, Any]) -> str:
            return ""

    call = Message.assistant([ToolCall("1", "search", {"query": "weather in Brest" * 10})])
    estimates = [
        estimate_tokens(Request(messages=[Message.user("x" * 400)])),
        estimate_tokens(Request(messages=[Message.user("x" * 400)], system="y" * 400)),
        estimate_tokens(Request(messages=[Message.user("x" * 400), call], system="y" * 400)),
        estimate_tokens(
            Request(messages=[Message.user("x" * 400), call], system="y" * 400, tools=[Search()])
        ),
    ]
    assert estimates[:2] == [100, 200]
    assert estimates == sorted(set(estimates))
    assert estimate_tokens(Request(messages=[], config=RequestConfig(max_tokens=500))) == 500


async def test_it_knows_the_wrapped_clients_models_and_closes_it() -> None:
    class Closable(ScriptedClient):
        closed = False

        async def aclose(self) -> None:
            self.closed = True

    inner = Closable([], info=ModelInfo(context_window=1000))
    async with LimitedClient(inner, RateLimiter()) as client:
        assert client.model_info("any").context_window == 1000
    assert inner.closed


async def test_a_client_with_nothing_but_run_and_stream_can_be_wrapped() -> None:
    class Bare:
        async def run(self, request: Request) -> Response:
            return Response("bare")

        async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
            yield Response("bare")

    async with LimitedClient(Bare(), RateLimiter()) as client:
        assert (await client.run(HELLO)).content == "bare"
        assert client.model_info("any") == ModelInfo()
