"""What may be written after ``maverick config``."""

from __future__ import annotations

import argparse

from maverick.cli.parser import CommandParser


def add_arguments(parser: CommandParser) -> None:
    """Add the verbs of ``config``."""
    parser.description = (
        "Settings: the defaults, then ~/.maverick/config.yaml, then ./maverick.yaml, then the environment, "
        "each over the one before."
    )
    parser.set_defaults(command=parser.show_help)
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND")
    show = verbs.add_parser(
        "show",
        help="show what will be used, and where it was set",
        description="Show every setting and MCP server as it will be used, and where it was set. A key is never shown.",
    )
    show.set_defaults(command=_show)
    path = verbs.add_parser(
        "path", help="show where settings are read from", description="Show where settings are read from."
    )
    path.set_defaults(command=_path)
    for reading in (show, path):
        reading.add_argument(
            "--json", action="store_true", dest="as_json", help="write JSON, for other programs"
        )
    init = verbs.add_parser(
        "init",
        help="write a file with every setting in it",
        description="Write ~/.maverick/config.yaml, with every setting in a comment.",
    )
    init.add_argument("--project", action="store_true", help="write ./maverick.yaml in its place")
    init.add_argument("--force", action="store_true", help="write over a file that is there already")
    init.set_defaults(command=_init)


def _show(options: argparse.Namespace) -> int:
    from maverick.cli.config.settings_table import show_settings  # here, since reading the settings is slow

    return show_settings(as_json=options.as_json)


def _path(options: argparse.Namespace) -> int:
    from maverick.cli.config.files import show_files  # the same

    return show_files(as_json=options.as_json)


def _init(options: argparse.Namespace) -> int:
    from maverick.cli.config.files import write_file  # the same

    return write_file(project=options.project, force=options.force)
