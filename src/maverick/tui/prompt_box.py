"""Where a person writes: Enter sends, pasted lines stay lines."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.events import Key
from textual.message import Message
from textual.widgets import TextArea

from maverick.tui.keys import PROMPT, bindings


class PromptBox(TextArea):
    """A few lines to write in.

    Args:
        text: What is written already.
        placeholder: What to write, in words that vanish.
        id: Its name on the screen.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(PROMPT)

    class Sent(Message):
        """Something was written and sent.

        Args:
            box: Where.
            text: What.
        """

        def __init__(self, box: PromptBox, text: str) -> None:
            super().__init__()
            self.box = box
            self.text = text

    def __init__(self, text: str = "", placeholder: str = "", id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(
            text, soft_wrap=True, show_line_numbers=False, compact=True, placeholder=placeholder, id=id
        )
        self.cursor_blink = False  # nothing is sent over a slow line while nothing happens

    def on_key(self, event: Key) -> None:
        """Have Enter send, in its turn: a binding that goes before all others would overtake what was just typed."""
        if event.key == "enter":
            event.prevent_default()
            event.stop()
            self.action_submit()

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """Whether a key writes something, so that it is not offered for anything else."""
        return super().check_consume_key(key, "/" if key == "slash" else character)

    def action_submit(self) -> None:
        """Send what is written, if anything is."""
        if self.text.strip():
            self.post_message(self.Sent(self, self.text.strip()))

    def action_newline(self) -> None:
        """Begin a new line."""
        self.insert("\n")
