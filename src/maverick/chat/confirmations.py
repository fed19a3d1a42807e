"""Confirmations: asked for by a tool, given by the user alone, good for one action, once, and not for long."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import bindparam, delete, or_, select, text, update
from sqlmodel import Session, SQLModel, col
from sqlmodel import select as select_rows
from sqlmodel.sql.expression import SelectOfScalar

from maverick.chat.tables import Confirmation, HeardRequest, UtcDateTime, now
from maverick.journal import ApprovalStatus

GOOD_FOR = timedelta(minutes=10)
"""How long a question can be answered, and an answer used."""
_YES = frozenset(("yeah", "yep", "yup"))
_DOUBT = re.compile(r"[^\w\s,.!'’\"-]")
"""A question mark, or a picture that may mean no."""
_FRIENDLY = frozenset(
    re.findall(r"\w+", "please pls it that them now thanks thank you ok okay just do sure go ahead and")
)
"""Words that change nothing about a decision."""
REMEMBERED_FOR = timedelta(days=30)
"""How long a request is remembered; one that is sent again later counts as a new one."""

_HEAR = text(
    "INSERT INTO heard_requests (user_id, request, conversation_id, heard_at) "
    "VALUES (:user_id, :request, :conversation_id, :heard_at) ON CONFLICT DO NOTHING"
).bindparams(bindparam("heard_at", type_=UtcDateTime()))
_confirmations = SQLModel.metadata.tables[Confirmation.__tablename__]
_OPEN = (
    select(_confirmations)
    .where(
        _confirmations.c.user_id == bindparam("user"),
        _confirmations.c.conversation_id == bindparam("conversation"),
        or_(
            _confirmations.c.status == ApprovalStatus.PENDING.value,
            _confirmations.c.status == ApprovalStatus.APPROVED.value,
        ),
        _confirmations.c.expires_at > bindparam("at"),
    )
    .order_by(_confirmations.c.created_at.desc())
    .limit(1)
)
"""Built once, since it is executed for every message."""


class ConfirmationStore:
    """The confirmations of one user in one conversation, in a session that the caller commits."""

    def __init__(
        self, session: Session, user_id: str, conversation_id: str, *, at: datetime | None = None
    ) -> None:
        self._session = session
        self._user_id = user_id
        self._conversation_id = conversation_id
        self._at = now() if at is None else at

    def ask(
        self,
        tool_name: str,
        binding: str,
        phrase: str,
        question: str,
        action: str = "",
        *,
        tasks: Sequence[int] = (),
        spared: Sequence[int] = (),
    ) -> Confirmation:
        """Ask for a confirmation of an action, in place of any question that is open; what was confirmed stays so."""
        self._move(ApprovalStatus.PENDING, ApprovalStatus.DENIED)
        asked = Confirmation(
            id=secrets.token_urlsafe(16),
            user_id=self._user_id,
            conversation_id=self._conversation_id,
            tool_name=tool_name,
            binding=binding,
            phrase=phrase,
            question=question,
            action=action,
            tasks=list(tasks),
            spared=list(spared),
            created_at=self._at,
            expires_at=self._at + GOOD_FOR,
        )
        self._session.add(asked)
        self._session.flush()
        return asked

    def check_message(self, message: str, request: str | None = None) -> bool:
        """Check a message of the user: the phrase that was asked for confirms, anything else withdraws the question.

        Args:
            message: The message.
            request: Its request, if that can be sent again: only the first time counts, since a question that was
                asked later is not what it answers.

        Returns:
            Whether an action may go ahead because of it.
        """
        if request is not None and not self._is_new(request):
            return False
        asked = self.open()
        if asked is None:
            return False
        if not _confirms(message, asked.phrase):
            self.cancel()
            return False
        return asked.status == ApprovalStatus.APPROVED or self.decide(asked.id, approved=True)

    def decide(self, confirmation_id: str, *, approved: bool) -> bool:
        """Answer an open question of the user; returns whether there was one.

        What was agreed to before and not done is no longer agreed to: a yes is for the question that it answers.
        """
        if approved:
            self._move(ApprovalStatus.APPROVED, ApprovalStatus.DENIED, Confirmation.id != confirmation_id)
        status = ApprovalStatus.APPROVED if approved else ApprovalStatus.DENIED
        return self._move(ApprovalStatus.PENDING, status, Confirmation.id == confirmation_id)

    def consume(self, tool_name: str, binding: str) -> bool:
        """Use up the confirmation of exactly this action; returns whether there was one."""
        return self._move(
            ApprovalStatus.APPROVED,
            ApprovalStatus.USED,
            Confirmation.tool_name == tool_name,
            Confirmation.binding == binding,
        )

    def last(self, tool_name: str, phrase: str) -> Confirmation | None:
        """The last question about an action, whatever became of it."""
        asked = select_rows(Confirmation).where(
            Confirmation.user_id == self._user_id,
            Confirmation.conversation_id == self._conversation_id,
            Confirmation.tool_name == tool_name,
            Confirmation.phrase == phrase,
        )
        return self._session.exec(asked.order_by(col(Confirmation.created_at).desc())).first()

    def open(self) -> Confirmation | None:
        """The question that waits for an answer, or whose answer waits to be used."""
        whose = {"user": self._user_id, "conversation": self._conversation_id, "at": self._at}
        found = self._session.connection().execute(_OPEN, whose).mappings().first()
        return None if found is None else Confirmation(**found)

    def cancel(self) -> None:
        """Withdraw what is open."""
        self._move(ApprovalStatus.PENDING, ApprovalStatus.DENIED)
        self._move(ApprovalStatus.APPROVED, ApprovalStatus.DENIED)

    def _is_new(self, request: str) -> bool:
        """Remember a request; returns whether it was not known. Old ones are deleted on the way."""
        heard = {
            "user_id": self._user_id,
            "request": request,
            "conversation_id": self._conversation_id,
            "heard_at": self._at,
        }
        is_new = bool(self._session.connection().execute(_HEAR, heard).rowcount)
        if is_new:
            old = col(HeardRequest.heard_at) < self._at - REMEMBERED_FOR
            self._session.execute(delete(HeardRequest).where(col(HeardRequest.user_id) == self._user_id, old))
        return is_new

    def _move(self, old: ApprovalStatus, new: ApprovalStatus, *conditions: Any) -> bool:
        statement = (
            update(Confirmation)
            .where(
                col(Confirmation.user_id) == self._user_id,
                col(Confirmation.conversation_id) == self._conversation_id,
                col(Confirmation.status) == old.value,
                col(Confirmation.expires_at) > self._at,
                *conditions,
            )
            .values(status=new.value)
            .execution_options(synchronize_session="fetch")
        )
        return bool(self._session.execute(statement).rowcount)  # type: ignore[attr-defined]  # of a cursor result


def pending_confirmations(session: Session, user_id: str) -> list[Confirmation]:
    """All questions a user can answer now, in every conversation, the oldest first."""
    return list(session.exec(_pending(user_id).order_by(col(Confirmation.created_at))))


def pending_confirmation(session: Session, user_id: str, confirmation_id: str) -> Confirmation | None:
    """The question with this id, if it is the user's and can be answered now."""
    return session.exec(_pending(user_id).where(Confirmation.id == confirmation_id)).first()


def _pending(user_id: str) -> SelectOfScalar[Confirmation]:
    return select_rows(Confirmation).where(
        Confirmation.user_id == user_id,
        Confirmation.status == ApprovalStatus.PENDING.value,
        Confirmation.expires_at > now(),
    )


def _confirms(message: str, phrase: str) -> bool:
    """Whether a message is the phrase."""
    return _decision(message) == _decision(phrase)


def _decision(words: str) -> list[str]:
    """Words without what people vary: case, punctuation, and the friendly ones around the decision."""
    if _DOUBT.search(words):
        return []
    said = re.findall(r"\w+", words.casefold())
    return ["yes" if word in _YES else word for word in said if word not in _FRIENDLY]
