"""The server's own accounts, for where there is no sign-in service."""

from __future__ import annotations

import uuid

from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from maverick.chat.database import SessionFactory, owned_session
from maverick.exceptions import StorageError
from maverick.server.passwords import NOBODY, hash_password, is_password
from maverick.server.principal import Principal
from maverick.server.refusal import RequestRefusedError, unauthorized

_NOBODY = ""
"""Whom a session acts for before it is known who somebody is."""


class Accounts:
    """Names and passwords.

    Args:
        session_factory: Makes fresh database sessions.
    """

    def __init__(self, session_factory: SessionFactory) -> None:
        self._session_factory = session_factory

    def create(self, name: str, password: str) -> Principal:
        """Make an account.

        Raises:
            RequestRefusedError: The name is taken.
        """
        user_id = f"user_{uuid.uuid4().hex}"
        values = {"name": name.casefold(), "user_id": user_id, "password": hash_password(password)}
        insert = text("INSERT INTO accounts (name, user_id, password) VALUES (:name, :user_id, :password)")
        try:
            with owned_session(self._session_factory, _NOBODY, writes=True) as session:
                session.connection().execute(insert, values)
        except StorageError as error:
            if not isinstance(error.cause, IntegrityError):
                raise
            raise RequestRefusedError(
                409, "name_taken", "This name is taken. Choose another one.", cause=error
            ) from error
        return Principal(user_id, name)

    def check(self, name: str, password: str) -> Principal:
        """The user of a name and password.

        Raises:
            RequestRefusedError: There is no such account, or it has another password; which of the two is not said.
        """
        query = text("SELECT user_id, password FROM accounts WHERE name = :name")
        with owned_session(self._session_factory, _NOBODY) as session:
            found = session.connection().execute(query, {"name": name.casefold()}).first()
        if not is_password(password, NOBODY if found is None else found.password) or found is None:
            raise unauthorized("The name or the password is wrong.")
        return Principal(found.user_id, name)
