"""What is particular to Postgres: the schema, its forms, connections that break, and what errors say."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from canary import CANARY
from conformance.journals.shelf import notes, record, texts_of
from maverick.config.installation import install_command
from maverick.exceptions import InvalidInputError, JournalError, ToolError
from maverick.journal import PostgresJournal
from maverick.journal.postgres import schema
from maverick.journal.postgres.schema import MIGRATIONS
from postgres import run_script, run_statement

_BLOCKED = """
import sys
sys.modules["asyncpg"] = None
import maverick.journal
try:
    maverick.journal.PostgresJournal
except Exception as error:
    print(type(error).__name__, error)
"""


def run_python(source: str) -> str:
    command = [sys.executable, "-c", source]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 - our own


async def write_one_run(url: str) -> None:
    async with PostgresJournal(url) as journal:
        await journal.create(record(), notes("one", "two"))


async def form_of(url: str) -> int:
    return int((await run_statement(url, "SELECT number FROM maverick.form"))[0]["number"])


async def disconnect_everybody(url: str) -> int:
    """Have the server end all other connections to the database; returns how many."""
    ended = await run_statement(
        url,
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'maverick'",
    )
    return len(ended)


# The package ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("F-IMPORT")
def test_the_driver_is_loaded_with_the_journal_that_needs_it_and_not_before() -> None:
    source = (
        "import sys, maverick.journal; print('asyncpg' in sys.modules);"
        "maverick.journal.PostgresJournal; print('asyncpg' in sys.modules)"
    )

    assert run_python(source).split() == ["False", "True"]


def test_without_the_driver_the_error_says_how_to_install_it() -> None:
    told = run_python(_BLOCKED)

    assert told.startswith("AgentError")
    assert install_command("postgres") in told


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    import maverick.journal

    with pytest.raises(AttributeError, match="OracleJournal"):
        maverick.journal.OracleJournal  # type: ignore[attr-defined]  # noqa: B018 - looking is the test


# Forms ----------------------------------------------------------------------------------------------------------


async def test_an_empty_database_becomes_a_journal_and_other_tables_are_not_in_its_way(
    postgres_url: str,
) -> None:
    await run_statement(postgres_url, "CREATE TABLE runs (x INTEGER)")

    await write_one_run(postgres_url)

    assert await form_of(postgres_url) == len(MIGRATIONS)
    assert await run_statement(postgres_url, "SELECT * FROM runs") == []


@pytest.mark.requirement("P10")
async def test_a_journal_of_a_newer_form_is_refused_by_its_number_and_left_alone(postgres_url: str) -> None:
    await write_one_run(postgres_url)
    newer = len(MIGRATIONS) + 6
    await run_statement(postgres_url, "UPDATE maverick.form SET number = $1", newer)

    async with PostgresJournal(postgres_url) as journal:
        for asking in (journal.list_runs(), journal.create(record("new"), [])):
            with pytest.raises(
                JournalError, match=f"form {newer}, and this Maverick knows {len(MIGRATIONS)}"
            ):
                await asking

    assert await form_of(postgres_url) == newer
    assert [
        row["run_id"] for row in await run_statement(postgres_url, "SELECT run_id FROM maverick.runs")
    ] == ["r"]


async def test_an_older_form_is_brought_up_step_by_step_and_keeps_its_runs(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write_one_run(postgres_url)
    steps = (
        *MIGRATIONS,
        "CREATE TABLE maverick.added (x INTEGER)",
        "ALTER TABLE maverick.added ADD COLUMN y INTEGER; INSERT INTO maverick.added VALUES (1, 2)",
    )
    monkeypatch.setattr(schema, "MIGRATIONS", steps)

    async with PostgresJournal(postgres_url) as journal:
        assert await texts_of(journal) == ["one", "two"]

    assert await form_of(postgres_url) == len(steps)
    assert [dict(row) for row in await run_statement(postgres_url, "SELECT * FROM maverick.added")] == [
        {"x": 1, "y": 2}
    ]


async def test_a_step_that_fails_leaves_the_form_as_it_was(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write_one_run(postgres_url)
    broken = (
        *MIGRATIONS,
        "CREATE TABLE maverick.added (x INTEGER)",
        "INSERT INTO maverick.nowhere VALUES (1)",
    )

    with monkeypatch.context() as patched:
        patched.setattr(schema, "MIGRATIONS", broken)
        async with PostgresJournal(postgres_url) as journal:
            with pytest.raises(JournalError, match="nowhere"):
                await texts_of(journal)

    assert await form_of(postgres_url) == len(MIGRATIONS)
    assert await run_statement(postgres_url, "SELECT FROM pg_tables WHERE tablename = 'added'") == []
    async with PostgresJournal(postgres_url) as journal:
        assert await texts_of(journal) == ["one", "two"]


@pytest.mark.requirement("P10")
async def test_an_entry_of_a_newer_format_is_refused_by_its_number(postgres_url: str) -> None:
    await write_one_run(postgres_url)
    await run_statement(postgres_url, "UPDATE maverick.entries SET version = 7 WHERE seq = 2")

    async with PostgresJournal(postgres_url) as journal:
        with pytest.raises(JournalError, match="format 7"):
            await texts_of(journal)


# Commits --------------------------------------------------------------------------------------------------------

_WATCH = """
CREATE TABLE seen (transaction TEXT, synchronous TEXT);
CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO seen VALUES (pg_current_xact_id()::text, current_setting('synchronous_commit'));
    RETURN NEW;
END $$;
CREATE TRIGGER watch BEFORE INSERT ON maverick.entries FOR EACH ROW EXECUTE FUNCTION watch();
"""


async def test_writes_that_come_together_share_a_transaction(postgres_url: str) -> None:
    async with PostgresJournal(postgres_url) as journal:
        leases = [await journal.create(record(f"r{number}"), []) for number in range(200)]
        await run_script(postgres_url, _WATCH)

        await asyncio.gather(*(journal.append(lease, notes("hi")) for lease in leases))

    seen = await run_statement(postgres_url, "SELECT transaction FROM seen")
    assert len(seen) == 200
    assert len({row["transaction"] for row in seen}) <= 10


@pytest.mark.requirement("P1")
async def test_every_commit_is_synced_to_the_disk_even_if_the_server_would_rather_not(
    postgres_url: str,
) -> None:
    await write_one_run(postgres_url)
    await run_script(postgres_url, _WATCH)
    database = postgres_url.partition("?")[0].rpartition("/")[2]
    await run_statement(postgres_url, f'ALTER DATABASE "{database}" SET synchronous_commit = off')

    async with PostgresJournal(postgres_url) as journal:
        lease = await journal.claim("r")
        await journal.append(lease, notes("three"))
        async with journal.transaction(lease) as transaction:
            await transaction.commit(notes("four"))

    assert [
        row["synchronous"] for row in await run_statement(postgres_url, "SELECT synchronous FROM seen")
    ] == ["on", "on"]


# Connections ----------------------------------------------------------------------------------------------------

_LOCKS = """
SELECT 1 FROM pg_locks JOIN pg_database ON pg_locks.database = pg_database.oid
WHERE locktype = 'advisory' AND datname = current_database()
"""
"""The advisory locks of this database; the server has those of other tests, too."""


@pytest.mark.parametrize("commits", [True, False])
async def test_what_a_tool_sets_on_its_connection_reaches_nobody_else(
    postgres_url: str, commits: bool
) -> None:
    async with PostgresJournal(postgres_url, pool_size=2) as journal:
        lease = await journal.create(record(), notes("one"))
        async with journal.transaction(lease) as transaction:
            await transaction.execute("SET search_path TO nowhere")
            await transaction.execute("SELECT pg_advisory_lock(7)")
            if commits:
                await transaction.commit(notes("two"))

        shown = [await journal.database.fetch("SHOW search_path") for _ in range(4)]

        assert {row["search_path"] for (row,) in shown} == {'"$user", public'}
        assert await journal.database.fetch(_LOCKS) == []


async def test_a_connection_that_broke_while_nobody_used_it_is_replaced(postgres_url: str) -> None:
    async with PostgresJournal(postgres_url) as journal:
        lease = await journal.create(record(), notes("one"))
        assert await texts_of(journal) == ["one"]

        assert await disconnect_everybody(postgres_url) >= 2
        await asyncio.sleep(0.1)  # for the news to arrive

        await journal.append(lease, notes("two"))
        assert await texts_of(journal) == ["one", "two"]


@pytest.mark.requirement("P2")
async def test_a_connection_that_breaks_under_a_tool_undoes_its_effect(postgres_url: str) -> None:
    await run_statement(postgres_url, "CREATE TABLE effects (x INTEGER)")
    async with PostgresJournal(postgres_url) as journal:
        lease = await journal.create(record(), [])
        async with journal.transaction(lease) as transaction:
            await transaction.execute("INSERT INTO effects VALUES ($1)", 1)
            await disconnect_everybody(postgres_url)
            with pytest.raises(ToolError, match="refused"):
                await transaction.execute("INSERT INTO effects VALUES ($1)", 2)
            with pytest.raises(JournalError, match="nothing has happened") as told:
                await transaction.commit(notes("done"))

        assert told.value.retryable
        assert await run_statement(postgres_url, "SELECT * FROM effects") == []
        await journal.append(lease, notes("on"))
        assert await texts_of(journal) == ["on"]


async def test_tools_wait_for_a_free_connection(postgres_url: str) -> None:
    async with PostgresJournal(postgres_url, pool_size=1) as journal:
        lease = await journal.create(record(), [])

        async def act(number: int) -> None:
            async with journal.transaction(lease) as transaction:
                await transaction.fetch("SELECT 1")
                await transaction.commit(notes(str(number)))

        await asyncio.gather(*map(act, range(5)))

        assert sorted(await texts_of(journal)) == ["0", "1", "2", "3", "4"]


async def test_a_tool_that_gets_no_connection_in_time_is_a_typed_error(postgres_url: str) -> None:
    async with PostgresJournal(postgres_url, pool_size=1, timeout=2.0) as journal:
        lease = await journal.create(record(), [])
        async with journal.transaction(lease) as holder, journal.transaction(lease) as waiting:
            await holder.fetch("SELECT 1")

            with pytest.raises(ToolError, match="No database connection is free"):
                await waiting.fetch("SELECT 1")
            assert (await journal.get("r")).run_id == "r"


async def test_a_statement_that_takes_too_long_is_a_typed_error(postgres_url: str) -> None:
    async with PostgresJournal(postgres_url, timeout=2.0) as journal:
        lease = await journal.create(record(), [])
        async with journal.transaction(lease) as transaction:
            with pytest.raises(ToolError, match="refused"):
                await transaction.fetch("SELECT pg_sleep(30)")

        await journal.append(lease, notes("on"))


async def test_a_journal_closed_with_a_tool_at_work_lets_go_of_it(postgres_url: str) -> None:
    journal = PostgresJournal(postgres_url, timeout=2.0)
    lease = await journal.create(record(), [])
    async with journal.transaction(lease) as transaction:
        await transaction.fetch("SELECT 1")
        await journal.aclose()
        with pytest.raises(ToolError):
            await transaction.fetch("SELECT 1")

    open_connections = await run_statement(
        postgres_url,
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'maverick'",
    )
    assert open_connections == []


# What errors say ------------------------------------------------------------------------------------------------


@pytest.mark.requirement("P8", "P9")
async def test_a_server_that_can_not_be_reached_is_named_without_its_password() -> None:
    journal = PostgresJournal(
        f"postgresql://ana:{CANARY}@127.0.0.1:1/runs?application_name=x&passfile=secret"
    )

    for asking in (journal.list_runs(), journal.create(record(), [])):
        with pytest.raises(JournalError, match="can be reached") as told:
            await asking
        assert "postgresql://127.0.0.1:1/runs" in str(told.value)
        assert told.value.retryable
        assert isinstance(told.value.cause, OSError)
        for secret in (CANARY, "ana", "secret"):
            assert secret not in str(told.value)


async def test_a_database_that_is_not_there_is_named(postgres_url: str) -> None:
    missing = postgres_url.replace("/test_", "/missing_")

    with pytest.raises(JournalError, match="Create the database"):
        await PostgresJournal(missing).list_runs()


@pytest.mark.parametrize("address", ["", "runs.db", "mysql://host/db", "postgresql://[bad/db"])
def test_an_address_of_something_else_is_refused_at_once(address: str) -> None:
    with pytest.raises(InvalidInputError, match="postgresql://"):
        PostgresJournal(address)


async def test_an_address_the_driver_can_not_read_is_a_typed_error() -> None:
    with pytest.raises(JournalError):
        await PostgresJournal("postgresql://host:port/db").list_runs()


async def test_a_user_without_rights_is_told_so(postgres_url: str) -> None:
    role = f"guest_{postgres_url.partition('?')[0][-12:]}"
    await run_statement(postgres_url, f'CREATE ROLE "{role}" LOGIN')
    try:
        async with PostgresJournal(postgres_url.replace("://postgres:@", f"://{role}@")) as journal:
            with pytest.raises(JournalError, match="Give the user the right"):
                await journal.list_runs()
    finally:
        await run_statement(postgres_url, f'DROP ROLE "{role}"')


async def test_the_values_a_server_repeats_in_its_errors_are_not_passed_on(postgres_url: str) -> None:
    await run_statement(postgres_url, "CREATE TABLE people (name TEXT PRIMARY KEY)")
    async with PostgresJournal(postgres_url) as journal:
        lease = await journal.create(record(), [])
        async with journal.transaction(lease) as transaction:
            await transaction.execute("INSERT INTO people VALUES ($1)", "a secret name")
            with pytest.raises(ToolError) as told:
                await transaction.execute("INSERT INTO people VALUES ($1)", "a secret name")

    assert "a secret name" not in str(told.value)


async def test_what_a_journal_is_made_with_is_not_in_its_repr() -> None:
    journal: Any = PostgresJournal(f"postgresql://ana:{CANARY}@host/runs")

    assert CANARY not in f"{journal!r} {vars(journal)!r}"
