"""The panels around a conversation: the list of conversations, the welcome, and the lines above and below."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.events import MouseDown
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from maverick.journal import RunStatus
from maverick.journal.conversations import ConversationEntry, ConversationList
from maverick.tui.backend import Backend
from maverick.tui.block import Remark
from maverick.tui.conversation import Status
from maverick.tui.figures import age
from maverick.tui.gauge import Gauge, Meter
from maverick.tui.plain_text import one_line
from maverick.tui.session import Session

_MARKS = {
    RunStatus.RUNNING: ("●", "green"),
    RunStatus.WAITING: ("?", "yellow"),
    RunStatus.COMPLETE: ("✓", "green"),
    RunStatus.STOPPED: ("■", "red"),
}
_HINTS = (
    ("/", "lists the commands"),
    ("@", "attaches a file"),
    ("!", "runs a command of your own"),
    ("↑", "brings back what you have sent before"),
    ("Shift-Tab", "changes what the agent may do without asking"),
    ("F2 F3 F5", "choose the agent, the model and the folder"),
)
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


class Sidebar(OptionList):
    """The list of conversations in the journal, newest first."""

    def show(self, listed: ConversationList, shown: str, now: float) -> None:
        """List conversations; ``shown`` is the id of the run that is shown."""
        self.border_title = "Conversations" if listed.conversations else "No conversations yet"
        rows = {one.latest.run_id: _row(one, one.latest.run_id == shown, now) for one in listed.conversations}
        ids = list(rows)
        if [option.id for option in self.options] == ids:
            for option in self.options:  # replaced one by one, so that the list does not scroll
                if option.id is not None and option.prompt != rows[option.id]:
                    self.replace_option_prompt(option.id, rows[option.id])
            return
        marked = None if self.highlighted is None else self.options[self.highlighted].id
        self.set_options(Option(row, run_id) for run_id, row in rows.items())
        self.highlighted = ids.index(marked) if marked in ids else (0 if ids else None)


def _row(conversation: ConversationEntry, shown: bool, now: float) -> Text:
    run = conversation.latest
    mark, colour = _MARKS[run.status]
    return Text.assemble(
        (f"{mark} ", colour),
        (one_line(conversation.title) or one_line(run.run_id), "bold" if shown else ""),
        (f"\n  {one_line(run.agent)}, {age(now - run.updated_at)} ago", "dim"),
        no_wrap=True,
        overflow="ellipsis",
    )


class _Panel(Static):
    """A text that is made again only when what it shows has changed."""

    _shown: object = None

    def _is_new(self, *state: object) -> bool:
        before, self._shown = self._shown, state
        return state != before


class Welcome(_Panel):
    """What an empty conversation shows: who answers, and how to begin."""

    def show(self, session: Session, backend: Backend) -> None:
        """Show the text for a conversation that has not begun, and nothing for others."""
        blocks = session.model.blocks
        self.display = not session.run_id and all(isinstance(block, Remark) for block in blocks[:100])
        if not self.display or not self._is_new(session.agent, session.notice, backend.folder):
            return
        found = next((one for one in backend.agents() if one.name == session.agent), None)
        about = one_line(found.description) if found else ""
        text = Text.assemble(
            "Ask ", (one_line(session.agent), "bold"), f": {about}\n\n" if about else ".\n\n"
        )
        for key, what in _HINTS:
            text.append(f"{key:>10}", "bold").append(f"  {what}\n", "dim")
        if session.notice:
            text.append(f"\n{one_line(session.notice)}", "yellow")
        self.update(text)


class StatusLine(_Panel):
    """The agent, its model, and the state of the run."""

    def show(self, agent: str, model: str, effort: str, status: Status, since: str) -> None:
        """Draw the line; ``since`` is for how long the run has been in progress, and empty when it is not."""
        if not self._is_new(agent, model, effort, status, since, self.size.width):
            return
        right = Text(f"{status.value} {since}".strip(), style=f"bold {_COLOURS[status]}")
        left = Text(agent, "bold")
        left.append(
            "".join(f" · {part}" for part in (model, effort and f"{effort} effort") if part), "not bold dim"
        )
        left.truncate(max(self.size.width - right.cell_len - 3, 0), overflow="ellipsis", pad=True)
        self.update(Text.assemble(left, " ", right))


class GaugeLine(_Panel):
    """The mode, the folder, and what the run has used, with bars as long as there is room for."""

    def show(self, mode: str, folder: Path, gauge: Gauge) -> None:
        """Draw the line."""
        meters = tuple(gauge.meters())
        if not self._is_new(mode, folder, meters, self.size.width):
            return
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


class KeyLine(Widget):
    """The keys that do something now, with what they do; a click on one is as good as pressing it.

    Textual's own footer makes a widget of each key again whenever the focus moves, which takes longer than to draw the
    rest of the screen.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-line--key", "key-line--label"}
    DEFAULT_CSS = """
    KeyLine {
        dock: bottom;
        height: 1;
        color: $footer-foreground;
        background: $footer-background;
        .key-line--key { color: $footer-key-foreground; background: $footer-key-background; text-style: bold; }
        .key-line--label { color: $footer-description-foreground; background: $footer-description-background; }
    }
    """
    _keys: tuple[tuple[str, str, str], ...] = ()
    """Of each its name, how it is shown, and what it does."""

    def on_mount(self) -> None:
        """Begin to listen for other keys."""
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.call_after_refresh(self._look))

    def _look(self) -> None:
        active = [found.binding for found in self.screen.active_bindings.values() if found.binding.show]
        by_action = {binding.action: binding for binding in reversed(active)}
        firsts = [binding for binding in active if by_action[binding.action] is binding]
        keys = tuple((one.key, self.app.get_key_display(one), one.description) for one in firsts)
        if self.app.app_focus and keys != self._keys:
            self._keys = keys
            self.refresh()

    def render(self) -> Text:
        """The line."""
        key_style, label_style = map(self.get_component_rich_style, ("key-line--key", "key-line--label"))
        line = Text(no_wrap=True)
        for key, shown, label in self._keys:
            press = Style(meta={"key": key})
            line.append(shown, key_style + press).append(f" {label}", label_style + press).append(" ")
        return line

    def on_mouse_down(self, event: MouseDown) -> None:
        """Press the key that was clicked on."""
        if key := event.style.meta.get("key"):
            self.app.simulate_key(key)


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
