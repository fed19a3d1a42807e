"""The arguments of ``maverick worker``, ``fleet`` and ``schedule``."""

from __future__ import annotations

import argparse

from maverick.cli.parser import CommandParser, dollars, seconds, unicode_text, whole_number
from maverick.cli.run.arguments import add_inputs, add_sender


def add_connection(parser: CommandParser) -> None:
    """Add where a fleet is: its Temporal server and its database."""
    parser.add_argument(
        "--temporal",
        metavar="URL",
        help="the Temporal server: host:port or temporal://host:port/namespace; default: MAVERICK_TEMPORAL or the settings",
    )
    parser.add_argument(
        "--db",
        metavar="URL",
        help="the database of the fleet's runs, a postgresql:// address; default: MAVERICK_JOURNAL or the settings",
    )
    parser.add_argument("--tls", action="store_true", help="encrypt the connection to Temporal")


def add_worker(parser: CommandParser) -> None:
    """Add the arguments of ``worker``."""
    parser.description = (
        "Drive runs of a fleet until stopped. On SIGTERM or Ctrl-C the runs in progress are handed over to other workers; "
        "Ctrl-C twice ends the worker at once, and others take its runs over."
    )
    add_connection(parser)
    parser.add_argument(
        "--agents",
        metavar="FILE",
        nargs="+",
        default=[],
        type=unicode_text,
        help="the Python or Markdown files, or the modules, with the agents it offers; default: all that "
        "`maverick agents list` shows",
    )
    parser.add_argument(
        "--chat",
        action=argparse.BooleanOptionalAction,
        help="answer the chat of `maverick serve` (default: unless --agents names others)",
    )
    parser.add_argument(
        "--max-spend",
        type=dollars,
        metavar="USD",
        help="what `maverick serve` lets a user spend per day in the chat: it limits each answer too",
    )
    parser.add_argument(
        "--max-runs",
        metavar="N",
        type=whole_number(1),
        default=100,
        help="how many runs it drives at once (default: %(default)s)",
    )
    parser.add_argument(
        "--grace",
        metavar="TIME",
        type=seconds,
        default=60.0,
        help="how long runs have to be handed over when it is stopped, such as 90s or 5m; longer than the longest tool "
        "call (default: 60s)",
    )
    parser.add_argument(
        "--health-port",
        metavar="PORT",
        type=whole_number(1, 65535),
        help="answer /health, /ready and /metrics over HTTP at this port; default: not at all",
    )
    parser.add_argument(
        "--health-host",
        metavar="ADDRESS",
        default="127.0.0.1",
        help="the address to answer them at, such as 0.0.0.0 in a container (default: this machine only)",
    )
    parser.set_defaults(command="maverick.cli.fleet.worker:run_worker")


def add_fleet(parser: CommandParser) -> None:
    """Add the verbs of ``fleet``."""
    parser.description = "The workers of a fleet and its runs."
    parser.set_defaults(command=parser.show_help)
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND")
    status = verbs.add_parser(
        "status",
        help="show the workers, and the runs that have not ended",
        description="Show the workers, and the runs that have not ended with what they wait for.",
    )
    status.add_argument(
        "--limit", metavar="N", type=whole_number(1), default=20, help="how many runs (default: %(default)s)"
    )
    status.set_defaults(command="maverick.cli.fleet.status:show_status")
    adopt = verbs.add_parser(
        "adopt",
        help="have runs driven that Temporal has lost",
        description="Give each run that has not ended back to Temporal, if it was lost there: its workflow was terminated, "
        "or the server was replaced. A run that Temporal has is left alone.",
    )
    adopt.set_defaults(command="maverick.cli.fleet.status:adopt_runs")
    for verb in (status, adopt):
        add_connection(verb)
        _add_json(verb)


def add_schedule(parser: CommandParser) -> None:
    """Add the verbs of ``schedule``."""
    parser.description = "Runs that a fleet starts at certain times."
    parser.set_defaults(command=parser.show_help)
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND")
    add = verbs.add_parser(
        "add",
        help="start runs of an agent at certain times",
        description="Start runs of an agent at certain times, each whether or not the one before has ended. Times that the "
        "fleet misses by more than ten minutes are left out.",
    )
    add.add_argument(
        "cron",
        metavar="TIMES",
        type=unicode_text,
        help="minute, hour, day of the month, month, day of the week: '0 7 * * *' is every day at 7:00, '@hourly' "
        "every hour",
    )
    add.add_argument("agent", metavar="AGENT", type=unicode_text, help="the agent's name on the workers")
    add_inputs(add)
    add_sender(add)
    add.add_argument(
        "--name", metavar="NAME", type=unicode_text, help="the schedule's name (default: the agent's)"
    )
    add.add_argument(
        "--timezone", metavar="ZONE", type=unicode_text, help="such as Europe/Paris (default: UTC)"
    )
    add.set_defaults(command="maverick.cli.fleet.schedules:add_schedule")
    listing = verbs.add_parser(
        "list", help="list schedules", description="List schedules with the time of the next run."
    )
    listing.set_defaults(command="maverick.cli.fleet.schedules:list_schedules")
    remove = verbs.add_parser(
        "remove",
        help="remove a schedule",
        description="Remove a schedule. Runs that it has started go on.",
    )
    remove.add_argument("name", metavar="NAME", type=unicode_text, help="the schedule's name")
    remove.set_defaults(command="maverick.cli.fleet.schedules:remove_schedule")
    for verb in (add, listing, remove):
        add_connection(verb)
        _add_json(verb)


def _add_json(parser: CommandParser) -> None:
    parser.add_argument("--json", action="store_true", dest="as_json", help="write JSON, for other programs")
