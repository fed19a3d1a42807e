"""``maverick users``: who uses the server, and deleting all that is kept of one."""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import asdict

from maverick.chat.database import Database
from maverick.cli.exit_codes import FAILURE, SUCCESS
from maverick.cli.formatting import Column, counted, lay_out, table_width
from maverick.cli.json_text import json_text
from maverick.cli.screen import Screen
from maverick.cli.terminal_approver import agreed
from maverick.config import load_config
from maverick.exceptions import InvalidInputError
from maverick.journal.opening import open_journal
from maverick.server.accounts import User, Users

_COLUMNS = (Column("NAME"), Column("ID", shrinks=True), Column("TASKS"), Column("CONVERSATIONS"))


def list_users(options: argparse.Namespace) -> int:
    """List all users."""
    return asyncio.run(_list_users(options))


def delete_user(options: argparse.Namespace) -> int:
    """Delete all that is kept of a user, once the person has agreed to it.

    Raises:
        InvalidInputError: There is no such user, or no one is there to agree.
    """
    return asyncio.run(_delete_user(options))


async def _list_users(options: argparse.Namespace) -> int:
    screen = Screen.of_process(interactive=False)
    async with _Opened(options.database) as users:
        found = users.all()
    if options.as_json:
        screen.say(f"{json_text([asdict(user) for user in found])}\n")
    elif found:
        rows = [(user.name or "", user.user_id, str(user.tasks), str(user.conversations)) for user in found]
        screen.say("".join(f"{line}\n" for line in lay_out(_COLUMNS, rows, table_width())))
    else:
        screen.remark("There are no users yet.")
    return SUCCESS


async def _delete_user(options: argparse.Namespace) -> int:
    screen = Screen.of_process(interactive=False)
    async with _Opened(options.database) as users:
        user = users.find(options.name)
        if not options.yes and not await _may_delete(user, screen):
            screen.remark("Nothing was deleted.")
            return FAILURE
        removed = await users.delete(user)
    if options.as_json:
        screen.say(f"{json_text({'user': asdict(user), 'removed': removed})}\n")
    else:
        parts = [f"{count} {what.replace('_', ' ')}" for what, count in removed.items() if count]
        screen.say(f"Deleted {_called(user)}: {', '.join(parts) or 'nothing was kept of them'}.\n")
    return SUCCESS


async def _may_delete(user: User, screen: Screen) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidInputError(
            "--yes: there is no terminal to ask in. Add it to delete without asking.", field="yes"
        )
    tasks, talks = counted(user.tasks, "task"), counted(user.conversations, "conversation")
    screen.headline(f"Delete {_called(user)}, with {tasks}, {talks} and every run? This cannot be undone.")
    return await agreed(screen)


def _called(user: User) -> str:
    return user.user_id if user.name is None else f"{user.name} ({user.user_id})"


class _Opened:
    """The users of the configured database and journal, for as long as the context is."""

    def __init__(self, location: str | None) -> None:
        settings = load_config()
        self._database = Database(location or settings.database.get_secret_value())
        self._journal = open_journal(settings.journal.get_secret_value())

    async def __aenter__(self) -> Users:
        return Users(self._database, self._journal)

    async def __aexit__(self, *_: object) -> None:
        await self._journal.aclose()
        self._database.close()
