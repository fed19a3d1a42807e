"""Asks a person whether a tool may be called, over everything else."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Label, Static

from maverick.tui.keys import DIALOG, bindings
from maverick.tui.line import Line
from maverick.tui.plain_text import one_line, plain
from maverick.tui.question import Question
from maverick.tui.tool_lines import argument_lines


class Answer(StrEnum):
    """What a person says to a question."""

    APPROVE = "approve"
    DENY = "deny"
    LATER = "later"
    STOP = "stop"


class ApprovalDialog(ModalScreen[Answer]):
    """A tool call, whole, since nobody should agree to what they can not see.

    Args:
        question: What is asked.
        grace: For how many seconds no key counts: a person may be typing when the dialog appears.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(DIALOG)

    def __init__(self, question: Question, grace: float) -> None:
        super().__init__()
        self._question = question
        self._grace = grace
        self._shown_at = 0.0

    def compose(self) -> ComposeResult:
        """The question, the arguments, and the answers."""
        question = self._question
        with Vertical(classes="dialog"):
            yield Label(
                f"May {one_line(question.agent)} call {one_line(question.tool_name)}?",
                classes="title",
                markup=False,
            )
            if question.reason:
                yield Label(plain(question.reason), classes="why", markup=False)
            with VerticalScroll(classes="arguments"):
                yield Static(id="arguments")
            with Horizontal(classes="answers"):
                yield Button("[u]Y[/u]es, this once", id="approve", variant="success", compact=True)
                yield Button("[u]N[/u]o", id="deny", variant="error", compact=True)
                yield Button("Later (Esc)", id="later", compact=True)
                yield Button("[u]S[/u]top the run", id="stop", compact=True)

    def on_mount(self) -> None:
        """Let what was typed before be no answer: no button has the focus, and keys count only after a while."""
        self.query_one(VerticalScroll).focus()
        self._shown_at = time.monotonic()

    def on_resize(self) -> None:
        """Write the arguments as wide as there is room."""
        shown = self.query_one("#arguments", Static)
        width = max(self.query_one(VerticalScroll).scrollable_content_region.width - 1, 20)
        lines = list(argument_lines(self._question.arguments, width))
        shown.update(Text("\n").join(map(_written, lines)) if lines else Text("without arguments", "dim"))

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Take the answer that was pressed."""
        self._say(Answer(event.button.id or ""))

    def action_approve(self) -> None:
        """Agree."""
        self._say(Answer.APPROVE)

    def action_deny(self) -> None:
        """Refuse."""
        self._say(Answer.DENY)

    def action_later(self) -> None:
        """Put it off."""
        self._say(Answer.LATER)

    def action_stop(self) -> None:
        """Stop the run."""
        self._say(Answer.STOP)

    def _say(self, answer: Answer) -> None:
        if time.monotonic() - self._shown_at >= self._grace:
            _ = self.dismiss(answer)


def _written(line: Line) -> Text:
    return Text.assemble(*((span.text, "dim" if span.ink == "faint" else "") for span in line.spans))
