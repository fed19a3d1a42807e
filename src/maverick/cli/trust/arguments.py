"""What may be written after ``maverick trust``."""

from __future__ import annotations

import argparse

from maverick.cli.parser import CommandParser, unicode_text


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of ``trust``."""
    parser.description = (
        "Trust a project. What its files say of where data goes and what runs (address, key and provider of the model, "
        "places of runs and conversations, MCP servers, permissions that allow something, agents, modules) holds only "
        "then. A file that changes has to be trusted again. MAVERICK_TRUST names folders that are trusted besides."
    )
    parser.add_argument(
        "path", metavar="PATH", nargs="?", type=unicode_text, help="the project's folder; by default this one"
    )
    doing = parser.add_mutually_exclusive_group()
    doing.add_argument(
        "--list", action="store_true", dest="listing", help="list the folders that are trusted"
    )
    doing.add_argument("--remove", action="store_true", help="trust the folder no longer")
    parser.set_defaults(command=_trust)


def _trust(options: argparse.Namespace) -> int:
    from maverick.cli.trust.command import trust  # here, since it reads the project's files

    return trust(options.path, listing=options.listing, remove=options.remove)
