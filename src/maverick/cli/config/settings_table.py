"""``maverick config show``: every setting, its value, and where it was set."""

from __future__ import annotations

from maverick.cli.exit_codes import SUCCESS
from maverick.cli.json_text import json_text
from maverick.cli.screen import Screen
from maverick.cli.table import Column, lay_out, terminal_width
from maverick.config import load_config

_COLUMNS = (Column("SETTING"), Column("VALUE", shrinks=True), Column("FROM", shrinks=True))


def show_settings(*, as_json: bool) -> int:
    """Show the settings; secrets are hidden.

    Raises:
        ConfigError: One of them is wrong.
    """
    settings = load_config().describe()
    screen = Screen.of_process(interactive=False)
    if as_json:
        screen.say(f"{json_text([setting._asdict() for setting in settings])}\n")
        return SUCCESS
    rows = [
        (setting.field, "" if setting.value is None else str(setting.value), setting.source)
        for setting in settings
    ]
    screen.say("".join(f"{line}\n" for line in lay_out(_COLUMNS, rows, terminal_width())))
    return SUCCESS
