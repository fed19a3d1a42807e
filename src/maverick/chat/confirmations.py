"""Questions whether to go ahead: asked by a tool, answered by the user and nobody else, good for one action once."""

from __future__ import annotations

import re
import secrets
from datetime import datetime, timedelta

from sqlalchemy import bindparam, delete, text, update
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from maverick.chat.tables import Confirmation, HeardRequest, UtcDateTime, now
from maverick.journal import ApprovalStatus

GOOD_FOR = timedelta(minutes=10)
"""How long a question can be answered, and an answer used."""
HEARD_FOR = timedelta(days=30)
"""How long it is remembered that a request was heard; one that is sent again later is heard again."""

_HEAR = text(
    "INSERT INTO heard_requests (user_id, request, conversation_id, heard_at) "
    "VALUES (:user_id, :request, :conversation_id, :heard_at) ON CONFLICT DO NOTHING"
).bindparams(bindparam("heard_at", type_=UtcDateTime()))
_IS_OPEN = text(
    "SELECT 1 FROM confirmations WHERE user_id = :user_id AND conversation_id = :conversation_id "
    "AND status IN ('pending', 'approved') AND expires_at > :at LIMIT 1"
).bindparams(bindparam("at", type_=UtcDateTime()))
_OPEN = (ApprovalStatus.PENDING.value, ApprovalStatus.APPROVED.value)


class ConfirmationStore:
    """The confirmations of one user in one conversation.

    Args:
        session: The session to work in; committing it is the caller's.
        user_id: The user.
        conversation_id: The conversation.
        at: The time it is.
    """

    def __init__(
        self, session: Session, user_id: str, conversation_id: str, *, at: datetime | None = None
    ) -> None:
        self._session = session
        self._user_id = user_id
        self._conversation_id = conversation_id
        self._at = now() if at is None else at

    def ask(self, tool_name: str, binding: str, phrase: str, question: str) -> Confirmation:
        """Ask for a confirmation; questions that were open before are not any more."""
        self.cancel()
        asked = Confirmation(
            id=secrets.token_urlsafe(16),
            user_id=self._user_id,
            conversation_id=self._conversation_id,
            tool_name=tool_name,
            binding=binding,
            phrase=phrase,
            question=question,
            created_at=self._at,
            expires_at=self._at + GOOD_FOR,
        )
        self._session.add(asked)
        self._session.flush()
        return asked

    def hear(self, message: str, request: str | None = None) -> bool:
        """Take in what the user says: the phrase that was asked for approves, anything else withdraws the question.

        Args:
            message: What they say.
            request: The request they say it with, if it can be sent again: it is heard the first time only, since a
                question that was asked later is not what it answers.

        Returns:
            Whether an action may go ahead because of it.
        """
        if request is not None and not self._is_new(request):
            return False
        asked = self.open()
        if asked is None:
            return False
        if _plain(message) != _plain(asked.phrase):
            self.cancel()
            return False
        return asked.status == ApprovalStatus.APPROVED or self.decide(asked.id, approved=True)

    def decide(self, confirmation_id: str, *, approved: bool) -> bool:
        """Answer a question of the user that is still open; returns whether there was one."""
        status = ApprovalStatus.APPROVED if approved else ApprovalStatus.DENIED
        return self._move(ApprovalStatus.PENDING, status, Confirmation.id == confirmation_id)

    def consume(self, tool_name: str, binding: str) -> bool:
        """Use up the approval of exactly this action; returns whether there was one."""
        return self._move(
            ApprovalStatus.APPROVED,
            ApprovalStatus.USED,
            Confirmation.tool_name == tool_name,
            Confirmation.binding == binding,
        )

    def open(self) -> Confirmation | None:
        """The question that waits for an answer, or whose answer waits to be used."""
        whose = {"user_id": self._user_id, "conversation_id": self._conversation_id, "at": self._at}
        if (
            self._session.connection().execute(_IS_OPEN, whose).first() is None
        ):  # as almost always, and quick to see
            return None
        query = (
            select(Confirmation)
            .where(
                Confirmation.user_id == self._user_id,
                Confirmation.conversation_id == self._conversation_id,
                col(Confirmation.status).in_(_OPEN),
                Confirmation.expires_at > self._at,
            )
            .order_by(col(Confirmation.created_at).desc())
        )
        return self._session.exec(query.limit(1)).first()

    def cancel(self) -> None:
        """Withdraw what is open."""
        self._move(ApprovalStatus.PENDING, ApprovalStatus.DENIED)
        self._move(ApprovalStatus.APPROVED, ApprovalStatus.DENIED)

    def _is_new(self, request: str) -> bool:
        """Write down that a request is heard; returns whether it was not before. Old ones are forgotten meanwhile."""
        heard = {
            "user_id": self._user_id,
            "request": request,
            "conversation_id": self._conversation_id,
            "heard_at": self._at,
        }
        is_new = bool(self._session.connection().execute(_HEAR, heard).rowcount)
        if is_new:
            old = col(HeardRequest.heard_at) < self._at - HEARD_FOR
            self._session.execute(delete(HeardRequest).where(col(HeardRequest.user_id) == self._user_id, old))
        return is_new

    def _move(self, old: ApprovalStatus, new: ApprovalStatus, *conditions: object) -> bool:
        statement = (
            update(Confirmation)
            .where(
                col(Confirmation.user_id) == self._user_id,
                col(Confirmation.conversation_id) == self._conversation_id,
                col(Confirmation.status) == old.value,
                col(Confirmation.expires_at) > self._at,
                *conditions,  # type: ignore[arg-type]  # SQLModel types a comparison of columns as bool
            )
            .values(status=new.value)
            .execution_options(synchronize_session="fetch")
        )
        return bool(self._session.execute(statement).rowcount)  # type: ignore[attr-defined]  # of a cursor result


def pending_confirmations(session: Session, user_id: str) -> list[Confirmation]:
    """All questions a user can answer now, in every conversation, the oldest first."""
    return list(session.exec(_pending(user_id).order_by(col(Confirmation.created_at))))


def pending_confirmation(session: Session, user_id: str, confirmation_id: str) -> Confirmation | None:
    """The question of this id, if it is the user's and can be answered now."""
    return session.exec(_pending(user_id).where(Confirmation.id == confirmation_id)).first()


def _pending(user_id: str) -> SelectOfScalar[Confirmation]:
    return select(Confirmation).where(
        Confirmation.user_id == user_id,
        Confirmation.status == ApprovalStatus.PENDING.value,
        Confirmation.expires_at > now(),
    )


def _plain(said: str) -> str:
    """Words without what people vary: case, punctuation and spaces."""
    return " ".join(re.findall(r"\w+", said.casefold()))
