"""The lines above and below the conversation: who answers; what agents may do, where, and what the run has used."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text
from textual.widgets import Static

from maverick.tui.conversation import Status
from maverick.tui.gauge import Gauge, Meter
from maverick.tui.plain_text import one_line

_COLOURS = {
    Status.IDLE: "dim",
    Status.RUNNING: "green",
    Status.WAITING: "yellow",
    Status.COMPLETE: "green",
    Status.STOPPED: "red",
    Status.LEFT: "yellow",
}
_MODES = {"plan": "cyan", "ask": "green", "accept-edits": "yellow", "yolo": "red"}
_BAR_LENGTHS = (8, 4, 2, 0)
"""The longest bars that leave room for all figures are used. Without bars, the last figures are left out."""
_LEAST_FOLDER = 24
"""Cells of the folder's name that are always there."""


class StatusLine(Static):
    """The agent, its model, and the state of the run."""

    _drawn: object = None

    def show(self, agent: str, model: str, effort: str, status: Status, since: str) -> None:
        """Draw the line, if it has changed.

        Args:
            agent: The agent's name.
            model: The model that answers, if it is known.
            effort: How much work it puts in, if that was chosen.
            status: The state of the run.
            since: For how long it has been running; empty when it is not.
        """
        state = (agent, model, effort, status, since, self.size.width)
        if state == self._drawn:
            return
        self._drawn = state
        right = Text(f"{status.value} {since}".strip(), style=f"bold {_COLOURS[status]}")
        left = Text(agent, "bold")
        left.append(
            "".join(f" · {part}" for part in (model, effort and f"{effort} effort") if part), "not bold dim"
        )
        left.truncate(max(self.size.width - right.cell_len - 3, 0), overflow="ellipsis", pad=True)
        self.update(Text.assemble(left, " ", right))


class GaugeLine(Static):
    """The mode, the folder, and what the run has used, with bars as long as there is room for."""

    _drawn: object = None

    def show(self, mode: str, folder: Path, gauge: Gauge) -> None:
        """Draw the line, if it has changed."""
        meters = tuple(gauge.meters())
        state = (mode, folder, meters, self.size.width)
        if state == self._drawn:
            return
        self._drawn = state
        width = self.size.width - 2
        place = one_line(_short(folder))
        left = Text.assemble((mode, f"bold {_MODES.get(mode, '')}".rstrip()), " · ")
        room = width - left.cell_len - min(len(place), _LEAST_FOLDER) - 2
        shapes = [(meters, bar) for bar in _BAR_LENGTHS] + [(meters[:count], 0) for count in (3, 2, 1, 0)]
        lines = (Text("  ").join(_drawn(meter, bar) for meter in shown) for shown, bar in shapes)
        right = next(line for line in lines if line.cell_len <= room or not line.cell_len)
        room = width - left.cell_len - right.cell_len - 2
        left.append(place if len(place) <= room else f"…{place[len(place) - max(room - 1, 1) :]}")
        left.truncate(max(width - right.cell_len, 0), pad=True)
        self.update(left + right)


def _short(folder: Path) -> str:
    """The folder as people write it."""
    home = Path.home()
    return f"~/{folder.relative_to(home)}".removesuffix("/.") if folder.is_relative_to(home) else str(folder)


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
