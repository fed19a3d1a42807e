"""A turn that is written down: what it costs beside a turn in memory, and beside the commits alone."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.figure import Figure, Target
from benchmarks.prepared import PreparedClient, run_adder
from benchmarks.stopwatch import median_of
from maverick import AgentExecutor
from maverick.journal import SqliteJournal

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
    commit = median_of(rounds, _commit)
    yield Figure(f"a bare SQLite commit, synced to {disk}", commit * 1e6, "µs")
    durable = median_of(rounds, _durable_turn)
    yield Figure("a durable turn with one tool call", durable * 1e6, "µs")
    yield Figure("a durable turn against its two commits alone", durable / (2 * commit), "×", Target(1.5))
    together = median_of(min(rounds, 3), _turns_together)
    yield Figure(f"{_RUNS} durable runs at once", together, "turns/s")
    alone = 1 / (2 * commit)
    yield Figure("the same against one commit at a time", together / alone, "×", Target(10, at_least=True))


def _commit() -> float:
    """The seconds of a commit of one small row, as any program would make it."""
    with tempfile.TemporaryDirectory() as folder:
        database = sqlite3.connect(Path(folder) / "raw.db", isolation_level=None)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        database.execute("CREATE TABLE entries (seq INTEGER PRIMARY KEY, payload BLOB)")
        began = time.perf_counter()
        for seq in range(2 * _TURNS):
            database.execute("BEGIN IMMEDIATE")
            database.execute("INSERT INTO entries VALUES (?, ?)", (seq, _PAYLOAD))
            database.execute("COMMIT")
        took = time.perf_counter() - began
        database.close()
    return took / (2 * _TURNS)


def _durable_turn() -> float:
    """The seconds of a turn of one run."""

    async def scenario(path: Path) -> float:
        async with SqliteJournal(path) as journal:
            executor = AgentExecutor(PreparedClient(_TURNS), journal=journal)
            began = time.perf_counter()
            await run_adder(executor, _TURNS)
            return (time.perf_counter() - began) / _TURNS

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(scenario(Path(folder) / "runs.db"))


def _turns_together() -> float:
    """How many turns a second many runs make together that share a journal."""

    async def scenario(path: Path) -> float:
        async with SqliteJournal(path) as journal:
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
