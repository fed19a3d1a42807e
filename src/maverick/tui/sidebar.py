"""The left of the screen: the conversations in the journal."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from maverick.journal import RunStatus
from maverick.journal.conversations import ConversationEntry, ConversationList
from maverick.tui.gauge import age
from maverick.tui.plain_text import one_line

_MARKS = {
    RunStatus.RUNNING: ("●", "green"),
    RunStatus.WAITING: ("?", "yellow"),
    RunStatus.COMPLETE: ("✓", "green"),
    RunStatus.STOPPED: ("■", "red"),
}


class Sidebar(OptionList):
    """The list of conversations, newest first."""

    def show(self, listed: ConversationList, shown: str, now: float) -> None:
        """List conversations.

        Args:
            listed: The conversations.
            shown: The id of the run that is shown.
            now: The time, to tell their age.
        """
        self.border_title = "Conversations" if listed.conversations else "No conversations yet"
        rows = {one.latest.run_id: _row(one, one.latest.run_id == shown, now) for one in listed.conversations}
        ids = list(rows)
        if [option.id for option in self.options] == ids:
            for option in self.options:  # replaced one by one, so that the list does not scroll
                if option.id is not None and option.prompt != rows[option.id]:
                    self.replace_option_prompt(option.id, rows[option.id])
            return
        marked = None if self.highlighted is None else self.options[self.highlighted].id
        self.set_options(Option(row, run_id) for run_id, row in rows.items())
        self.highlighted = ids.index(marked) if marked in ids else (0 if ids else None)


def _row(conversation: ConversationEntry, shown: bool, now: float) -> Text:
    run = conversation.latest
    mark, colour = _MARKS[run.status]
    return Text.assemble(
        (f"{mark} ", colour),
        (one_line(conversation.title) or one_line(run.run_id), "bold" if shown else ""),
        (f"\n  {one_line(run.agent)}, {age(now - run.updated_at)} ago", "dim"),
        no_wrap=True,
        overflow="ellipsis",
    )
