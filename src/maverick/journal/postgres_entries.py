"""How runs and entries are written into the tables of a Postgres journal, in whatever transaction is open."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec import Struct

from maverick.exceptions import LeaseLostError, RunExistsError, RunNotFoundError
from maverick.journal.codec import VERSION
from maverick.journal.postgres_driver import Connection
from maverick.journal.records import Lease, RunRecord, RunStatus

RUN_COLUMNS = "run_id, agent, status, reason, parent, user_id, forked_from, created_at, updated_at, entries"

_INSERT_RUN = f"""
    WITH made AS (
        INSERT INTO maverick.runs ({RUN_COLUMNS}, token)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, cardinality($10::bytea[]), 1)
        ON CONFLICT DO NOTHING
        RETURNING run_id, token
    ), written AS (
        INSERT INTO maverick.entries (run_id, seq, version, payload)
        SELECT run_id, place, $11, payload FROM made, unnest($10::bytea[]) WITH ORDINALITY AS new (payload, place)
    )
    SELECT token FROM made
"""  # noqa: S608 - our own names

_CLAIM_RUN = "UPDATE maverick.runs SET token = token + 1 WHERE run_id = $1 RETURNING token"

# The token is checked by the statement that writes: there is no moment between the two. Runs are locked in the order of
# their ids, so that two processes that write to the same runs do not wait for each other.
_INSERT_ENTRIES = """
    WITH asked AS (
        SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[])
            AS asked (run_id, token, status, reason, count)
    ), leased AS (
        SELECT run_id FROM maverick.runs JOIN asked USING (run_id, token) ORDER BY run_id FOR UPDATE OF runs
    ), changed AS (
        UPDATE maverick.runs
        SET status = asked.status, reason = asked.reason, updated_at = $6, entries = entries + count
        FROM asked JOIN leased USING (run_id)
        WHERE runs.run_id = asked.run_id
        RETURNING runs.run_id, entries - count AS before
    ), written AS (
        INSERT INTO maverick.entries (run_id, seq, version, payload)
        SELECT run_id, before + place, $7, payload
        FROM changed JOIN unnest($8::text[], $9::bigint[], $10::bytea[]) AS new (run_id, place, payload) USING (run_id)
    )
    SELECT run_id FROM changed
"""


class Append(Struct, frozen=True):
    """Entries to add to a run whose lease is held."""

    lease: Lease
    payloads: Sequence[bytes]
    status: RunStatus = RunStatus.RUNNING
    reason: str = ""


async def create_run(connection: Connection, record: RunRecord, payloads: Sequence[bytes]) -> Lease:
    """Add a run with its first entries.

    Raises:
        RunExistsError: The id is taken.
    """
    token = await connection.fetchval(
        _INSERT_RUN,
        record.run_id,
        record.agent,
        record.status.value,
        record.reason,
        record.parent,
        record.user_id,
        record.forked_from,
        record.created_at,
        record.updated_at,
        list(payloads),
        VERSION,
    )
    if token is None:
        raise RunExistsError(run_id=record.run_id)
    return Lease(record.run_id, token)


async def claim_run(connection: Connection, run_id: str) -> Lease:
    """Take the lease on a run.

    Raises:
        RunNotFoundError: There is no such run.
    """
    token = await connection.fetchval(_CLAIM_RUN, run_id)
    if token is None:
        raise RunNotFoundError(run_id=run_id)
    return Lease(run_id, token)


async def write_entries(connection: Connection, append: Append) -> None:
    """Add entries to one run.

    Raises:
        LeaseLostError: Somebody else has claimed the run.
    """
    if not await write_all(connection, [append]):
        raise LeaseLostError(run_id=append.lease.run_id)


async def write_all(connection: Connection, appends: Sequence[Append]) -> set[str]:
    """Add entries to several runs in one statement, no run twice; returns the runs whose lease is still held."""
    places = [
        (append.lease.run_id, place, payload)
        for append in appends
        for place, payload in enumerate(append.payloads, start=1)
    ]
    changed = await connection.fetch(
        _INSERT_ENTRIES,
        [append.lease.run_id for append in appends],
        [append.lease.token for append in appends],
        [append.status.value for append in appends],
        [append.reason for append in appends],
        [len(append.payloads) for append in appends],
        time.time(),
        VERSION,
        [run_id for run_id, _, _ in places],
        [place for _, place, _ in places],
        [payload for _, _, payload in places],
    )
    return {row["run_id"] for row in changed}
