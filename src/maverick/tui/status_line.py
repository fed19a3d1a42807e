"""The lines above and below the conversation: who answers and how far it is; what the run has used."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static

from maverick.tui.conversation import Status
from maverick.tui.gauge import Gauge, Meter

_COLOURS = {
    Status.IDLE: "dim",
    Status.RUNNING: "green",
    Status.WAITING: "yellow",
    Status.COMPLETE: "green",
    Status.STOPPED: "red",
    Status.LEFT: "yellow",
}
_BAR_LENGTHS = (8, 4, 2, 0)
"""The longest bars that leave room for all figures are used. Without bars, the last figures are left out."""


class StatusLine(Static):
    """The agent, its model, and the state of the run."""

    _drawn: object = None

    def show(self, agent: str, model: str, status: Status, since: str) -> None:
        """Draw the line, if it has changed.

        Args:
            agent: The agent's name.
            model: The model that answers, if it is known.
            status: The state of the run.
            since: For how long it has been running; empty when it is not.
        """
        state = (agent, model, status, since, self.size.width)
        if state == self._drawn:
            return
        self._drawn = state
        right = Text(f"{status.value} {since}".strip(), style=f"bold {_COLOURS[status]}")
        left = Text.assemble(("maverick ", "bold"), f"· {agent}", (f" · {model}" if model else "", "dim"))
        left.truncate(max(self.size.width - right.cell_len - 3, 0), overflow="ellipsis", pad=True)
        self.update(Text.assemble(left, " ", right))


class GaugeLine(Static):
    """What the run has used, with bars as long as there is room for."""

    _drawn: object = None

    def show(self, gauge: Gauge) -> None:
        """Draw the line, if it has changed."""
        meters = tuple(gauge.meters())
        state = (meters, self.size.width)
        if state == self._drawn:
            return
        self._drawn = state
        shapes = [(meters, bar) for bar in _BAR_LENGTHS] + [(meters[:count], 0) for count in (3, 2, 1)]
        lines = (Text("  ").join(_drawn(meter, bar) for meter in shown) for shown, bar in shapes)
        self.update(next((line for line in lines if line.cell_len < self.size.width), Text()))


def _drawn(meter: Meter, bar: int) -> Text:
    drawn = Text(f"{meter.name} ", style="dim")
    if meter.share is None:
        return drawn.append(meter.text, style="none")
    colour = "red" if meter.share >= 0.9 else "yellow" if meter.share >= 0.7 else "green"
    full = round(meter.share * bar)
    drawn.append("█" * full, style=colour)
    drawn.append("░" * (bar - full), style="dim")
    drawn.append(" " if bar else "")
    return drawn.append(meter.text, style=colour)
