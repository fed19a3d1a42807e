"""The newest runs of a journal, and what each of them was asked."""

from __future__ import annotations

from collections.abc import Sequence

from maverick.journal import Journal, RunRecord
from maverick.loop.entries import RunStarted

_PAGE = 50
"""How many runs are read at first, and how many more each time somebody wants to see older ones."""


class RunList:
    """Reads the list, and the beginning of each run once.

    Args:
        journal: Where the runs are kept.
    """

    def __init__(self, journal: Journal) -> None:
        self.records: Sequence[RunRecord] = ()
        """The runs, newest first."""
        self.titles: dict[str, str] = {}
        """What each was asked, by its id."""
        self._journal = journal
        self._most = _PAGE

    def reach_back(self) -> bool:
        """Read older runs too from now on; says whether there may be any."""
        if len(self.records) < self._most:
            return False
        self._most += _PAGE
        return True

    async def look(self) -> None:
        """Read what has changed.

        Raises:
            JournalError: The journal can not be read.
        """
        records = await self._journal.list_runs(limit=self._most)
        for record in records:
            if record.run_id not in self.titles:
                self.titles[record.run_id] = await self._asked(record.run_id)
        self.records = records

    async def _asked(self, run_id: str) -> str:
        async for stored in self._journal.read(run_id):
            start = stored.entry
            return start.messages[-1].content if isinstance(start, RunStarted) and start.messages else ""
        return ""
