"""How much one user may ask of the server."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from maverick.exceptions import InvalidInputError
from maverick.server.refusal import too_many

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


class Places:
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
