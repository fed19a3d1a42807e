"""Where the user types: the prompt, and the search bar."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.events import Key
from textual.message import Message
from textual.widgets import Input, Label, TextArea

from maverick.tui.keys import PROMPT, SEARCH, bindings


class PromptBox(TextArea):
    """A text of a few lines: Enter sends it, pasted lines stay lines.

    Args:
        text: The text to begin with.
        placeholder: A hint that is shown while the box is empty.
        id: Its id on the screen.
        may_be_empty: Whether an empty text is sent too.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(PROMPT)

    class Sent(Message):
        """The text was sent."""

        def __init__(self, box: PromptBox) -> None:
            super().__init__()
            self.box = box
            self.text = box.text.strip()

    def __init__(
        self,
        text: str = "",
        placeholder: str = "",
        id: str | None = None,  # noqa: A002 - Textual's name for it
        *,
        may_be_empty: bool = False,
    ) -> None:
        super().__init__(
            text, soft_wrap=True, show_line_numbers=False, compact=True, placeholder=placeholder, id=id
        )
        self.cursor_blink = False  # an idle screen sends nothing over a slow connection
        self._may_be_empty = may_be_empty

    def on_key(self, event: Key) -> None:
        """Send on Enter. A binding with priority would run before the keys typed just before it."""
        if event.key == "enter":
            event.prevent_default()
            event.stop()
            self.action_submit()

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """Whether a key types something, so that no binding may have it."""
        return super().check_consume_key(key, "/" if key == "slash" else character)

    def action_submit(self) -> None:
        """Send the text, if there is any."""
        if self._may_be_empty or self.text.strip():
            self.post_message(self.Sent(self))

    def action_newline(self) -> None:
        """Add a line."""
        self.insert("\n")


class SearchBar(Horizontal):
    """The text to search for, and how many matches it has."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(SEARCH)

    class Changed(Message):
        """The text to search for has changed."""

        def __init__(self, wanted: str) -> None:
            super().__init__()
            self.wanted = wanted

    class Moved(Message):
        """The user goes to the next match (1) or the previous one (-1)."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def compose(self) -> ComposeResult:
        """The text and the number of matches."""
        yield Label("/")
        wanted = Input(placeholder="search", compact=True, id="wanted")
        wanted.cursor_blink = False
        yield wanted
        yield Label("", id="matches")

    def open(self) -> None:
        """Show the bar and focus it."""
        self.display = True
        self.query_one(Input).focus()

    def close(self) -> None:
        """Hide the bar and end the search."""
        self.display = False
        self.query_one(Input).value = ""

    def show_matches(self, match: int, matches: int) -> None:
        """Say which match the cursor is at, from 1, and how many there are."""
        wanted = self.query_one(Input).value
        text = f"{match} of {matches}" if matches else "no matches"
        self.query_one("#matches", Label).update(text if wanted else "")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search for the new text."""
        event.stop()
        self.post_message(self.Changed(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the next match."""
        event.stop()
        self.action_move(1)

    def action_move(self, step: int) -> None:
        """Go to another match."""
        self.post_message(self.Moved(step))
