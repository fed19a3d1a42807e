"""How a worker shows that it is alive, and how it finds out about peers that are not.

Each worker has a connection of its own to the database: it renews one row there, listens for what concerns its runs, and holds
the lock of the one worker that sweeps. A row that is not renewed is removed by one of the peers, which has Temporal give that
worker's runs to others at once. All times are the database's.
"""

from __future__ import annotations

import asyncio
import logging
import platform
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import maverick
from maverick.exceptions import MaverickError
from maverick.fleet.store import FleetStore
from maverick.journal.postgres.database import FAULTS
from maverick.journal.postgres.schema import FLEET_CHANNEL
from maverick.runtime.event_log import log_failure

_RENEWS = 0.5
"""Seconds between two signs of life."""
_STALE = 2.0
"""Seconds without one after which a worker is given up."""
_PATIENCE = 5.0
"""Seconds after which a connection that does not answer is given up."""
_SWEEPER = 0x666C656574
"""What the worker that sweeps has locked: "fleet" in ASCII."""

_FAULTS: tuple[type[Exception], ...] = (MaverickError, *FAULTS)

_RENEW = """
    WITH here AS (
        INSERT INTO maverick.fleet_workers (worker, host, version, queues, capacity) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (worker) DO UPDATE SET seen_at = now()
    ), gone AS (
        DELETE FROM maverick.fleet_workers
        WHERE $6 AND worker <> $1 AND seen_at < now() - make_interval(secs => $7) RETURNING worker
    )
    SELECT (SELECT count(*) FROM gone) AS gone, $8 OR pg_try_advisory_lock($9) AS sweeps
"""


class Liveness:
    """The sign of life of one worker.

    Args:
        store: The fleet's tables.
        worker: The worker's name.
        queues: The task queues that it polls.
        capacity: How many runs it drives at once.
        hear: Called with what workers are told.
        on_connected: Called with each new connection, before which something may have gone unheard.
        on_gone: Called when peers are gone.
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
        self._database = store.journal.database
        self._self = (worker, platform.node(), maverick.__version__, list(queues), capacity)
        self._hear = hear
        self._on_connected = on_connected
        self._on_gone = on_gone
        self._connection: Any = None  # asyncpg has no types
        self._renewed_at = -_STALE
        self._steady_since = 0.0

    @property
    def is_in_touch(self) -> bool:
        """Whether peers take this worker for alive."""
        return time.monotonic() - self._renewed_at < _STALE

    async def run(self) -> None:
        """Stay alive until this is cancelled."""
        try:
            while True:
                try:
                    async with asyncio.timeout(_PATIENCE):
                        await self.renew()
                except _FAULTS as error:  # the next attempt may succeed
                    log_failure(logging.WARNING, "fleet_out_of_touch", error, {"worker": self._self[0]})
                    self._disconnect()
                await asyncio.sleep(_RENEWS)
        finally:
            self._disconnect()

    async def renew(self) -> None:
        """Give one sign of life, and look for peers that gave none.

        Peers are judged only by a worker that could renew its own row all the while: after an outage of the database, all
        rows are old.

        Raises:
            OSError: The database cannot be reached; or another of ``FAULTS``.
        """
        if self._connection is None or self._connection.is_closed():
            self.sweeps = False
            self._connection = await self._database.connect(FLEET_CHANNEL, self._hear)
            self._on_connected()
        if not self.is_in_touch:
            self._steady_since = time.monotonic()
        is_steady = time.monotonic() - self._steady_since > _STALE
        (row,) = await self._connection.fetch(_RENEW, *self._self, is_steady, _STALE, self.sweeps, _SWEEPER)
        self._renewed_at = time.monotonic()
        self.sweeps = row["sweeps"]
        if row["gone"]:
            self._on_gone()

    def _disconnect(self) -> None:
        connection, self._connection, self.sweeps = self._connection, None, False
        if connection is not None:
            with suppress(*FAULTS):  # it is gone either way
                connection.terminate()
