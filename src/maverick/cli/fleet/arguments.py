"""The arguments of ``maverick worker``, ``fleet`` and ``schedule``."""

from __future__ import annotations

import argparse

from maverick.cli.parser import CommandParser, add_json, dollars, seconds, whole_number
from maverick.cli.run.arguments import add_inputs, add_sender


def add_connection(parser: CommandParser) -> None:
    """Add where a fleet is: its Temporal server and its database."""
    parser.option(
        "--temporal URL",
        "the Temporal server: host:port or temporal://host:port/namespace; default: MAVERICK_TEMPORAL or the settings",
    )
    parser.option(
        "--db URL",
        "the database of the fleet's runs, a postgresql:// address; default: MAVERICK_JOURNAL or the settings",
    )
    parser.option("--tls", "encrypt the connection to Temporal")


def add_worker(parser: CommandParser) -> None:
    """Add the arguments of ``worker``."""
    parser.describe(
        "Drive runs of a fleet until stopped. On SIGTERM or Ctrl-C the runs in progress are handed over to other workers; "
        "Ctrl-C twice ends the worker at once, and others take its runs over.",
        "fleet.worker:run_worker",
    )
    add_connection(parser)
    parser.option(
        "--agents FILE+",
        "the Python or Markdown files, or the modules, with the agents it offers; default: all that "
        "`maverick agents list` shows",
        default=[],
    )
    parser.option(
        "--chat",
        "answer the chat of `maverick serve` (default: unless --agents names others)",
        action=argparse.BooleanOptionalAction,
    )
    parser.option(
        "--max-spend USD",
        "what `maverick serve` lets a user spend per day in the chat: it limits each answer too",
        type=dollars,
    )
    parser.option(
        "--max-runs N",
        "how many runs it drives at once (default: %(default)s)",
        type=whole_number(1),
        default=100,
    )
    parser.option(
        "--grace TIME",
        "how long runs have to be handed over when it is stopped, such as 90s or 5m; longer than the longest tool "
        "call (default: 60s)",
        type=seconds,
        default=60.0,
    )
    parser.option(
        "--health-port PORT",
        "answer /health, /ready and /metrics over HTTP at this port; default: not at all",
        type=whole_number(1, 65535),
    )
    parser.option(
        "--health-host ADDRESS",
        "the address to answer them at, such as 0.0.0.0 in a container (default: this machine only)",
        default="127.0.0.1",
    )


def add_fleet(parser: CommandParser) -> None:
    """Add the verbs of ``fleet``."""
    parser.description = "The workers of a fleet and its runs."
    status = parser.verb(
        "status",
        "show the workers, and the runs that have not ended with what they wait for",
        "fleet.status:show_status",
    )
    status.option("--limit N", "how many runs (default: %(default)s)", type=whole_number(1), default=20)
    adopt = parser.verb(
        "adopt",
        "have runs driven that Temporal has lost",
        "fleet.status:adopt_runs",
        "Give each run that has not ended back to Temporal, if it was lost there: its workflow was terminated, "
        "or the server was replaced. A run that Temporal has is left alone.",
    )
    for verb in (status, adopt):
        add_connection(verb)
        add_json(verb)


def add_schedule(parser: CommandParser) -> None:
    """Add the verbs of ``schedule``."""
    parser.description = "Runs that a fleet starts at certain times."
    add = parser.verb(
        "add",
        "start runs of an agent at certain times",
        "fleet.status:add_schedule",
        "Start runs of an agent at certain times, each whether or not the one before has ended. Times that the "
        "fleet misses by more than ten minutes are left out.",
    )
    add.option(
        "cron TIMES",
        "minute, hour, day of the month, month, day of the week: '0 7 * * *' is every day at 7:00, '@hourly' every hour",
    )
    add.option("agent AGENT", "the agent's name on the workers")
    add_inputs(add)
    add_sender(add)
    add.option("--name NAME", "the schedule's name (default: the agent's)")
    add.option("--timezone ZONE", "such as Europe/Paris (default: UTC)")
    listing = parser.verb(
        "list", "list schedules with the time of the next run", "fleet.status:list_schedules"
    )
    remove = parser.verb(
        "remove", "remove a schedule; runs that it has started continue", "fleet.status:remove_schedule"
    )
    remove.option("name NAME", "the schedule's name")
    for verb in (add, listing, remove):
        add_connection(verb)
        add_json(verb)
