"""Every key and what it does: the bindings and the help are made from this table."""

from __future__ import annotations

from typing import NamedTuple

from textual.binding import Binding, BindingType


class Key(NamedTuple):
    """A key of the screen."""

    key: str
    """As Textual names it; several are separated by commas."""
    shown: str
    """As people name it."""
    action: str
    description: str
    """What it does, for the help."""
    label: str = ""
    """What it does, for the footer; empty if it is not there."""
    always: bool = False
    """Whether it works everywhere, even while typing."""


ANYWHERE = (
    Key("n", "n", "new", "start a new conversation with the selected agent", "New"),
    Key("i", "i", "write", "go to the prompt"),
    Key("escape", "Esc", "leave", "leave the prompt or the search"),
    Key("tab", "Tab", "app.focus_next", "go to the next part of the screen (Shift-Tab: the previous one)"),
    Key("ctrl+c", "Ctrl-C", "stop", "stop the run and keep its partial answer", "Stop", always=True),
    Key("s", "s", "stop", "stop the run and keep its partial answer"),
    Key("r", "r", "resume", "resume a run that was stopped, failed or left unfinished", "Resume"),
    Key("R", "R", "resume_changed", "resume it even though its agent has changed"),
    Key("f", "f", "fork", "fork the run at the turn under the cursor", "Fork"),
    Key("a", "a", "decide", "approve or deny the tool call that is waiting", "Approve"),
    Key("slash", "/", "search", "search the conversation", "Search"),
    Key("e", "e", "fold_all", "collapse or expand all tool calls"),
    Key("t", "t", "thinking", "show or hide the model's thinking"),
    Key("y", "y", "copy", "copy the message or tool call under the cursor"),
    Key("b", "b", "sidebar", "show or hide the sidebar"),
    Key("u", "u", "reload", "reload the lists of agents and runs"),
    Key("ctrl+z", "Ctrl-Z", "app.suspend_process", "suspend Maverick and its runs (fg brings them back)"),
    Key("question_mark", "?", "help", "show this help"),
    Key("f1", "F1", "help", "show this help, even while typing", "Help", always=True),
    Key("q", "q", "quit", "quit"),
    Key("ctrl+q", "Ctrl-Q", "quit", "quit, even while typing", "Quit", always=True),
)
CONVERSATION = (
    Key("up,k", "↑ k", "move(-1)", "go up a line"),
    Key("down,j", "↓ j", "move(1)", "go down a line"),
    Key("pageup", "PgUp", "page(-1)", "go up a page"),
    Key("pagedown", "PgDn", "page(1)", "go down a page"),
    Key("home,g", "Home g", "home", "go to the beginning"),
    Key("end,G", "End G", "end", "go to the end and follow new output"),
    Key("enter,space", "Enter", "fold", "collapse or expand the tool call under the cursor"),
)
PROMPT = (
    Key("enter", "Enter", "submit", "send the prompt", "Send"),
    Key("ctrl+j", "Ctrl-J", "newline", "start a new line"),
)
SEARCH = (
    Key("down", "↓ Enter", "move(1)", "go to the next match"),
    Key("up", "↑", "move(-1)", "go to the previous match"),
)
DIALOG = (
    Key("y", "y", "answer('approve')", "allow the call, this once"),
    Key("n", "n", "answer('deny')", "deny the call; the model is told"),
    Key("w", "w", "answer('reason')", "deny the call, and say why"),
    Key("e", "e", "answer('edit')", "allow the call with other arguments"),
    Key("escape", "Esc", "answer('later')", "decide later (a asks again)"),
    Key("ctrl+c,s", "s", "answer('stop')", "stop the run", always=True),
)
GROUPS = (
    ("Anywhere except while typing", ANYWHERE),
    ("In the conversation", CONVERSATION),
    ("At the prompt", PROMPT),
    ("In the search", SEARCH),
    ("When asked about a tool call", DIALOG),
)


def bindings(keys: tuple[Key, ...]) -> list[BindingType]:
    """The keys as bindings of a Textual widget."""
    return [
        Binding(
            key.key,
            key.action,
            key.label or key.description,
            show=bool(key.label),
            priority=key.always,
            key_display=key.shown,
        )
        for key in keys
    ]
