"""The dialogs: approve a tool call, fork a run, fill in an agent's inputs, and list the keys."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Label, Static

from maverick.loop import Input as Declared
from maverick.loop.inputs import REQUIRED
from maverick.tui.keys import DIALOG, GROUPS, bindings
from maverick.tui.plain_text import one_line, plain
from maverick.tui.prompt import PromptBox
from maverick.tui.renderer import Renderer
from maverick.tui.session import Question
from maverick.tui.tool_lines import argument_lines

_LONGEST_OFFER = 20_000
"""Characters that can be edited without a delay after each key."""


class ApprovalChoice(StrEnum):
    """The answer to a question about a tool call."""

    APPROVE = "approve"
    DENY = "deny"
    LATER = "later"
    STOP = "stop"


class ApprovalDialog(ModalScreen[ApprovalChoice]):
    """Asks about a tool call, and shows all of it.

    Args:
        question: The tool call.
        grace: For how many seconds no key counts: the user may be typing when the dialog appears.
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
            title = f"Allow {one_line(question.agent)} to call {one_line(question.tool_name)}?"
            yield Label(title, classes="title", markup=False)
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
        """Focus no button, so that what was being typed is not taken for an answer."""
        self.query_one(VerticalScroll).focus()
        self._shown_at = time.monotonic()

    def on_resize(self) -> None:
        """Fit the arguments to the width."""
        shown = self.query_one("#arguments", Static)
        width = max(self.query_one(VerticalScroll).scrollable_content_region.width - 1, 20)
        lines = list(argument_lines(self._question.arguments, width, Renderer()))
        shown.update(Text("\n").join(lines) if lines else Text("no arguments", "dim"))

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Answer with a button."""
        self.action_answer(event.button.id or "")

    def action_answer(self, answer: str) -> None:
        """Answer, unless the dialog has only just appeared."""
        if time.monotonic() - self._shown_at >= self._grace:
            _ = self.dismiss(ApprovalChoice(answer))


class ForkDialog(ModalScreen[str | None]):
    """Asks which prompt to put before a turn; an empty one leaves the run as it was.

    Args:
        run_id: The run.
        turn: The turn.
        prompt: The user's prompt before that turn.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Cancel")]

    def __init__(self, run_id: str, turn: int, prompt: str) -> None:
        super().__init__()
        self._title = f"Fork from turn {turn} of {one_line(run_id)}"
        self._offered = prompt if len(prompt) <= _LONGEST_OFFER else ""
        if self._offered:
            self._label = "Your prompt, which you can edit:"
        elif prompt:
            self._label = (
                "Your prompt is too long to edit here. Type another, or leave this empty to keep it:"
            )
        else:
            self._label = "A message to add before this turn (optional):"

    def compose(self) -> ComposeResult:
        """The title, the prompt, and the keys."""
        with Vertical(classes="dialog"):
            yield Label(self._title, classes="title", markup=False)
            yield Label(self._label)
            yield PromptBox(self._offered, id="edit", may_be_empty=True)
            yield Label("Enter forks, Ctrl-J adds a line, Esc cancels", classes="hint")

    def on_mount(self) -> None:
        """Focus the prompt."""
        self.query_one(PromptBox).focus()

    def on_prompt_box_sent(self, message: PromptBox.Sent) -> None:
        """Return the prompt."""
        message.stop()
        _ = self.dismiss(message.text)


class InputsDialog(ModalScreen[dict[str, Any] | None]):
    """Asks for the inputs of an agent that takes more than a prompt.

    Args:
        agent: The agent's name.
        declared: Its inputs.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Cancel")]

    def __init__(self, agent: str, declared: Mapping[str, Declared]) -> None:
        super().__init__()
        self._agent = agent
        self._declared = declared

    def compose(self) -> ComposeResult:
        """A field for each input, below its name."""
        with Vertical(classes="dialog"):
            yield Label(f"Inputs of {self._agent}", classes="title", markup=False)
            with VerticalScroll(classes="inputs"):
                for name, spec in self._declared.items():
                    description = f": {spec.description}" if spec.description else ""
                    default = "" if spec.default is REQUIRED else f" (default: {spec.default!r})"
                    yield Label(f"{name}{description}{default}", markup=False)
                    field = Input(id=f"input-{name}", compact=True)
                    field.cursor_blink = False
                    yield field
            yield Label(
                "Enter goes to the next input and, after the last, starts. Esc cancels", classes="hint"
            )

    def on_mount(self) -> None:
        """Focus the first input."""
        self.query(Input).first().focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the next input; after the last one, return them all."""
        fields = list(self.query(Input))
        at = fields.index(event.input)
        if at + 1 < len(fields):
            fields[at + 1].focus()
            return
        written = {name: self.query_one(f"#input-{name}", Input).value for name in self._declared}
        _ = self.dismiss({name: _read(self._declared[name], text) for name, text in written.items() if text})


def _read(spec: Declared, text: str) -> object:
    """The text, or the value it is in JSON if the input is not a text."""
    if spec.type is str:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text  # the input's type may still accept it, and complains if it does not


class HelpDialog(ModalScreen[None]):
    """Lists the keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter", "dismiss(None)", "Close"),
    ]

    def compose(self) -> ComposeResult:
        """A table of keys."""
        table = Table.grid(padding=(0, 2))
        for title, keys in GROUPS:
            table.add_row(Text(""), Text(title, style="bold"))
            for key in keys:
                table.add_row(Text(key.shown, style="cyan"), Text(key.description))
        with Vertical(classes="dialog wide"):
            with VerticalScroll():
                yield Static(table)
            yield Label("↑ ↓ scroll, Esc closes", classes="hint")
