"""The line at the top: whose conversation it is, who answers, and where it stands."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static

from maverick.tui.conversation import Status
from maverick.tui.wrapping import cut

_COLOURS = {
    Status.IDLE: "dim",
    Status.RUNNING: "green",
    Status.WAITING: "yellow",
    Status.COMPLETE: "green",
    Status.STOPPED: "red",
    Status.LEFT: "yellow",
}


class StatusLine(Static):
    """Draws where a conversation stands."""

    _drawn: object = None

    def show(self, agent: str, model: str, status: Status, since: str) -> None:
        """Draw it, unless it is as it was.

        Args:
            agent: The agent's name.
            model: The model that answers, if it is known.
            status: Where the conversation stands.
            since: For how long the run goes on, in words; empty when it does not.
        """
        state = (agent, model, status, since, self.size.width)
        if state == self._drawn:
            return
        self._drawn = state
        right = Text(f"{status.value} {since}".strip(), style=f"bold {_COLOURS[status]}")
        room = self.size.width - right.cell_len - 3
        left = Text.assemble(
            ("maverick ", "bold"), (f"· {agent}", ""), (f" · {model}" if model else "", "dim")
        )
        if left.cell_len > room:
            left = Text(cut(left.plain, room))
        gap = max(self.size.width - left.cell_len - right.cell_len - 2, 1)
        self.update(Text.assemble(left, " " * gap, right))
