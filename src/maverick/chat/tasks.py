"""The tasks of one user: finding them by their words, changing them, and undoing a change."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from difflib import SequenceMatcher
from typing import Any

from sqlmodel import Session, col, select

from maverick.chat.phrases import label
from maverick.chat.tables import Change, Task, now
from maverick.chat.verbs import BASE_FORMS
from maverick.exceptions import InvalidInputError

DUE_SPANS = ("today", "tomorrow", "this_week", "next_week", "overdue", "none")
"""The due dates that a list of tasks can be filtered by, besides a date."""
REDO = "redo_last_change"
"""What the change is called that makes an undone one again."""
UNDO = "undo_last_change"
"""The name of the undo tool; its own changes cannot be undone."""
_MOST_STEPS = 1000
"""Changes that are looked at to find what can be made again."""
_ARTICLES = frozenset(("a", "an", "the", "my", "our", "your", "some"))
_FILLERS = frozenset(
    re.findall(
        r"\w+",
        "a an the teh my our your that this it one task tasks todo item about regarding for to of with on called named thing things stuff",
    )
)
"""Words that do not distinguish tasks."""
_EXCEPT = re.compile(r"\b(?:not|but|except|never|without)\b", re.IGNORECASE)
"""Words that turn a request round: then only the very title counts."""
_AND = re.compile(r"\s*[,;&]\s*(?:and\s+)?|\s+and\s+", re.IGNORECASE)
_TITLES = re.compile(r"'(.+?)'(?=,| and |$)")
_SIMILAR_WORD = 0.82
"""How similar a misspelt word has to be."""
_INCIDENTAL = frozenset(
    re.findall(
        r"\w+",
        "already finally just now today yesterday morning afternoon evening night last again too all is are was were been has have",
    )
)
"""Words that may stand beside a title, to say that it is done and when."""


@dataclass(frozen=True, slots=True)
class Due:
    """A span of due dates, both ends included; or tasks that have no due date."""

    first: date | None = None
    last: date | None = None
    missing: bool = False

    @classmethod
    def of(cls, span: str, today: date) -> Due:
        """The span that a word or an ISO date stands for.

        Raises:
            InvalidInputError: It is neither.
        """
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
            raise InvalidInputError(
                f"due: expected one of {choices}, a date such as 2026-03-31, or 'by' and a date, got {span!r}.",
                field="due",
            ) from error
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
        self,
        title: str,
        *,
        description: str = "",
        priority: str = "Medium",
        due_date: date | None = None,
    ) -> Task:
        """Add a task."""
        task = Task(
            user_id=self._user_id,
            title=title,
            description=description,
            priority=priority,
            due_date=due_date,
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
            raise InvalidInputError(
                "key: it was used for another call. Use a new key for a new call.", field="key"
            )
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


def same_title(title: str, tasks: Sequence[Task]) -> Task | None:
    """The first task that has this title, whatever its case, punctuation and articles."""
    return next((task for task in tasks if _bare(task.title) == _bare(title)), None)


def _bare(title: str) -> list[str]:
    return [word for word in _plain(title).split() if word not in _ARTICLES]


def find_named(query: str, tasks: Sequence[Task], today: date) -> list[Task]:
    """The tasks whose title has all the words, in the order given; an exact title wins."""
    asked, words = _plain(query), _words(query)
    exact = [task for task in tasks if asked and _plain(task.title) == asked]
    if len(exact) == 1:
        return exact
    return _distinct(
        exact
        or [
            task
            for task in tasks
            if _has_all(words, _words(label(task, today))) and _shared(words, _words(task.title))
        ],
        today,
    )


def find_matches(query: str, tasks: Sequence[Task], today: date) -> list[Task]:
    """The tasks that may be meant, in the order given; only one if it is clear which.

    Titles that have all the words win over those that are all in the words ("bought the stamps" means "stamps"), and those
    over misspelt titles. Of tasks that look the same, the first is meant.
    """
    found = find_named(query, tasks, today)
    if found or _EXCEPT.search(query):
        return found
    words = _words(query)
    found = [task for task in tasks if _is_said_by(words, _words(task.title))]
    return _distinct(found or [task for task in tasks if _is_misspelt(words, _words(task.title))], today)


def _is_said_by(words: Sequence[str], title: Sequence[str]) -> bool:
    """Whether the words are a title, after what was done with it: "almond milk" is not "milk", but "bought milk" is."""
    extra = [word for word in words[1:] if word not in _INCIDENTAL and not _shared([word], title)]
    return not extra and _has_all(title, words)


def _is_misspelt(words: Sequence[str], title: Sequence[str]) -> bool:
    return len(words) == len(title) and all(map(_is_similar, words, title))


def _is_similar(one: str, other: str) -> bool:
    if _same(one, other):
        return True
    is_part = one.startswith(other) or other.startswith(one)
    return (
        (one + other).isalpha()
        and min(len(one), len(other)) > 2
        and (is_part or sorted(one) == sorted(other))
    )


def find_each(query: str, tasks: Sequence[Task], today: date) -> list[Task]:
    """The tasks of an enumeration such as "the milk and the rent"; none unless each part means exactly one of them."""
    if _EXCEPT.search(query):
        return []
    parts = _TITLES.findall(query) or _AND.split(query)
    found = [find_matches(part, tasks, today) for part in parts if part]
    each = {task.id: task for matches in found for task in matches}
    return list(each.values()) if len(each) == len(found) and all(len(m) == 1 for m in found) else []


def is_about(query: str, title: str) -> bool:
    """Whether a title has all the words."""
    return _has_all(_words(query), _words(title))


def nearest(query: str, tasks: Sequence[Task]) -> Task | None:
    """The task that shares most words with what was asked for, if one does and no other shares as many."""
    words = _words(query)
    shared = sorted(((_shared(words, _words(task.title)), n) for n, task in enumerate(tasks)), reverse=True)
    if not shared or not shared[0][0] or (len(shared) > 1 and shared[1][0] == shared[0][0]):
        return None
    return tasks[shared[0][1]]


def _shared(asked: Sequence[str], there: Sequence[str]) -> int:
    """How many of the words are there."""
    return sum(any(_same(word, other) for other in there) for word in asked)


def _id_of(task: Task) -> int:
    assert task.id is not None  # noqa: S101 - every task here has been written
    return task.id


def _distinct(tasks: Sequence[Task], today: date) -> list[Task]:
    """The tasks, without those that look the same as an earlier one."""
    return list({label(task, today): task for task in reversed(tasks)}.values())[::-1]


def _has_all(asked: Sequence[str], there: Sequence[str]) -> bool:
    return bool(asked) and all(any(_same(word, other) for other in there) for word in asked)


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    if not (one + other).isalpha() or one.endswith(other) or other.endswith(one):
        return False  # numbers are exact, and "unlock" is not "lock"
    shorter = min(len(one), len(other))
    if shorter > 3 and (other.startswith(one) or one.startswith(other)):
        return True
    return shorter > 3 and _similarity(one, other) >= _SIMILAR_WORD


def _similarity(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _words(text: str) -> list[str]:
    words = [BASE_FORMS.get(word, word) for word in _plain(text).split()]
    words = ["call" if word in ("ring", "phone", "phoned") else word for word in words]
    telling = [word for word in words if word not in _FILLERS]
    return telling or words


def _plain(text: str) -> str:
    """A text without case, accents and punctuation."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return " ".join(re.findall(r"\w+", bare.replace("'", "").replace("’", "")))
