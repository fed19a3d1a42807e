"""What may be written after ``maverick agents``."""

from __future__ import annotations

import argparse

from maverick.cli.parser import CommandParser, unicode_text


def add_arguments(parser: CommandParser) -> None:
    """Add the verbs of ``agents``."""
    parser.description = (
        "Agents in files (.maverick/agents and .claude/agents, of this folder and of your home), in Python modules "
        "(the setting agents), in installed packages, and those that come with Maverick."
    )
    parser.set_defaults(command=parser.show_help)
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND")
    listing = verbs.add_parser("list", help="list all agents", description="List all agents.")
    listing.add_argument("--names", action="store_true", help="write the names only, each on a line")
    listing.set_defaults(command=_list)
    show = verbs.add_parser("show", help="show what an agent is", description="Show what an agent is.")
    show.add_argument("agent", metavar="AGENT", type=unicode_text, help="the agent's name, or its file")
    show.set_defaults(command=_show)
    for reading in (listing, show):
        reading.add_argument(
            "--json", action="store_true", dest="as_json", help="write JSON, for other programs"
        )
    _add_new(
        verbs.add_parser("new", help="write a new agent", description="Write a new agent that can be run.")
    )
    verbs.add_parser("run", help="run an agent; the same as `maverick run`", fill=_add_run)


def _add_new(new: CommandParser) -> None:
    new.add_argument("name", metavar="NAME", type=unicode_text, help="what it is called")
    new.add_argument(
        "--python", action="store_true", help="write Python, with a tool of its own, in place of Markdown"
    )
    new.add_argument(
        "--home", action="store_true", help="write it for all your projects, in place of this one"
    )
    new.add_argument("--force", action="store_true", help="write over a file that is there already")
    new.set_defaults(command=_new)


def _add_run(parser: CommandParser) -> None:
    from maverick.cli.run.arguments import add_arguments as add_run_arguments

    add_run_arguments(parser)


def _list(options: argparse.Namespace) -> int:
    from maverick.cli.agents.listing import list_agents  # here, since it loads agents

    return list_agents(as_json=options.as_json, names=options.names)


def _show(options: argparse.Namespace) -> int:
    from maverick.cli.agents.page import show_agent  # here, since it loads agents

    return show_agent(options.agent, as_json=options.as_json)


def _new(options: argparse.Namespace) -> int:
    from maverick.cli.agents.new import write_agent  # here, since it is seldom wanted

    return write_agent(options.name, python=options.python, home=options.home, force=options.force)
