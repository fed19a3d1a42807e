"""Runs as JSON lines: what ``maverick runs export`` prints, and what a recording is made of.

::

    {"run": {"run_id": "report-42", …}}
    {"seq": 1, "version": 1, "entry": {"type": "RunStarted", …}}

The first line of a run is its record. The lines after it are its entries, byte for byte as a journal stores them. A
recording may name a run again to continue it, and keeps the pieces in which an answer was streamed (``deltas``).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Literal, TypeAlias

from maverick.journal.codec import encode_json
from maverick.journal.records import RunRecord
from maverick.journal.store import Journal

Delta: TypeAlias = tuple[Literal["text", "thinking"], str]
"""A piece of a streamed answer."""


async def export_run(journal: Journal, run_id: str) -> AsyncIterator[bytes]:
    """A run and its subagents' runs, line by line.

    Args:
        journal: The journal.
        run_id: The run.

    Raises:
        RunNotFoundError: There is no such run.
        JournalDamagedError: A part of it cannot be read; the lines before it have been yielded.
    """
    yield run_line(await journal.get(run_id))
    async for seq, version, payload in journal.read_payloads(run_id):
        yield entry_line(seq, version, payload)
    for child in reversed(await journal.list_runs(parent=run_id, limit=1_000_000)):
        async for line in export_run(journal, child.run_id):
            yield line


def run_line(record: RunRecord) -> bytes:
    """The line that begins a run, or continues it."""
    return b'{"run":%b}\n' % encode_json(record)


def entry_line(seq: int, version: int, payload: bytes, deltas: Sequence[Delta] | None = None) -> bytes:
    """The line of an entry; ``deltas`` are the pieces in which its answer was streamed."""
    streamed = b"" if deltas is None else b',"deltas":%b' % encode_json(deltas)
    return b'{"seq":%d,"version":%d,"entry":%b%b}\n' % (seq, version, payload, streamed)
