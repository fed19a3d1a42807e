"""Keeps the model calls of a process within a provider's rate limits, before the provider has to refuse them.

One :class:`RateLimiter` stands for one account. Wrap every client that uses the account in a
:class:`LimitedClient` with the same limiter, each client once, and all their calls wait in one queue.

:func:`limit_providers` does so for all executors of a process, whoever makes their clients.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from maverick.misuse import refuse
from maverick.model import LLMClient, Request, Response, StreamItem, Usage
from maverick.model.message import describe_part
from maverick.providers.client import PROVIDER_LIMITS, ClientWrapper, open_stream
from maverick.providers.deadlines import waiting_to_be_sent

CHARACTERS_PER_TOKEN = 4
"""Usual for English and code. It is only used until the answer brings the real count."""

MINUTE = 60.0


class Timer(Protocol):
    """A scheduled callback, such as ``asyncio.TimerHandle``."""

    def cancel(self) -> None:
        """Do not call back."""
        ...


class Clock:
    """What a limiter takes the time from; a test can set its own forward."""

    def now(self) -> float:
        """Seconds since some fixed moment."""
        return time.monotonic()

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call back in the running event loop after some seconds."""
        return asyncio.get_running_loop().call_later(seconds, callback)


class RateLimiter:
    """Lets calls through in the order they came, as far as the limits allow.

    It limits how many requests begin and how many tokens are used in any 60 seconds, and how many requests run at
    once. Waiting costs nothing: the first in the queue sets one timer, and the others sleep until they are first. A
    caller that is cancelled while it waits leaves the queue and has used nothing.

    Tokens are charged as estimated when a call begins, and corrected when its answer has the real number. A call that
    fails keeps its estimate, since the provider may have counted it. A call estimated at more than the whole limit
    waits until nothing else counts and then goes, because the provider may still accept it.

    A limiter may be shared by any number of tasks, event loops and threads of one process.

    Args:
        requests_per_minute: How many requests may begin in any 60 seconds; ``None`` is any number.
        tokens_per_minute: How many tokens, of questions and answers together, may be used in any 60 seconds.
        concurrency: How many requests may run at once.
        clock: What to take the time from.
    """

    def __init__(
        self,
        *,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        concurrency: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        _check_limit("requests_per_minute", requests_per_minute)
        _check_limit("tokens_per_minute", tokens_per_minute)
        _check_limit("concurrency", concurrency)
        self.limits_tokens = tokens_per_minute is not None
        """Whether it matters how many tokens a call uses."""
        self._requests = RollingMinute(requests_per_minute)
        self._tokens = RollingMinute(tokens_per_minute)
        self._places = math.inf if concurrency is None else concurrency
        self._clock = clock or Clock()
        self._queue: OrderedDict[_Waiter, None] = OrderedDict()
        # Guards all of the above and is never held across an await. It is reentrant because the garbage
        # collector may finish off an abandoned waiter, which takes the lock, while this thread holds it.
        self._lock = threading.RLock()

    @asynccontextmanager
    async def admit(self, tokens: int = 0) -> AsyncIterator[Callable[[Usage], None]]:
        """Wait for a place and keep it for the block; what is yielded is to be called with the usage.

        ``tokens`` is how many the call will probably use.
        """
        charge = await self._enter(tokens)
        try:
            yield partial(self._settle, charge)
        finally:
            with self._lock:
                self._places += 1
                self._wake_first()

    async def _enter(self, tokens: int) -> Charge:
        waiter = _Waiter(tokens)
        with self._lock:
            self._queue[waiter] = None
        try:
            while True:
                waiter.woken.clear()  # before looking, so that no change after the look goes unnoticed
                with self._lock:
                    is_next = next(iter(self._queue)) is waiter and self._places >= 1
                    # Infinite when another call has to end first.
                    seconds = self._time_to_room(tokens) if is_next else math.inf
                    if seconds <= 0:
                        self._places -= 1
                        return self._charge(tokens)
                await self._sleep(waiter, seconds)
        finally:
            with self._lock:
                self._queue.pop(waiter, None)
                self._wake_first()

    def _time_to_room(self, tokens: int) -> float:
        """Seconds until the minute has room for a call; infinite when something else than time has to make it."""
        now = self._clock.now()
        return max(self._requests.time_to_wait(1, now), self._tokens.time_to_wait(tokens, now))

    def _charge(self, tokens: int) -> Charge:
        now = self._clock.now()
        self._requests.charge(1, now)
        return self._tokens.charge(tokens, now)

    def _correct(self, charge: Charge, tokens: int) -> None:
        self._tokens.correct(charge, tokens, self._clock.now())

    async def _sleep(self, waiter: _Waiter, seconds: float) -> None:
        timer = None if seconds == math.inf else self._clock.call_later(seconds, waiter.woken.set)
        try:
            with waiting_to_be_sent():
                await waiter.woken.wait()
        finally:
            if timer is not None:
                timer.cancel()

    def _wake_first(self) -> None:
        while self._queue:
            first = next(iter(self._queue))
            if first.wake():
                return
            del self._queue[first]

    def _settle(self, charge: Charge, usage: Usage) -> None:
        """Replace the estimate by what was used; a provider that reports nothing leaves it as it is."""
        if usage.total_tokens:
            with self._lock:
                self._correct(charge, usage.total_tokens)
                self._wake_first()


class _Waiter:
    """A caller in the queue, asleep in its own event loop."""

    __slots__ = ("_loop", "tokens", "woken")

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self._loop = asyncio.get_running_loop()
        self.woken = asyncio.Event()

    def wake(self) -> bool:
        """Wake it from any thread; false if its event loop is closed."""
        try:
            self._loop.call_soon_threadsafe(self.woken.set)
        except RuntimeError:  # the loop is closed
            return False
        return True


@dataclass(slots=True)
class Charge:
    """An amount that counts until a minute after its time."""

    amount: int
    at: float


class RollingMinute:
    """Adds up charges, each of which counts for a minute, and says when there is room for more.

    Times are in seconds of one clock and never go back. Without a limit there is always room.
    """

    __slots__ = ("_charges", "_limit", "_used")

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._charges: deque[Charge] = deque()
        self._used = 0

    def time_to_wait(self, amount: int, now: float) -> float:
        """Seconds until this amount may be used: 0 when it may be now.

        An amount above the limit may be used once nothing else counts.
        """
        if self._limit is None:
            return 0
        self._forget_old(now)
        excess = self._used + min(amount, self._limit) - self._limit
        if excess <= 0:
            return 0
        for charge in self._charges:
            excess -= charge.amount
            if excess <= 0:
                return charge.at + MINUTE - now
        raise AssertionError("an amount within the limit fits once every charge is gone")

    def charge(self, amount: int, now: float) -> Charge:
        """Use this amount."""
        charge = Charge(amount, now)
        if self._limit is not None:
            self._charges.append(charge)
            self._used += amount
        return charge

    def correct(self, charge: Charge, amount: int, now: float) -> None:
        """Replace the amount of a charge.

        What was charged too much is given back. What was charged too little counts from now on.
        """
        difference = amount - charge.amount
        if difference > 0:
            self.charge(difference, now)
        elif self._limit is not None and charge.at + MINUTE > now:
            charge.amount = amount
            self._used += difference

    def _forget_old(self, now: float) -> None:
        while self._charges and self._charges[0].at + MINUTE <= now:
            self._used -= self._charges.popleft().amount


class LimitedClient(ClientWrapper):
    """A client whose calls wait until a limiter admits them.

    A stream keeps its place until it is read to its end or closed.

    Args:
        client: The client to limit.
        limiter: The limiter of the account the client uses, shared with the account's other clients.
        estimate: How many tokens a request will probably use, its answer included.
    """

    def __init__(
        self, client: LLMClient, limiter: RateLimiter, *, estimate: Callable[[Request], int] | None = None
    ) -> None:
        super().__init__(client)
        self._limiter = limiter
        self._estimate = estimate or estimate_tokens

    async def run(self, request: Request) -> Response:
        """Send a request when the limiter allows it."""
        async with self._limiter.admit(self._tokens(request)) as settle:
            response = await self._client.run(request)
            settle(response.usage)
        return response

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Send a request when the limiter allows it, and yield its answer as it arrives."""
        async with (
            self._limiter.admit(self._tokens(request)) as settle,
            open_stream(self._client, request) as items,
        ):
            async for item in items:
                if isinstance(item, Response):
                    settle(item.usage)
                yield item

    def _tokens(self, request: Request) -> int:
        return self._estimate(request) if self._limiter.limits_tokens else 0


@contextmanager
def limit_providers(limiters: Mapping[str, RateLimiter]) -> Iterator[None]:
    """Have all executors of this process keep to these limits, by the name of the provider, during the block."""
    before = dict(PROVIDER_LIMITS)
    PROVIDER_LIMITS.update(
        {name: partial(LimitedClient, limiter=limiter) for name, limiter in limiters.items()}
    )
    try:
        yield
    finally:
        PROVIDER_LIMITS.clear()
        PROVIDER_LIMITS.update(before)


def estimate_tokens(request: Request) -> int:
    """About how many tokens a request will use: its length in characters, and the answer it allows."""
    tools = sum(len(tool.name) + len(tool.description) + len(str(tool.parameters)) for tool in request.tools)
    messages = sum(len(describe_part(part)) for message in request.messages for part in message.parts)
    return (len(request.system) + tools + messages) // CHARACTERS_PER_TOKEN + (request.config.max_tokens or 0)


def _check_limit(name: str, limit: int | None) -> None:
    if limit is not None and limit < 1:
        refuse(name, f"expected 1 or more, or None for no limit, got {limit}.")
