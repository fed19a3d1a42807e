"""A run as JSON lines, for whoever wants to keep or read it outside the journal."""

from __future__ import annotations

from collections.abc import AsyncIterator

from maverick.journal.codec import encode_json
from maverick.journal.store import Journal

_PAGE = 256


async def export_run(journal: Journal, run_id: str) -> AsyncIterator[bytes]:
    """A run and its subagents' runs, line by line.

    The first line of a run has its record, as ``{"run": …}``; each other one an entry, as ``{"seq": …, "version": …,
    "entry": …}``, byte for byte as the journal holds it.

    Args:
        journal: The journal.
        run_id: The run.

    Raises:
        RunNotFoundError: There is no such run.
    """
    yield b'{"run":%b}\n' % encode_json(await journal.get(run_id))
    page = await journal.read_page(run_id, 0, _PAGE)
    while page:
        for seq, version, payload in page:
            yield b'{"seq":%d,"version":%d,"entry":%b}\n' % (seq, version, payload)
        page = await journal.read_page(run_id, page[-1][0], _PAGE)
    for child in reversed(await journal.list_runs(parent=run_id, limit=1_000_000)):
        async for line in export_run(journal, child.run_id):
            yield line
