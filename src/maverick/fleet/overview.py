"""What a fleet is doing: its workers, and how many of its runs are in which state."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from maverick.fleet.client import Fleet
from maverick.fleet.store import FleetRecord, FleetState


class WorkerRecord(Struct, frozen=True, kw_only=True):
    """A worker that is running."""

    name: str
    host: str
    version: str
    """The version of Maverick."""
    agents: list[str]
    capacity: int
    """How many runs it drives at once at most."""
    runs: int
    """How many it drives."""
    began_at: float


class Overview(Struct, frozen=True, kw_only=True):
    """A fleet at a moment."""

    workers: list[WorkerRecord]
    states: dict[str, int]
    """How many runs are in each state."""
    runs: list[FleetRecord]
    """The newest runs that have not ended."""


async def fleet_overview(fleet: Fleet, limit: int = 100) -> Overview:
    """What a fleet is doing.

    Args:
        fleet: The fleet.
        limit: How many of the runs that have not ended are listed.
    """
    database = fleet.journal.database
    workers = await database.fetch(
        "SELECT worker AS name, host, version, queues, capacity, extract(epoch FROM began_at)::float8 AS began_at, "
        "(SELECT count(*) FROM maverick.fleet_runs r WHERE r.worker = w.worker) AS runs "
        "FROM maverick.fleet_workers w ORDER BY began_at"
    )
    states = await database.fetch("SELECT state, count(*) AS runs FROM maverick.fleet_runs GROUP BY state")
    return Overview(
        workers=[
            msgspec.convert({**dict(row), "agents": _agents(row["queues"])}, WorkerRecord) for row in workers
        ],
        states={row["state"]: row["runs"] for row in states},
        runs=await fleet.store.runs(*(set(FleetState) - {FleetState.ENDED}), limit=limit),
    )


def _agents(queues: list[str]) -> list[str]:
    """The agents whose runs come through queues: each has some for all versions, and one for its own."""
    names = (queue.rpartition("/")[2].partition("@")[0] for queue in queues)
    return sorted(
        {name.rpartition(":")[2] for name in names}
    )  # the server has queues of its own, such as maverick:chat
