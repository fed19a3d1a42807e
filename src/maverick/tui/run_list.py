"""The newest runs of a journal, and what each of them was asked."""

from __future__ import annotations

from collections.abc import Sequence

from maverick.journal import Journal, RunRecord
from maverick.journal.codec import decode_entry
from maverick.loop.entries import RunStarted

_PAGE = 50
"""How many runs are read at first, and how many more each time somebody wants to see older ones."""
_LONGEST_TITLE = 200
"""Characters of what a run was asked; more than a line of any screen has."""


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
        """The beginning of what a run was asked; nothing else of it is read, since a run may be very large."""
        for _, version, payload in await self._journal.read_page(run_id, 0, 1):
            start = decode_entry(payload, version)
            if isinstance(start, RunStarted) and start.messages:
                return start.messages[-1].content[:_LONGEST_TITLE]
        return ""
