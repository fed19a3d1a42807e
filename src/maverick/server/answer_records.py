"""What is kept of every answer besides its words: which request it is for, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import bindparam, text
from sqlmodel import Session

from maverick.server.answer_body import AnswerStatus


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """One answer."""

    run_id: str
    conversation_id: str
    request_hash: str
    """A hash of what was asked for, to tell a request that is sent again from another one."""
    request_key: str | None = None
    """The idempotency key of the request, if it had one."""
    attempt: int = 0
    """How often it was begun again after the process that made it was gone."""
    status: str = AnswerStatus.RUNNING.value
    last_event: int = 0
    """The number of its last event, once it is over."""
    heard: bool = True
    """Whether the question was looked at for an answer to an open question when it was written down."""
    reason: str = ""
    """Why there is no answer, if there is none."""


_text = cache(text)
"""Reads a statement once; there are a few, and each is a literal below."""
_COLUMNS = "run_id, conversation_id, request_hash, request_key, attempt, status, last_event, heard, reason"


class AnswerRecords:
    """The answers of one user.

    Args:
        session: The session to work in; committing it is the caller's.
        user_id: The user.
    """

    def __init__(self, session: Session, user_id: str) -> None:
        self._session = session
        self._user_id = user_id

    def add(self, record: AnswerRecord) -> None:
        """Keep a new one."""
        self._execute(
            "INSERT INTO answers (user_id, run_id, conversation_id, request_hash, request_key, attempt, status, "
            "last_event, heard) "
            "VALUES (:user_id, :run_id, :conversation_id, :request_hash, :request_key, 0, :status, 0, :heard)",
            heard=record.heard,
            run_id=record.run_id,
            conversation_id=record.conversation_id,
            request_hash=record.request_hash,
            request_key=record.request_key,
            status=record.status,
        )

    def get(self, run_id: str) -> AnswerRecord | None:
        """The answer of this id, if it is the user's."""
        return self._first("run_id = :run_id", run_id=run_id)

    def of_key(self, request_key: str) -> AnswerRecord | None:
        """The answer to the user's request with this key, if there was one."""
        return self._first("request_key = :request_key", request_key=request_key)

    def finish(self, run_id: str, status: AnswerStatus, last_event: int, reason: str = "") -> None:
        """An answer is over."""
        self._execute(
            "UPDATE answers SET status = :status, last_event = :last_event, reason = :reason "
            "WHERE user_id = :user_id AND run_id = :run_id",
            reason=reason,
            run_id=run_id,
            status=status.value,
            last_event=last_event,
        )

    def want_stop(self, run_id: str) -> None:
        """Have an answer stopped by the process that makes it."""
        self._execute(
            "UPDATE answers SET stop_wanted = TRUE WHERE user_id = :user_id AND run_id = :run_id",
            run_id=run_id,
        )

    def unwanted(self, run_ids: Sequence[str]) -> set[str]:
        """Those of some answers that are not to go on: their conversation is gone, or somebody wants them stopped."""
        query = text(
            "SELECT run_id FROM answers WHERE user_id = :user_id AND run_id IN :run_ids AND NOT stop_wanted"
        ).bindparams(bindparam("run_ids", expanding=True))
        wanted = self._session.connection().execute(
            query, {"user_id": self._user_id, "run_ids": list(run_ids)}
        )
        return set(run_ids) - set(wanted.scalars())

    def take_over(self, record: AnswerRecord) -> bool:
        """Begin an answer again that nobody makes any more; returns ``False`` if somebody else was faster."""
        return bool(
            self._execute(
                "UPDATE answers SET attempt = attempt + 1 "
                "WHERE user_id = :user_id AND run_id = :run_id AND attempt = :attempt AND status = :status",
                run_id=record.run_id,
                attempt=record.attempt,
                status=AnswerStatus.RUNNING.value,
            )
        )

    def forget(self, conversation_id: str) -> None:
        """Remove what is kept about the answers of a conversation."""
        self._execute(
            "DELETE FROM answers WHERE user_id = :user_id AND conversation_id = :conversation_id",
            conversation_id=conversation_id,
        )

    def _first(self, condition: str, **values: Any) -> AnswerRecord | None:
        # The condition is one of the literals above; values are always parameters.
        query = _text(f"SELECT {_COLUMNS} FROM answers WHERE user_id = :user_id AND {condition}")  # noqa: S608
        row = self._session.connection().execute(query, {"user_id": self._user_id, **values}).first()
        if row is None:
            return None
        return AnswerRecord(**{**row._mapping, "heard": bool(row.heard)})  # noqa: SLF001 - SQLAlchemy's public name

    def _execute(self, statement: str, **values: Any) -> int:
        return (
            self._session.connection()
            .execute(_text(statement), {"user_id": self._user_id, **values})
            .rowcount
        )
