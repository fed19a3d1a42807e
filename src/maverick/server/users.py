"""Users as those who run the server see them: who there is, and deleting all that is kept of one."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import text

from maverick.chat.database import Database, act_for, owned_session
from maverick.chat.migrations import migrate
from maverick.exceptions import InvalidInputError
from maverick.journal import Journal
from maverick.server.schema import SERVER
from maverick.server.sign_outs import end, user_key
from maverick.server.tokens import LIFETIME

TABLES = (
    "tasks",
    "conversations",
    "messages",
    "tool_calls",
    "changes",
    "confirmations",
    "heard_requests",
    "answers",
    "spending",
)
"""Everything with an owner, besides the account itself; a test holds this to the tables there are."""
_ALL = 1_000_000


@dataclass(frozen=True, slots=True)
class User:
    """Somebody of whom something is kept."""

    user_id: str
    name: str | None
    """What they sign in with, if they have an account here."""
    tasks: int
    conversations: int


class Users:
    """All users of a chat database.

    Args:
        database: Where everything but runs is kept.
        journal: Where runs are kept.
    """

    def __init__(self, database: Database, journal: Journal) -> None:
        self._database = database
        self._journal = journal
        migrate(database.engine, SERVER)

    def all(self) -> list[User]:
        """Everybody, accounts first. Postgres shows those without an account only to a role that may see all rows."""
        with owned_session(self._database.session, "") as session:
            rows = session.connection().execute(text("SELECT user_id, name FROM accounts ORDER BY name"))
            names: dict[str, str | None] = {row.user_id: row.name for row in rows}
            seen = "SELECT user_id FROM tasks UNION SELECT user_id FROM conversations ORDER BY user_id"
            for user_id in session.connection().execute(text(seen)).scalars():
                names.setdefault(user_id, None)
            found = []
            for user_id, name in names.items():
                act_for(session, user_id)
                counts = [
                    session.connection()
                    .execute(
                        text(f"SELECT count(*) FROM {table} WHERE user_id = :user_id"),  # noqa: S608 - a literal below
                        {"user_id": user_id},
                    )
                    .scalar_one()
                    for table in ("tasks", "conversations")
                ]
                found.append(User(user_id, name, *counts))
        return found

    def find(self, name: str) -> User:
        """A user by the name they sign in with, or by their id.

        Raises:
            InvalidInputError: There is none.
        """
        everybody = self.all()
        for user in everybody:
            if user.name == name.casefold():
                return user
        for user in everybody:
            if user.user_id == name:
                return user
        raise InvalidInputError(
            f"There is no user {name!r}. `maverick users list` lists those there are.", field="name"
        )

    async def delete(self, user: User) -> dict[str, int]:
        """Delete all that is kept of a user: nobody can tell afterwards what they had, or be them with an old token.

        An answer that a server is making for them meanwhile is stopped within a second or two.

        Returns:
            How many rows of each table, and how many runs, there were.
        """
        # Runs first: as long as the account is there, a deletion that was cut short can be asked for again.
        removed = {"runs": await self._delete_runs(user.user_id)}
        with owned_session(self._database.session, user.user_id, writes=True) as session:
            for table in (*TABLES, "accounts"):
                statement = text(f"DELETE FROM {table} WHERE user_id = :user_id")  # noqa: S608 - a literal above
                deleted = session.connection().execute(statement, {"user_id": user.user_id})
                removed[table] = deleted.rowcount
            if user.name is not None:
                end(session.connection(), user_key(user.user_id), int(time.time()) + LIFETIME + 60)
        removed["runs"] += await self._delete_runs(user.user_id)
        return removed

    async def _delete_runs(self, user_id: str) -> int:
        runs = await self._journal.list_runs(limit=_ALL)
        return sum([await self._journal.delete(run.run_id) for run in runs if run.user_id == user_id])
