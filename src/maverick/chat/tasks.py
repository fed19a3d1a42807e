"""The tasks of one user: finding them by their words, changing them, and undoing a change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from sqlmodel import Session, col, select

from maverick.chat.tables import Change, Task, now
from maverick.misuse import refuse

DUE_SPANS = ("today", "tomorrow", "this_week", "next_week", "overdue", "none")
"""The due dates that a list of tasks can be filtered by, besides a date."""
REDO = "redo_last_change"
"""What the change is called that makes an undone one again."""
UNDO = "undo_last_change"
"""The name of the undo tool; its own changes cannot be undone."""
_MOST_STEPS = 1000
"""Changes that are looked at to find what can be made again."""


@dataclass(frozen=True, slots=True)
class Due:
    """A span of due dates, both ends included; or tasks that have no due date."""

    first: date | None = None
    last: date | None = None
    missing: bool = False

    @classmethod
    def of(cls, span: str, today: date) -> Due:
        """The span that a word or an ISO date stands for; raises InvalidInputError if it is neither."""
        day, week = timedelta(days=1), timedelta(days=7)
        monday = today - timedelta(days=today.weekday())
        spans = {
            "today": cls(today, today),
            "tomorrow": cls(today + day, today + day),
            "this_week": cls(monday, monday + week - day),
            "next_week": cls(monday + week, monday + 2 * week - day),
            "overdue": cls(None, today - day),
            "none": cls(missing=True),
        }
        if span in spans:
            return spans[span]
        until = span.removeprefix("by ")
        try:
            exactly = date.fromisoformat(until)
        except ValueError as error:
            choices = ", ".join(DUE_SPANS)
            refuse(
                "due",
                f"expected one of {choices}, a date such as 2026-03-31, or 'by' and a date, got {span!r}.",
                error,
            )
        return cls(exactly if until == span else None, exactly)


class TaskStore:
    """Reads and changes the tasks of one user, and never those of another, in a session that the caller commits."""

    def __init__(self, session: Session, user_id: str) -> None:
        self._session = session
        self._user_id = user_id
        self.before: dict[int, dict[str, Any]] = {}
        """The tasks that were changed or removed, as they were."""
        self.after: dict[int, dict[str, Any]] = {}
        """The tasks that were added or changed, as they are."""

    def get(self, task_id: int) -> Task | None:
        """The task with this id, if it is the user's."""
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
        self, title: str, *, description: str = "", priority: str = "Medium", due_date: date | None = None
    ) -> Task:
        """Add a task."""
        task = Task(
            user_id=self._user_id, title=title, description=description, priority=priority, due_date=due_date
        )
        return self._written(task)

    def change(self, task: Task, **values: Any) -> Task:
        """Change a task of the user: ``title``, ``description``, ``priority``, ``due_date``, ``completed``."""
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
        """Restore tasks to what they were before a change; returns the restored ones."""
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


class ChangeLog:
    """The changes to one user's tasks, so that each is made once and can be undone."""

    def __init__(self, session: Session, user_id: str) -> None:
        self._session = session
        self._user_id = user_id

    def result_of(self, key: str, tool_name: str, arguments_hash: str) -> dict[str, Any] | None:
        """The result of the call with this key, if it was made before.

        Raises:
            InvalidInputError: The key was used for another call.
        """
        query = select(Change).where(Change.user_id == self._user_id, Change.key == key)
        made = self._session.exec(query).first()
        if made is None:
            return None
        if (made.tool_name, made.arguments_hash) != (tool_name, arguments_hash):
            refuse("key", "it was used for another call. Use a new key for a new call.")
        return made.result

    def record(
        self, key: str, tool_name: str, arguments_hash: str, tasks: TaskStore, result: dict[str, Any]
    ) -> None:
        """Save a change, with the call that made it and its result."""
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

    def last(self) -> Change | None:
        """The last change that is not undone yet."""
        query = select(Change).where(Change.user_id == self._user_id, col(Change.undone).is_(False))
        return self._session.exec(query.order_by(col(Change.id).desc()).limit(1)).first()

    def undo(self, change: Change, tasks: TaskStore) -> list[Task]:
        """Undo a change; returns the restored tasks."""
        change.undone = True
        self._session.add(change)
        return tasks.restore(change.before, change.after)

    def redo_last(self, tasks: TaskStore) -> list[Task] | None:
        """Make the change again that was undone last; ``None`` if none was, or another was made since."""
        query = select(Change).where(Change.user_id == self._user_id).order_by(col(Change.id).desc())
        redone = 0
        for change in self._session.exec(query.limit(_MOST_STEPS)):
            if change.tool_name == REDO:
                redone += 1
            elif change.tool_name != UNDO:
                return None
            elif redone:
                redone -= 1
            else:
                return tasks.restore(change.before, change.after)
        return None


def state_of(task: Task) -> dict[str, Any]:
    """A task as JSON values, without its owner."""
    return task.model_dump(mode="json", exclude={"user_id"})


def _id_of(task: Task) -> int:
    assert task.id is not None  # noqa: S101 - every task here has been written
    return task.id
