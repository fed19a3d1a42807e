"""What may be written after ``maverick tui``."""

from __future__ import annotations

import argparse

from maverick.cli.parser import CommandParser, unicode_text
from maverick.cli.run.arguments import add_servers


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of ``tui``."""
    parser.description = (
        "Agents, runs and a live conversation on one screen: watch an agent work, decide on its tool calls, stop it, "
        "resume it, and run it again from any turn. Press ? there for all keys."
    )
    parser.add_argument(
        "agent",
        metavar="AGENT",
        nargs="?",
        type=unicode_text,
        help="the agent to begin with, by name or file as in `maverick run`; by default the general one",
    )
    parser.add_argument("--model", metavar="PROVIDER:MODEL", help="who answers, in place of each agent's own")
    parser.add_argument(
        "--mode",
        choices=("plan", "ask", "accept-edits", "yolo"),
        help="what agents may do without asking: look only; look; change files too; anything",
    )
    add_servers(parser, "in every run")
    parser.add_argument(
        "--journal",
        metavar="PATH",
        help="where runs are kept: a file or a postgresql:// address; by default what MAVERICK_JOURNAL or the settings "
        "say, or else ~/.maverick/runs.db",
    )
    parser.set_defaults(command=_tui)


def _tui(options: argparse.Namespace) -> int:
    from maverick.cli.tui.command import (
        open_screen,  # here, since it brings Textual and the whole runtime with it
    )

    return open_screen(options)
