"""The fleet's tables in Postgres, beside the journal: its runs and its workers.

All times are the database's, so that the clocks of machines do not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from maverick.fleet.request import RunRequest
from maverick.journal.damage import Row, read_approvals
from maverick.journal.postgres.journal import PostgresJournal
from maverick.journal.postgres.schema import FLEET_CHANNEL
from maverick.journal.records import Approval
from maverick.misuse import refuse


class FleetState(StrEnum):
    """The state of a run in a fleet."""

    QUEUED = "queued"
    """It waits until fewer runs of its user are in progress."""
    STARTED = "started"
    """It is in progress: a workflow sees that a worker drives it."""
    PARKED = "parked"
    """It waits for a person, and does not count as in progress."""
    ENDED = "ended"


class FleetRecord(Struct, frozen=True, kw_only=True):
    """A run in a fleet."""

    run_id: str
    agent: str
    user_id: str | None
    priority: int
    state: FleetState
    queue: str
    """The task queue of the workers that can drive it."""
    worker: str | None
    """The worker that drives it."""
    abort: str | None
    """Why it is to stop, if it is."""
    waits_for: str
    """What it waits for before it can continue, in words; empty if nothing."""
    error: str
    """Why it could not be run, if it could not."""
    accept_changes: bool
    """Whether it continues although its agent is not what it was when it began."""
    created_at: float


QUEUE = "maverick"
"""The task queue of workflows, and how those of agents begin."""
MAX_RUNS_PER_USER = 100
"""How many runs of a user are in progress at once, unless the settings say otherwise."""
MAX_QUEUED_PER_USER = 10_000
"""How many runs of a user may wait for others of theirs to end."""
_IS_FULL = (
    "EXISTS (SELECT FROM maverick.fleet_runs WHERE user_id = {user} AND state = 'queued' OFFSET {most}::int)"
)
_NO_ROOM = "other runs of its user to end"
_COLUMNS = "run_id, agent, user_id, priority, state, queue, worker, abort, waits_for, error, accept_changes, created_at"
_HAS_WORKER = "EXISTS (SELECT FROM maverick.fleet_workers WHERE fleet_runs.queue = ANY(queues))"
_SHOWN = _COLUMNS.replace(
    "waits_for",
    f"""
    CASE WHEN state = 'ended' OR worker IS NOT NULL THEN ''
         WHEN waits_for <> '' OR {_HAS_WORKER} THEN waits_for
         ELSE 'a worker that has the agent ' || quote_literal(agent) ||
              CASE WHEN strpos(queue, '@') > 0 THEN ' in the version it began with' ELSE '' END ||
              CASE WHEN changes <> '' THEN '. ' || changes ELSE '' END
    END AS waits_for
    """,
)
"""The columns, with what a run waits for while it has no worker."""
_UNREACHABLE = (
    "worker IS NULL AND (NOT EXISTS (SELECT FROM maverick.runs WHERE runs.run_id = fleet_runs.run_id) "
    f"OR NOT {_HAS_WORKER})"
)
_DECIDED = "run_id IN (SELECT split_part(run_id, '/', 1) FROM maverick.approvals WHERE status IN ('approved', 'denied'))"
"""Whether a person has decided something that a run has not heard of yet."""
_MINE = "regexp_replace(queue, '/[^/]*$', '') = $1"
"""Whether a run is of the fleet $1: another may share the database."""


class FleetStore:
    """The fleet's tables, in the database of its journal."""

    def __init__(
        self, journal: PostgresJournal, max_runs_per_user: int = MAX_RUNS_PER_USER, queue: str = QUEUE
    ) -> None:
        self.journal = journal
        self.max_runs_per_user = max_runs_per_user
        self.queue = queue
        """How the names of the fleet's task queues begin."""

    def has(self, record: FleetRecord) -> bool:
        """Whether a run is of this fleet, and not of another in the same database."""
        return record.queue.rpartition("/")[0] == self.queue

    # Runs -------------------------------------------------------------------------------------------------------

    async def add(
        self, run_id: str, agent: str, user_id: str | None, priority: int, request: RunRequest, queue: str
    ) -> FleetRecord:
        """Add a run, or find it if it was added before. A user's run is queued: :meth:`admit` starts it.

        A request is refused if it is too large, another one has its id, or too many runs of the user wait.
        """
        payload = request.encode()
        found = await self.journal.insert_naming(
            run_id,
            request.blobs,
            "INSERT INTO maverick.fleet_runs (run_id, agent, user_id, priority, request, queue, state, waits_for) "  # noqa: S608 - our own names
            "SELECT $1, $2, $3, $4, $5, $6, $7, $8 "
            "WHERE NOT EXISTS (SELECT FROM maverick.runs WHERE run_id = $1 AND ($10 OR user_id IS DISTINCT FROM $3)) "
            f"AND NOT {_IS_FULL.format(user='$3', most='$9')} "
            f"ON CONFLICT DO NOTHING RETURNING {_COLUMNS}",
            run_id,
            agent,
            user_id,
            priority,
            payload,
            queue,
            FleetState.STARTED if user_id is None else FleetState.QUEUED,
            "" if user_id is None else _NO_ROOM,
            MAX_QUEUED_PER_USER - 1,
            request.fork,  # it makes a new run, while others may continue one that a fleet did not begin
        )
        if not found:
            found = await self._fetch(
                f"SELECT {_COLUMNS}, request FROM maverick.fleet_runs WHERE run_id = $1 AND agent = $2 "  # noqa: S608 - our own names
                "AND user_id IS NOT DISTINCT FROM $3",
                run_id,
                agent,
                user_id,
            )
            # Both are compared as read: JSON changes some values, such as tuples.
            asked = RunRequest.decode(payload, run_id)
            if not found and await self._is_full(user_id):
                refuse(
                    "user_id",
                    f"{MAX_QUEUED_PER_USER:,} runs of this user wait already. Start more once some have ended.",
                )
            if not found or not asked.is_same_as(RunRequest.decode(found[0]["request"], run_id)):
                refuse("run_id", f"there is another run {run_id!r}. Choose another id.")
        return _record(found[0])

    async def _is_full(self, user_id: str | None) -> bool:
        """Whether as many runs of a user wait as may."""
        found = await self._fetch(
            f"SELECT {_IS_FULL.format(user='$1', most='$2')} AS is_full", user_id, MAX_QUEUED_PER_USER - 1
        )
        return bool(found[0]["is_full"])

    async def admit(self, user_id: str | None) -> list[FleetRecord]:
        """Start what a user has waiting, by priority and age, as far as there is room; returns it, to be given to Temporal."""
        return await self._records(
            f"SELECT {_COLUMNS} FROM maverick.fleet_admit($1, $2)",  # noqa: S608 - our own names
            user_id,
            self.max_runs_per_user,
        )

    async def readmit(self, run_id: str) -> list[FleetRecord]:
        """Queue a run that was parked; returns what is now in progress, as :meth:`admit`."""
        return await self._records(
            "WITH woken AS (UPDATE maverick.fleet_runs SET waits_for = $2, updated_at = now(), "  # noqa: S608 - our own names
            "state = CASE WHEN user_id IS NULL THEN 'started' ELSE 'queued' END "
            "WHERE run_id = $1 AND state IN ('parked', 'queued') RETURNING user_id AS whose) "
            f"SELECT {_COLUMNS} FROM woken, maverick.fleet_admit(whose, $3)",
            run_id,
            _NO_ROOM,
            self.max_runs_per_user,
        )

    async def users_waiting(self) -> list[str]:
        """The users who have runs that wait for others to end."""
        found = await self._fetch(
            f"SELECT DISTINCT user_id FROM maverick.fleet_runs WHERE state = 'queued' AND {_MINE}",  # noqa: S608 - our own
            self.queue,
        )
        return [row["user_id"] for row in found]

    async def get(self, run_id: str) -> FleetRecord | None:
        """A run of the fleet, if it is one."""
        return await self._first(
            f"SELECT {_SHOWN} FROM maverick.fleet_runs WHERE run_id = $1",  # noqa: S608 - our own names
            run_id,
        )

    async def runs(
        self, *states: FleetState, limit: int = 100, user_id: str | None = None
    ) -> list[FleetRecord]:
        """Runs of the fleet in any of these states, by default all, newest first."""
        return await self._records(
            f"SELECT {_SHOWN} FROM maverick.fleet_runs WHERE (state = ANY($1::text[]) OR cardinality($1::text[]) = 0) "  # noqa: S608 - our own names
            "AND ($3::text IS NULL OR user_id = $3) ORDER BY created_at DESC LIMIT $2",
            states,
            limit,
            user_id,
        )

    async def take(self, run_id: str, worker: str, token: bytes) -> tuple[FleetRecord, RunRequest] | None:
        """Note that a worker drives a run; ``None`` if it is not in progress.

        One that is to be stopped can be taken whenever it has not ended, so that it need not wait for its turn. ``token`` is
        Temporal's token of this attempt: what the worker writes later counts only while it is the newest.
        """
        found = await self._fetch(
            "UPDATE maverick.fleet_runs SET worker = $2, token = $3, state = 'started', waits_for = '', updated_at = now() "  # noqa: S608 - our own names
            "WHERE run_id = $1 AND (state = 'started' OR (state <> 'ended' AND abort IS NOT NULL)) "
            f"RETURNING {_COLUMNS}, request",
            run_id,
            worker,
            token,
        )
        if not found:
            return None
        return _record(found[0]), RunRequest.decode(found[0]["request"], run_id)

    async def leave(
        self,
        run_id: str,
        token: bytes,
        state: FleetState = FleetState.STARTED,
        *,
        waits_for: str = "",
        error: str = "",
        queue: str | None = None,
        changes: str | None = None,
    ) -> list[FleetRecord]:
        """Note that an attempt, by Temporal's token, no longer drives a run, unless there is a newer one.

        It may wait for something, could not be run (``error``, with what has changed of its agent), or is driven by
        workers of another ``queue`` from now on. Returns the runs of its user that are in progress in its place, as
        :meth:`admit`.
        """
        return await self._records(
            "WITH freed AS (UPDATE maverick.fleet_runs SET worker = NULL, token = NULL, state = $3, waits_for = $4, "  # noqa: S608 - our own names
            "error = $5, queue = coalesce($7, queue), changes = coalesce($8, changes), updated_at = now() "
            "WHERE run_id = $1 AND token = $2 RETURNING user_id AS whose) "
            f"SELECT {_COLUMNS} FROM freed, maverick.fleet_admit(whose, $6)",
            run_id,
            token,
            state,
            waits_for,
            error,
            self.max_runs_per_user,
            queue,
            changes,
        )

    async def remove(self, run_id: str) -> FleetRecord | None:
        """Remove a run that is moved elsewhere; returns what it was, if the fleet had it."""
        return await self._first(
            f"DELETE FROM maverick.fleet_runs WHERE run_id = $1 RETURNING {_COLUMNS}",  # noqa: S608 - our own names
            run_id,
        )

    async def reopen(self, run_id: str, queue: str, *, accept_changes: bool) -> FleetRecord | None:
        """Queue a run again, even one that has ended; ``None`` if a worker drives it."""
        return await self._first(
            "UPDATE maverick.fleet_runs SET state = CASE WHEN user_id IS NULL THEN 'started' ELSE 'queued' END, "  # noqa: S608 - our own names
            "queue = $2, abort = NULL, waits_for = '', changes = '', error = '', accept_changes = accept_changes OR $3, "
            f"updated_at = now() WHERE run_id = $1 AND worker IS NULL RETURNING {_COLUMNS}",
            run_id,
            queue,
            accept_changes,
        )

    async def request_abort(self, run_id: str, reason: str) -> FleetRecord | None:
        """Ask whoever drives a run, now or later, to stop it; returns it as it is now, or ``None`` if it is not in progress.

        One that never began, and one that no worker can drive, ends at once.
        """
        record = await self._first(
            "UPDATE maverick.fleet_runs SET abort = $2, updated_at = now(), "  # noqa: S608 - our own names
            f"state = CASE WHEN {_UNREACHABLE} THEN 'ended' ELSE state END, "
            f"error = CASE WHEN {_UNREACHABLE} THEN $3 ELSE error END "
            "WHERE run_id = $1 AND state <> 'ended' RETURNING "
            f"{_COLUMNS}",
            run_id,
            reason,
            f"The run was aborted before a worker could drive it{f': {reason}' if reason else '.'}",
        )
        if record is not None:
            await self.notify({"abort": run_id})
        return record

    async def aborts(self, worker: str) -> dict[str, str]:
        """The runs that a worker drives and that are to stop, and why."""
        found = await self._fetch(
            "SELECT run_id, abort FROM maverick.fleet_runs WHERE worker = $1 AND abort IS NOT NULL", worker
        )
        return {row["run_id"]: row["abort"] for row in found}

    async def open_requests(self, run_id: str) -> list[Approval]:
        """The approvals that a run or a subagent waits for, or that were decided since it parked."""
        found = await self._fetch(
            "SELECT approval_id, payload FROM maverick.approvals "
            "WHERE (run_id = $1 OR (run_id > $1 || '/' AND run_id < $1 || '0')) AND status <> 'used'",
            run_id,
        )
        return read_approvals((row["approval_id"], row["payload"]) for row in found)

    # Workers ----------------------------------------------------------------------------------------------------

    async def remove_worker(self, worker: str) -> None:
        """Remove a worker that leaves."""
        await self._fetch("DELETE FROM maverick.fleet_workers WHERE worker = $1", worker)

    async def orphans(self) -> list[tuple[str, bytes]]:
        """The runs whose worker is not there, and the tokens of its attempts."""
        found = await self._fetch(
            "SELECT run_id, token FROM maverick.fleet_runs WHERE worker IS NOT NULL AND state <> 'ended' "  # noqa: S608 - our own
            f"AND {_MINE} AND NOT EXISTS (SELECT FROM maverick.fleet_workers w WHERE w.worker = fleet_runs.worker)",
            self.queue,
        )
        return [(row["run_id"], row["token"]) for row in found]

    async def open_runs(
        self, *, settled_for: float, waiting: bool = True, limit: int | None = None
    ) -> list[FleetRecord]:
        """The runs that no worker drives and that have not changed for some seconds, those first that wait longest.

        Without ``waiting``, those are left out that a person has still to decide about.
        """
        which = "" if waiting else f"AND (state = 'started' OR abort IS NOT NULL OR {_DECIDED}) "
        return await self._records(
            f"SELECT {_COLUMNS} FROM maverick.fleet_runs WHERE state IN ('started', 'parked') AND worker IS NULL "  # noqa: S608 - our own names
            f"AND {_MINE} AND updated_at < now() - make_interval(secs => $2) {which}ORDER BY updated_at LIMIT $3",
            self.queue,
            settled_for,
            limit,
        )

    async def count_settled(self, *, settled_for: float) -> int:
        """How many runs have a workflow, and have not changed for some seconds."""
        found = await self._fetch(
            "SELECT count(*) AS runs FROM maverick.fleet_runs WHERE state IN ('started', 'parked') "  # noqa: S608 - our own
            f"AND {_MINE} AND updated_at < now() - make_interval(secs => $2)",
            self.queue,
            settled_for,
        )
        return int(found[0]["runs"])

    async def forget_ended(self, *, days: int) -> None:
        """Remove the runs that ended some days ago and are no longer in the journal."""
        await self._fetch(
            "DELETE FROM maverick.fleet_runs WHERE state = 'ended' AND updated_at < now() - make_interval(days => $1) "
            "AND NOT EXISTS (SELECT FROM maverick.runs WHERE runs.run_id = fleet_runs.run_id)",
            days,
        )

    async def notify(self, message: Mapping[str, Any]) -> None:
        """Tell all workers something."""
        await self._fetch("SELECT pg_notify($1, $2)", FLEET_CHANNEL, msgspec.json.encode(message).decode())

    async def _records(self, statement: str, *values: Any) -> list[FleetRecord]:
        return [_record(row) for row in await self._fetch(statement, *values)]

    async def _first(self, statement: str, *values: Any) -> FleetRecord | None:
        return next(iter(await self._records(statement, *values)), None)

    async def _fetch(self, statement: str, *values: Any) -> list[Row]:
        return await self.journal.database.fetch(statement, *values)


def _record(row: Row) -> FleetRecord:
    return msgspec.convert({name: row[name] for name in FleetRecord.__struct_fields__}, FleetRecord)
