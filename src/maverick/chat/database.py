"""The chat's database: a SQLite file by default, or Postgres by its address."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import StaticPool
from sqlmodel import Session

from maverick.chat.migrations import CHAT, Schema, migrate
from maverick.config import load_config
from maverick.config.settings import DEFAULT_DATABASE
from maverick.exceptions import StorageError
from maverick.misuse import refuse

SessionFactory: TypeAlias = Callable[[], Session]
"""Makes a fresh session, as often as it is called."""

_WRITES = "maverick_writes"
_BUSY_MS = 10_000


class Database:
    """The chat's database. It is opened, and its tables migrated, when it is first used.

    Args:
        location: A path, in which ``~`` is the home folder; or a ``postgresql://`` address; or any other SQLAlchemy
            address of SQLite or Postgres.
    """

    def __init__(self, location: str | Path = DEFAULT_DATABASE) -> None:
        self._location = location
        self._schemas = [CHAT]
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    @property
    def engine(self) -> Engine:
        """The engine, with all tables there.

        Raises:
            StorageError: The database cannot be opened or migrated.
            InvalidInputError: The location is not valid.
        """
        with self._lock:
            if self._engine is None:
                engine = _engine_of(self._location)
                try:
                    for schema in self._schemas:
                        migrate(engine, schema)
                except SQLAlchemyError as error:
                    engine.dispose()
                    raise StorageError(
                        "The chat's database cannot be opened. Check that it exists and that you may use it."
                    ) from error
                self._engine = engine
            return self._engine

    def include(self, schema: Schema) -> None:
        """Have other tables in it, too, from when it is opened."""
        with self._lock:
            if schema not in self._schemas:
                self._schemas.append(schema)
                if self._engine is not None:
                    migrate(self._engine, schema)

    def session(self) -> Session:
        """A fresh session; close it when done."""
        return Session(self.engine, expire_on_commit=False)

    def close(self) -> None:
        """Close all connections, those in use as soon as they are free; a later session opens new ones."""
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            event.listen(engine.pool, "checkin", lambda _, entry: entry.close())
            engine.dispose()


@contextmanager
def owned_session(
    session_factory: SessionFactory, user_id: str, *, writes: bool = False
) -> Iterator[Session]:
    """A session that acts for one user; its changes are committed at its end, or not at all.

    On Postgres, row-level security is set to that user, as a second fence behind the queries' own conditions.
    ``writes`` is whether it will write: SQLite then takes the write lock at the start. Raises StorageError if the
    database failed.
    """
    try:
        with session_factory() as session, _in_line(session, writes=writes):
            session.connection(execution_options={_WRITES: writes})
            act_for(session, user_id)
            yield session
            session.commit()
    except SQLAlchemyError as error:
        raise StorageError(
            "The chat's database could not be read or written. Try again, and check that it can be reached."
        ) from error


def act_for(session: Session, user_id: str) -> None:
    """Have a session act for another user from here on, for work that concerns several."""
    if session.get_bind().dialect.name == "postgresql":
        set_user = text("SELECT set_config('maverick.user_id', :user_id, true)")
        session.connection().execute(set_user, {"user_id": user_id})


def _in_line(session: Session, *, writes: bool) -> AbstractContextManager[object]:
    """Queue the writers of one process: SQLite has one at a time, and makes the others poll."""
    engine = session.get_bind().engine
    if not writes or engine.dialect.name != "sqlite":
        return nullcontext()
    return _writers.setdefault(engine, threading.RLock())


_writers: WeakKeyDictionary[Engine, AbstractContextManager[object]] = WeakKeyDictionary()


@cache
def default_database() -> Database:
    """The configured database, by default a file in the user's folder."""
    return Database(load_config().database.get_secret_value())


def get_session() -> Session:
    """A fresh session in the default database; close it when done."""
    return default_database().session()


def _expanded(address: str) -> Path:
    try:
        return Path(address).expanduser().absolute()
    except RuntimeError as error:
        raise StorageError(
            f"The chat's database {address!r} cannot be opened: you have no home folder. Set HOME, or name "
            "another location with MAVERICK_DATABASE."
        ) from error


def _engine_of(location: str | Path) -> Engine:
    address = str(location)
    if "://" not in address:
        path = _expanded(address)
        try:
            # For its owner only: conversations are private.
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
        except OSError as error:
            raise StorageError(
                f"The chat's database {str(path)!r} cannot be opened: {error.strerror}. Check that you may write there."
            ) from error
        address = f"sqlite:///{path}"
    try:
        url = make_url(address)
    except ArgumentError as error:
        refuse("database", "expected a path or a postgresql:// address.", error)
    if url.drivername in ("postgres", "postgresql"):
        # A connection that broke while it was idle is replaced before it is used.
        options = {"pool_size": 10, "max_overflow": 20, "pool_pre_ping": True}
        return create_engine(url.set(drivername="postgresql+psycopg"), **options)
    if url.get_backend_name() == "sqlite":
        return _sqlite_engine(url)
    return create_engine(url)


def _sqlite_engine(url: Any) -> Engine:  # noqa: ANN401 - an SQLAlchemy URL
    in_memory = url.database in (None, "", ":memory:")
    options: dict[str, Any] = (
        {"poolclass": StaticPool} if in_memory else {"pool_size": 10, "max_overflow": 20}
    )
    engine = create_engine(url, connect_args={"check_same_thread": False}, **options)

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own type
        connection.isolation_level = None  # transactions are begun below
        for pragma in ("journal_mode=WAL", f"busy_timeout={_BUSY_MS}", "foreign_keys=ON", "synchronous=FULL"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES, True)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
