"""The left of the screen: agents, and the runs in the journal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Label, OptionList
from textual.widgets.option_list import Option

from maverick.agents.discovery import DiscoveredAgent
from maverick.journal import Journal, RunRecord, RunStatus
from maverick.journal.codec import decode_entry
from maverick.loop.entries import RunStarted
from maverick.tui.gauge import age
from maverick.tui.plain_text import one_line

_PAGE = 50
"""How many runs are read at first, and how many more each time the user reaches the end of the list."""
_LONGEST_TITLE = 200
"""Characters of a prompt that are kept for a run's title; no line is longer."""
_MARKS = {
    RunStatus.RUNNING: ("●", "green"),
    RunStatus.WAITING: ("?", "yellow"),
    RunStatus.COMPLETE: ("✓", "green"),
    RunStatus.STOPPED: ("■", "red"),
}


class RunList:
    """The newest runs of a journal, each with its prompt as the title.

    Args:
        journal: Where the runs are kept.
    """

    def __init__(self, journal: Journal) -> None:
        self.records: Sequence[RunRecord] = ()
        """The runs, newest first."""
        self.titles: dict[str, str] = {}
        """The beginning of each run's prompt, by the run's id."""
        self._journal = journal
        self._most = _PAGE

    def find(self, run_id: str) -> RunRecord | None:
        """The record of a run, if it is in the list."""
        return next((record for record in self.records if record.run_id == run_id), None)

    def extend(self) -> bool:
        """Include older runs from now on; says whether there may be any."""
        if len(self.records) < self._most:
            return False
        self._most += _PAGE
        return True

    async def load(self) -> None:
        """Read the list again.

        Raises:
            JournalError: The journal cannot be read.
        """
        records = await self._journal.list_runs(limit=self._most)
        for record in records:
            if record.run_id not in self.titles:
                self.titles[record.run_id] = await self._title(record.run_id)
        self.records = records

    async def _title(self, run_id: str) -> str:
        """The beginning of a run's prompt. Only the first entry is read, since a run may be very large."""
        for _, version, payload in await self._journal.read_page(run_id, 0, 1):
            start = decode_entry(payload, version)
            if isinstance(start, RunStarted) and start.messages:
                return start.messages[-1].content[:_LONGEST_TITLE]
        return ""


class Sidebar(Vertical):
    """The lists of agents and runs."""

    def compose(self) -> ComposeResult:
        """The lists, each below its name."""
        yield Label("Agents", classes="title")
        yield OptionList(id="agents", compact=True)
        yield Label("Runs: none yet", classes="title", id="runs-title")
        yield OptionList(id="runs", compact=True)

    @property
    def selected_agent(self) -> str | None:
        """The agent that is highlighted in the list."""
        listed = self.query_one("#agents", OptionList)
        return None if listed.highlighted is None else listed.get_option_at_index(listed.highlighted).id

    def show_agents(self, agents: Sequence[DiscoveredAgent], selected: str) -> None:
        """List agents."""
        listed = self.query_one("#agents", OptionList)
        listed.set_options(Option(Text(one_line(found.name)), found.name) for found in agents)
        names = [found.name for found in agents]
        if selected in names:
            listed.highlighted = names.index(selected)

    def show_runs(self, runs: RunList, shown: str, now: float) -> None:
        """List runs, newest first.

        Args:
            runs: The runs.
            shown: The id of the run in the conversation.
            now: The time, to tell their age.
        """
        listed = self.query_one("#runs", OptionList)
        rows = {
            run.run_id: _row(run, runs.titles.get(run.run_id, ""), run.run_id == shown, now)
            for run in runs.records
        }
        ids = list(rows)
        if [option.id for option in listed.options] == ids:
            for option in listed.options:  # replaced one by one, so that the list does not scroll
                if option.id is not None and option.prompt != rows[option.id]:
                    listed.replace_option_prompt(option.id, rows[option.id])
            return
        marked = None if listed.highlighted is None else listed.options[listed.highlighted].id
        listed.set_options(Option(row, run_id) for run_id, row in rows.items())
        listed.highlighted = ids.index(marked) if marked in ids else (0 if ids else None)
        self.query_one("#runs-title", Label).update("Runs" if rows else "Runs: none yet")


def _row(run: RunRecord, title: str, shown: bool, now: float) -> Text:
    mark, colour = _MARKS[run.status]
    return Text.assemble(
        (f"{mark} ", colour),
        (one_line(title) or one_line(run.run_id), "bold" if shown else ""),
        (f"\n  {one_line(run.agent)}, {age(now - run.created_at)} ago", "dim"),
        no_wrap=True,
        overflow="ellipsis",
    )
