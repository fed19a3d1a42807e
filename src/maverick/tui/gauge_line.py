"""The line that says how full the conversation is and what the run has used."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static

from maverick.tui.gauge import Gauge, Meter

_BARS = (8, 4, 2, 0)
"""How long bars are: as long as there is room for all figures. Without bars, the last figures give way."""
_NEARLY, _ALMOST = 0.7, 0.9


class GaugeLine(Static):
    """Draws a gauge, with bars as long as there is room for."""

    _drawn: object = None

    def show(self, gauge: Gauge) -> None:
        """Draw it, unless it is as it was."""
        meters = tuple(gauge.meters())
        state = (meters, self.size.width)
        if state == self._drawn:
            return
        self._drawn = state
        shapes = [(meters, bar) for bar in _BARS] + [(meters[:many], 0) for many in (3, 2, 1)]
        lines = (Text("  ").join(_written(meter, bar) for meter in shown) for shown, bar in shapes)
        self.update(next((line for line in lines if line.cell_len < self.size.width), Text()))


def _written(meter: Meter, bar: int) -> Text:
    drawn = Text(f"{meter.name} ", style="dim")
    if meter.share is not None:
        full = round(meter.share * bar)
        drawn.append("█" * full, style=_colour(meter.share))
        drawn.append("░" * (bar - full), style="dim")
        drawn.append(" " if bar else "")
    return drawn.append(meter.words, style="none" if meter.share is None else _colour(meter.share))


def _colour(share: float) -> str:
    if share >= _ALMOST:
        return "red"
    return "yellow" if share >= _NEARLY else "green"
