"""Every key, what it does and in which words: bindings and help are made from this one table."""

from __future__ import annotations

from typing import NamedTuple

from textual.binding import Binding, BindingType


class Key(NamedTuple):
    """A key of the screen."""

    key: str
    """As Textual names it; several with commas between them."""
    shown: str
    """As people name it."""
    action: str
    words: str
    """What it does, for the help."""
    label: str = ""
    """What it does, for the line at the bottom; empty if it is not there."""
    always: bool = False
    """Whether it works wherever the cursor is, even in text."""


ANYWHERE = (
    Key("n", "n", "new", "begin a new conversation with the chosen agent", "New"),
    Key("i", "i", "write", "go to the prompt"),
    Key("escape", "Esc", "leave", "leave the prompt or the search for the conversation"),
    Key("tab", "Tab", "app.focus_next", "go to the next part of the screen; Shift-Tab to the one before"),
    Key("ctrl+c", "Ctrl-C", "stop", "stop the run; what there is of its answer stays", "Stop", always=True),
    Key("s", "s", "stop", "the same"),
    Key("r", "r", "resume", "go on with a run that was stopped, failed or left", "Resume"),
    Key("R", "R", "resume_changed", "the same, although its agent has changed"),
    Key("f", "f", "fork", "run again from the turn at the cursor, with other words", "Fork"),
    Key("a", "a", "decide", "decide on the tool call that waits", "Decide"),
    Key("slash", "/", "search", "search the conversation", "Search"),
    Key("e", "e", "fold_all", "fold or unfold all tool calls"),
    Key("t", "t", "thoughts", "show or hide the model's thinking"),
    Key("y", "y", "copy", "copy what is at the cursor"),
    Key("b", "b", "sidebar", "show or hide agents and runs"),
    Key("u", "u", "look_again", "look for agents and runs again"),
    Key(
        "ctrl+z", "Ctrl-Z", "app.suspend_process", "go back to the shell, with all that runs held; fg returns"
    ),
    Key("question_mark", "?", "help", "show this"),
    Key("f1", "F1", "help", "the same, wherever the cursor is", "Help", always=True),
    Key("q", "q", "quit", "leave"),
    Key("ctrl+q", "Ctrl-Q", "quit", "the same, wherever the cursor is", "Quit", always=True),
)
CONVERSATION = (
    Key("up,k", "↑ k", "up", "go up a line"),
    Key("down,j", "↓ j", "down", "go down a line"),
    Key("pageup", "PgUp", "page_up", "go up a page"),
    Key("pagedown", "PgDn", "page_down", "go down a page"),
    Key("home,g", "Home g", "home", "go to the beginning"),
    Key("end,G", "End G", "end", "go to the end, and stay there as more comes"),
    Key("enter,space", "Enter", "fold", "fold or unfold the tool call at the cursor"),
)
PROMPT = (
    Key("enter", "Enter", "submit", "send what is written", "Send"),
    Key("ctrl+j", "Ctrl-J", "newline", "begin a new line"),
)
SEARCH = (
    Key("down", "↓ Enter", "next", "go to the next place"),
    Key("up", "↑", "previous", "go to the one before"),
)
DIALOG = (
    Key("y", "y", "approve", "allow the call, this once"),
    Key("n", "n", "deny", "refuse it; the model is told so"),
    Key("escape", "Esc", "later", "decide later: press a to be asked again"),
    Key("ctrl+c,s", "s", "stop", "stop the run", always=True),
)
GROUPS = (
    ("Anywhere but in text", ANYWHERE),
    ("In the conversation", CONVERSATION),
    ("At the prompt", PROMPT),
    ("In the search", SEARCH),
    ("When you are asked about a tool call", DIALOG),
)


def bindings(keys: tuple[Key, ...]) -> list[BindingType]:
    """What Textual wants to know of keys."""
    return [
        Binding(
            key.key,
            key.action,
            key.label or key.words,
            show=bool(key.label),
            priority=key.always,
            key_display=key.shown,
        )
        for key in keys
    ]
