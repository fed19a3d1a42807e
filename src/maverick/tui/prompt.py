"""Where the user types: the prompt with its history and completions, and the search bar."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.events import Key
from textual.message import Message
from textual.widgets import Input, Label, OptionList, TextArea
from textual.widgets.option_list import Option

from maverick.tui.completion import Completer, Offer
from maverick.tui.keys import PROMPT, SEARCH, bindings
from maverick.tui.plain_text import one_line


def quiet_input(**options: Any) -> Input:
    """A line to type in, whose cursor does not blink: an idle screen sends nothing over a slow connection."""
    line = Input(compact=True, **options)
    line.cursor_blink = False
    return line


class PromptBox(TextArea):
    """A text of a few lines: Enter sends it, pasted lines stay lines."""

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
        completions: Completions | None = None,
    ) -> None:
        super().__init__(
            text, soft_wrap=True, show_line_numbers=False, compact=True, placeholder=placeholder, id=id
        )
        self.cursor_blink = False
        self.sent: list[str] = []
        """The prompts that were sent, oldest first."""
        self._back = 0
        """How many prompts back in the history the text is from; 0 if it is a new one."""
        self._draft = ""
        self._may_be_empty = may_be_empty
        self._completions = completions

    def on_key(self, event: Key) -> None:
        """Send on Enter. A binding with priority would run before the keys typed just before it."""
        offers = self._completions
        if offers is not None:
            self._offer()  # what was typed just before may not have been looked at yet
        if offers is not None and offers.display and event.key in ("up", "down", "tab", "enter", "escape"):
            event.prevent_default()
            event.stop()
            self._complete(offers, event.key)
        elif event.key == "enter":
            event.prevent_default()
            event.stop()
            self.action_submit()

    def on_text_area_changed(self) -> None:
        """Offer what the text may become."""
        self._offer()

    def on_blur(self) -> None:
        """Offer nothing to a user who types elsewhere."""
        if self._completions is not None:
            self._completions.hide()

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """Whether a key types something, so that no binding may have it."""
        return super().check_consume_key(key, "/" if key == "slash" else character)

    def remember(self, prompt: str) -> None:
        """Keep a prompt that was sent in the history."""
        self._back = 0
        if self.sent[-1:] != [prompt]:
            self.sent.append(prompt)

    def action_submit(self) -> None:
        """Send the text, if there is any."""
        if self._may_be_empty or self.text.strip():
            self.post_message(self.Sent(self))

    def action_newline(self) -> None:
        """Add a line."""
        self.insert("\n")

    def action_earlier(self) -> None:
        """Go up a line, or to the prompt before."""
        if self.navigator.is_first_wrapped_line(self.cursor_location):
            self._recall(self._back + 1)
        else:
            self.action_cursor_up()

    def action_later(self) -> None:
        """Go down a line, or to the prompt after."""
        if self.navigator.is_last_wrapped_line(self.cursor_location):
            self._recall(self._back - 1)
        else:
            self.action_cursor_down()

    def _offer(self) -> None:
        if self._completions is not None:
            line, column = self.cursor_location
            self._completions.show(self.document[line][:column] if self.has_focus else "", first=line == 0)

    def _recall(self, back: int) -> None:
        if not 0 <= back <= len(self.sent):
            return
        if self._back == 0:
            self._draft = self.text
        self._back = back
        self.text = self.sent[-back] if back else self._draft
        self.move_cursor(self.document.end)
        if self._completions is not None:
            self._completions.hide(self.document[self.cursor_location[0]])

    def _complete(self, offers: Completions, key: str) -> None:
        offer = offers.highlighted_offer
        if key == "up":
            offers.action_cursor_up()
        elif key == "down":
            offers.action_cursor_down()
        elif offer is None or key == "escape":
            offers.display = False
        else:
            line, column = self.cursor_location
            self.replace(offer.text, (line, offer.begin), (line, column))
            offers.display = False
            if offer.runs and key == "enter":
                self.action_submit()


class Completions(OptionList, can_focus=False):
    """What the text at the prompt may become, above it."""

    def __init__(self, completer: Completer, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id, compact=True)
        self.completer = completer
        self.display = False
        self._offers: list[Offer] = []
        self._text = ""

    @property
    def highlighted_offer(self) -> Offer | None:
        """The one that is taken."""
        return None if self.highlighted is None else self._offers[self.highlighted]

    def show(self, text: str, *, first: bool) -> None:
        """Show what a line may become, up to the cursor; commands are in the first one."""
        if text == self._text:
            return
        self._text = text
        self._offers = self.completer.offers(text) if first or "@" in text else []
        width = max((len(offer.label) for offer in self._offers), default=0) + 2
        self.set_options(
            Option(
                Text.assemble(one_line(offer.label).ljust(width), (offer.description, "dim"), no_wrap=True)
            )
            for offer in self._offers
        )
        self.highlighted = 0 if self._offers else None
        self.display = bool(self._offers)

    def hide(self, text: str = "") -> None:
        """Show nothing, as long as the line stays as it is."""
        self._text, self.display = text, False


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
        yield quiet_input(placeholder="search", id="wanted")
        yield Label("", id="matches")

    def open(self, wanted: str = "") -> None:
        """Show the bar and focus it."""
        self.display = True
        self.query_one(Input).value = wanted
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
