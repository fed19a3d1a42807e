"""What an empty conversation shows: who answers, where, and how to begin."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static

from maverick.tui.backend import Backend
from maverick.tui.block import Remark
from maverick.tui.plain_text import one_line
from maverick.tui.session import Session

_HINTS = (
    ("/", "lists the commands"),
    ("@", "attaches a file"),
    ("!", "runs a command of your own"),
    ("↑", "brings back what you have sent before"),
    ("Shift-Tab", "changes what the agent may do without asking"),
    ("F2 F3 F5", "choose the agent, the model and the folder"),
)


class Welcome(Static):
    """The text before the first message."""

    _shown: object = None

    def show(self, session: Session, backend: Backend) -> None:
        """Show the text for a conversation that has not begun, and nothing for others."""
        blocks = session.model.blocks
        self.display = not session.run_id and all(isinstance(block, Remark) for block in blocks[:100])
        state = (session.agent, session.notice, backend.folder)
        if not self.display or state == self._shown:
            return
        self._shown = state
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
