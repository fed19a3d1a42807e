"""One turn of a conversation as a server keeps it: who may write, what is said, what is answered.

The same rows as :class:`~maverick.chat.conversations.ConversationStore` writes, in fewer statements, each of which is
made once: a server does this for every message, and putting statements together took most of its time.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, TextClause, bindparam, text
from sqlmodel import Session

from maverick.chat.contract import ToolCallRecord
from maverick.chat.tables import ToolCall, UtcDateTime, storable

_TITLE_LENGTH = 60


def _timed(statement: str, *moments: str) -> TextClause:
    return text(statement).bindparams(*(bindparam(name, type_=UtcDateTime()) for name in moments))


_BEGIN = _timed(
    "UPDATE conversations SET active_run = :run_id, active_until = :until, updated_at = :at, "
    "title = CASE WHEN title = '' THEN :title ELSE title END "
    "WHERE user_id = :user_id AND id = :id AND (active_run IS NULL OR active_run = :run_id OR active_until < :at)",
    "until",
    "at",
)
_CREATE = _timed(
    "INSERT INTO conversations (user_id, id, title, active_run, active_until, created_at, updated_at) "
    "VALUES (:user_id, :id, :title, :run_id, :until, :at, :at) ON CONFLICT DO NOTHING",
    "until",
    "at",
)
_END = _timed(
    "UPDATE conversations SET updated_at = :at, "
    "active_until = CASE WHEN active_run = :run_id THEN NULL ELSE active_until END, "
    "active_run = CASE WHEN active_run = :run_id THEN NULL ELSE active_run END "
    "WHERE user_id = :user_id AND id = :id",
    "at",
)
_SAY = _timed(
    "INSERT INTO messages (user_id, conversation_id, role, content, run_id, created_at) "
    "VALUES (:user_id, :id, :role, :content, :run_id, :at) RETURNING id",
    "at",
).columns(id=BigInteger)
_SAID = text(
    "SELECT role, content, created_at FROM messages WHERE user_id = :user_id AND conversation_id = :id "
    "ORDER BY id DESC LIMIT :limit"
).columns(created_at=UtcDateTime())


class TurnStore:
    """Writes the turns of one user's conversations.

    Args:
        session: The session to work in; committing it is the caller's.
        user_id: The user.
    """

    def __init__(self, session: Session, user_id: str) -> None:
        self._session = session
        self._user_id = user_id

    def begin(
        self,
        conversation_id: str | None,
        run_id: str,
        message: str,
        at: datetime,
        *,
        create: bool,
        seconds: float,
    ) -> str | None:
        """Take the right to write into a conversation; ``None`` while another run has it, or if it is not there.

        Args:
            conversation_id: The conversation; a new one if it is not named.
            run_id: The run that is to have the right.
            message: What is said, which names a conversation that has no title.
            at: When.
            create: Whether one that is not there is made.
            seconds: After which a run that gives no sign of life is taken for dead.

        Returns:
            The conversation.
        """
        values = {
            "id": conversation_id or str(uuid.uuid4()),
            "run_id": run_id,
            "title": storable(message)[:_TITLE_LENGTH],
            "at": at,
            "until": at + timedelta(seconds=seconds),
        }
        if conversation_id is not None and self._execute(_BEGIN, values).rowcount:
            return conversation_id
        if (conversation_id is None or create) and self._execute(_CREATE, values).rowcount:
            return str(values["id"])
        return None

    def said(self, conversation_id: str, limit: int) -> list[dict[str, Any]]:
        """The last of what was said, oldest first: ``role``, ``content`` and ``timestamp``."""
        rows = self._execute(_SAID, {"id": conversation_id, "limit": limit}).all()
        return [{"role": row.role, "content": row.content, "timestamp": row.created_at} for row in rows[::-1]]

    def say(self, conversation_id: str, role: str, content: str, run_id: str, at: datetime) -> int:
        """Write down what was said; returns the number of the message."""
        values = {
            "id": conversation_id,
            "role": role,
            "content": storable(content),
            "run_id": run_id,
            "at": at,
        }
        return int(self._execute(_SAY, values).scalar_one())

    def end(
        self,
        conversation_id: str,
        run_id: str,
        answer: str,
        at: datetime,
        tool_calls: Iterable[ToolCallRecord],
    ) -> int | None:
        """Write the answer down and let others into the conversation; ``None`` if the conversation is gone.

        Returns:
            The number of the message that is the answer.
        """
        if not self._execute(_END, {"id": conversation_id, "run_id": run_id, "at": at}).rowcount:
            return None
        number = self.say(conversation_id, "assistant", answer, run_id, at)
        made: Sequence[ToolCall] = [
            ToolCall(
                user_id=self._user_id,
                message_id=number,
                tool_name=call.tool_name,
                parameters=call.parameters,
                result=call.result,
                duration_ms=call.duration_ms,
            )
            for call in tool_calls
        ]
        if made:
            self._session.add_all(made)
            self._session.flush()
        return number

    def _execute(self, statement: Any, values: dict[str, Any]) -> Any:  # noqa: ANN401 - a cursor's result, whatever it has
        return self._session.connection().execute(statement, {"user_id": self._user_id, **values})
