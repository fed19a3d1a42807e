"""What was done to a user's tasks: so that it is done once, and can be undone."""

from __future__ import annotations

from typing import Any

from sqlmodel import Session, col, select

from maverick.chat.tables import Change, Task
from maverick.chat.tasks import TaskStore
from maverick.exceptions import InvalidInputError

UNDO = "undo_last_change"
"""The name of the tool that undoes; its own changes are not undone in turn."""


class ChangeLog:
    """The changes of one user's tasks, oldest first.

    Args:
        session: The session to work in; committing it is the caller's.
        user_id: The user.
    """

    def __init__(self, session: Session, user_id: str) -> None:
        self._session = session
        self._user_id = user_id

    def result_of(self, key: str, tool_name: str, arguments_hash: str) -> dict[str, Any] | None:
        """What the call with this key answered, if it has been made.

        Raises:
            InvalidInputError: The key was used for another call.
        """
        query = select(Change).where(Change.user_id == self._user_id, Change.key == key)
        made = self._session.exec(query).first()
        if made is None:
            return None
        if (made.tool_name, made.arguments_hash) != (tool_name, arguments_hash):
            raise InvalidInputError(
                "key: it was used for another call before; a new call needs a new key.", field="key"
            )
        return made.result

    def record(
        self, key: str, tool_name: str, arguments_hash: str, tasks: TaskStore, result: dict[str, Any]
    ) -> None:
        """Write a change down, with the call that made it and what it answered."""
        change = Change(
            user_id=self._user_id,
            key=key,
            tool_name=tool_name,
            arguments_hash=arguments_hash,
            before=list(tasks.before.values()),
            after=list(tasks.after.values()),
            result=result,
            undone=tool_name == UNDO,
        )
        self._session.add(change)
        self._session.flush()

    def undo_last(self, tasks: TaskStore) -> tuple[Change, list[Task]] | None:
        """Undo the last change that is not undone yet; returns it and the tasks that are as they were, if there is one."""
        query = (
            select(Change)
            .where(Change.user_id == self._user_id, col(Change.undone).is_(False))
            .order_by(col(Change.id).desc())
        )
        change = self._session.exec(query.limit(1)).first()
        if change is None:
            return None
        change.undone = True
        self._session.add(change)
        return change, tasks.restore(change.before, change.after)
