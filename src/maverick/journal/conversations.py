"""The conversations of a journal: runs that continue one another are one conversation, and share their ``trace_id``."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from maverick.journal.codec import decode_entry
from maverick.journal.records import RunRecord
from maverick.journal.store import Journal
from maverick.loop.entries import Interrupted, ModelReplied, RunStarted, ToolFinished
from maverick.model import Role, Usage

_PAGE = 50
"""How many runs are read at first, and how many more each time."""
_LONGEST_PROMPT = 20_000
"""Characters of a prompt that are kept, to be sent again."""


class ConversationEntry(Struct, frozen=True):
    """A conversation, as a list shows it."""

    latest: RunRecord
    """The run it has come to."""
    title: str
    """The beginning of the first message."""


class _Beginning(Struct, frozen=True):
    """What is kept of a run's first entry."""

    trace_id: str
    continues: bool
    title: str
    prompt: str


class ConversationList:
    """The newest conversations of a journal."""

    def __init__(self, journal: Journal) -> None:
        self.conversations: Sequence[ConversationEntry] = ()
        """The conversations, newest first."""
        self._journal = journal
        self._most = _PAGE
        self._read = 0
        self._beginnings: dict[str, _Beginning] = {}

    def find(self, run_id: str) -> RunRecord | None:
        """The record of a run that a conversation has come to, if it is in the list."""
        return next((one.latest for one in self.conversations if one.latest.run_id == run_id), None)

    def trace_of(self, run_id: str) -> str:
        """The trace id of a run in the list, which its conversation is known by; empty if it is not there."""
        begun = self._beginnings.get(run_id)
        return "" if begun is None else begun.trace_id

    def earlier_runs(self, run_id: str) -> list[str]:
        """The runs before the one that a conversation has come to, as far as the list goes back."""
        begun = self._beginnings.get(run_id)
        if begun is None or not begun.continues:
            return []
        of_trace = (one for one, its in self._beginnings.items() if its.trace_id == begun.trace_id)
        return [one for one in of_trace if one != run_id]

    @property
    def prompts(self) -> list[str]:
        """What was asked in all of them, oldest first."""
        return [begun.prompt for begun in self._beginnings.values() if begun.prompt]

    def extend(self) -> bool:
        """Include older conversations from now on; says whether there may be any."""
        if self._read < self._most:
            return False
        self._most += _PAGE
        return True

    async def load(self) -> None:
        """Read the list again; raises JournalError if the journal cannot be read."""
        records = await self._journal.list_runs(limit=self._most)
        for record in reversed(records):
            if record.run_id not in self._beginnings:
                self._beginnings[record.run_id] = await self._beginning(record.run_id)
        self._read = len(records)
        self.conversations = list(self._grouped(records))

    def _grouped(self, records: Sequence[RunRecord]) -> list[ConversationEntry]:
        found: list[ConversationEntry] = []
        continued: set[str] = set()
        for record in records:
            begun = self._beginnings[record.run_id]
            # Runs that one program makes for one request share their trace too, without continuing one another.
            if begun.trace_id not in continued:
                found.append(ConversationEntry(record, begun.title))
            if begun.continues:
                continued.add(begun.trace_id)
            else:
                continued.discard(begun.trace_id)
        return found

    async def _beginning(self, run_id: str) -> _Beginning:
        """What a run began with. Only the first entry is read, since a run may be very large."""
        for _, version, payload in await self._journal.read_page(run_id, 0, 1):
            start = decode_entry(payload, version)
            if isinstance(start, RunStarted) and start.messages:
                said = [message for message in start.messages if message.role is Role.USER]
                first, last = (said[0], said[-1]) if said else (start.messages[0], start.messages[-1])
                return _Beginning(
                    start.trace_id, start.earlier > 0, first.content[:200], last.content[:_LONGEST_PROMPT]
                )
        return _Beginning(run_id, False, "", "")


async def used_in(journal: Journal, run_id: str) -> Usage:
    """What a run has used, its subagents included."""
    used = Usage()
    async for stored in journal.read(run_id):
        entry = stored.entry
        if isinstance(entry, ModelReplied):
            used += entry.response.usage
        elif isinstance(entry, ToolFinished | Interrupted):
            used += entry.usage
    return used
