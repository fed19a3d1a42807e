"""The tasks of one user, and what was changed about them."""

from __future__ import annotations

from datetime import date
from typing import Any

from sqlmodel import Session, col, select

from maverick.chat.due import Due
from maverick.chat.tables import Priority, Task, now


class TaskStore:
    """Reads and changes the tasks of one user. Whatever is asked of it, it touches no one else's.

    Args:
        session: The session to work in; committing it is the caller's.
        user_id: The user.
    """

    def __init__(self, session: Session, user_id: str) -> None:
        self._session = session
        self._user_id = user_id
        self.before: dict[int, dict[str, Any]] = {}
        """The tasks that were changed or removed, as they were."""
        self.after: dict[int, dict[str, Any]] = {}
        """The tasks that were added or changed, as they are."""

    def get(self, task_id: int) -> Task | None:
        """The task of this id, if it is the user's."""
        query = select(Task).where(Task.user_id == self._user_id, Task.id == task_id)
        return self._session.exec(query).first()

    def find(
        self, *, completed: bool | None = None, priority: str | None = None, due: Due | None = None
    ) -> list[Task]:
        """The user's tasks: open ones first, then by due date, then as they were added."""
        query = select(Task).where(Task.user_id == self._user_id)
        if completed is not None:
            query = query.where(Task.completed == completed)
        if priority is not None:
            query = query.where(Task.priority == priority)
        if due is not None and due.missing:
            query = query.where(col(Task.due_date).is_(None))
        if due is not None and due.first is not None:
            query = query.where(col(Task.due_date) >= due.first)
        if due is not None and due.last is not None:
            query = query.where(col(Task.due_date) <= due.last)
        ordered = query.order_by(
            col(Task.completed), col(Task.due_date).is_(None), col(Task.due_date), col(Task.id)
        )
        return list(self._session.exec(ordered))

    def add(
        self,
        title: str,
        *,
        description: str = "",
        priority: str = Priority.MEDIUM,
        due_date: date | None = None,
    ) -> Task:
        """Add a task."""
        task = Task(
            user_id=self._user_id,
            title=title,
            description=description,
            priority=Priority(priority).value,
            due_date=due_date,
        )
        return self._written(task)

    def change(self, task: Task, **values: Any) -> Task:
        """Give a task of the user other values: ``title``, ``description``, ``priority``, ``due_date``, ``completed``."""
        self._remember(task)
        for name, value in values.items():
            setattr(task, name, value)
        task.updated_at = now()
        return self._written(task)

    def remove(self, task: Task) -> None:
        """Remove a task of the user."""
        self._remember(task)
        self.after.pop(_id_of(task), None)
        self._session.delete(task)
        self._session.flush()

    def restore(self, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[Task]:
        """Bring tasks back to what they were before a change; returns those that are there again or as before."""
        kept = {state["id"] for state in before}
        for state in after:
            if state["id"] not in kept and (added := self.get(state["id"])) is not None:
                self.remove(added)
        return [self._restored(state) for state in before]

    def _restored(self, state: dict[str, Any]) -> Task:
        was = Task.model_validate({**state, "user_id": self._user_id})
        there = self.get(state["id"])
        if there is None:
            return self._written(was)
        values = was.model_dump(exclude={"id", "user_id", "created_at", "updated_at"})
        return self.change(there, **values)

    def _remember(self, task: Task) -> None:
        self.before.setdefault(_id_of(task), state_of(task))

    def _written(self, task: Task) -> Task:
        self._session.add(task)
        self._session.flush()
        self.after[_id_of(task)] = state_of(task)
        return task


def state_of(task: Task) -> dict[str, Any]:
    """A task as JSON values, without its owner."""
    return task.model_dump(mode="json", exclude={"user_id"})


def _id_of(task: Task) -> int:
    assert task.id is not None  # noqa: S101 - every task here has been written
    return task.id
