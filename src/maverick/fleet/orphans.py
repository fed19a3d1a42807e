"""The runs whose worker is gone, in the fleet's tables: who takes them over, in one statement for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from maverick.fleet.store import IS_MINE, FleetStore
from maverick.journal.damage import Row

_ORPHANED = (
    f"worker IS NOT NULL AND state <> 'ended' AND {IS_MINE} "
    "AND NOT EXISTS (SELECT FROM maverick.fleet_workers w WHERE w.worker = fleet_runs.worker)"
)
"""Whether the worker of a run of the fleet $1 is gone."""

_SHARE = f"""
    SELECT ceil(count(*)::float8 / greatest(1, (
        SELECT count(*) FROM maverick.fleet_workers
        WHERE EXISTS (SELECT FROM unnest(queues) AS q WHERE starts_with(q, $1 || '/'))
    )))::int AS share
    FROM maverick.fleet_runs WHERE {_ORPHANED}
"""  # noqa: S608 - our own names

_TAKE = f"""
    WITH gone AS (
        SELECT run_id, token FROM maverick.fleet_runs
        WHERE {_ORPHANED} AND worker IS DISTINCT FROM $2 AND ($3::text[] IS NULL OR queue = ANY($3))
        ORDER BY priority, created_at LIMIT $4 FOR UPDATE SKIP LOCKED
    )
    UPDATE maverick.fleet_runs
    SET worker = $2, token = CASE WHEN $2::text IS NULL THEN NULL ELSE gone.token END, updated_at = now()
    FROM gone WHERE fleet_runs.run_id = gone.run_id
    RETURNING fleet_runs.run_id, gone.token, queue
"""  # noqa: S608 - our own names


class Orphan(NamedTuple):
    """A run whose worker is gone."""

    run_id: str
    token: bytes
    """Temporal's token of that worker's attempt."""
    queue: str
    """The task queue of the workers that can drive it."""


class Orphans:
    """The runs of a fleet whose worker is gone."""

    def __init__(self, store: FleetStore) -> None:
        self._store = store

    async def share(self) -> int:
        """How many of them each worker has to take, so that all are taken."""
        (row,) = await self._fetch(_SHARE, self._store.queue)
        return int(row["share"])

    async def take(self, worker: str, queues: Sequence[str], limit: int) -> list[Orphan]:
        """Give some to a worker, together with the attempts of those that are gone. No run is given to two.

        Args:
            worker: The worker.
            queues: The task queues of the runs that it can drive.
            limit: How many it takes at most.
        """
        return await self._take(worker, queues, limit)

    async def free(self) -> list[Orphan]:
        """Give all that are left to no one: then no worker takes them, unless Temporal gives them to it."""
        return await self._take(None, None, None)

    async def is_taken_from(self, worker: str, run_id: str, token: bytes) -> bool:
        """Whether another worker has taken an attempt from this one."""
        statement = "SELECT FROM maverick.fleet_runs WHERE run_id = $1 AND token = $2 AND worker <> $3"
        return bool(await self._fetch(statement, run_id, token, worker))

    async def _take(
        self, worker: str | None, queues: Sequence[str] | None, limit: int | None
    ) -> list[Orphan]:
        found = await self._fetch(_TAKE, self._store.queue, worker, queues, limit)
        return [Orphan(row["run_id"], row["token"], row["queue"]) for row in found]

    async def _fetch(self, statement: str, *values: Any) -> list[Row]:
        return await self._store.journal.database.fetch(statement, *values)
