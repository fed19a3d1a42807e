"""The left of the screen: agents, and the runs that are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Label, OptionList
from textual.widgets.option_list import Option

from maverick.agents.discovery import DiscoveredAgent
from maverick.journal import RunRecord, RunStatus
from maverick.tui.figures import age
from maverick.tui.plain_text import one_line

_MARKS = {
    RunStatus.RUNNING: ("●", "green"),
    RunStatus.WAITING: ("?", "yellow"),
    RunStatus.COMPLETE: ("✓", "green"),
    RunStatus.STOPPED: ("■", "red"),
}


class Sidebar(Vertical):
    """Two lists."""

    def compose(self) -> ComposeResult:
        """The lists, each below its name."""
        yield Label("Agents", classes="title")
        yield OptionList(id="agents", compact=True)
        yield Label("Runs: none yet", classes="title", id="runs-title")
        yield OptionList(id="runs", compact=True)

    @property
    def chosen_agent(self) -> str | None:
        """The agent that is marked in the list."""
        listed = self.query_one("#agents", OptionList)
        return None if listed.highlighted is None else listed.get_option_at_index(listed.highlighted).id

    def show_agents(self, agents: Sequence[DiscoveredAgent], chosen: str) -> None:
        """List agents."""
        listed = self.query_one("#agents", OptionList)
        listed.set_options(
            Option(Text(one_line(found.name), style="" if found.definition else "dim"), found.name)
            for found in agents
        )
        names = [found.name for found in agents]
        if chosen in names:
            listed.highlighted = names.index(chosen)

    def show_runs(self, runs: Sequence[RunRecord], titles: Mapping[str, str], shown: str, now: float) -> None:
        """List runs, newest first.

        Args:
            runs: The runs.
            titles: What each was asked, by its id.
            shown: The one that is looked at.
            now: The time, for how old they are.
        """
        listed = self.query_one("#runs", OptionList)
        told = {
            run.run_id: _described(run, titles.get(run.run_id, ""), run.run_id == shown, now) for run in runs
        }
        ids = list(told)
        if [option.id for option in listed.options] == ids:
            for option in listed.options:  # what is in sight stays there
                if option.id is not None and option.prompt != told[option.id]:
                    listed.replace_option_prompt(option.id, told[option.id])
            return
        marked = None if listed.highlighted is None else listed.options[listed.highlighted].id
        listed.set_options(Option(words, run_id) for run_id, words in told.items())
        listed.highlighted = ids.index(marked) if marked in ids else (0 if ids else None)
        self.query_one("#runs-title", Label).update("Runs" if runs else "Runs: none yet")


def _described(run: RunRecord, title: str, shown: bool, now: float) -> Text:
    mark, colour = _MARKS[run.status]
    asked = one_line(title) or one_line(run.run_id)
    return Text.assemble(
        (f"{mark} ", colour),
        (asked, "bold" if shown else ""),
        (f"\n  {one_line(run.agent)}, {age(now - run.created_at)}", "dim"),
        no_wrap=True,
        overflow="ellipsis",
    )
