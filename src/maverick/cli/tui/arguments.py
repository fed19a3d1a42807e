"""The arguments of ``maverick tui``."""

from __future__ import annotations

import argparse

from maverick.cli.parser import CommandParser, unicode_text
from maverick.cli.run.arguments import add_servers


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of ``tui``."""
    parser.description = (
        "A full-screen terminal for agents and their runs: watch an agent work, approve its tool calls, stop and resume "
        "it, and fork it from any turn. Press F1 there for the keys."
    )
    parser.add_argument(
        "agent",
        metavar="AGENT",
        nargs="?",
        type=unicode_text,
        help="the agent to begin with, by name or file as in `maverick run` (default: general)",
    )
    parser.add_argument("--model", metavar="PROVIDER:MODEL", help="the model, in place of each agent's own")
    parser.add_argument(
        "--mode",
        choices=("plan", "ask", "accept-edits", "yolo"),
        help="what agents may do without asking: read only (nothing else is allowed); read; edit files too; anything",
    )
    add_servers(parser, "in every run")
    parser.add_argument(
        "--journal",
        metavar="PATH",
        help="where runs are kept: a file or a postgresql:// address (default: MAVERICK_JOURNAL, the settings, or "
        "~/.maverick/runs.db)",
    )
    parser.set_defaults(command=_tui)


def _tui(options: argparse.Namespace) -> int:
    from maverick.cli.tui.command import open_screen  # here, since it loads Textual and the runtime

    return open_screen(options)
