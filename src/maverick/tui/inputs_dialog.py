"""Asks for the inputs of an agent that takes more than a prompt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Label

from maverick.loop import Input as Declared
from maverick.loop.inputs import REQUIRED


class InputsDialog(ModalScreen[dict[str, Any] | None]):
    """A line for each input.

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
        """The lines, each below its name."""
        with Vertical(classes="dialog"):
            yield Label(f"What {self._agent} needs", classes="title", markup=False)
            with VerticalScroll(classes="inputs"):
                for name, spec in self._declared.items():
                    optional = "" if spec.default is REQUIRED else f"; {spec.default!r} if empty"
                    yield Label(
                        f"{name}{f', {spec.description}' if spec.description else ''}{optional}", markup=False
                    )
                    line = Input(id=f"input-{name}", compact=True)
                    line.cursor_blink = False
                    yield line
            yield Label("Enter goes on, and runs it at the last line; Esc leaves it be", classes="hint")

    def on_mount(self) -> None:
        """Let the person write."""
        self.query(Input).first().focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the next line; at the last one, take what was written."""
        lines = list(self.query(Input))
        at = lines.index(event.input)
        if at + 1 < len(lines):
            lines[at + 1].focus()
            return
        written = {name: self.query_one(f"#input-{name}", Input).value for name in self._declared}
        _ = self.dismiss({name: _read(self._declared[name], text) for name, text in written.items() if text})


def _read(spec: Declared, text: str) -> object:
    """The text, or the JSON it is if the agent wants something else than text."""
    if spec.type is str:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text  # the agent's type may read it, and complains if it can not
