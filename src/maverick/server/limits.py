"""How much a user may ask of the server: rates, concurrency, attempts to sign in, and questions that wait."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields

from maverick.misuse import refuse
from maverick.server.errors import RequestRefusedError, too_many

_REMEMBERED = 10_000
"""How many users, addresses or names are remembered before some are forgotten."""
_FREE_ATTEMPTS = 10
"""Wrong passwords for a name before anyone waits: as many as one address has in a minute by default."""
_FIRST_WAIT, _LONGEST_WAIT = 0.25, 8.0
"""Seconds the next attempt waits, doubled with each wrong password. The right one is delayed, never refused."""
_FORGOTTEN = 900.0
"""Seconds without a wrong password after which a name starts afresh."""
_HASHES = 2
"""Passwords that are hashed at once: each takes 16 MB and a core."""
_WRITES = 4
"""Questions and answers that are written to the database at once; more threads only get in each other's way."""
_USUAL_WRITE = 0.02
"""Seconds a write takes, until it was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """The limits of each user, and of each request."""

    requests_per_minute: int = 600
    """Requests of a user; a burst of that many is fine after a pause."""
    sign_ins_per_minute: int = 10
    """Attempts to sign in from each address."""
    body_bytes: int = 256 * 1024
    """The size of a request's body; some front ends send the whole conversation with each message."""
    attachment_bytes: int = 5 * 2**20
    """The size of the images and documents sent with a message; 0 takes none."""
    streams: int = 12
    """Streams a user may have open at once, over all tabs."""
    answers: int = 4
    """Answers a user may have in progress at once."""
    undecided: int = 20
    """Answers of a user that may wait for a decision at once."""
    waiting: int = 256
    """Questions of all users that may wait for the database; the next gets a 503 with ``Retry-After``."""
    spend_usd_per_day: float | None = None
    """What the model may cost for a user in a day (UTC)."""
    answer_usd: float = 0.05
    """What is reserved for an answer in progress, when there is a limit for the day."""

    def __post_init__(self) -> None:
        may_be_zero = {"attachment_bytes", "spend_usd_per_day", "answer_usd"}
        for name in (field.name for field in fields(self)):
            if name not in may_be_zero and getattr(self, name) < 1:
                refuse(name, "expected at least 1.")


class RateLimiter:
    """A token bucket for each key: so many a minute, with bursts of up to a minute's worth."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst = float(per_minute)
        self._rate = per_minute / 60
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}
        self._most = _REMEMBERED

    def take(self, key: str) -> None:
        """Count one, unless there were too many."""
        at = self._clock()
        left, since = self._left.get(key, (self._burst, at))
        left = min(self._burst, left + (at - since) * self._rate)
        if left < 1:
            raise too_many("Too many requests. Wait a moment, then try again.", (1 - left) / self._rate)
        if len(self._left) >= self._most:
            self._left = {
                name: kept
                for name, kept in self._left.items()
                if kept[0] + (at - kept[1]) * self._rate < self._burst
            }
            # Doubled, so that not every new key goes through all the others.
            self._most = max(_REMEMBERED, 2 * len(self._left))
        self._left[key] = (left - 1, at)


class ConcurrencyLimit:
    """So many at once for each key; one more is refused with a message."""

    def __init__(self, at_once: int, message: str) -> None:
        self._at_once = at_once
        self._message = message
        self._in_use: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """How many there are, over all keys."""
        return self._in_use.total()

    def acquire(self, key: str) -> None:
        """Begin one, unless the limit is reached."""
        if self._in_use[key] >= self._at_once:
            raise too_many(self._message, 1)
        self._in_use[key] += 1

    def release(self, key: str) -> None:
        """End one."""
        self._in_use[key] -= 1
        if not self._in_use[key]:
            del self._in_use[key]


class LoginThrottle:
    """Limits attempts to sign in: by address, so that no one can use up another's, and by name."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._addresses = RateLimiter(per_minute, clock=clock)
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self.hashing = asyncio.Semaphore(_HASHES)
        """Limits the passwords that are hashed at once."""

    def count(self, address: str | None) -> None:
        """Count an attempt, unless there were too many from this address."""
        self._addresses.take(network_of(address))

    @asynccontextmanager
    async def attempt(self, name: str) -> AsyncIterator[None]:
        """Try a password for a name; an error in the block means that it was wrong.

        It counts from the beginning, so that guessing many at once is no quicker.
        """
        name = name.casefold()
        wait = self.wait(name)
        self._remember(name, self._wrong_attempts(name) + 1)
        if wait:
            await asyncio.sleep(wait)
        async with self.hashing:
            yield
        self._remember(name, self._wrong_attempts(name) - 1)

    def wait(self, name: str) -> float:
        """Seconds the next attempt for a name waits."""
        wrong = self._wrong_attempts(name.casefold()) - _FREE_ATTEMPTS
        return 0.0 if wrong < 0 else min(_FIRST_WAIT * 2.0 ** min(wrong, 30), _LONGEST_WAIT)

    def _wrong_attempts(self, name: str) -> int:
        wrong, at = self._wrong.get(name, (0, 0.0))
        return 0 if self._clock() - at > _FORGOTTEN else wrong

    def _remember(self, name: str, wrong: int) -> None:
        self._wrong[name] = (max(wrong, 0), self._clock())
        self._wrong.move_to_end(name)
        if len(self._wrong) > _REMEMBERED:
            self._wrong.popitem(last=False)


def network_of(address: str | None) -> str:
    """What an address is counted as: for IPv6 its network, since a user has all the addresses in it."""
    try:
        found = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return address or ""
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))


class AdmissionQueue:
    """The queue for the database. When it is too long, a question is refused at once, with when to come back."""

    def __init__(self, most: int) -> None:
        self.waiting = 0
        """How many questions wait, or are being written."""
        self._most = most
        self._turns = asyncio.Semaphore(_WRITES)
        self._seconds = _USUAL_WRITE

    @asynccontextmanager
    async def enter(self) -> AsyncIterator[None]:
        """Wait for a turn to write a question, unless too many are waiting."""
        if self.waiting >= self._most:
            pause = max(1, round(self.waiting * self._seconds / _WRITES))
            message = "The server is overloaded. Try again in a moment."
            raise RequestRefusedError(503, "overloaded", message, {"Retry-After": str(pause)})
        self.waiting += 1
        try:
            async with self.leave():
                yield
        finally:
            self.waiting -= 1

    @asynccontextmanager
    async def leave(self) -> AsyncIterator[None]:
        """Wait for a turn to write an answer: one that was begun is always finished."""
        async with self._turns:
            began = time.monotonic()
            yield
            self._seconds += (time.monotonic() - began - self._seconds) / 16
