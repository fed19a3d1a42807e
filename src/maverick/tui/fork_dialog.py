"""Asks with which words a run is to go on from one of its turns."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Label

from maverick.tui.plain_text import one_line
from maverick.tui.prompt_box import PromptBox

_LONGEST_OFFER = 20_000
"""Characters that can be changed without having to wait for each key."""


class ForkDialog(ModalScreen[str | None]):
    """The words to put before a turn; an empty text leaves everything as it was.

    Args:
        run_id: The run.
        turn: The turn.
        words: What the person had said before it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Cancel")]

    def __init__(self, run_id: str, turn: int, words: str) -> None:
        super().__init__()
        self._title = f"Run again from turn {turn} of {one_line(run_id)}"
        self._offered = words if len(words) <= _LONGEST_OFFER else ""
        if self._offered:
            self._where = "What you said, which you may change:"
        elif words:
            self._where = "What you said is too long to change here. Other words in its place, if any:"
        else:
            self._where = "Words to add before it, if any:"

    def compose(self) -> ComposeResult:
        """The title, the words, and what to do with them."""
        with Vertical(classes="dialog"):
            yield Label(self._title, classes="title", markup=False)
            yield Label(self._where)
            yield ForkBox(self._offered, id="words")
            yield Label("Enter runs it, Ctrl-J begins a new line, Esc leaves it be", classes="hint")

    def on_mount(self) -> None:
        """Let the person write."""
        self.query_one(ForkBox).focus()

    def on_prompt_box_sent(self, message: PromptBox.Sent) -> None:
        """Take what was written."""
        message.stop()
        _ = self.dismiss(message.text)


class ForkBox(PromptBox):
    """Where the words are written; they may be none."""

    def action_submit(self) -> None:
        """Send what is written."""
        self.post_message(self.Sent(self, self.text.strip()))
