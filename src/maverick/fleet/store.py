"""What a fleet keeps in Postgres beside the journal: the runs it has taken on, and the workers that are there.

All times are the database's, so that the clocks of machines do not matter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from maverick.exceptions import InvalidInputError, JournalDamagedError
from maverick.journal.codec import encode_json, from_plain
from maverick.journal.postgres.journal import PostgresJournal
from maverick.journal.postgres.schema import Row
from maverick.model import Part

CHANNEL = "maverick_fleet"
"""Where workers are told what concerns the runs they drive."""


class FleetState(StrEnum):
    """What a fleet has made of a run."""

    QUEUED = "queued"
    """It waits until fewer runs of its user are in progress."""
    STARTED = "started"
    """It is in progress: a workflow sees that a worker drives it."""
    PARKED = "parked"
    """It waits for a person, and does not count as in progress."""
    ENDED = "ended"


class RunRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run is to begin with."""

    inputs: dict[str, Any] = {}
    parts: dict[str, list[str | Part]] = {}
    """The inputs that are text with images or documents."""
    trace_id: str | None = None

    @classmethod
    def of(cls, inputs: Mapping[str, Any] | None, trace_id: str | None) -> RunRequest:
        """The request for a run with these inputs.

        Raises:
            InvalidInputError: They cannot be written as JSON.
        """
        values = dict(inputs or {})
        parts = {name: value for name, value in values.items() if _has_parts(value)}
        return cls(inputs={k: v for k, v in values.items() if k not in parts}, parts=parts, trace_id=trace_id)

    @property
    def all_inputs(self) -> dict[str, Any]:
        """The values of the agent's variables."""
        return self.inputs | self.parts


class FleetRecord(Struct, frozen=True, kw_only=True):
    """A run that a fleet has taken on."""

    run_id: str
    agent: str
    user_id: str | None
    priority: int
    state: FleetState
    worker: str | None
    """The worker that drives it."""
    abort: str | None
    """Why it is to stop, if it is."""
    waits_for: str
    """What it waits for before it can go on, in words; empty if nothing."""
    error: str
    """Why it could not be run, if it could not."""
    created_at: float


MAX_RUNS_PER_USER = 100
"""How many runs of a user are in progress at once, unless the settings say otherwise."""
_NO_ROOM = "other runs of its user to end"
_COLUMNS = "run_id, agent, user_id, priority, state, worker, abort, waits_for, error, created_at"
_A_COLUMNS = ", ".join(f"a.{name}" for name in _COLUMNS.split(", "))


class FleetStore:
    """The fleet's tables, in the database of its journal.

    Args:
        journal: The journal.
        max_runs_per_user: How many runs of a user may be in progress at once; further ones wait. Runs without a user are
            not limited.
    """

    def __init__(self, journal: PostgresJournal, max_runs_per_user: int = MAX_RUNS_PER_USER) -> None:
        self.journal = journal
        self.max_runs_per_user = max_runs_per_user

    # Runs -------------------------------------------------------------------------------------------------------

    async def add(
        self, run_id: str, agent: str, user_id: str | None, priority: int, request: RunRequest
    ) -> bool:
        """Take a run on; says whether it is new. That of a user is queued: :meth:`admit` starts it."""
        payload = _encode(request)
        found = await self._fetch(
            "INSERT INTO maverick.fleet_runs (run_id, agent, user_id, priority, request, state, waits_for) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING run_id",
            run_id,
            agent,
            user_id,
            priority,
            payload,
            FleetState.STARTED if user_id is None else FleetState.QUEUED,
            "" if user_id is None else _NO_ROOM,
        )
        return bool(found)

    async def admit(self, user_id: str | None) -> list[FleetRecord]:
        """Start what a user has waiting, first by priority and then by age, as far as there is room.

        Returns:
            The runs that are now in progress; the caller gives them to Temporal.
        """
        found = await self._fetch(
            f"SELECT {_COLUMNS} FROM maverick.fleet_admit($1, $2)",  # noqa: S608 - our own names
            user_id,
            self.max_runs_per_user,
        )
        return [_record(row) for row in found]

    async def readmit(self, run_id: str) -> list[FleetRecord]:
        """Let a run that was parked go on, or have it wait for its turn; returns what is now in progress, as :meth:`admit`."""
        found = await self._fetch(
            "WITH woken AS (UPDATE maverick.fleet_runs SET state = 'queued', waits_for = $2, updated_at = now() "  # noqa: S608 - our own names
            "WHERE run_id = $1 AND state IN ('parked', 'queued') RETURNING user_id) "
            f"SELECT {_A_COLUMNS} FROM woken, maverick.fleet_admit(woken.user_id, $3) a",
            run_id,
            _NO_ROOM,
            self.max_runs_per_user,
        )
        return [_record(row) for row in found]

    async def users_waiting(self) -> list[str]:
        """The users who have runs that wait for others to end."""
        found = await self._fetch("SELECT DISTINCT user_id FROM maverick.fleet_runs WHERE state = 'queued'")
        return [row["user_id"] for row in found]

    async def get(self, run_id: str) -> FleetRecord | None:
        """A run of the fleet, if it is one."""
        found = await self._fetch(
            f"SELECT {_COLUMNS} FROM maverick.fleet_runs WHERE run_id = $1",  # noqa: S608 - our own names
            run_id,
        )
        return _record(found[0]) if found else None

    async def runs(self, state: FleetState | None = None, limit: int = 100) -> list[FleetRecord]:
        """Runs of the fleet, newest first."""
        found = await self._fetch(
            f"SELECT {_COLUMNS} FROM maverick.fleet_runs WHERE $1::text IS NULL OR state = $1 "  # noqa: S608 - our own names
            "ORDER BY created_at DESC LIMIT $2",
            state,
            limit,
        )
        return [_record(row) for row in found]

    async def take(self, run_id: str, worker: str) -> tuple[FleetRecord, RunRequest] | None:
        """Note that a worker drives a run; ``None`` if it is not in progress.

        One that is to be stopped can be taken whenever it has not ended, so that it need not wait for its turn.
        """
        found = await self._fetch(
            "UPDATE maverick.fleet_runs SET worker = $2, state = 'started', waits_for = '', updated_at = now() "  # noqa: S608 - our own names
            "WHERE run_id = $1 AND (state = 'started' OR (state <> 'ended' AND (abort IS NOT NULL OR user_id IS NULL))) "
            f"RETURNING {_COLUMNS}, request",
            run_id,
            worker,
        )
        if not found:
            return None
        try:
            return _record(found[0]), from_plain(json.loads(found[0]["request"]), RunRequest)
        except ValueError as error:
            raise JournalDamagedError(
                f"The request of the run {run_id!r} cannot be read.", cause=error
            ) from error

    async def leave(
        self, run_id: str, worker: str, state: FleetState, *, waits_for: str = "", error: str = ""
    ) -> list[FleetRecord]:
        """Note that a worker no longer drives a run, unless another has taken it.

        Returns:
            The runs of its user that are now in progress in its place, as :meth:`admit`.
        """
        found = await self._fetch(
            "WITH freed AS (UPDATE maverick.fleet_runs SET worker = NULL, state = $3, waits_for = $4, error = $5, "  # noqa: S608 - our own names
            "updated_at = now() WHERE run_id = $1 AND worker = $2 RETURNING user_id) "
            f"SELECT {_A_COLUMNS} FROM freed, maverick.fleet_admit(freed.user_id, $6) a",
            run_id,
            worker,
            state,
            waits_for,
            error,
            self.max_runs_per_user,
        )
        return [_record(row) for row in found]

    async def request_abort(self, run_id: str, reason: str) -> bool:
        """Ask whoever drives a run, now or later, to stop it; says whether it can still be stopped."""
        found = await self._fetch(
            "UPDATE maverick.fleet_runs SET abort = $2, updated_at = now() "
            "WHERE run_id = $1 AND state <> 'ended' RETURNING run_id",
            run_id,
            reason,
        )
        await self.notify({"abort": run_id})
        return bool(found)

    # Workers ----------------------------------------------------------------------------------------------------

    async def register(
        self, worker: str, host: str, version: str, queues: Sequence[str], capacity: int
    ) -> None:
        """Add a worker."""
        await self._fetch(
            "INSERT INTO maverick.fleet_workers (worker, host, version, queues, capacity) VALUES ($1, $2, $3, $4, $5)",
            worker,
            host,
            version,
            list(queues),
            capacity,
        )

    async def renew(self, worker: str) -> bool:
        """Say that a worker is there; ``False`` if its peers have given it up."""
        found = await self._fetch(
            "UPDATE maverick.fleet_workers SET seen_at = now() WHERE worker = $1 RETURNING worker", worker
        )
        return bool(found)

    async def remove_stale(self, seconds: float) -> list[str]:
        """Give up the workers that have not been seen for some seconds; each is returned to one caller only."""
        found = await self._fetch(
            "DELETE FROM maverick.fleet_workers WHERE seen_at < now() - make_interval(secs => $1) RETURNING worker",
            seconds,
        )
        return [row["worker"] for row in found]

    async def remove_worker(self, worker: str) -> None:
        """Remove a worker that leaves."""
        await self._fetch("DELETE FROM maverick.fleet_workers WHERE worker = $1", worker)

    async def orphans(self) -> list[str]:
        """The runs whose worker is not there."""
        found = await self._fetch(
            "SELECT run_id FROM maverick.fleet_runs WHERE worker IS NOT NULL AND state <> 'ended' "
            "AND NOT EXISTS (SELECT FROM maverick.fleet_workers w WHERE w.worker = fleet_runs.worker)"
        )
        return [row["run_id"] for row in found]

    async def notify(self, message: Mapping[str, Any]) -> None:
        """Tell all workers something."""
        await self._fetch("SELECT pg_notify($1, $2)", CHANNEL, msgspec.json.encode(message).decode())

    async def _fetch(self, statement: str, *values: Any) -> list[Row]:
        return await self.journal.database.fetch(statement, *values)


def _record(row: Row) -> FleetRecord:
    return msgspec.convert({name: row[name] for name in FleetRecord.__struct_fields__}, FleetRecord)


def _encode(request: RunRequest) -> bytes:
    try:
        return encode_json(request)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise InvalidInputError(
            f"inputs: expected JSON values, text, images or documents ({error}).", field="inputs"
        ) from error


def _has_parts(value: object) -> bool:
    return isinstance(value, list | tuple) and any(isinstance(item, Part) for item in value)
