"""How much a user may ask of the server: rates, concurrency, attempts to sign in, and questions that wait."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from maverick.exceptions import InvalidInputError
from maverick.server.errors import RequestRefusedError, too_many

_REMEMBERED = 10_000
"""How many users a limiter remembers before it forgets those whose allowance is whole again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """The limits of each user, and of each request."""

    requests_per_minute: int = 600
    """Requests of a user; a burst of that many is fine after a pause."""
    sign_ins_per_minute: int = 10
    """Attempts to sign in from each address."""
    body_bytes: int = 256 * 1024
    """The size of a request's body; some front ends send the whole conversation with each message."""
    streams: int = 12
    """Streams a user may have open at once, over all tabs."""
    answers: int = 4
    """Answers that may be in the making for a user at once."""
    waiting: int = 256
    """Questions of all users that may wait to be taken in; the next gets a 503 with ``Retry-After``."""
    spend_usd_per_day: float | None = None
    """What the model may cost for a user in a day (UTC)."""
    answer_usd: float = 0.05
    """What is set aside for an answer while it is made, when there is a limit for the day."""

    def __post_init__(self) -> None:
        for name in (
            "requests_per_minute",
            "sign_ins_per_minute",
            "body_bytes",
            "streams",
            "answers",
            "waiting",
        ):
            if getattr(self, name) < 1:
                raise InvalidInputError(f"{name}: expected at least 1.", field=name)


class RateLimiter:
    """So many a minute for each key; unused ones are saved up to a minute's worth.

    Args:
        per_minute: How many.
        clock: Tells the time in seconds.
    """

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst = float(per_minute)
        self._rate = per_minute / 60
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}
        self._most = _REMEMBERED

    def take(self, key: str) -> None:
        """Count one.

        Raises:
            RequestRefusedError: There were too many.
        """
        at = self._clock()
        left, since = self._left.get(key, (self._burst, at))
        left = min(self._burst, left + (at - since) * self._rate)
        if left < 1:
            raise too_many("That was a lot at once. Wait a moment, then try again.", (1 - left) / self._rate)
        if len(self._left) >= self._most:
            self._left = {
                name: kept
                for name, kept in self._left.items()
                if kept[0] + (at - kept[1]) * self._rate < self._burst
            }
            self._most = max(
                _REMEMBERED, 2 * len(self._left)
            )  # so that not each of many new ones looks at all others
        self._left[key] = (left - 1, at)


class ConcurrencyLimit:
    """So many at once for each key.

    Args:
        at_once: How many.
        message: What to say when there is none left.
    """

    def __init__(self, at_once: int, message: str) -> None:
        self._at_once = at_once
        self._message = message
        self._taken: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """How many are taken, over all keys."""
        return self._taken.total()

    def taken(self, key: str) -> int:
        """How many a key has taken."""
        return self._taken[key]

    def take(self, key: str) -> None:
        """Take a place.

        Raises:
            RequestRefusedError: There is none left.
        """
        if self._taken[key] >= self._at_once:
            raise too_many(self._message, 1)
        self._taken[key] += 1

    def give_back(self, key: str) -> None:
        """Leave a place to others."""
        self._taken[key] -= 1
        if not self._taken[key]:
            del self._taken[key]

    @contextmanager
    def place(self, key: str) -> Iterator[None]:
        """Have a place for as long as it takes."""
        self.take(key)
        try:
            yield
        finally:
            self.give_back(key)


_FREE = 10
"""Wrong passwords of a name before anybody waits: as many as one address has in a minute by default."""
_FIRST_WAIT, _LONGEST_WAIT = 0.25, 8.0
"""Seconds the next attempt waits, which double with each wrong password; the right one is delayed and never refused."""
_FORGOTTEN = 900.0
"""Seconds without a wrong password after which a name begins anew."""
_REMEMBERED = 10_000
"""How many names are remembered; the one not tried for longest makes room."""
_HASHES = 2
"""Passwords that are hashed at once: each takes 16 MB and a core."""


class LoginThrottle:
    """Counts attempts by the address they come from first, so that nobody can use up somebody else's.

    Args:
        per_minute: Attempts of one address.
        clock: Tells the time in seconds.
    """

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._addresses = RateLimiter(per_minute, clock=clock)
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self.hashing = asyncio.Semaphore(_HASHES)
        """Whoever has a password hashed waits for their turn."""

    def count(self, address: str | None) -> None:
        """Count an attempt.

        Raises:
            RequestRefusedError: There were too many from this address.
        """
        self._addresses.take(network_of(address))

    @asynccontextmanager
    async def attempt(self, name: str) -> AsyncIterator[None]:
        """Try a password of a name; leaving with an error means that it was wrong.

        It counts from its beginning, so that guessing many at once is no quicker.
        """
        name = name.casefold()
        wait = self.wait(name)
        wrong, _ = self._of(name)
        self._remember(name, wrong + 1)
        if wait:
            await asyncio.sleep(wait)
        async with self.hashing:
            yield
        self._remember(name, self._of(name)[0] - 1)

    def wait(self, name: str) -> float:
        """Seconds the next attempt at a name waits."""
        wrong, _ = self._of(name.casefold())
        return 0.0 if wrong < _FREE else min(_FIRST_WAIT * 2.0 ** min(wrong - _FREE, 30), _LONGEST_WAIT)

    def _of(self, name: str) -> tuple[int, float]:
        wrong, at = self._wrong.get(name, (0, self._clock()))
        return (0, at) if self._clock() - at > _FORGOTTEN else (wrong, at)

    def _remember(self, name: str, wrong: int) -> None:
        self._wrong[name] = (max(wrong, 0), self._clock())
        self._wrong.move_to_end(name)
        if len(self._wrong) > _REMEMBERED:
            self._wrong.popitem(last=False)


def network_of(address: str | None) -> str:
    """What an address is counted as: of IPv6 its network, since each of its users has all the addresses in it."""
    try:
        found = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return address or ""
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))


_AT_ONCE = 4
"""Questions and answers that are written down at once; more threads than that only get in each other's way."""
_USUAL = 0.02
"""Seconds one of them takes, until it is known better."""


class AdmissionQueue:
    """A line for the database. Whoever finds it too long is told at once when to come back.

    Args:
        most: How many questions may wait.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting = 0
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._seconds = _USUAL

    @property
    def waiting(self) -> int:
        """How many questions wait, or are being taken in."""
        return self._waiting

    @asynccontextmanager
    async def enter(self) -> AsyncIterator[None]:
        """Have a question written down, in its turn.

        Raises:
            RequestRefusedError: Too many wait already.
        """
        if self._waiting >= self._most:
            pause = max(1, round(self._waiting * self._seconds / _AT_ONCE))
            raise RequestRefusedError(
                503,
                "overloaded",
                "There are more requests right now than can be served. Try again in a moment.",
                {"Retry-After": str(pause)},
            )
        self._waiting += 1
        try:
            async with self.leave():
                yield
        finally:
            self._waiting -= 1

    @asynccontextmanager
    async def leave(self) -> AsyncIterator[None]:
        """Have an answer written down, in its turn: one that was begun is always finished."""
        async with self._turns:
            began = time.monotonic()
            yield
            self._seconds += (time.monotonic() - began - self._seconds) / 16
