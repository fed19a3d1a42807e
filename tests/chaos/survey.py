"""What the journal knows of a run, read entry by entry and without the loop: the second witness beside the ledger."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from maverick.exceptions import RunNotFoundError
from maverick.journal import Journal
from maverick.loop.entries import (
    ApprovalDecided,
    Entry,
    Interrupted,
    ModelCalled,
    ModelReplied,
    ToolFinished,
    ToolsStarted,
)
from maverick.model import ToolCall


class CallFact(Struct):
    """A tool call whose intent to run was written down."""

    key: str
    tool: str
    item: str
    outcome: str = ""
    """What became of it; empty while nothing is written of it."""
    content: str = ""


class Survey(Struct):
    """A run and its subagents, as they stand in the journal."""

    exists: bool = False
    calls: list[CallFact] = []
    turns: int = 0
    """The turns of all of them together."""
    faults: list[str] = []
    """What can not be: a call with two results."""
    pending: list[tuple[str, str]] = []
    """The requests nobody has decided on: id and arguments."""

    def unresolved(self, tools: Iterable[str]) -> set[str]:
        """The keys of the calls of these tools that were started and have no result."""
        wanted = set(tools)
        return {call.key for call in self.calls if not call.outcome and call.tool in wanted}


async def survey(journal: Journal, run_id: str) -> Survey:
    """Read what is written of a run and its subagents."""
    try:
        await journal.get(run_id)
    except RunNotFoundError:
        return Survey()
    reader = _Reader(run_id)
    async for stored in journal.read(run_id):
        reader.take(stored.entry)
    found = Survey(True, reader.calls, len(reader.turns), reader.faults)
    pending = await journal.list_approvals(run_id=run_id)
    found.pending = [(approval.approval_id, approval.arguments_json) for approval in pending]
    for child in await journal.list_runs(parent=run_id):
        inner = await survey(journal, child.run_id)
        found.calls += inner.calls
        found.turns += inner.turns
        found.faults += inner.faults
        found.pending += inner.pending
    return found


class _Reader:
    """Reads the entries of one run."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._turn = 0
        self._asked: tuple[ToolCall, ...] = ()
        self._denied: set[int] = set()
        self._open: dict[int, CallFact] = {}
        self.calls: list[CallFact] = []
        self.turns: set[int] = set()
        self.faults: list[str] = []

    def take(self, entry: Entry) -> None:
        match entry:
            case ModelCalled(turn=turn, compaction=False):
                self._turn = turn
                self.turns.add(turn)
            case ModelReplied(response=response):
                self._asked, self._denied, self._open = response.tool_calls, set(), {}
            case ApprovalDecided(index=index, approved=False):
                self._denied.add(index)
            case ToolsStarted():
                self._start()
            case ToolFinished():
                self._finish(entry)
            case Interrupted():
                for call in self._open.values():
                    call.outcome = call.outcome or "cancelled"

    def _start(self) -> None:
        self._open = {
            index: CallFact(
                f"{self._run_id}/{self._turn}/{index}", call.tool_name, call.arguments.get("item", "")
            )
            for index, call in enumerate(self._asked)
            if index not in self._denied
        }
        self.calls += self._open.values()

    def _finish(self, entry: ToolFinished) -> None:
        if entry.index in self._denied:
            return
        call = self._open.get(entry.index)
        if call is None or call.outcome:
            self.faults.append(f"call {self._run_id}/{self._turn}/{entry.index} has two results")
            return
        call.outcome, call.content = entry.outcome.value, entry.content
