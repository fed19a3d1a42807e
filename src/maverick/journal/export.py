"""A run as JSON lines, for whoever wants to keep or read it outside the journal."""

from __future__ import annotations

from collections.abc import AsyncIterator

from maverick.journal.codec import encode_json
from maverick.journal.store import Journal


async def export_run(journal: Journal, run_id: str) -> AsyncIterator[bytes]:
    """A run and its subagents' runs, line by line.

    The first line of a run has its record, as ``{"run": …}``; each other one an entry, as ``{"seq": …, "version": …,
    "entry": …}``, byte for byte as the journal holds it.

    Args:
        journal: The journal.
        run_id: The run.

    Raises:
        RunNotFoundError: There is no such run.
        JournalDamagedError: A part of it can not be read; the lines before it have been told.
    """
    yield b'{"run":%b}\n' % encode_json(await journal.get(run_id))
    async for seq, version, payload in journal.read_payloads(run_id):
        yield b'{"seq":%d,"version":%d,"entry":%b}\n' % (seq, version, payload)
    for child in reversed(await journal.list_runs(parent=run_id, limit=1_000_000)):
        async for line in export_run(journal, child.run_id):
            yield line
