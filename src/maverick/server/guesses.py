"""Wrong passwords: who may try how often, and how long a name that many try to guess has to wait."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from maverick.server.limits import RateLimiter

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


class Guesses:
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
