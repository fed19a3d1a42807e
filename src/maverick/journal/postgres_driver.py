"""What we use of asyncpg, typed, and its errors in our words. No other module imports it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlsplit

from maverick.exceptions import AgentError, ErrorKind, InvalidInputError, JournalDamagedError, JournalError

try:
    import asyncpg  # type: ignore[import-untyped]
except ModuleNotFoundError as error:
    from maverick.config.installation import install_command  # here, since it is seldom wanted

    raise AgentError(
        "PostgresJournal needs the package 'asyncpg', which is not installed. "
        f"Run: {install_command('postgres')}",
        kind=ErrorKind.INVALID,
        cause=error,
    ) from error

FAULTS: tuple[type[Exception], ...] = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,  # a socket's, or a timeout's
    ValueError,  # of an address or a value it can not read
)
"""Everything asyncpg raises."""

DURABLE = (
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
)
"""With it off, a server may forget the last commits when its power fails; any other setting is left as it is."""

_DAMAGE = (
    asyncpg.DataCorruptedError,
    asyncpg.IndexCorruptedError,
    asyncpg.UndefinedTableError,
    asyncpg.UndefinedColumnError,
)
_UNDONE = (asyncpg.IntegrityConstraintViolationError, asyncpg.TransactionRollbackError)
_ADVICE: Mapping[type[Exception], str] = {
    asyncpg.InvalidAuthorizationSpecificationError: "Check the user and the password.",
    asyncpg.InvalidCatalogNameError: "Create the database, or check its name.",
    asyncpg.InsufficientPrivilegeError: "Give the user the right to it.",
    asyncpg.DiskFullError: "Make room on the server's disk, then resume the run.",
    asyncpg.TooManyConnectionsError: "Give the journals a smaller pool_size, or the server more connections.",
    asyncpg.ReadOnlySQLTransactionError: "Connect to the server that takes writes.",
}


Row: TypeAlias = Mapping[str, Any]
"""A row of a result: its values by name."""


class Statement(Protocol):
    """A statement the server has parsed."""

    async def fetch(self, *values: Any) -> list[Row]:
        """Run it."""
        ...

    def get_statusmsg(self) -> str:
        """What the server said of its last run, such as ``UPDATE 3``."""
        ...


class Connection(Protocol):
    """A connection to the server; it does one thing at a time."""

    async def execute(self, statement: str, *values: Any) -> str:
        """Run a statement, or several without values; returns what the server said of the last."""
        ...

    async def fetch(self, statement: str, *values: Any) -> list[Row]:
        """Run a query; returns its rows."""
        ...

    async def fetchval(self, statement: str, *values: Any) -> Any:  # noqa: ANN401 - whatever was asked for
        """Run a query; returns the first value of its first row, or ``None``."""
        ...

    async def prepare(self, statement: str) -> Statement:
        """Have a statement parsed."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[None]:
        """A transaction, or a savepoint within one."""
        ...

    def is_in_transaction(self) -> bool:
        """Whether the server says that a transaction is open."""
        ...

    def is_closed(self) -> bool:
        """Whether the connection is gone."""
        ...

    async def close(self) -> None:
        """Say goodbye to the server."""
        ...

    def terminate(self) -> None:
        """Hang up."""
        ...


class PostgresDriver:
    """How to reach one database.

    Args:
        url: ``postgresql://user:password@host/database``.
        pool_size: The most connections at once, beside the one that writes.
        timeout: How many seconds to wait for the server.

    Raises:
        InvalidInputError: The address is none.
    """

    def __init__(self, url: str, pool_size: int, timeout: float) -> None:
        self._settings = {
            "dsn": url,
            "timeout": timeout,
            "command_timeout": timeout,
            "server_settings": {"application_name": "maverick"},
        }
        self._pool_size = max(pool_size, 2)
        self.tools_at_once = self._pool_size - 1
        """How many tools' transactions may be open at once: whoever only reads must never wait for a tool."""
        self.timeout = timeout
        self.name = _without_secrets(url)
        """What the journal is called in error messages."""

    async def connect(self) -> Connection:
        """Open a connection of one's own, on which a commit is on the server's disk when it returns."""
        connection: Connection = await asyncpg.connect(**self._settings)
        await connection.execute(DURABLE)
        return connection

    async def open_pool(self) -> PostgresPool:
        """Make a pool; its connections are opened when they are needed."""
        pool = await asyncpg.create_pool(**self._settings, min_size=0, max_size=self._pool_size)
        return PostgresPool(pool, self.timeout)

    def error(self, failed: str, cause: Exception) -> JournalError:
        """The error a caller gets.

        Args:
            failed: What became of it, such as ``could not be read``.
            cause: What was raised.
        """
        message = f"The journal {self.name!r} {failed}: {said(cause)}. {_advice(cause)}".rstrip()
        if isinstance(cause, _DAMAGE):
            return JournalDamagedError(message, cause=cause)
        return JournalError(message, cause=cause, retryable=is_lost(cause))


class PostgresPool:
    """Connections that are shared: each is lent to one user at a time."""

    def __init__(self, pool: Any, timeout: float) -> None:  # noqa: ANN401 - asyncpg has no types
        self._pool = pool
        self._timeout = timeout

    async def acquire(self) -> Connection:
        """Borrow a connection."""
        connection: Connection = await self._pool.acquire(timeout=self._timeout)
        return connection

    async def release(self, connection: Connection) -> None:
        """Give it back."""
        await self._pool.release(connection, timeout=self._timeout)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Borrow a connection for the length of a block."""
        async with self._pool.acquire(timeout=self._timeout) as connection:
            yield connection

    async def close(self) -> None:
        """Close all connections, those that somebody still holds too."""
        try:
            async with asyncio.timeout(self._timeout):
                await self._pool.close()
        except FAULTS:
            self._pool.terminate()


def is_lost(error: Exception) -> bool:
    """Whether the connection is gone, or the server did not answer in time."""
    return isinstance(error, (OSError, asyncpg.PostgresConnectionError, asyncpg.OperatorInterventionError))


def is_undone(error: Exception) -> bool:
    """Whether the server has said itself that the transaction did not happen."""
    return isinstance(error, _UNDONE)


def broken_constraint(error: Exception) -> str | None:
    """The constraint that a statement would have broken, if that is what was wrong with it."""
    return getattr(error, "constraint_name", None)


def said(error: Exception) -> str:
    """An error's own words, without the details in which a server repeats the values it was given."""
    words = getattr(error, "message", None) or str(error) or type(error).__name__
    return str(words).strip().rstrip(".")


def _advice(error: Exception) -> str:
    for kind, advice in _ADVICE.items():
        if isinstance(error, kind):
            return advice
    return "Check that the server runs and can be reached, then resume the run." if is_lost(error) else ""


def _without_secrets(url: str) -> str:
    """A database's address without user, password and settings.

    Raises:
        InvalidInputError: It is no such address.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("postgresql", "postgres"):
        raise InvalidInputError(
            "url: expected an address such as postgresql://user:password@host/database.", field="url"
        )
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
