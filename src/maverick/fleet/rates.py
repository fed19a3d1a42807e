"""The rate limits of providers, shared by all workers of a fleet through one row a provider in Postgres.

A worker takes what its calls need in pieces, about one statement a second, and not one a call. The row has what was taken
in each second of the last minute. A piece has to be used within :data:`_LIFE` seconds, and what was not used, or was
estimated too high, is given back. So that no use can be missed, a second counts until a minute after the last moment at
which its pieces could be used: in any 60 seconds all workers together begin at most as many requests, of at most as many
tokens by what is known of them, as the limit says, and at full load a little less (60/63 of it). What a worker that dies
has taken and not used is missing for that time, and never longer.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import msgspec

from maverick.config import RateLimit
from maverick.config.provider_names import model_name_problem
from maverick.exceptions import ConfigError, JournalError
from maverick.journal.damage import Row
from maverick.journal.postgres.database import PostgresDatabase
from maverick.providers.wrappers.limiter import MINUTE, Charge, RateLimiter, limit_providers
from maverick.runtime.event_log import log_failure

_LIFE = 2
"""Seconds within which a piece has to be used."""
_PAUSE = 0.25
"""Seconds between two statements of a worker, at least; four times that while the limit is used up."""
_LARGEST_RESERVE = 0.05
"""How much of the limit a worker takes at most beyond what its callers wait for."""
_UNLIMITED = 10**15

_TAKE = """
UPDATE maverick.fleet_rates AS rate SET (used, second, requests, tokens, first, first_until) = (
    SELECT
        past.used || jsonb_build_object(
            clock.second, jsonb_build_array(past.own_requests + piece.requests, past.own_tokens + $9 + piece.tokens)
        ),
        clock.second,
        piece.requests,
        piece.tokens,
        CASE WHEN turn.is_ours THEN CASE WHEN room.is_enough THEN NULL ELSE $2 END ELSE rate.first END,
        CASE WHEN turn.is_ours THEN clock.second + 3 ELSE rate.first_until END
    FROM
        (SELECT floor(extract(epoch FROM clock_timestamp()))::bigint AS second) AS clock,
        LATERAL (SELECT rate.first IS NULL OR rate.first = $2 OR rate.first_until < clock.second AS is_ours) AS turn,
        LATERAL (
            SELECT
                coalesce(jsonb_object_agg(key, jsonb_build_array(requests, tokens)), '{}') AS used,
                coalesce(sum(requests), 0)::bigint AS requests,
                coalesce(sum(tokens), 0)::bigint AS tokens,
                coalesce(sum(requests) FILTER (WHERE key = clock.second::text), 0)::bigint AS own_requests,
                coalesce(sum(tokens) FILTER (WHERE key = clock.second::text), 0)::bigint AS own_tokens
            FROM (
                SELECT
                    key,
                    (used.value ->> 0)::bigint - coalesce((back.value ->> 0)::bigint, 0) AS requests,
                    (used.value ->> 1)::bigint - coalesce((back.value ->> 1)::bigint, 0) AS tokens
                FROM jsonb_each(rate.used) AS used LEFT JOIN jsonb_each($10::jsonb) AS back USING (key)
                WHERE key::bigint >= clock.second - $11
            ) AS seconds
        ) AS past,
        LATERAL (
            SELECT
                $3 - past.requests AS requests,
                $4 - past.tokens - $9 AS tokens,
                $5 = 0 OR ($3 - past.requests >= $5 AND $4 - past.tokens - $9 >= $6) AS is_enough
        ) AS room,
        LATERAL (
            SELECT
                CASE WHEN turn.is_ours AND room.is_enough THEN greatest(least($7, room.requests), 0) ELSE 0 END AS requests,
                CASE WHEN turn.is_ours AND room.is_enough THEN greatest(least($8, room.tokens), 0) ELSE 0 END AS tokens
        ) AS piece
) WHERE name = $1 RETURNING second, requests, tokens
"""
"""Give back and take: $1 the provider, $2 who asks, $3 and $4 the limits, $5 and $6 what the first caller needs, $7 and $8
what would be used, $9 tokens that answers have cost beyond their estimate, $10 what is given back of which second, $11 for
how many seconds a second counts. The time is the server's, read when the row is held. A worker that finds too little room
is the first: the others get nothing until it has come again, or for 3 seconds, so that no large call is overtaken for ever."""


@dataclass(slots=True)
class _Piece:
    """What this worker may use."""

    second: int = 0
    """The second of the row that it is counted in."""
    requests: int = 0
    tokens: int = 0
    until: float = -math.inf
    """When it has to be used, by this machine's clock."""


class SharedRateLimiter(RateLimiter):
    """A limiter whose minute is shared with other processes; :meth:`run` gets it what it may use.

    ``waited`` is called with the seconds that each call had to wait.
    """

    def __init__(
        self,
        name: str,
        limit: RateLimit,
        database: PostgresDatabase,
        worker: str,
        *,
        window: float = MINUTE,
        waited: Callable[[str, float], None] | None = None,
    ) -> None:
        super().__init__()
        self.name = name
        self.limits_tokens = limit.tokens_per_minute is not None
        self._database = database
        self._worker = worker
        self._counts_for = math.ceil(window) + _LIFE
        self._most_requests = limit.requests_per_minute or _UNLIMITED
        self._most_tokens = limit.tokens_per_minute or _UNLIMITED
        self._waited = waited
        self._piece = _Piece()
        self._back: dict[int, list[int]] = {}
        """What is to be given back, of which second: requests and tokens."""
        self._late = 0
        self._spent = [0, 0]
        """Requests and tokens since the last statement."""
        self._asked_at = self._clock.now()
        self._reserve = [0, 0]
        """About what the calls of a second use: requests and tokens."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._wanted = asyncio.Event()

    async def run(self) -> None:
        """Get what the calls need, until this task is cancelled."""
        self._loop = asyncio.get_running_loop()
        self._wanted.set()  # some may wait already
        try:
            while True:
                await self._wanted.wait()
                self._wanted.clear()
                self._stop_timer()
                await asyncio.sleep(_PAUSE if await self._exchange() else 4 * _PAUSE)
        finally:
            self._loop = None
            self._stop_timer()
            with suppress(JournalError, TimeoutError):  # it is not used any more in any case
                async with asyncio.timeout(1):
                    await self._send(need=(0, 0), want=(0, 0))

    # What the queue of callers asks, with the lock held ---------------------------------------------------------

    async def _enter(self, tokens: int) -> Charge:
        began = self._clock.now()
        charge = await super()._enter(tokens)
        if self._waited is not None:
            self._waited(self.name, self._clock.now() - began)
        return charge

    def _time_to_room(self, tokens: int) -> float:
        piece = self._piece
        if (
            piece.requests >= 1
            and piece.tokens >= min(tokens, self._most_tokens)
            and self._clock.now() < piece.until
        ):
            return 0
        self._exchange_in(0)
        return math.inf

    def _charge(self, tokens: int) -> Charge:
        self._piece.requests -= 1
        self._piece.tokens -= tokens
        self._spent[0] += 1
        self._spent[1] += tokens
        if 4 * self._piece.requests < self._reserve[0] or 4 * self._piece.tokens < self._reserve[1]:
            self._exchange_in(0)  # before a call has to wait for it
        return Charge(tokens, self._piece.second)

    def _correct(self, charge: Charge, tokens: int) -> None:
        if not self._late and not self._back:
            self._exchange_in(4 * _PAUSE)
        if tokens > charge.amount:
            self._late += tokens - charge.amount
        else:
            self._give_back(int(charge.at), 0, charge.amount - tokens)

    # The row ----------------------------------------------------------------------------------------------------

    def _exchange_in(self, seconds: float) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._set_timer, self._loop, seconds)

    def _set_timer(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        if self._timer is None or loop.time() + seconds < self._timer.when():
            self._stop_timer()
            self._timer = loop.call_later(seconds, self._wanted.set)

    def _stop_timer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _give_back(self, second: int, requests: int, tokens: int) -> None:
        back = self._back.setdefault(second, [0, 0])
        back[0] += requests
        back[1] += tokens

    async def _exchange(self) -> bool:
        """Give back what is not needed, and take what is; says whether that was there."""
        with self._lock:
            waiting = [waiter.tokens for waiter in self._queue]
            seconds = max(self._clock.now() - self._asked_at, _PAUSE)
            self._reserve = [
                min(math.ceil(spent / seconds), math.ceil(most * _LARGEST_RESERVE))
                for spent, most in zip(self._spent, (self._most_requests, self._most_tokens), strict=True)
            ]
            self._spent, self._asked_at = [0, 0], self._clock.now()
            piece, (requests, tokens) = self._piece, self._reserve
            if not (waiting or requests or self._back or self._late or piece.requests or piece.tokens):
                return True
        need = (1, min(waiting[0], self._most_tokens)) if waiting else (0, 0)
        want = (len(waiting) + requests, max(need[1], sum(waiting) + tokens))
        try:
            await self._send(need, want)
        except JournalError as error:  # the runs cannot be driven without it either
            log_failure(logging.WARNING, "rate_limit_out_of_reach", error, {"provider": self.name})
            self._wanted.set()
            return False
        with self._lock:
            self._wake_first()
            return not waiting or self._piece.requests > 0

    async def _send(self, need: tuple[int, int], want: tuple[int, int]) -> None:
        with self._lock:
            piece, self._piece = self._piece, _Piece()  # no call may use what is given back
            if piece.requests or piece.tokens:
                self._give_back(piece.second, piece.requests, piece.tokens)
            back, self._back = self._back, {}
            late, self._late = self._late, 0
            until = self._clock.now() + _LIFE
        values = (
            self.name,
            self._worker,
            self._most_requests,
            self._most_tokens,
            *need,
            *want,
            late,
            msgspec.json.encode(back).decode(),
            self._counts_for,
        )
        try:
            found = await self._database.fetch(_TAKE, *values) or await self._first(values)
        except BaseException:
            with self._lock:
                self._late += late  # counting it twice is better than not at all
            raise
        with self._lock:
            self._piece = _Piece(found[0]["second"], found[0]["requests"], found[0]["tokens"], until)
        if self._piece.requests or self._piece.tokens:
            self._exchange_in(_LIFE)  # to give back what is left of it

    async def _first(self, values: tuple[object, ...]) -> list[Row]:
        await self._database.fetch(
            "INSERT INTO maverick.fleet_rates (name) VALUES ($1) ON CONFLICT DO NOTHING", self.name
        )
        return await self._database.fetch(_TAKE, *values)


@asynccontextmanager
async def shared_rates(
    limits: Mapping[str, RateLimit],
    database: PostgresDatabase,
    worker: str,
    waited: Callable[[str, float], None] | None = None,
) -> AsyncIterator[None]:
    """Have all executors of this process keep to the limits of each provider that a fleet shares, during the block."""
    for name in limits:
        if (problem := model_name_problem(f"{name}:")) is not None:
            raise ConfigError(f"rate_limits: {problem}", field="rate_limits")
    limiters = {
        name: SharedRateLimiter(name, limit, database, worker, waited=waited)
        for name, limit in limits.items()
    }
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(limiter.run()) for limiter in limiters.values()]
        try:
            with limit_providers(limiters):
                yield
        finally:
            for task in running:
                task.cancel()
