"""What may be written after ``maverick doctor``."""

from __future__ import annotations

import argparse

from maverick.cli.parser import CommandParser


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of ``doctor``."""
    parser.description = (
        "Look at what Maverick works with: settings, keys (whether they are set, never what they are), the journal, "
        "agents, MCP servers (none is started), optional packages and programs. Ends with 1 if something is wrong."
    )
    parser.add_argument("--json", action="store_true", dest="as_json", help="write JSON, for other programs")
    parser.set_defaults(command=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    from maverick.cli.doctor.examination import examine  # here, since it looks at everything

    return examine(as_json=options.as_json)
