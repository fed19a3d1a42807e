"""Every key and every slash command, and what they do: the bindings, the completion and the help are made from this table."""

from __future__ import annotations

from typing import NamedTuple

from textual.binding import Binding, BindingType


class Key(NamedTuple):
    """A key of the screen, a slash command, or both."""

    key: str
    """As Textual names it; several are separated by commas. Empty for what is only a command."""
    shown: str
    """As people name it."""
    action: str
    description: str
    """What it does, for the help."""
    label: str = ""
    """What it does, for the footer; empty if it is not there."""
    always: bool = False
    """Whether it works everywhere, even while typing."""
    slash: str = ""
    """The command that does the same when it is typed at the prompt."""
    takes: str = ""
    """What the command takes after its name, for the help."""


ALWAYS = (
    Key("escape", "Esc", "stop", "stop the run or the command; its output is kept", "Stop", slash="stop"),
    Key(
        "shift+tab",
        "Shift-Tab",
        "choose('mode')",
        "change what agents may do",
        "Mode",
        True,
        "mode",
        "[MODE]",
    ),
    Key("f1", "F1", "help", "show this help", "Help", True, "help"),
    Key("f2", "F2", "choose('agent')", "start with another agent", "Agent", True, "agent", "[NAME]"),
    Key("f3", "F3", "choose('model')", "choose the model that answers", "Model", True, "model", "[NAME]"),
    Key("f4", "F4", "choose('effort')", "choose the model's effort", "", True, "effort", "[LEVEL]"),
    Key("f5", "F5", "choose('folder')", "work in another folder", "Folder", True, "folder", "[PATH]"),
    Key("ctrl+n", "Ctrl-N", "new", "start a new conversation (/clear, too)", "", True, "new"),
    Key("ctrl+b", "Ctrl-B", "sidebar", "show or hide the conversations", "List", True, "list"),
    Key("ctrl+f", "Ctrl-F", "search", "search the conversation", "", True, "search", "[TEXT]"),
    Key("ctrl+p", "Ctrl-P", "command_palette", "find a command by its name", "", True),
    Key("ctrl+c", "Ctrl-C", "interrupt", "stop the run, or clear the prompt; twice quits", "", True),
    Key("ctrl+q", "Ctrl-Q", "quit", "quit (/exit, too)", "", True, "quit"),
    Key("ctrl+z", "Ctrl-Z", "app.suspend_process", "suspend Maverick (fg brings it back)", "", True),
    Key("tab", "Tab", "app.focus_next", "go to the next part of the screen"),
    Key("escape", "Esc", "leave", "close the search, or go back to the prompt"),
)
TYPED = (
    Key("", "", "resume", "resume a stopped, failed or unfinished run", slash="resume", takes="[anyway]"),
    Key("", "", "fork", "fork the run at the turn under the cursor", slash="fork"),
    Key("", "", "approve", "approve or deny the tool call that is waiting", slash="approve"),
    Key("", "", "fold_all", "collapse or expand all tool calls", slash="fold"),
    Key("", "", "thinking", "show or hide the model's thinking", slash="thinking"),
    Key("", "", "copy", "copy the message or tool call under the cursor", slash="copy"),
    Key("", "", "reload", "reload agents and conversations", slash="reload"),
)
CONVERSATION = (
    Key("up", "↑", "move(-1)", "go up a line"),
    Key("down", "↓", "move(1)", "go down a line"),
    Key("pageup", "PgUp", "page(-1)", "go up a page"),
    Key("pagedown", "PgDn", "page(1)", "go down a page"),
    Key("home", "Home", "home", "go to the beginning"),
    Key("end", "End", "end", "go to the end and follow new output"),
    Key("enter,space", "Enter", "fold", "collapse or expand the tool call under the cursor"),
)
PROMPT = (
    Key(
        "enter",
        "Enter",
        "submit",
        "send the prompt (a running agent sees it before its next turn), or take a completion",
    ),
    Key("ctrl+j,alt+enter", "Ctrl-J Alt-Enter", "newline", "start a new line"),
    Key("up", "↑", "earlier", "on the first line: the prompt before"),
    Key("down", "↓", "later", "on the last line: the prompt after"),
)
SEARCH = (
    Key("down", "↓ Enter", "move(1)", "go to the next match"),
    Key("up", "↑", "move(-1)", "go to the previous match"),
)
DIALOG = (
    Key("y", "y", "answer('approve')", "allow the call, this once"),
    Key("a", "a", "answer('session')", "allow calls like it, until you quit; Enter confirms"),
    Key("p", "p", "answer('project')", "allow calls like it, always in this folder; Enter confirms"),
    Key("enter", "Enter", "confirm", "confirm a or p"),
    Key("n", "n", "answer('deny')", "deny the call; the model is told"),
    Key("w", "w", "answer('reason')", "deny the call, and say why"),
    Key("e", "e", "answer('edit')", "allow the call with other arguments"),
    Key("escape", "Esc", "answer('later')", "decide later (/approve asks again)"),
    Key("s", "s", "answer('stop')", "stop the run"),
    Key("ctrl+c", "Ctrl-C", "answer('stop')", "stop the run, at once", always=True),
)
GROUPS = (
    ("Everywhere", ALWAYS),
    ("Typed at the prompt", TYPED),
    ("In the conversation", CONVERSATION),
    ("At the prompt", PROMPT),
    ("In the search", SEARCH),
    ("When asked about a tool call", DIALOG),
)
MARKS = {
    "/command": "does what the keys below do; / alone lists the commands",
    "@file": "attaches a file of the folder: text, an image or a PDF",
    "!command": "runs a command of yours; the agent sees its output with your next message",
}
"""What a prompt may have in it."""
COMMANDS = {key.slash: key for key in (*ALWAYS[1:], *TYPED, ALWAYS[0]) if key.slash}
"""The slash commands by their names."""
ALIASES = {"exit": "quit", "clear": "new"}
"""Other names of slash commands, which people know from elsewhere."""


def bindings(*groups: tuple[Key, ...]) -> list[BindingType]:
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
        for keys in groups
        for key in keys
        if key.key
    ]
