"""What may be written after ``maverick chat``."""

from __future__ import annotations

import argparse

from maverick.cli.parser import CommandParser


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of ``chat``."""
    parser.description = (
        "Talk to an agent, which has the tools of the MCP servers in ~/.maverick/mcp.json too. Without a terminal, "
        "each line of standard input is answered; without any input, a short tour is shown."
    )
    parser.add_argument(
        "--model",
        metavar="PROVIDER:MODEL",
        help="who answers; by default the configured model, or the offline one when none is configured and there is no key",
    )
    parser.set_defaults(command=_chat)


def _chat(options: argparse.Namespace) -> int:
    from maverick.cli.chat import run_chat  # here, since it brings the whole runtime with it

    return run_chat(options.model)
