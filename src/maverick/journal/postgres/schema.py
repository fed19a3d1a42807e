"""The tables of a Postgres journal, as numbered steps from an empty database to the newest form.

They have a schema of their own, apart from other tables: transactional tools keep theirs in the same
database.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from maverick.exceptions import JournalError
from maverick.journal.sql import SqlConnection


class Connection(SqlConnection, Protocol):
    """A connection to the server: what we use of asyncpg's, which has no types."""

    async def execute(self, statement: str, *values: Any) -> str:
        """Run a statement, or several without values; returns what the server said of the last."""
        ...

    async def prepare(self, statement: str) -> Any:  # noqa: ANN401 - asyncpg has no types
        """Have a statement parsed."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[None]:
        """A transaction, or a savepoint within one."""
        ...

    def is_in_transaction(self) -> bool:
        """Whether the server says that a transaction is open."""
        ...

    def is_closed(self) -> bool:
        """Whether the connection is gone."""
        ...

    async def reset(self, *, timeout: float | None = None) -> None:  # noqa: ASYNC109 - asyncpg's own
        """Make the session what it was at its beginning."""
        ...

    async def close(self) -> None:
        """Say goodbye to the server."""
        ...

    def terminate(self) -> None:
        """Hang up."""
        ...


COMMIT_GUARD = "maverick_commit_guard"
"""The constraint that keeps a tool from committing its transaction by itself."""

FLEET_CHANNEL = "maverick_fleet"
"""Where the workers of a fleet are told what concerns the runs they drive."""

MIGRATIONS = (
    """
    CREATE SCHEMA IF NOT EXISTS maverick;
    CREATE TABLE maverick.form (number INTEGER NOT NULL);
    INSERT INTO maverick.form VALUES (0);
    CREATE TABLE maverick.runs (
        run_id TEXT COLLATE "C" PRIMARY KEY,
        agent TEXT NOT NULL,
        status TEXT NOT NULL,
        reason TEXT NOT NULL,
        parent TEXT COLLATE "C",
        user_id TEXT,
        forked_from TEXT,
        created_at DOUBLE PRECISION NOT NULL,
        updated_at DOUBLE PRECISION NOT NULL,
        entries BIGINT NOT NULL,
        token BIGINT NOT NULL
    );
    CREATE INDEX runs_by_time ON maverick.runs (parent, created_at);
    CREATE TABLE maverick.entries (
        run_id TEXT COLLATE "C" NOT NULL,
        seq BIGINT NOT NULL,
        version INTEGER NOT NULL,
        payload BYTEA NOT NULL,
        PRIMARY KEY (run_id, seq)
    );
    CREATE TABLE maverick.approvals (
        approval_id TEXT COLLATE "C" PRIMARY KEY,
        run_id TEXT COLLATE "C" NOT NULL,
        status TEXT NOT NULL,
        requested_at DOUBLE PRECISION NOT NULL,
        payload BYTEA NOT NULL
    );
    CREATE INDEX approvals_by_run ON maverick.approvals (run_id);
    """,
    # While a tool's transaction has a row here that refers to none, the server refuses to commit it. The row is taken
    # away with the commit that has the tool's entry.
    f"""
    CREATE TABLE maverick.commit_guards (
        id BIGINT PRIMARY KEY,
        opened_by BIGINT NOT NULL CONSTRAINT {COMMIT_GUARD} REFERENCES maverick.commit_guards
            DEFERRABLE INITIALLY DEFERRED
    );
    """,
    # Images and documents, once each, and which runs name them. They do not get smaller by compressing them again.
    """
    CREATE TABLE maverick.blobs (
        sha256 TEXT COLLATE "C" PRIMARY KEY,
        data BYTEA NOT NULL
    );
    ALTER TABLE maverick.blobs ALTER COLUMN data SET STORAGE EXTERNAL;
    CREATE TABLE maverick.run_blobs (
        run_id TEXT COLLATE "C" NOT NULL,
        sha256 TEXT COLLATE "C" NOT NULL,
        PRIMARY KEY (run_id, sha256)
    );
    CREATE INDEX run_blobs_by_hash ON maverick.run_blobs (sha256);
    """,
    # What is said to a run until it takes it in, and how many of that wait.
    """
    ALTER TABLE maverick.runs ADD COLUMN words INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE maverick.words (
        number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        run_id TEXT COLLATE "C" NOT NULL,
        payload BYTEA NOT NULL
    );
    CREATE INDEX words_by_run ON maverick.words (run_id);
    """,
    # What a fleet adds: the runs it has taken on, and its workers.
    """
    CREATE TABLE maverick.fleet_runs (
        run_id TEXT COLLATE "C" PRIMARY KEY,
        agent TEXT NOT NULL,
        user_id TEXT,
        priority SMALLINT NOT NULL DEFAULT 3,
        request BYTEA NOT NULL,
        state TEXT NOT NULL DEFAULT 'queued',
        queue TEXT NOT NULL,
        worker TEXT,
        token BYTEA,
        abort TEXT,
        accept_changes BOOLEAN NOT NULL DEFAULT FALSE,
        waits_for TEXT NOT NULL DEFAULT '',
        changes TEXT NOT NULL DEFAULT '',
        error TEXT NOT NULL DEFAULT '',
        created_at DOUBLE PRECISION NOT NULL DEFAULT extract(epoch FROM now()),
        updated_at TIMESTAMPTZ NOT NULL DEFAULT now()
    );
    CREATE INDEX fleet_runs_open ON maverick.fleet_runs (user_id, created_at) WHERE state <> 'ended';
    CREATE INDEX fleet_runs_by_worker ON maverick.fleet_runs (worker) WHERE worker IS NOT NULL;
    CREATE INDEX approvals_decided ON maverick.approvals (run_id) WHERE status IN ('approved', 'denied');
    CREATE TABLE maverick.fleet_workers (
        worker TEXT PRIMARY KEY,
        host TEXT NOT NULL,
        version TEXT NOT NULL,
        queues TEXT[] NOT NULL,
        capacity INTEGER NOT NULL,
        began_at TIMESTAMPTZ NOT NULL DEFAULT now(),
        seen_at TIMESTAMPTZ NOT NULL DEFAULT now()
    );
    """,
    # Starts what waits for a place of its user, as far as there is room. A function, because the count has to be made
    # after the lock is held: each statement of a function sees what was committed before it began. Run by run, because the
    # planner sorts all that waits when it does not know how many are wanted.
    """
    CREATE INDEX fleet_runs_started ON maverick.fleet_runs (user_id) WHERE state = 'started';
    CREATE INDEX fleet_runs_queued ON maverick.fleet_runs (user_id, priority, created_at, run_id)
        WHERE state = 'queued';
    CREATE FUNCTION maverick.fleet_admit(whose TEXT, most INTEGER) RETURNS SETOF maverick.fleet_runs
    LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_advisory_xact_lock(hashtextextended(whose, 7));
        most := most - (SELECT count(*) FROM maverick.fleet_runs WHERE user_id = whose AND state = 'started');
        WHILE most > 0 LOOP
            RETURN QUERY UPDATE maverick.fleet_runs SET state = 'started', waits_for = '', updated_at = now()
            WHERE run_id = (
                SELECT run_id FROM maverick.fleet_runs WHERE user_id = whose AND state = 'queued'
                ORDER BY priority, created_at, run_id LIMIT 1 FOR UPDATE
            ) RETURNING *;
            EXIT WHEN NOT FOUND;
            most := most - 1;
        END LOOP;
    END $$;
    """,
    # What all workers have used of a provider's rate limit, by the second, and what was taken last.
    """
    CREATE TABLE maverick.fleet_rates (
        name TEXT PRIMARY KEY,
        used JSONB NOT NULL DEFAULT '{}',
        second BIGINT NOT NULL DEFAULT 0,
        requests BIGINT NOT NULL DEFAULT 0,
        tokens BIGINT NOT NULL DEFAULT 0,
        first TEXT,
        first_until BIGINT NOT NULL DEFAULT 0
    );
    """,
    # What a fleet starts at certain times. Temporal has the times too, and may lose them.
    """
    CREATE TABLE maverick.fleet_schedules (
        queue TEXT COLLATE "C" NOT NULL,
        name TEXT COLLATE "C" NOT NULL,
        cron TEXT NOT NULL,
        time_zone TEXT,
        agent TEXT NOT NULL,
        inputs BYTEA NOT NULL,
        user_id TEXT,
        priority SMALLINT NOT NULL,
        created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
        PRIMARY KEY (queue, name)
    );
    """,
)

_LOCK = 0x6D6176657269636B
"""What processes that open the journal at the same time agree to lock: "maverick" in ASCII."""


async def migrate(connection: Connection, name: str) -> None:
    """Bring the tables to the newest form; one process does it, the others wait for it.

    ``name`` is what the journal is called in error messages. Raises JournalError if a newer Maverick has made them.
    """
    if await _form(connection) == len(MIGRATIONS):
        return
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        form = await _form(connection)  # another process may have been faster
        if form > len(MIGRATIONS):
            raise JournalError(
                f"The journal {name!r} has form {form}, and this Maverick knows {len(MIGRATIONS)}. Update Maverick."
            )
        for statements in MIGRATIONS[form:]:
            await connection.execute(statements)
        await connection.execute("UPDATE maverick.form SET number = $1", len(MIGRATIONS))


async def _form(connection: Connection) -> int:
    # Asked of the catalogue itself: to_regclass() may not notice what was made while this process waited for the lock.
    if not await connection.fetch(
        "SELECT FROM pg_tables WHERE schemaname = 'maverick' AND tablename = 'form'"
    ):
        return 0
    return int((await connection.fetch("SELECT number FROM maverick.form"))[0]["number"])
