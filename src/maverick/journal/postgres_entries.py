"""How runs and entries are written into the tables of a Postgres journal, in whatever transaction is open."""

from __future__ import annotations

import time
from collections.abc import Sequence

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

# The token is checked by the statement that writes: there is no moment between the two.
_INSERT_ENTRIES = """
    WITH leased AS (
        UPDATE maverick.runs
        SET status = $3, reason = $4, updated_at = $5, entries = entries + cardinality($6::bytea[])
        WHERE run_id = $1 AND token = $2
        RETURNING run_id, entries - cardinality($6::bytea[]) AS before
    ), written AS (
        INSERT INTO maverick.entries (run_id, seq, version, payload)
        SELECT run_id, before + place, $7, payload
        FROM leased, unnest($6::bytea[]) WITH ORDINALITY AS new (payload, place)
    )
    SELECT before FROM leased
"""


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


async def write_entries(
    connection: Connection,
    lease: Lease,
    payloads: Sequence[bytes],
    status: RunStatus = RunStatus.RUNNING,
    reason: str = "",
) -> None:
    """Add entries to a run whose lease is held.

    Raises:
        LeaseLostError: Somebody else has claimed the run.
    """
    before = await connection.fetchval(
        _INSERT_ENTRIES,
        lease.run_id,
        lease.token,
        status.value,
        reason,
        time.time(),
        list(payloads),
        VERSION,
    )
    if before is None:
        raise LeaseLostError(run_id=lease.run_id)
