"""The task tools: what each does to the tasks of the user it acts for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from maverick.chat import phrases
from maverick.chat.matching import find_matches, is_about, same_title
from maverick.chat.phrases import in_words
from maverick.chat.tables import Confirmation, Task
from maverick.chat.task_arguments import AddTask, AllTasks, ListTasks, OneTask, UndoChange, UpdateTask
from maverick.chat.task_session import TaskRefusedError, TaskSession, TaskTool, ids_of
from maverick.chat.tasks import UNDO, Due, state_of
from maverick.journal import ApprovalStatus

_MOST_LISTED = 100
"""How many tasks a list has at most; it also says how many there are."""


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
    is_new, title = any(getattr(task, name) != value for name, value in values.items()), task.title
    if is_new:
        task = session.tasks.change(task, **values)
    changes = [_change_in_words(name, task, title, session.today) for name in values]
    return (phrases.updated if is_new else phrases.unchanged)(task.title, changes)


def _change_in_words(name: str, task: Task, old_title: str, today: date) -> str:
    match name:
        case "title" if task.title != old_title:
            return f"a new title (it was '{phrases.shortened(old_title)}')"
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
        sorted([task.id or 0, task.title] for task in tasks),  # one with another name was not asked about
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
    phrase = f"yes {given.operation.replace('_', ' ')}"
    tasks = there = session.tasks.find(completed=which)
    confirmed = session.confirmed_tasks(CHANGE_ALL, given.operation, phrase)
    if confirmed is None:
        kept = {task.id: task for name in given.except_tasks for task in session.find_some(name)}
        tasks = [task for task in tasks if task.id not in kept]
        _confirm_bulk(session, given.operation, phrase, tasks, list(kept.values()))
    else:
        tasks = [task for task in tasks if task.id in confirmed]
    if not tasks:
        return {"count": 0, "message": phrases.nothing_left() if there else phrases.nothing_to_do(what)}
    for task in tasks:
        if given.operation.startswith("delete"):
            session.tasks.remove(task)
        else:
            session.tasks.change(task, completed=given.operation == "complete_all")
    return {"count": len(tasks), "message": phrases.bulk_done(verb, len(tasks))}


def _confirm_bulk(
    session: TaskSession, operation: str, phrase: str, tasks: Sequence[Task], kept: Sequence[Task]
) -> None:
    """Have the user confirm what is done to tasks, if there are any; says which of them it spared when last asked."""
    if not tasks:
        return
    spared = _spared(session.confirmations.last(CHANGE_ALL.name, phrase))
    no_longer = [task for task in tasks if task.id in spared]
    question = phrases.confirm_bulk(
        phrase, [task.title for task in kept], no_longer_kept=[task.title for task in no_longer]
    )
    session.require_confirmation(
        CHANGE_ALL,
        [operation, ids_of(tasks)],
        phrase,
        question,
        f"{operation.partition('_')[0].capitalize()} {phrases.counted(len(tasks))}",
        tasks=tasks,
        spared=ids_of([*kept, *no_longer]),
    )


def _spared(asked: Confirmation | None) -> set[int]:
    """The tasks that the user may take to be spared, after a question and what became of it."""
    if asked is None:
        return set()
    done = asked.tasks or () if asked.status == ApprovalStatus.USED else ()
    return {*(asked.spared or ())}.difference(done)


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
