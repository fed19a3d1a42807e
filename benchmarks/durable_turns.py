"""A turn that is written down: what it costs beside a turn in memory, and beside the commits alone."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from benchmarks.figure import Figure, Target
from benchmarks.prepared import PreparedClient, run_adder
from benchmarks.stopwatch import median_of
from maverick import AgentExecutor
from maverick.journal import Journal, MemoryJournal, SqliteJournal
from maverick.journal.records import Append

_TURNS = 100
_RUNS = 500
_TURNS_OF_MANY = 4
_PAYLOAD = b"x" * 200


_SLOWER_BY = 0.002
"""Seconds that a sync of a usual SSD or cloud volume takes longer than one of a disk that has the write in its cache."""


class _SlowDisk(sqlite3.Connection):
    """A connection to a disk on which a sync takes its time; like a real sync, it lets other threads run meanwhile."""

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        cursor = super().execute(statement, *values)
        if statement == "COMMIT":
            time.sleep(_SLOWER_BY)
        return cursor


def measure(rounds: int) -> Iterator[Figure]:
    yield from _against_commits(rounds, "this disk")
    with patch("sqlite3.connect", partial(sqlite3.connect, factory=_SlowDisk)):
        yield from _against_commits(rounds, f"a disk {_SLOWER_BY * 1000:g} ms slower")
    grown = median_of(1, partial(_bytes_a_turn, 200)) / median_of(1, partial(_bytes_a_turn, 50))
    yield Figure("bytes written a turn, 200 turns against 50", grown, "×", Target(1.1))


def _against_commits(rounds: int, disk: str) -> Iterator[Figure]:
    # A disk is faster at one moment than at another, so what is compared is measured in turns.
    commits, durable, bare, together, bare_together = zip(*(_round() for _ in range(rounds)), strict=True)
    yield Figure(f"a bare SQLite commit, synced to {disk}", median(commits) * 1e6, "µs")
    yield Figure("a durable turn with one tool call", median(durable) * 1e6, "µs")
    against = [turn / least for turn, least in zip(durable, bare, strict=True)]
    yield Figure("the same against a journal of bare commits in a thread", median(against), "×", Target(1.5))
    yield Figure(f"{_RUNS} durable runs at once", median(together), "turns/s")
    share = [turns / most for turns, most in zip(together, bare_together, strict=True)]
    yield Figure("the same against that journal", median(share), "×", Target(0.6, at_least=True))


def _round() -> tuple[float, float, float, float, float]:
    """The seconds of a commit, of a turn on both journals, and the turns a second of many runs on both."""
    before = _commit()
    durable, bare = _turn(SqliteJournal), _turn(_BareCommits)
    together, bare_together = _turns_together(SqliteJournal), _turns_together(_BareCommits)
    return (before + _commit()) / 2, durable, bare, together, bare_together


def _commit() -> float:
    """The seconds of a commit of one small row, as any program would make it."""
    with tempfile.TemporaryDirectory() as folder:
        database = _bare_database(Path(folder) / "raw.db")
        began = time.perf_counter()
        for _ in range(2 * _TURNS):
            _commit_a_row(database)
        took = time.perf_counter() - began
        database.close()
    return took / (2 * _TURNS)


def _bare_database(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE entries (seq INTEGER PRIMARY KEY, payload BLOB)")
    return database


def _commit_a_row(database: sqlite3.Connection) -> None:
    database.execute("BEGIN IMMEDIATE")
    database.execute("INSERT INTO entries (payload) VALUES (?)", (_PAYLOAD,))
    database.execute("COMMIT")


class _BareCommits(MemoryJournal):
    """For each write, a thread commits one small row, and nothing else."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._database = _bare_database(path)
        self._waiting: queue.SimpleQueue[asyncio.Future[None] | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    async def _append(self, append: Append) -> None:  # noqa: ARG002 - it keeps nothing
        written = self._loop.create_future()
        self._waiting.put(written)
        await written

    async def aclose(self) -> None:
        self._waiting.put(None)
        await asyncio.to_thread(self._thread.join)
        self._database.close()

    def _write(self) -> None:
        while (written := self._waiting.get()) is not None:
            _commit_a_row(self._database)
            self._loop.call_soon_threadsafe(written.set_result, None)


def _turn(open_journal: Callable[[Path], Journal]) -> float:
    """The seconds of a turn of one run."""

    async def scenario(path: Path) -> float:
        async with open_journal(path) as journal:
            executor = AgentExecutor(PreparedClient(_TURNS), journal=journal)
            began = time.perf_counter()
            await run_adder(executor, _TURNS)
            return (time.perf_counter() - began) / _TURNS

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(scenario(Path(folder) / "runs.db"))


def _turns_together(open_journal: Callable[[Path], Journal]) -> float:
    """How many turns a second many runs make together that share a journal."""

    async def scenario(path: Path) -> float:
        async with open_journal(path) as journal:
            executor = AgentExecutor(PreparedClient(_TURNS_OF_MANY), journal=journal)
            began = time.perf_counter()
            await asyncio.gather(*(run_adder(executor, _TURNS_OF_MANY) for _ in range(_RUNS)))
            return _RUNS * _TURNS_OF_MANY / (time.perf_counter() - began)

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(scenario(Path(folder) / "runs.db"))


def _bytes_a_turn(turns: int) -> float:
    """How many bytes of entries a turn adds."""

    async def scenario(path: Path) -> float:
        async with SqliteJournal(path) as journal:
            await run_adder(AgentExecutor(PreparedClient(turns), journal=journal), turns)
            [record] = await journal.list_runs()
            pages = await journal.read_page(record.run_id, 0, record.entries)
            return sum(len(payload) for _, _, payload in pages) / turns

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(scenario(Path(folder) / "runs.db"))
