"""The questions that wait for a user's decision."""

from __future__ import annotations

from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from maverick.chat.tables import Confirmation, ConfirmationStatus, now


def pending_approvals(session: Session, user_id: str) -> list[Confirmation]:
    """All questions a user can answer now, the oldest first."""
    return list(session.exec(_open(user_id).order_by(col(Confirmation.created_at))))


def pending_approval(session: Session, user_id: str, approval_id: str) -> Confirmation | None:
    """The question of this id, if it is the user's and can be answered now."""
    return session.exec(_open(user_id).where(Confirmation.id == approval_id)).first()


def _open(user_id: str) -> SelectOfScalar[Confirmation]:
    return select(Confirmation).where(
        Confirmation.user_id == user_id,
        Confirmation.status == ConfirmationStatus.PENDING.value,
        Confirmation.expires_at > now(),
    )
