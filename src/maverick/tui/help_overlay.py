"""All keys, over everything else."""

from __future__ import annotations

from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Label, Static

from maverick.tui.keys import GROUPS


class HelpOverlay(ModalScreen[None]):
    """The keys, group by group."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter", "dismiss(None)", "Close"),
    ]

    def compose(self) -> ComposeResult:
        """A table of keys."""
        table = Table.grid(padding=(0, 2))
        for title, keys in GROUPS:
            table.add_row(Text(""), Text(title, style="bold"))
            for key in keys:
                table.add_row(Text(key.shown, style="cyan"), Text(key.words))
        with Vertical(classes="dialog wide"):
            with VerticalScroll():
                yield Static(table)
            yield Label("↑ ↓ scroll, Esc closes", classes="hint")
