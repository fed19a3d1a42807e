"""What may be written after ``maverick users``."""

from __future__ import annotations

import argparse

from maverick.cli.parser import CommandParser, unicode_text


def add_arguments(parser: CommandParser) -> None:
    """Add the commands of ``users`` and their arguments."""
    parser.description = (
        "The users of the chat and the server: who there is, and deleting all that is kept of one."
    )
    parser.set_defaults(command=parser.show_help)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    listing = commands.add_parser(
        "list",
        help="list users",
        description="List users: accounts, and whoever else has tasks or conversations.",
    )
    listing.set_defaults(command=_list)
    deleting = commands.add_parser(
        "delete",
        help="delete all that is kept of a user",
        description="Delete a user as a whole: account, tokens, tasks, conversations, answers and runs.",
    )
    deleting.add_argument(
        "name", metavar="NAME", type=unicode_text, help="what they sign in with, or their id"
    )
    deleting.add_argument("--yes", action="store_true", help="do not ask")
    deleting.set_defaults(command=_delete)
    for command in (listing, deleting):
        command.add_argument(
            "--database",
            metavar="PATH",
            help="where tasks and conversations are kept; by default what is configured",
        )
        command.add_argument(
            "--json", action="store_true", dest="as_json", help="write JSON, for other programs"
        )


def _list(options: argparse.Namespace) -> int:
    from maverick.cli.users.commands import list_users  # here, since it brings the database with it

    return list_users(options.database, as_json=options.as_json)


def _delete(options: argparse.Namespace) -> int:
    from maverick.cli.users.commands import delete_user  # the same

    return delete_user(options.name, options.database, yes=options.yes, as_json=options.as_json)
