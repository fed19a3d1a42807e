"""What the model has cost for a user, day by day."""

from __future__ import annotations

from datetime import date

from sqlalchemy import bindparam, text
from sqlalchemy.types import Date
from sqlmodel import Session

_DAY = bindparam("day", type_=Date)


class Spending:
    """The spending of one user.

    Args:
        session: The session to work in; committing it is the caller's.
        user_id: The user.
        day: The day it is.
    """

    def __init__(self, session: Session, user_id: str, day: date) -> None:
        self._session = session
        self._key = {"user_id": user_id, "day": day}

    def today(self) -> float:
        """What was spent today, in US dollars."""
        query = text("SELECT cost_usd FROM spending WHERE user_id = :user_id AND day = :day").bindparams(_DAY)
        return float(self._session.connection().execute(query, self._key).scalar() or 0)

    def add(self, cost_usd: float) -> None:
        """Something was spent."""
        statement = text(
            "INSERT INTO spending (user_id, day, cost_usd) VALUES (:user_id, :day, :cost_usd) "
            "ON CONFLICT (user_id, day) DO UPDATE SET cost_usd = spending.cost_usd + excluded.cost_usd"
        ).bindparams(_DAY)
        self._session.connection().execute(statement, {**self._key, "cost_usd": cost_usd})
