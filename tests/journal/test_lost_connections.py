"""A journal whose server fails or falls silent says so, nothing is done after it, and the run recovers (Postgres)."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from conformance.journals.shelf import PostgresShelf, notes, record, texts_of
from journal.cutting_proxy import cutting_proxy
from journal.errands import Errands, Fault, fail_and_recover
from maverick.exceptions import JournalError, LeaseLostError
from maverick.journal import PostgresJournal
from postgres import run_script, run_statement

_DELIVERED = pytest.mark.parametrize(
    "deliver", [True, False], ids=["the answer is lost", "the commit is lost"]
)


_END_CONNECTIONS = """
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'maverick'
"""


def never() -> bool:
    return False


class Cut:
    """Cuts at the next commit once it is armed."""

    def __init__(self) -> None:
        self.cuts: Callable[[], bool] = never

    def arm(self) -> None:
        self.cuts = Fault(1).strikes

    def __call__(self) -> bool:
        return self.cuts()


@pytest.mark.requirement("P1", "P2", "003-NFR2-INTENT")
@_DELIVERED
async def test_a_connection_lost_at_any_commit_stops_the_run_and_the_run_recovers(
    postgres_url: str, deliver: bool
) -> None:
    shelf, cut = PostgresShelf(postgres_url), Cut()
    async with shelf.open() as journal:
        await Errands(shelf).prepare(journal, "table")
    async with (
        cutting_proxy(postgres_url, cut, deliver=deliver) as address,
        PostgresJournal(address) as journal,
    ):
        for nth in itertools.count(1):
            fault = Fault(nth)
            cut.cuts = fault.strikes
            if not await fail_and_recover(Errands(shelf), journal, f"run {nth}", fault):
                break

    assert nth > 10


@_DELIVERED
async def test_whoever_waits_for_a_commit_without_answer_is_told_that_nobody_knows(
    postgres_url: str, deliver: bool
) -> None:
    cut = Cut()
    async with (
        cutting_proxy(postgres_url, cut, deliver=deliver) as address,
        PostgresJournal(address) as journal,
    ):
        leases = [await journal.create(record(f"r{number}"), []) for number in range(10)]
        cut.arm()

        results = await asyncio.gather(
            *(journal.append(lease, notes("one", "two")) for lease in leases), return_exceptions=True
        )

        for number, (lease, result) in enumerate(zip(leases, results, strict=True)):
            assert type(result) is JournalError
            assert "it is unknown whether it was made" in str(result)
            assert "resume the run" in str(result)
            assert lease.ended
            assert await texts_of(journal, f"r{number}") == (["one", "two"] if deliver else [])


@pytest.mark.requirement("P1")
@_DELIVERED
async def test_a_write_nobody_knows_of_can_not_be_made_twice(postgres_url: str, deliver: bool) -> None:
    cut = Cut()
    async with (
        cutting_proxy(postgres_url, cut, deliver=deliver) as address,
        PostgresJournal(address) as journal,
    ):
        lease = await journal.create(record(), [])
        cut.arm()
        with pytest.raises(JournalError):
            await journal.append(lease, notes("one"))

        with pytest.raises(LeaseLostError, match="Resume the run"):
            await journal.append(lease, notes("one"))

        await journal.append(await journal.claim("r"), notes("two"))
        assert await texts_of(journal) == (["one", "two"] if deliver else ["two"])


@pytest.mark.requirement("P2")
@_DELIVERED
async def test_a_tool_whose_commit_is_not_answered_may_not_go_on(postgres_url: str, deliver: bool) -> None:
    await run_statement(postgres_url, "CREATE TABLE effects (x INTEGER)")
    cut = Cut()
    async with (
        cutting_proxy(postgres_url, cut, deliver=deliver) as address,
        PostgresJournal(address) as journal,
    ):
        lease = await journal.create(record(), [])
        async with journal.transaction(lease) as transaction:
            await transaction.execute("INSERT INTO effects VALUES ($1)", 1)
            cut.arm()
            with pytest.raises(LeaseLostError, match="it is unknown whether it was made"):
                await transaction.commit(notes("done"))
        with pytest.raises(LeaseLostError):
            await journal.append(lease, notes("failed"))

        effects = await run_statement(postgres_url, "SELECT x FROM effects")
        assert len(effects) == len(await texts_of(journal)) == (1 if deliver else 0)


# The server fails -----------------------------------------------------------------------------------------------

_FULL_DISK = """
CREATE TABLE fault (nth BIGINT, for_good BOOLEAN);
INSERT INTO fault VALUES (0, false);
CREATE SEQUENCE writes;
CREATE FUNCTION fill_disk() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    write BIGINT := nextval('writes');
BEGIN
    IF EXISTS (SELECT FROM fault WHERE write = nth OR (for_good AND write > nth)) THEN
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER fill_disk BEFORE INSERT OR UPDATE ON maverick.runs FOR EACH ROW EXECUTE FUNCTION fill_disk();
"""


class FullDisk(Fault):
    """A fault the server makes itself, at the nth write of a run."""

    def __init__(self, url: str, nth: int, *, for_good: bool) -> None:
        super().__init__(nth, for_good=for_good)
        self._url = url
        self._settings = f"nth = {nth}, for_good = {for_good}"

    async def fill(self) -> None:
        """Let the nth write from now on fail."""
        await run_script(self._url, f"ALTER SEQUENCE writes RESTART; UPDATE fault SET {self._settings}")  # noqa: S608 - our own

    async def lift(self) -> None:
        await run_script(self._url, "UPDATE fault SET nth = 0, for_good = false")


@pytest.mark.requirement("P1", "P2", "003-NFR2-INTENT")
@pytest.mark.parametrize("for_good", [False, True], ids=["once", "for good"])
async def test_a_full_disk_at_any_write_stops_the_run_and_the_run_recovers(
    postgres_url: str, for_good: bool
) -> None:
    shelf = PostgresShelf(postgres_url)
    async with shelf.open() as journal:
        await Errands(shelf).prepare(journal, "table")
        await run_script(postgres_url, _FULL_DISK)
        for nth in itertools.count(1):
            fault = FullDisk(postgres_url, nth, for_good=for_good)
            await fault.fill()
            if not await fail_and_recover(Errands(shelf), journal, f"run {nth}", fault):
                break

    assert nth > 10


async def test_a_full_disk_is_told_as_such(postgres_url: str) -> None:
    async with PostgresJournal(postgres_url) as journal:
        await journal.create(record("first"), [])
        await run_script(postgres_url, _FULL_DISK)
        await FullDisk(postgres_url, 1, for_good=True).fill()

        with pytest.raises(JournalError, match="Make room on the server's disk") as told:
            await journal.create(record(), [])

        assert not told.value.retryable
        assert [run.run_id for run in await journal.list_runs()] == ["first"]


class Disconnection(Fault):
    """The server ends all connections just before the nth write."""

    def __init__(self, url: str, nth: int) -> None:
        super().__init__(nth)
        self._url = url

    def __call__(self, _: str, before: bool) -> None:
        if before and self.strikes():
            with ThreadPoolExecutor(
                1
            ) as elsewhere:  # so that the journal's event loop does not hear of it yet
                elsewhere.submit(asyncio.run, run_statement(self._url, _END_CONNECTIONS)).result()


@pytest.mark.requirement("P1", "P2", "003-NFR2-INTENT")
async def test_a_connection_that_breaks_before_any_write_stops_the_run_and_the_run_recovers(
    postgres_url: str,
) -> None:
    shelf = PostgresShelf(postgres_url)
    async with shelf.open() as journal:
        await Errands(shelf).prepare(journal, "table")
        for nth in itertools.count(1):
            fault = journal.on_write = Disconnection(postgres_url, nth)
            if not await fail_and_recover(Errands(shelf), journal, f"run {nth}", fault):
                break

    assert nth > 10
