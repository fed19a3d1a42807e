"""The server's own tables: accounts and sign-outs, the answers it gives, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from functools import cache
from typing import Any

from sqlalchemy import CursorResult, TextClause, bindparam, text
from sqlalchemy.types import Date
from sqlmodel import Session

from maverick.chat.migrations import Migration, Schema, owned_by_user
from maverick.server.answer import AnswerRecord, AnswerStatus

_FIRST = Migration(
    statements=(
        """CREATE TABLE accounts (
            name VARCHAR PRIMARY KEY, user_id VARCHAR NOT NULL UNIQUE, password VARCHAR NOT NULL)""",
        """CREATE TABLE answers (
            user_id VARCHAR NOT NULL, run_id VARCHAR NOT NULL, request_key VARCHAR, request_hash VARCHAR NOT NULL,
            conversation_id VARCHAR NOT NULL, attempt INTEGER NOT NULL, status VARCHAR NOT NULL,
            last_event INTEGER NOT NULL, PRIMARY KEY (user_id, run_id), UNIQUE (user_id, request_key))""",
        """CREATE TABLE spending (
            user_id VARCHAR NOT NULL, day DATE NOT NULL, cost_usd FLOAT NOT NULL, PRIMARY KEY (user_id, day))""",
    ),
    postgres=owned_by_user("answers", "spending"),
)

_STOPS = Migration(statements=("ALTER TABLE answers ADD COLUMN stop_wanted BOOLEAN NOT NULL DEFAULT FALSE",))

_SIGN_OUTS = Migration(
    statements=("CREATE TABLE sign_outs (what VARCHAR PRIMARY KEY, until BIGINT NOT NULL)",)
)

_HEARD_AND_REASONS = Migration(
    statements=(
        "ALTER TABLE answers ADD COLUMN heard BOOLEAN NOT NULL DEFAULT FALSE",
        "ALTER TABLE answers ADD COLUMN reason VARCHAR NOT NULL DEFAULT ''",
    )
)

_RUNS_HAVE_ONE_LEASE = Migration(
    statements=("ALTER TABLE answers DROP COLUMN attempt", "ALTER TABLE answers DROP COLUMN heard"),
    postgres=("ALTER TABLE answers ALTER COLUMN last_event TYPE BIGINT",),
)
"""The journal knows who works on a run, and every question is looked at when it is written down."""

_ANSWERS_THAT_WAIT = Migration(
    statements=(
        "ALTER TABLE answers ADD COLUMN cost_usd FLOAT NOT NULL DEFAULT 0",
        "CREATE INDEX ix_answers_open ON answers (user_id, status) WHERE status IN ('running', 'waiting')",
    )
)
"""An answer may wait for a decision, and the answers in progress are counted for all processes."""

SERVER = Schema(
    "server", (_FIRST, _STOPS, _SIGN_OUTS, _HEARD_AND_REASONS, _RUNS_HAVE_ONE_LEASE, _ANSWERS_THAT_WAIT)
)
"""The tables of this package. ``accounts`` and ``sign_outs`` are read before the user is known, so they have
no owner's fence."""

_text = cache(text)
"""Parses a statement once; each is a literal below."""
_COLUMNS = "run_id, conversation_id, request_hash, request_key, status, last_event, reason, cost_usd"
_DAY = bindparam("day", type_=Date)
_SPENT = text("SELECT cost_usd FROM spending WHERE user_id = :user_id AND day = :day").bindparams(_DAY)
_SPEND = text(
    "INSERT INTO spending (user_id, day, cost_usd) VALUES (:user_id, :day, :cost_usd) "
    "ON CONFLICT (user_id, day) DO UPDATE SET cost_usd = spending.cost_usd + excluded.cost_usd"
).bindparams(_DAY)
_WANTED = text(
    "SELECT run_id FROM answers "
    "WHERE user_id = :user_id AND run_id IN :run_ids AND status = 'running' AND NOT stop_wanted"
).bindparams(bindparam("run_ids", expanding=True))


class AnswerRecords:
    """The answers of one user, in a session that the caller commits."""

    def __init__(self, session: Session, user_id: str) -> None:
        self._session = session
        self._user_id = user_id

    def add(self, record: AnswerRecord) -> None:
        """Add an answer."""
        self._execute(
            "INSERT INTO answers (user_id, run_id, conversation_id, request_hash, request_key, status, last_event) "
            "VALUES (:user_id, :run_id, :conversation_id, :request_hash, :request_key, :status, :last_event)",
            **asdict(record),
        )

    def get(self, run_id: str) -> AnswerRecord | None:
        """The answer of this id, if it is the user's."""
        return self._first("run_id = :run_id", run_id=run_id)

    def of_key(self, request_key: str) -> AnswerRecord | None:
        """The answer to the user's request with this key, if there was one."""
        return self._first("request_key = :request_key", request_key=request_key)

    def finish(
        self, run_id: str, status: AnswerStatus, last_event: int, reason: str = "", *, cost_usd: float = 0.0
    ) -> bool:
        """End an answer; returns whether it was in progress, so that only one of two processes ends it."""
        finished = self._execute(
            "UPDATE answers SET status = :status, last_event = :last_event, reason = :reason, cost_usd = :cost_usd "
            "WHERE user_id = :user_id AND run_id = :run_id AND status = 'running'",
            run_id=run_id,
            status=status.value,
            last_event=last_event,
            reason=reason,
            cost_usd=cost_usd,
        )
        return bool(finished.rowcount)

    def reopen(self, run_id: str) -> bool:
        """Have an answer continue that waited for a decision; returns whether it waited."""
        reopened = self._execute(
            "UPDATE answers SET status = 'running' WHERE user_id = :user_id AND run_id = :run_id AND status = 'waiting'",
            run_id=run_id,
        )
        return bool(reopened.rowcount)

    def lock(self) -> None:
        """Let the user's other requests wait until the end of the transaction, whichever process has them."""
        if self._session.get_bind().dialect.name == "postgresql":  # SQLite has one writer at a time anyway
            self._execute("SELECT pg_advisory_xact_lock(4004005, hashtext(:user_id))")

    def running(self) -> list[str]:
        """The answers in progress."""
        query = "SELECT run_id FROM answers WHERE user_id = :user_id AND status = 'running'"
        return list(self._execute(query).scalars())

    def waiting(self) -> dict[str, tuple[str, str]]:
        """The answers that wait for a decision: the conversation of each, and its agent."""
        query = (
            "SELECT run_id, conversation_id, agent FROM answers JOIN conversations "
            "ON conversations.user_id = answers.user_id AND conversations.id = answers.conversation_id "
            "WHERE answers.user_id = :user_id AND status = 'waiting'"
        )
        return {row.run_id: (row.conversation_id, row.agent) for row in self._execute(query)}

    def unfinished(self, conversation_id: str) -> dict[str, tuple[str, str]]:
        """The answers of a conversation that failed or were stopped: which of both, and why."""
        query = (
            "SELECT run_id, status, reason FROM answers WHERE user_id = :user_id "
            "AND conversation_id = :conversation_id AND status IN ('failed', 'stopped')"
        )
        found = self._execute(query, conversation_id=conversation_id)
        return {row.run_id: (row.status, row.reason) for row in found}

    def request_stop(self, run_id: str) -> None:
        """Ask the process that makes an answer to stop it."""
        self._execute(
            "UPDATE answers SET stop_wanted = TRUE WHERE user_id = :user_id AND run_id = :run_id",
            run_id=run_id,
        )

    def to_stop(self, run_ids: Sequence[str]) -> set[str]:
        """The answers to stop: the user wants it, or their conversation was deleted or has moved on."""
        return set(run_ids) - set(self._execute(_WANTED, run_ids=list(run_ids)).scalars())

    def forget(self, conversation_id: str) -> None:
        """Delete the answers of a conversation."""
        self._execute(
            "DELETE FROM answers WHERE user_id = :user_id AND conversation_id = :conversation_id",
            conversation_id=conversation_id,
        )

    def spent(self, day: date) -> float:
        """What the model has cost on a day, in US dollars."""
        return float(self._execute(_SPENT, day=day).scalar() or 0)

    def spend(self, day: date, cost_usd: float) -> None:
        """Add to what the model has cost on a day."""
        self._execute(_SPEND, day=day, cost_usd=cost_usd)

    def _first(self, condition: str, **values: Any) -> AnswerRecord | None:
        # The condition is one of the literals above; values are always parameters.
        query = f"SELECT {_COLUMNS} FROM answers WHERE user_id = :user_id AND {condition}"  # noqa: S608
        row = self._execute(query, **values).first()
        return None if row is None else AnswerRecord(**row._mapping)  # noqa: SLF001 - SQLAlchemy's public name

    def _execute(self, statement: str | TextClause, **values: Any) -> CursorResult[Any]:
        prepared = _text(statement) if isinstance(statement, str) else statement
        return self._session.connection().execute(prepared, {"user_id": self._user_id, **values})
