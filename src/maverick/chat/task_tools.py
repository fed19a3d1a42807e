"""The task tools: what each does to the tasks of the user it acts for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Generic, TypeVar

import msgspec
from sqlmodel import Session

from maverick.chat import phrases
from maverick.chat.confirmations import ConfirmationStore
from maverick.chat.matching import find_each, find_matches, find_named, is_about, nearest, same_title
from maverick.chat.phrases import in_words
from maverick.chat.tables import Task
from maverick.chat.task_arguments import (
    AddTask,
    AllTasks,
    Arguments,
    ListTasks,
    OneTask,
    UndoChange,
    UpdateTask,
)
from maverick.chat.tasks import UNDO, ChangeLog, Due, TaskStore, state_of
from maverick.exceptions import ToolError
from maverick.journal.approvals import binding_hash

A = TypeVar("A", bound=Arguments)

_MOST_LISTED = 100
"""How many tasks a list has at most; it also says how many there are."""


class TaskRefusedError(ToolError):
    """A tool did nothing; the message says why, in words for the user, and ``code`` for programs."""

    def __init__(self, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.details = details


@dataclass(frozen=True, slots=True)
class Caller:
    """The verified user behind a call, and which call it is. None of it comes from the model's arguments."""

    user_id: str
    """The user whose tasks these are."""
    key: str
    """The idempotency key: two calls of a user with the same key act once."""
    conversation_id: str = ""
    """The conversation in which a confirmation is asked for and given; empty outside of one."""


class TaskSession:
    """The tasks, changes and confirmations of one user, for one call, in a session that the caller commits."""

    def __init__(self, session: Session, caller: Caller, today: date) -> None:
        self.today = today
        self._key = caller.key
        self.tasks = TaskStore(session, caller.user_id)
        self.changes = ChangeLog(session, caller.user_id)
        self.confirmations = ConfirmationStore(session, caller.user_id, caller.conversation_id)

    def once(self, name: str, arguments: object, act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Make a change, and record it so that it can be undone; a call that was made before returns its old result.

        Args:
            name: The tool, or what else is done.
            arguments: JSON values: the same key with other arguments is a mistake.
            act: Does it, and returns the ``data`` of the result.

        Raises:
            InvalidInputError: The key was used for another call.
        """
        arguments_hash = _digest(arguments)
        made = self.changes.result_of(self._key, name, arguments_hash)
        if made is None:
            made = {"success": True, "data": act()}
            if self.tasks.before or self.tasks.after:
                self.changes.record(self._key, name, arguments_hash, self.tasks, made)
            else:  # perhaps since the same call has been made in the meantime
                made = self.changes.result_of(self._key, name, arguments_hash) or made
        return made

    def find_one(self, query: str, *, prefer_open: bool = False) -> Task:
        """The task that is meant; raises TaskRefusedError if no task matches, or several do."""
        tasks = self.tasks.find()
        preferred = [task for task in tasks if not task.completed] if prefer_open else tasks
        found = find_named(query, preferred, self.today) or find_named(query, tasks, self.today)
        found = found or find_matches(query, preferred, self.today) or find_matches(query, tasks, self.today)
        if not found:
            guess = nearest(query, [task for task in tasks if not task.completed])
            raise TaskRefusedError("not_found", phrases.not_found(query, guess.title if guess else None))
        if len(found) > 1:
            options = phrases.options(found, self.today)
            raise TaskRefusedError("ambiguous", phrases.ambiguous(query, options), options=options)
        return found[0]

    def find_some(self, query: str, *, prefer_open: bool = False) -> list[Task]:
        """The task that is meant, or the tasks of an enumeration such as "the milk and the rent", open ones first.

        Raises:
            TaskRefusedError: No task matches, or several do that were not enumerated.
        """
        tasks = self.tasks.find()
        several: list[Task] = []
        if not find_named(query, tasks, self.today):
            still_open = [task for task in tasks if not task.completed]
            several = find_each(query, still_open, self.today) or find_each(query, tasks, self.today)
        return several or [self.find_one(query, prefer_open=prefer_open)]

    def require_confirmation(
        self, tool: TaskTool[Any], what: Sequence[Any], phrase: str, question: str, action: str
    ) -> None:
        """Use up the user's confirmation of exactly this action.

        Raises:
            TaskRefusedError: It was not confirmed yet; the user is asked now.
        """
        binding = binding_hash([tool.name, tool.description, tool.parameters, what])
        if not self.confirmations.consume(tool.name, binding):
            asked = self.confirmations.ask(tool.name, binding, phrase, question, action)
            about = {"confirmation": asked.id, "phrase": phrase, "tool": tool.name, "action": action}
            raise TaskRefusedError("confirmation_required", question, **about)


@dataclass(frozen=True)
class TaskTool(Generic[A]):
    """A tool of the task server."""

    name: str
    description: str
    arguments: type[A]
    act: Callable[[TaskSession, A], dict[str, Any]]
    """Does it, and returns the ``data`` of the result."""
    changes: bool = True
    """Whether it changes anything."""
    destructive: bool = False
    """Whether it removes something."""
    parameters: Mapping[str, Any] = field(init=False, repr=False)
    """The JSON Schema of its arguments."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", _untitled(self.arguments.model_json_schema()))


def _untitled(schema: Any) -> Any:  # noqa: ANN401 - a part of a JSON Schema
    """The schema without the titles and descriptions Pydantic takes from the class, which a model does not need."""
    schema = {key: value for key, value in schema.items() if key not in ("title", "description")}
    for name, part in schema.get("properties", {}).items():
        schema["properties"][name] = {key: value for key, value in part.items() if key != "title"}
    return schema


def _digest(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()


def _add(session: TaskSession, given: AddTask) -> dict[str, Any]:
    there = same_title(given.title, session.tasks.find(completed=False))
    if there is not None:
        values = given.model_dump(include=given.model_fields_set - {"title"}, exclude_none=True)
        is_other_day = there.due_date is not None and values.get("due_date") not in (None, there.due_date)
        is_known = is_other_day or not values
        said = phrases.already_there(there, session.today) if is_known else _updated(session, there, values)
        return {**state_of(there), "message": said}
    task = session.tasks.add(
        given.title, description=given.description, priority=given.priority, due_date=given.due_date
    )
    return {**state_of(task), "message": phrases.added(task.title, noted=phrases.noted(task, session.today))}


def _list(session: TaskSession, given: ListTasks) -> dict[str, Any]:
    due = None if given.due is None else Due.of(given.due, session.today)
    completed = None if given.status == "all" else given.status == "completed"
    tasks = session.tasks.find(completed=completed, priority=given.priority, due=due)
    if given.due == "overdue":
        tasks = [task for task in tasks if not task.completed]
    if given.due == "today" and given.status != "completed":  # what was to be done before is to be done today
        late = session.tasks.find(
            completed=False, priority=given.priority, due=Due.of("overdue", session.today)
        )
        tasks = [*late, *tasks]
    if given.about is not None:
        tasks = find_matches(given.about, tasks, session.today)
    message = phrases.listed(tasks, _described(given, session.today), session.today)
    shown = [state_of(task) for task in tasks[:_MOST_LISTED]]
    return {"tasks": shown, "count": len(tasks), "message": message}


def _described(given: ListTasks, today: date) -> str:
    """The tasks that were asked for, in words."""
    words: list[str] = [] if given.status == "all" else [given.status]
    if given.priority is not None:
        words.append(f"{given.priority.lower()}-priority")
    if given.due == "overdue":
        words.append("overdue")
    words.append("tasks")
    if given.due == "none":
        words.append("without a due date")
    elif given.due in ("this_week", "next_week"):
        words.append(f"due {given.due.replace('_', ' ')}")
    elif given.due is not None and given.due != "overdue":
        words.append(
            f"due {'by ' * given.due.startswith('by ')}{in_words(Due.of(given.due, today).last or today, today)}"
        )
    if given.about is not None:
        words.append(f"about '{phrases.shortened(given.about)}'")
    return " ".join(words)


def _complete(session: TaskSession, given: OneTask) -> dict[str, Any]:
    said = []
    tasks = session.find_some(given.task, prefer_open=True)
    for task in tasks:
        said.append((phrases.already_completed if task.completed else phrases.completed)(task.title))
        if not task.completed:
            session.tasks.change(task, completed=True)
    return _outcome(tasks, said)


def _outcome(tasks: Sequence[Task], said: Sequence[str]) -> dict[str, Any]:
    """What became of a task, or of several."""
    states = [state_of(task) for task in tasks]
    return {**(states[0] if len(states) == 1 else {"tasks": states}), "message": " ".join(said)}


def _update(session: TaskSession, given: UpdateTask) -> dict[str, Any]:
    values = {
        name: None if value == "none" else value
        for name, value in given.model_dump(exclude={"task", "postpone_days"}).items()
        if value is not None
    }
    tasks = [session.find_one(given.task)] if given.title else session.find_some(given.task)
    said = [_updated(session, task, values | _postponed(task, given.postpone_days)) for task in tasks]
    return _outcome(tasks, said)


def _postponed(task: Task, days: int | None) -> dict[str, date]:
    if days is None:
        return {}
    if task.due_date is None:
        raise TaskRefusedError("invalid_input", phrases.has_no_date(task.title))
    try:
        return {"due_date": task.due_date + timedelta(days=days)}
    except OverflowError as error:
        raise TaskRefusedError("invalid_input", phrases.missing("the due date")) from error


def _updated(session: TaskSession, task: Task, values: Mapping[str, Any]) -> str:
    """Give a task these values, and say so; it is not touched if it has them."""
    is_new = any(getattr(task, name) != value for name, value in values.items())
    if is_new:
        task = session.tasks.change(task, **values)
    changes = [_change_in_words(name, task, session.today) for name in values]
    return (phrases.updated if is_new else phrases.unchanged)(task.title, changes)


def _change_in_words(name: str, task: Task, today: date) -> str:
    match name:
        case "priority":
            return f"{task.priority.lower()} priority"
        case "due_date" if task.due_date is not None:
            return f"a due date of {in_words(task.due_date, today)}"
        case "due_date":
            return "no due date"
        case "completed":
            return f"the status {'complete' if task.completed else 'open'}"
    return f"a new {name}"


def _delete(session: TaskSession, given: OneTask) -> dict[str, Any]:
    tasks = session.find_some(given.task)
    titles = [task.title for task in tasks]
    session.require_confirmation(
        DELETE,
        sorted(task.id or 0 for task in tasks),
        phrases.CONFIRM_DELETE,
        phrases.confirm_delete(*titles),
        f"Delete {phrases.counted(len(tasks))}"
        if len(tasks) > 1
        else f"Delete '{phrases.shortened(titles[0])}'",
    )
    outcome = _outcome(tasks, [phrases.deleted(*titles)])
    for task in tasks:
        session.tasks.remove(task)
    return outcome


def _change_all(session: TaskSession, given: AllTasks) -> dict[str, Any]:
    which, what, verb = _BULK[given.operation]
    kept = {task.id: task for name in given.except_tasks for task in session.find_some(name)}
    tasks = [task for task in session.tasks.find(completed=which) if task.id not in kept]
    if not tasks:
        return {"count": 0, "message": phrases.nothing_to_do(what)}
    phrase = f"yes {given.operation.replace('_', ' ')}"
    session.require_confirmation(
        CHANGE_ALL,
        [given.operation, sorted(task.id or 0 for task in tasks)],
        phrase,
        phrases.confirm_bulk(phrase, [task.title for task in kept.values()]),
        f"{given.operation.partition('_')[0].capitalize()} {phrases.counted(len(tasks))}",
    )
    for task in tasks:
        if given.operation.startswith("delete"):
            session.tasks.remove(task)
        else:
            session.tasks.change(task, completed=given.operation == "complete_all")
    return {"count": len(tasks), "message": phrases.bulk_done(verb, len(tasks))}


_BULK: Mapping[str, tuple[bool | None, str, str]] = {
    "complete_all": (False, "open tasks", "completed"),
    "reopen_all": (True, "completed tasks", "reopened"),
    "delete_completed": (True, "completed tasks", "deleted"),
    "delete_all": (None, "tasks", "deleted"),
}
"""For each operation: whether it is for complete tasks, what they are called, and what is done to them."""


def _undo(session: TaskSession, given: UndoChange) -> dict[str, Any]:
    change = session.changes.last()
    if change is None:
        raise TaskRefusedError("nothing_to_undo", phrases.NOTHING_TO_UNDO)
    titles = [str(state["title"]) for state in (*change.before, *change.after)]
    if given.about is not None and not any(is_about(given.about, title) for title in titles):
        raise TaskRefusedError("nothing_to_undo", phrases.other_change(titles[-1]))
    tasks = session.changes.undo(change, session.tasks)
    kept = {state["id"] for state in change.before}
    removed = [state["title"] for state in change.after if state["id"] not in kept]
    removed_before = {state["id"] for state in change.before} - {state["id"] for state in change.after}
    message = phrases.undone([task.title for task in tasks], removed, returned=bool(removed_before))
    return {"undone": change.tool_name, "tasks": [state_of(task) for task in tasks], "message": message}


ADD = TaskTool("add_task", "Add a task to the user's list.", AddTask, _add)
LIST = TaskTool(
    "list_tasks",
    "List the user's tasks, all of them or by status, priority or due date.",
    ListTasks,
    _list,
    changes=False,
)
COMPLETE = TaskTool("complete_task", "Mark one of the user's tasks as complete.", OneTask, _complete)
UPDATE = TaskTool(
    "update_task",
    "Change one of the user's tasks: rename it, describe it, set its priority or due date, or reopen it.",
    UpdateTask,
    _update,
)
DELETE = TaskTool(
    "delete_task",
    "Delete one of the user's tasks. The user is asked first; once they have confirmed in their own words, call it "
    "again with the same task.",
    OneTask,
    _delete,
    destructive=True,
)
CHANGE_ALL = TaskTool(
    "change_all_tasks",
    "Complete, reopen or delete many of the user's tasks at once. The user is asked first; once they have confirmed "
    "in their own words, call it again with the same operation.",
    AllTasks,
    _change_all,
    destructive=True,
)
UNDO_LAST = TaskTool(UNDO, "Undo the last change to the user's tasks.", UndoChange, _undo)

TASK_TOOLS: tuple[TaskTool[Any], ...] = (ADD, LIST, COMPLETE, UPDATE, DELETE, CHANGE_ALL, UNDO_LAST)
"""Every tool of the task server."""
TASK_TOOL_NAMES = frozenset(tool.name for tool in TASK_TOOLS)
