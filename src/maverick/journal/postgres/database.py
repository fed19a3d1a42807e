"""The connections of one event loop to a Postgres journal, and what the server's errors mean.

It has what we use of asyncpg, typed; no other module imports that.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

from maverick.config.installation import extra_needed
from maverick.exceptions import JournalDamagedError, JournalError, ToolError
from maverick.journal.damage import Row
from maverick.journal.postgres.schema import Connection, migrate
from maverick.misuse import refuse

with extra_needed("postgres", "PostgresJournal"):
    import asyncpg  # type: ignore[import-untyped]

R = TypeVar("R")

FAULTS: tuple[type[Exception], ...] = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,  # a socket's, or a timeout's
    ValueError,  # for an address or a value it cannot read
)
"""Everything asyncpg raises."""

_DURABLE = (
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
_LOST = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    # What asyncpg says of a connection that it holds for open: the server's last words on an idle one leave it waiting for more,
    # until the end of the connection arrives.
    asyncpg.InternalClientError,
    asyncpg.InterfaceError,
)
_MISUSED = (ValueError, asyncpg.UnsupportedClientFeatureError, asyncpg.UnsupportedServerFeatureError)
"""What asyncpg cannot do with a statement or an address, whatever the connection."""
_PASSING = (asyncpg.TransactionRollbackError, asyncpg.TooManyConnectionsError)
"""What others have caused who use the server at the same time."""
_ADVICE: Mapping[type[Exception], str] = {
    asyncpg.InvalidAuthorizationSpecificationError: "Check the user and the password.",
    asyncpg.InvalidCatalogNameError: "Create the database, or check its name.",
    asyncpg.InsufficientPrivilegeError: "Give the user the right to it.",
    asyncpg.DiskFullError: "Make room on the server's disk, then resume the run.",
    asyncpg.TooManyConnectionsError: "Give the journals a smaller pool_size, or the server more connections.",
    asyncpg.ReadOnlySQLTransactionError: "Connect to the server that takes writes.",
}


class PostgresDatabase:
    """A pool for readers and for tools' transactions, and one connection for the writer, opened on first use.

    The pool has at most ``pool_size`` connections, and the server is waited for so many seconds (``timeout``).
    """

    def __init__(self, url: str, pool_size: int, timeout: float) -> None:
        self._settings = {
            "dsn": url,
            "timeout": timeout,
            "command_timeout": timeout,
            "server_settings": {"application_name": "maverick"},
        }
        self._pool_size = max(pool_size, 2)
        self._tools = asyncio.Semaphore(self._pool_size - 1)  # a reader never has to wait for a tool
        self._timeout = timeout
        self._name = database_name(url)
        self._opening = asyncio.Lock()
        self._pool: Any = None  # asyncpg has no types
        self._writing: Connection | None = None

    async def fetch(self, statement: str, *values: Any) -> list[Row]:
        """Run a query; returns its rows, or raises JournalError if the database cannot be reached, or refused."""
        try:
            pool = await self._open()
            async with pool.acquire(timeout=self._timeout) as connection:
                rows: list[Row] = await connection.fetch(statement, *values)
                return rows
        except FAULTS as error:
            raise self.error("could not be read", error) from error

    async def borrow(self) -> tuple[Connection, Callable[[], Awaitable[None]]]:
        """A connection for a tool's transaction, on which a commit is durable when it returns; and what gives it back."""
        pool = await self._open()
        try:
            async with asyncio.timeout(self._timeout):
                await self._tools.acquire()
        except TimeoutError as error:
            raise ToolError(
                "No database connection is free: other tools are using all of them. Give the journal a larger pool_size."
            ) from error
        try:
            connection: Connection = await pool.acquire(timeout=self._timeout)
        except BaseException:
            self._tools.release()
            raise

        async def give_back() -> None:
            self._tools.release()
            with suppress(*FAULTS):  # a connection that is gone cannot be given back, and need not be
                try:
                    await connection.reset(timeout=self._timeout)  # a tool may have changed the session
                except BaseException:
                    connection.terminate()
                    raise
                finally:
                    await pool.release(connection, timeout=self._timeout)

        try:
            await connection.execute(_DURABLE)
        except BaseException:
            await give_back()
            raise
        return connection, give_back

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Connection]:
        """The writer's connection; one that fails is not used again."""
        await self._open()
        try:
            if self._writing is None or self._writing.is_closed():
                self._writing = await asyncpg.connect(**self._settings)
                await self._writing.execute(_DURABLE)
            yield self._writing
        except BaseException:
            if self._writing is not None:
                self._writing.terminate()
            self._writing = None
            raise

    async def listen(self, channel: str, hear: Callable[[str], object]) -> Callable[[], Awaitable[None]]:
        """Have a function called with each notification on a channel, until what is returned is called.

        It has a connection of its own. When that is lost, ``hear`` is called with an empty text, once; listen again then.
        """

        def lost(_: Connection) -> None:
            hear("")

        try:
            connection = await self.connect(channel, hear)
            connection.add_termination_listener(lost)
        except FAULTS as error:
            raise self.error("could not be listened to", error) from error

        async def stop() -> None:
            with suppress(*FAULTS):  # it is gone either way
                connection.remove_termination_listener(lost)
                await connection.close(timeout=self._timeout)

        return stop

    async def connect(self, channel: str, hear: Callable[[str], object]) -> Any:  # noqa: ANN401 - asyncpg has no types
        """A connection apart from the pool, which others cannot keep busy. It listens on a channel; its user closes it.

        Raises:
            OSError: The server cannot be reached; or another of ``FAULTS``.
        """
        await self._open()
        connection = await asyncpg.connect(**self._settings)
        try:
            await connection.add_listener(channel, lambda _connection, _pid, _channel, text: hear(text))
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def close(self) -> None:
        """Close all connections, including borrowed ones."""
        pool, self._pool = self._pool, None
        writing, self._writing = self._writing, None
        if writing is not None:
            with suppress(*FAULTS):  # whatever is wrong with a connection, it is gone after this
                async with asyncio.timeout(self._timeout):
                    await writing.close()
        if pool is not None:
            await self._close_pool(pool)

    def error(self, failed: str, cause: Exception) -> JournalError:
        """The error a caller gets."""
        message = f"The journal {self._name!r} {failed}: {said(cause)}. {_advice(cause)}".rstrip()
        if isinstance(cause, _DAMAGE):
            return JournalDamagedError(message, cause=cause)
        return JournalError(message, cause=cause, retryable=is_passing(cause))

    async def _open(self) -> Any:  # noqa: ANN401 - asyncpg has no types
        """The pool, of a database with the newest tables."""
        async with self._opening:
            if self._pool is None:
                pool = await asyncpg.create_pool(
                    **self._settings, min_size=0, max_size=self._pool_size, reset=_left_as_it_is
                )
                try:
                    async with pool.acquire(timeout=self._timeout) as connection:
                        await migrate(connection, self._name)
                except BaseException:
                    await self._close_pool(pool)
                    raise
                self._pool = pool
            return self._pool

    async def _close_pool(self, pool: Any) -> None:  # noqa: ANN401 - asyncpg has no types
        try:
            async with asyncio.timeout(self._timeout):
                await pool.close()
        except FAULTS:
            pool.terminate()


async def _left_as_it_is(_: Connection) -> None:
    """What a reader does to a connection that it gives back: a query changes nothing, so no reset is asked of the server."""


class SteppedTransaction:
    """A transaction whose steps fail alone: one that fails is undone and leaves the others.

    Postgres gives up a whole transaction when one statement fails. So each step has a savepoint, which is set together with
    releasing the one before it: a step costs one more message to the server. The statement ``opening`` is run on the
    way at its beginning, and ``closing`` just before its commit.
    """

    def __init__(
        self, connection: Connection, opening: str = "", closing: str = "", savepoint: str = "step"
    ) -> None:
        self.is_broken = False
        """Whether the connection is gone, and the transaction with it."""
        self._connection = connection
        self._savepoint = savepoint
        self._next = f"BEGIN; {opening}; SAVEPOINT {savepoint}"
        self._end = f"{closing}; COMMIT"

    async def step(self, work: Callable[[Connection], Awaitable[R]]) -> R:
        """Do something; if it fails, nothing of it remains.

        If the connection is lost, that is what is raised, whatever came of the work.
        """
        await self._say(self._next)
        self._next = f"RELEASE SAVEPOINT {self._savepoint}; SAVEPOINT {self._savepoint}"
        try:
            return await work(self._connection)
        except Exception:
            # The errors of the work do not tell: a statement can be too slow, or wrong, on a sound connection.
            try:
                await self._say(f"ROLLBACK TO SAVEPOINT {self._savepoint}")
            except FAULTS:
                if self.is_broken:
                    raise
            raise

    async def commit(self) -> None:
        """Make all steps durable."""
        await self._connection.execute(self._end)

    async def roll_back(self) -> None:
        """Undo all steps."""
        await self._connection.execute("ROLLBACK")

    async def _say(self, statement: str) -> None:
        try:
            await self._connection.execute(statement)
        except FAULTS as error:
            self.is_broken = is_lost(error)
            raise


def is_lost(error: Exception) -> bool:
    """Whether the connection is gone, or the server did not answer in time."""
    return isinstance(error, _LOST) and not isinstance(error, _MISUSED)


def is_passing(error: BaseException | None) -> bool:
    """Whether the same may succeed a little later."""
    return isinstance(error, _PASSING) or (isinstance(error, Exception) and is_lost(error))


def is_undone(error: Exception) -> bool:
    """Whether the server has said itself that the transaction did not happen."""
    return isinstance(error, _UNDONE)


def broken_constraint(error: Exception) -> str | None:
    """The constraint that a statement would have broken, if that is what was wrong with it."""
    return getattr(error, "constraint_name", None)


def said(error: Exception) -> str:
    """An error's own words, without the details in which a server repeats the values it was given."""
    if isinstance(error, OSError):
        return _unreached(error)
    if isinstance(error, asyncpg.InternalClientError):
        return "the connection broke"  # its own words are about asyncpg's inner states
    words = getattr(error, "message", None) or str(error) or type(error).__name__
    return str(words).strip().rstrip(".")


def _unreached(error: OSError) -> str:
    """Why a server was not reached, without Python's numbers and addresses."""
    if isinstance(error, TimeoutError):
        return "the server did not answer in time"
    if isinstance(error, socket.gaierror):
        return "the name of its host could not be resolved"
    # asyncio joins the errors of several addresses into one without a number.
    refused = isinstance(error, ConnectionRefusedError) or "Connect call failed" in str(error)
    return "nothing answers at this address" if refused else (error.strerror or "the connection broke")


def _advice(error: Exception) -> str:
    for kind, advice in _ADVICE.items():
        if isinstance(error, kind):
            return advice
    return "Check that the server runs and can be reached, then resume the run." if is_lost(error) else ""


def database_name(url: str) -> str:
    """What a database is called in error messages: its address without user, password and settings."""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("postgresql", "postgres"):
        refuse("url", "expected an address such as postgresql://user:password@host/database.")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
