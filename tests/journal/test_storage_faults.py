"""A journal that can not write says so, nothing is done that it has not written, and the run recovers (SQLite)."""

from __future__ import annotations

import asyncio
import itertools
import resource
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from conformance.journals.shelf import SqliteShelf, notes, record, texts_of
from journal.errands import Errands, Fault, fail_and_recover
from maverick import AgentExecutor, tool
from maverick.exceptions import JournalError
from maverick.journal import Journal, RunStatus, SqliteJournal
from maverick.testing import ScriptedClient, call, reply
from scenario import agent


class FaultyConnection(sqlite3.Connection):
    """A connection whose commits may find the disk full."""

    fault = Fault(0)

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql == "COMMIT" and self.fault.strikes():
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        return super().execute(sql, *values)


@pytest.fixture
def shelf(tmp_path: Path) -> SqliteShelf:
    return SqliteShelf(str(tmp_path / "runs.db"))


@pytest.fixture
async def journal(shelf: SqliteShelf, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Journal]:
    """A journal whose commits may fail, with a table for bookings."""
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *args, **options: connect(*args, factory=FaultyConnection, **options)
    )
    monkeypatch.setattr(FaultyConnection, "fault", Fault(0))
    async with shelf.open() as journal:
        await Errands(shelf).prepare(journal, "table")
        yield journal


@pytest.mark.requirement("P1", "P2", "003-NFR2-INTENT")
@pytest.mark.parametrize("for_good", [False, True], ids=["once", "for good"])
async def test_a_full_disk_at_any_commit_stops_the_run_and_the_run_recovers(
    shelf: SqliteShelf, journal: Journal, for_good: bool
) -> None:
    for nth in itertools.count(1):
        FaultyConnection.fault = Fault(nth, for_good=for_good)
        if not await fail_and_recover(Errands(shelf), journal, f"run {nth}", FaultyConnection.fault):
            break

    assert nth > 10


@pytest.mark.requirement("003-NFR2-INTENT")
async def test_every_run_that_shares_the_commit_is_told(journal: Journal) -> None:
    definition = agent()
    executor = AgentExecutor(ScriptedClient(lambda _: reply("Hello.")), journal=journal)
    FaultyConnection.fault = Fault(1, for_good=True)

    results = await asyncio.gather(
        *(executor.execute(definition, run_id=f"r{number}") for number in range(50)), return_exceptions=True
    )

    assert {type(result) for result in results} == {JournalError}
    assert "Make room on the disk" in str(results[0])
    assert executor.metrics.invocations == 0
    await FaultyConnection.fault.lift()
    assert (await executor.execute(definition, run_id="r0")).success


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size, as a quota would."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.requirement("P1", "003-NFR2-INTENT")
async def test_a_file_that_may_not_grow_stops_the_run_and_the_run_recovers(tmp_path: Path) -> None:
    dispatched: list[str] = []

    @tool(effect="pure", max_output=1_000_000)
    async def read_book() -> str:
        """Read a long book."""
        dispatched.append("read")
        return "Once upon a time " * 25_000

    @tool
    async def review() -> str:
        """Review it, for good."""
        dispatched.append("review")
        return "Reviewed."

    critic = agent(read_book, review)
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        client = ScriptedClient([call("read_book"), call("review"), reply("A fine book.")])
        executor = AgentExecutor(client, journal=journal)

        with file_size_limit(200_000), pytest.raises(JournalError):
            await executor.execute(critic, run_id="r")

        assert dispatched == ["read"]
        assert len(client.requests) == 1
        assert (await journal.get("r")).status is RunStatus.RUNNING
        result = await executor.resume("r", critic)

    assert result.output == "A fine book."
    assert dispatched == ["read", "read", "review"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a quarter of a megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(  # noqa: S603 - our own
        ["/bin/mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"mounting is not allowed here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["/bin/umount", "--lazy", str(disk)], check=True)  # noqa: S603 - our own


def fill_up(path: Path) -> None:
    """Write until there is no room left."""
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(b"x" * 1024):
            pass


@pytest.mark.requirement("P1")
async def test_a_disk_that_is_full_can_be_read_and_once_there_is_room_written(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    async with SqliteJournal(small_disk / "runs.db") as journal:
        lease = await journal.create(record(), notes("one"))
        fill_up(ballast)

        with pytest.raises(JournalError):
            await journal.append(lease, notes("x" * 50_000))

        assert await texts_of(journal) == ["one"]
        ballast.unlink()
        await journal.append(await journal.claim("r"), notes("two"))
        assert await texts_of(journal) == ["one", "two"]


_HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for line in sys.stdin:
    connection.execute(line)
    print("done", flush=True)
"""


class Holder:
    """Another process that locks the file, and lets it go."""

    def __init__(self, path: Path) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own
            [sys.executable, "-c", _HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def say(self, statement: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{statement}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n"

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.mark.requirement("P1", "P2", "003-NFR2-INTENT")
async def test_a_file_another_process_keeps_locked_stops_the_run_and_the_run_recovers(tmp_path: Path) -> None:
    dispatched: list[str] = []
    path = tmp_path / "runs.db"
    with closing(Holder(path)) as holder:

        @tool
        async def send(to: str) -> str:
            """Send a letter; meanwhile somebody locks the file."""
            dispatched.append(to)
            holder.say("BEGIN IMMEDIATE")
            return "Sent."

        clerk = agent(send)
        client = ScriptedClient([call("send", to="Ana"), reply("Done.")])
        async with SqliteJournal(path, busy_timeout=0.1) as journal:
            executor = AgentExecutor(client, journal=journal)

            with pytest.raises(JournalError, match="Another process holds it") as told:
                await executor.execute(clerk, run_id="r")

            assert told.value.retryable
            assert dispatched == ["Ana"]
            assert len(client.requests) == 1
            assert (await journal.get("r")).status is RunStatus.RUNNING
            with pytest.raises(JournalError, match="Another process holds it"):
                await executor.resume("r", clerk)
            holder.say("ROLLBACK")
            result = await executor.resume("r", clerk)

    assert dispatched == ["Ana"]
    assert [record.outcome for record in result.tool_calls] == ["unknown"]
    assert result.output == "Done."
