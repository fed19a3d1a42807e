"""``maverick users``: who uses the server, and deleting all that is kept of one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import asdict

from maverick.chat.database import Database
from maverick.cli.exit_codes import FAILURE, SUCCESS
from maverick.cli.formatting import columns_of, json_text, table
from maverick.cli.screen import Screen
from maverick.cli.terminal_run import agreed
from maverick.config import load_config
from maverick.exceptions import InvalidInputError
from maverick.journal.opening import open_journal
from maverick.server.accounts import User, Users
from maverick.tui.figures import counted

_COLUMNS = columns_of("NAME", "ID…", "TASKS", "CONVERSATIONS")


async def list_users(options: argparse.Namespace) -> None:
    """List all users."""
    screen = Screen.of_process()
    async with _opened(options.database) as users:
        found = users.all()
    if options.as_json:
        screen.say(f"{json_text([asdict(user) for user in found])}\n")
    elif found:
        rows = [(user.name or "", user.user_id, str(user.tasks), str(user.conversations)) for user in found]
        screen.say(table(_COLUMNS, rows))
    else:
        screen.remark("There are no users yet.")


async def delete_user(options: argparse.Namespace) -> int:
    """Delete all that is kept of a user, once the person has agreed to it."""
    screen = Screen.of_process()
    async with _opened(options.database) as users:
        user = users.find(options.name)
        called = user.user_id if user.name is None else f"{user.name} ({user.user_id})"
        if not options.yes and not await _may_delete(user, called, screen):
            screen.remark("Nothing was deleted.")
            return FAILURE
        removed = await users.delete(user)
    if options.as_json:
        screen.say(f"{json_text({'user': asdict(user), 'removed': removed})}\n")
    else:
        parts = [f"{count} {what.replace('_', ' ')}" for what, count in removed.items() if count]
        screen.say(f"Deleted {called}: {', '.join(parts) or 'nothing was kept of them'}.\n")
    return SUCCESS


async def _may_delete(user: User, called: str, screen: Screen) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        problem = "--yes: there is no terminal to ask in. Add it to delete without asking."
        raise InvalidInputError(problem, field="yes")
    tasks, talks = counted(user.tasks, "task"), counted(user.conversations, "conversation")
    screen.headline(f"Delete {called}, with {tasks}, {talks} and every run? This cannot be undone.")
    return await agreed(screen)


@asynccontextmanager
async def _opened(location: str | None) -> AsyncIterator[Users]:
    """The users of the configured database and journal."""
    settings = load_config()
    with closing(Database(location or settings.database.get_secret_value())) as database:
        async with open_journal(settings.journal.get_secret_value()) as journal:
            yield Users(database, journal)
