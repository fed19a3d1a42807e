"""The dialogs: choose something, fork a run, fill in an agent's inputs or a form, and list the keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from maverick.loop import Input as Declared
from maverick.loop.inputs import REQUIRED
from maverick.runtime.answer_form import FormField
from maverick.runtime.consent import visible
from maverick.tui.backend import Choice
from maverick.tui.keys import GROUPS, MARKS
from maverick.tui.plain_text import one_line
from maverick.tui.prompt import PromptBox, quiet_input

_LONGEST_OFFER = 20_000
"""Characters that can be edited without a delay after each key."""


class TextDialog(ModalScreen[str | None]):
    """Asks for a text; ``action`` says what Enter does with it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Cancel")]

    def __init__(
        self, title: str, label: str, text: str = "", *, action: str, may_be_empty: bool = False
    ) -> None:
        super().__init__()
        self._title = one_line(title)
        self._label = label
        self._text = text
        self._action = action
        self._may_be_empty = may_be_empty

    def compose(self) -> ComposeResult:
        """The title, the text, and the keys."""
        with Vertical(classes="dialog"):
            yield Label(self._title, classes="title", markup=False)
            yield Label(self._label)
            yield PromptBox(self._text, id="edit", may_be_empty=self._may_be_empty)
            yield Label(f"Enter {self._action}, Ctrl-J adds a line, Esc cancels", classes="hint")

    def on_mount(self) -> None:
        """Focus the text."""
        self.query_one(PromptBox).focus()

    def on_prompt_box_sent(self, message: PromptBox.Sent) -> None:
        """Return the text."""
        message.stop()
        _ = self.dismiss(message.text)


class ForkDialog(TextDialog):
    """Asks which prompt to put before a turn; an empty one leaves the run as it was."""

    def __init__(self, run_id: str, turn: int, prompt: str) -> None:
        offered = prompt if len(prompt) <= _LONGEST_OFFER else ""
        if offered:
            label = "Your prompt, which you can edit:"
        elif prompt:
            label = "Your prompt is too long to edit here. Type another, or leave this empty to keep it:"
        else:
            label = "A message to add before this turn (optional):"
        title = f"Fork from turn {turn} of {run_id}"
        super().__init__(title, label, offered, action="forks", may_be_empty=True)


class InputsDialog(ModalScreen[dict[str, Any] | None]):
    """Asks for the inputs of an agent that takes more than a prompt."""

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
                    yield quiet_input(id=f"input-{name}")
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
        _ = self.dismiss({name: self._declared[name].read(text) for name, text in written.items() if text})


class FormDialog(ModalScreen[dict[str, Any] | None]):
    """Has the user fill in the form of an MCP server; what stands in its fields is the answer."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Cancel")]

    def __init__(self, title: str, fields: Sequence[FormField]) -> None:
        super().__init__()
        self._title = one_line(title)
        self._fields = fields

    def compose(self) -> ComposeResult:
        """A line for each field, below what is known of it."""
        with Vertical(classes="dialog"):
            yield Label(self._title, classes="title", markup=False)
            with VerticalScroll(classes="inputs"):
                for field in self._fields:
                    yield Label(visible(field.in_words), markup=False)
                    yield quiet_input(value=one_line(field.offered))
            yield Label("", classes="why", markup=False)
            yield Label(
                "Enter goes to the next field and, after the last, sends. Esc goes back", classes="hint"
            )

    def on_mount(self) -> None:
        """Focus the first field."""
        self.query(Input).first().focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the next field; after the last one, send them all, or go to the first that does not fit."""
        lines = list(self.query(Input))
        at = lines.index(event.input)
        if at + 1 < len(lines):
            lines[at + 1].focus()
            return
        answer: dict[str, Any] = {}
        for field, line in zip(self._fields, lines, strict=True):
            try:
                value = field.read_line(line.value)
            except ValueError as error:
                self.query_one(".why", Label).update(visible(f"{field.title}: {error}"))
                line.focus()
                return
            if value is not None:
                answer[field.name] = value
        _ = self.dismiss(answer)


class ChoiceDialog(ModalScreen[str | None]):
    """Asks for one of several things; typing narrows the list, or is the answer itself if that is ``free``."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Cancel"),
        Binding("up", "move('cursor_up')"),
        Binding("down", "move('cursor_down')"),
    ]

    def __init__(
        self, title: str, choices: Sequence[Choice], current: str = "", *, free: bool = False
    ) -> None:
        super().__init__()
        self._title = title
        self._choices = choices
        self._current = current
        self._free = free

    def compose(self) -> ComposeResult:
        """The list, below what narrows it."""
        with Vertical(classes="dialog"):
            yield Label(self._title, classes="title", markup=False)
            yield quiet_input(placeholder="type to narrow the list")
            yield OptionList(classes="choices", compact=True)
            other = ", or takes what you have typed" if self._free else ""
            yield Label(f"↑ ↓ move, Enter chooses{other}, Esc cancels", classes="hint")

    def on_mount(self) -> None:
        """Focus the text, and show everything."""
        self.query_one(OptionList).can_focus = False
        self.query_one(Input).focus()
        self._narrow("")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what fits the text."""
        event.stop()
        self._narrow(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Choose what is highlighted, or else what was typed."""
        event.stop()
        option = self.query_one(OptionList).highlighted_option
        if option is not None:
            _ = self.dismiss(option.id)
        elif self._free and event.value.strip():
            _ = self.dismiss(event.value.strip())

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Choose what was clicked."""
        event.stop()
        _ = self.dismiss(event.option_id)

    def action_move(self, step: str) -> None:
        """Highlight another one."""
        getattr(self.query_one(OptionList), f"action_{step}")()

    def _narrow(self, wanted: str) -> None:
        words = wanted.casefold().split()
        shown = [one for one in self._choices if all(word in f"{one}".casefold() for word in words)]
        listed = self.query_one(OptionList)
        listed.set_options(
            Option(_row(one, one.value == self._current), one.value, bool(one.problem)) for one in shown
        )
        able = [index for index, one in enumerate(shown) if not one.problem]
        current = [index for index in able if shown[index].value == self._current]
        listed.highlighted = next(iter(current or able), None)


def _row(choice: Choice, current: bool) -> Text:
    return Text.assemble(
        ("● " if current else "  ", "green"),
        (one_line(choice.value), "bold"),
        (f"  {one_line(choice.description)}" if choice.description else "", "dim"),
        (f"  not available: {one_line(choice.problem)}" if choice.problem else "", "yellow"),
    )


class HelpDialog(ModalScreen[None]):
    """Lists the keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter", "dismiss(None)", "Close"),
    ]

    def compose(self) -> ComposeResult:
        """A table of keys."""
        table = Table.grid(padding=(0, 2))
        table.add_row("", "", Text("In a prompt", style="bold"))
        for mark, meaning in MARKS.items():
            table.add_row("", Text(mark, style="cyan"), Text(meaning))
        for title, keys in GROUPS:
            table.add_row("", "", Text(title, style="bold"))
            for key in keys:
                command = f"/{key.slash}" if key.slash else ""
                table.add_row(
                    Text(key.shown, style="cyan"), Text(command, style="cyan"), Text(key.description)
                )
        with Vertical(classes="dialog wide"):
            with VerticalScroll():
                yield Static(table)
            yield Label("↑ ↓ scroll, Esc closes", classes="hint")
