"""How a worker shows that it is alive, and how it finds out about peers that are not.

Each worker has a connection of its own to the database: it renews one row there, listens for what concerns its runs, and holds
a lock of its own and that of the one worker that sweeps. A row that is not renewed is removed by one of the peers, which has
Temporal give that worker's runs to others at once; sooner if its lock is free, since Postgres notices at once when a process is
killed. All times are the database's. It is done in a thread of its own: a worker whose event loop is busy for some seconds is not
dead.
"""

from __future__ import annotations

import asyncio
import logging
import platform
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import maverick
from maverick.exceptions import JournalError
from maverick.fleet.store import FleetStore
from maverick.journal.postgres.database import FAULTS
from maverick.journal.postgres.schema import FLEET_CHANNEL
from maverick.runtime.event_log import log_failure

_RENEWS = 0.25
"""Seconds between two signs of life."""
_STALE = 2.0
"""Seconds without one after which a worker is given up."""
_HUNG_UP = 0.75
"""The same if its connection has ended as well. A worker that is alive has connected again by then."""
_STEADY = 2.0
"""Seconds for which a worker has to have been in touch before it judges its peers."""
_LATE = 0.75
"""Seconds between two signs of life after which a worker does not judge its peers: they may have been kept waiting too."""
_STUCK = 60.0
"""Seconds after which a worker whose event loop does nothing is not alive."""
_PATIENCE = 5.0
"""Seconds after which a connection that does not answer is given up."""
_SWEEPER = 0x666C656574
"""What the worker that sweeps a fleet has locked, with the fleet's name: "fleet" in ASCII."""
_PRESENT = 0x776F726B6572
"""What each worker has locked, with its own name, as long as it is connected: "worker" in ASCII."""

_RENEW = """
    WITH here AS (
        INSERT INTO maverick.fleet_workers (worker, host, version, queues, capacity) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (worker) DO UPDATE SET seen_at = now()
    ), gone AS (
        DELETE FROM maverick.fleet_workers
        WHERE $6 AND worker <> $1 AND CASE
            WHEN NOT EXISTS (SELECT FROM unnest(queues) AS q WHERE q = $10 OR starts_with(q, $10 || '/'))
                THEN seen_at < now() - make_interval(secs => $7::float8 * 10)  -- another fleet: its own workers come first
            WHEN seen_at < now() - make_interval(secs => $7) THEN TRUE
            WHEN seen_at < now() - make_interval(secs => $11)
                THEN pg_try_advisory_xact_lock(hashtextextended(worker, $12))  -- it is not connected
            ELSE FALSE
        END RETURNING worker
    )
    SELECT (SELECT count(*) FROM gone) AS gone, $8 OR pg_try_advisory_lock(hashtextextended($10, $9)) AS sweeps,
        $13 OR pg_try_advisory_lock(hashtextextended($1, $12)) AS present
"""


class Liveness:
    """The sign of life of one worker.

    ``hear`` is called with what workers are told, ``on_connected`` with each new connection, before which something may
    have gone unheard, and ``on_gone`` when peers are gone.
    """

    def __init__(
        self,
        store: FleetStore,
        worker: str,
        queues: Sequence[str],
        capacity: int,
        *,
        hear: Callable[[str], object],
        on_connected: Callable[[], object],
        on_gone: Callable[[], object],
    ) -> None:
        self.sweeps = False
        """Whether this is the worker that sweeps."""
        self._journal = store.journal
        self._fleet = store.queue
        self._self = (worker, platform.node(), maverick.__version__, list(queues), capacity)
        self._hear = hear
        self._on_connected = on_connected
        self._on_gone = on_gone
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name="maverick-liveness", daemon=True)
        self._stopping = threading.Event()
        self._connection: Any = None  # asyncpg has no types
        self._present = False
        """Whether this worker's connection holds the lock that tells peers of it."""
        self._asked_at = self._renewed_at = self._steady_since = 0.0
        self._looped_at = time.monotonic()

    @property
    def is_in_touch(self) -> bool:
        """Whether peers take this worker for alive."""
        return time.monotonic() - self._renewed_at < _STALE

    def start(self) -> None:
        """Begin to give signs of life."""
        self._thread.start()

    async def stop(self) -> None:
        """Give no more."""
        self._stopping.set()
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        asyncio.run(self._stay_alive())

    async def _stay_alive(self) -> None:
        while not self._stopping.is_set():
            try:
                async with asyncio.timeout(_PATIENCE):
                    await self._renew()
            except Exception as error:  # noqa: BLE001 - whatever it is, the next attempt may succeed
                log_failure(logging.WARNING, "fleet_out_of_touch", error, {"worker": self._self[0]})
                was_in_touch = self._present
                self._disconnect()
                if was_in_touch:  # peers soon give up a worker that is not connected
                    continue
            await asyncio.sleep(_RENEWS)
        self._disconnect()
        await self._journal.aclose()

    async def _renew(self) -> None:
        """Give one sign of life, and look for peers that gave none.

        Peers are judged only by a worker that could renew its own row all the while: after an outage of the database, all
        rows are old.
        """
        self._loop.call_soon_threadsafe(self._note_loop)
        if time.monotonic() - self._looped_at > _STUCK:
            raise JournalError("The worker's event loop is blocked. Look for code that does not yield.")
        if self._connection is None or self._connection.is_closed():
            self.sweeps = self._present = False
            self._connection = await self._journal.database.connect(FLEET_CHANNEL, self._heard)
            self._loop.call_soon_threadsafe(self._on_connected)
        before = time.monotonic()
        # Also late if the last one was kept waiting: the rows are as old as its beginning then.
        if before - self._asked_at > _LATE or not self._present:
            self._steady_since = before  # peers may have lost their connections when this worker lost its own
        self._asked_at = before
        is_steady = before - self._steady_since > _STEADY
        (row,) = await self._connection.fetch(
            _RENEW,
            *self._self,
            is_steady,
            _STALE,
            self.sweeps,
            _SWEEPER,
            self._fleet,
            _HUNG_UP,
            _PRESENT,
            self._present,
        )
        self._renewed_at = time.monotonic()
        self.sweeps, self._present = row["sweeps"], row["present"]
        if row["gone"]:
            self._loop.call_soon_threadsafe(self._on_gone)

    def _note_loop(self) -> None:
        self._looped_at = time.monotonic()

    def _heard(self, text: str) -> None:
        self._loop.call_soon_threadsafe(self._hear, text)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        self.sweeps = self._present = False
        if connection is not None:
            with suppress(*FAULTS):  # it is gone either way
                connection.terminate()
