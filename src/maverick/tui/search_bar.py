"""The line in which a person searches the conversation."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Label

from maverick.tui.keys import SEARCH, bindings


class SearchBar(Horizontal):
    """What is searched for, and how often it is there."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(SEARCH)

    class Changed(Message):
        """Something else is searched for.

        Args:
            wanted: What.
        """

        def __init__(self, wanted: str) -> None:
            super().__init__()
            self.wanted = wanted

    class Moved(Message):
        """The person wants to see another place.

        Args:
            step: 1 for the next, -1 for the one before.
        """

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def compose(self) -> ComposeResult:
        """The line: a mark, the text, and the count."""
        yield Label("/")
        wanted = Input(placeholder="search", compact=True, id="wanted")
        wanted.cursor_blink = False
        yield wanted
        yield Label("", id="places")

    def open(self) -> None:
        """Let the person write."""
        self.display = True
        self.query_one(Input).focus()

    def close(self) -> None:
        """Go away, and forget what was searched for."""
        self.display = False
        self.query_one(Input).value = ""

    def tell(self, place: int, places: int) -> None:
        """Say where the cursor is."""
        wanted = self.query_one(Input).value
        words = f"{place} of {places}" if places else "nothing found"
        self.query_one("#places", Label).update(words if wanted else "")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search for what is written."""
        event.stop()
        self.post_message(self.Changed(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the next place."""
        event.stop()
        self.action_next()

    def action_next(self) -> None:
        """Go to the next place."""
        self.post_message(self.Moved(1))

    def action_previous(self) -> None:
        """Go to the place before."""
        self.post_message(self.Moved(-1))
