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

_CLAIM_SUBAGENTS = """
    UPDATE maverick.runs SET token = token + 1
    WHERE run_id IN (SELECT run_id FROM maverick.runs WHERE parent = ANY($1) ORDER BY run_id FOR UPDATE)
    RETURNING run_id
"""

# Locked until the commit, so that nobody can claim the run in between.
_CHECK_HELD = "SELECT 1 FROM maverick.runs WHERE run_id = $1 AND token = $2 FOR SHARE"

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


async def create_run(
    connection: Connection, record: RunRecord, payloads: Sequence[bytes], caller: Lease | None
) -> Lease:
    """Add a run with its first entries.

    Raises:
        LeaseLostError: Somebody else has claimed the caller's run.
        RunExistsError: The id is taken.
    """
    await check_held(connection, caller)
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


async def claim_run(connection: Connection, run_id: str, caller: Lease | None) -> Lease:
    """Take the lease on a run, and void those on its subagents' runs.

    Raises:
        LeaseLostError: Somebody else has claimed the caller's run.
        RunNotFoundError: There is no such run.
    """
    await check_held(connection, caller)
    token = await connection.fetchval(_CLAIM_RUN, run_id)
    if token is None:
        raise RunNotFoundError(run_id=run_id)
    # One level after the other: a statement sees only the runs that were there when it began, and while their callers
    # are locked nobody adds to them.
    callers = [run_id]
    while callers:
        callers = [row["run_id"] for row in await connection.fetch(_CLAIM_SUBAGENTS, callers)]
    return Lease(run_id, token)


async def check_held(connection: Connection, lease: Lease | None) -> None:
    """Make sure until the end of the transaction that nobody else has claimed a run, if a lease on it is given.

    Raises:
        LeaseLostError: Somebody else has.
    """
    if lease is not None and await connection.fetchval(_CHECK_HELD, lease.run_id, lease.token) is None:
        raise LeaseLostError(run_id=lease.run_id)


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
