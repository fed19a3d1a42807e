"""The server's own accounts, and all its users as those who run the server see them."""

from __future__ import annotations

import hashlib
import hmac
import os
import time
import uuid
from base64 import b64decode, b64encode
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from maverick.chat.database import Database, SessionFactory, act_for, owned_session
from maverick.chat.migrations import migrate
from maverick.exceptions import InvalidInputError, StorageError
from maverick.journal import Journal
from maverick.server.errors import RequestRefusedError, unauthorized
from maverick.server.tables import SERVER
from maverick.server.tokens import LIFETIME, Principal, end, user_key

_N, _R, _P = 2**14, 8, 5
"""The cost of one hash: about 16 MB and a twentieth of a second."""
_MEMORY = 64 * 2**20


def hash_password(password: str) -> str:
    """A hash with its cost and salt, so that either may change later."""
    salt = os.urandom(16)
    return "$".join(("scrypt", f"{_N},{_R},{_P}", _text(salt), _text(_derive(password, salt, _N, _R, _P))))


def is_password(password: str, kept: str) -> bool:
    """Whether a password has a hash."""
    _, cost, salt, derived = kept.split("$")
    n, r, p = map(int, cost.split(","))
    return hmac.compare_digest(_derive(password, b64decode(salt), n, r, p), b64decode(derived))


def _derive(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=n, r=r, p=p, maxmem=_MEMORY, dklen=32)


def _text(data: bytes) -> str:
    return b64encode(data).decode()


_NO_PASSWORD = f"scrypt${_N},{_R},{_P}${_text(bytes(16))}${_text(bytes(32))}"
"""The hash of no password: checking against it takes as long as against a real one."""
_NO_USER = ""
"""The owner of a database session before the user is known."""


class Accounts:
    """Accounts with names and passwords."""

    def __init__(self, session_factory: SessionFactory) -> None:
        self._session_factory = session_factory

    def create(self, name: str, password: str) -> Principal:
        """Create an account, unless the name is taken."""
        user_id = f"user_{uuid.uuid4().hex}"
        values = {"name": name.casefold(), "user_id": user_id, "password": hash_password(password)}
        insert = text("INSERT INTO accounts (name, user_id, password) VALUES (:name, :user_id, :password)")
        try:
            with owned_session(self._session_factory, _NO_USER, writes=True) as session:
                session.connection().execute(insert, values)
        except StorageError as error:
            if not isinstance(error.cause, IntegrityError):
                raise
            raise RequestRefusedError(409, "name_taken", "This name is taken. Choose another.") from error
        return Principal(user_id, name)

    def check(self, name: str, password: str) -> Principal:
        """The user of a name and password; which of the two is wrong is not said."""
        query = text("SELECT user_id, password FROM accounts WHERE name = :name")
        with owned_session(self._session_factory, _NO_USER) as session:
            found = session.connection().execute(query, {"name": name.casefold()}).first()
        if not is_password(password, _NO_PASSWORD if found is None else found.password) or found is None:
            raise unauthorized("The name or the password is wrong.")
        return Principal(found.user_id, name)


TABLES = (
    "tasks", "conversations", "messages", "tool_calls", "attachments", "changes", "confirmations",
    "heard_requests", "answers", "spending",
)  # fmt: skip
"""The tables with an owner, except accounts; a test compares this with the schema."""
_COUNTS = text(
    "SELECT (SELECT count(*) FROM tasks WHERE user_id = :user_id),"
    " (SELECT count(*) FROM conversations WHERE user_id = :user_id)"
)
_ALL = 1_000_000


@dataclass(frozen=True, slots=True)
class User:
    """A user with an account, or with data."""

    user_id: str
    name: str | None
    """The name they sign in with, if they have an account here."""
    tasks: int
    conversations: int


class Users:
    """All users of a chat database, and of the journal that has their runs."""

    def __init__(self, database: Database, journal: Journal) -> None:
        self._database = database
        self._journal = journal
        migrate(database.engine, SERVER)

    def all(self) -> list[User]:
        """All users, those with accounts first. Postgres shows the others only to a role that may see all rows."""
        with owned_session(self._database.session, "") as session:
            rows = session.connection().execute(text("SELECT user_id, name FROM accounts ORDER BY name"))
            names: dict[str, str | None] = {row.user_id: row.name for row in rows}
            seen = "SELECT user_id FROM tasks UNION SELECT user_id FROM conversations ORDER BY user_id"
            for user_id in session.connection().execute(text(seen)).scalars():
                names.setdefault(user_id, None)
            found = []
            for user_id, name in names.items():
                act_for(session, user_id)
                tasks, conversations = session.connection().execute(_COUNTS, {"user_id": user_id}).one()
                found.append(User(user_id, name, tasks, conversations))
        return found

    def find(self, name: str) -> User:
        """A user by the name they sign in with, or by their id; raises InvalidInputError if there is no such user."""
        users = self.all()
        for user in sorted(users, key=lambda user: user.name != name.casefold()):
            if name.casefold() == user.name or name == user.user_id:
                return user
        raise InvalidInputError(
            f"There is no user {name!r}. `maverick users list` lists all users.", field="name"
        )

    async def delete(self, user: User) -> dict[str, int]:
        """Delete a user with all their data, and end their sessions; returns how many rows of each table, and runs, there were.

        An answer in progress is stopped within a second or two.
        """
        # Runs first: while the account exists, a deletion that was interrupted can be repeated.
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
