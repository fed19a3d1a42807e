"""The user's tasks."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field, ValidationError
from sqlalchemy.exc import IntegrityError

from maverick.chat import phrases
from maverick.chat.tables import Task, now
from maverick.chat.task_arguments import AddTask, Description, PriorityName, Title, UndoChange
from maverick.chat.task_session import Caller, TaskRefusedError, TaskSession
from maverick.chat.task_tools import UNDO_LAST
from maverick.chat.tasks import REDO, TaskStore, state_of
from maverick.exceptions import InvalidInputError, StorageError
from maverick.server.dependencies import (
    REFUSALS,
    ChatService,
    IdempotencyKey,
    PathNumber,
    RequestBody,
    Service,
    User,
)
from maverick.server.errors import RequestRefusedError, key_reused, not_found
from maverick.server.event_stream import TASKS
from maverick.server.tokens import Principal
from maverick.tools.threads import run_in_thread

_OVER = re.compile(
    r"\b(?:yesterday|last (?:night|week|month|year|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|\w+ (?:day|week|month)s? ago)$",
    re.IGNORECASE,
)
"""A day that is over, at the end of what is written for a task."""
_NO_DAY = re.compile(
    r"\b\d{1,2}(?:st|nd|rd|th)? (?:of )?(?:MONTH)[a-z]*$|\b(?:MONTH)[a-z]* \d{1,2}(?:st|nd|rd|th)?$".replace(
        "MONTH", "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
    ),
    re.IGNORECASE,
)
"""A day that there is not, such as 31 February: it is left at the end of a title."""
router = APIRouter(prefix="/api", tags=["tasks"], responses=REFUSALS)


class TaskBody(BaseModel):
    """A task."""

    id: int
    title: str
    description: str
    priority: Literal["Low", "Medium", "High"]
    due_date: date | None
    completed: bool
    created_at: datetime
    updated_at: datetime


class TaskList(BaseModel):
    """The user's tasks: open ones first, then by due date."""

    tasks: list[TaskBody]


class TaskChanges(RequestBody):
    """Changes to a task; fields that are left out stay as they are."""

    title: Title | None = None
    description: Description | None = None
    priority: PriorityName | None = None
    due_date: Annotated[date | None, Field(description="null removes the due date.")] = None
    completed: bool | None = None

    def values(self) -> dict[str, Any]:
        """The fields that were given."""
        given = self.model_dump(exclude_unset=True)
        return {name: value for name, value in given.items() if value is not None or name == "due_date"}


class TaskWords(RequestBody):
    """A task as a person writes it: ``call Bob on Friday, high priority``."""

    text: Title
    today: date | None = None
    """The date where the person is; by default that of the server."""


class Undone(BaseModel):
    """What was undone, or made again."""

    message: str
    """For the user."""


@router.get("/tasks")
def list_tasks(
    user: User,
    service: Service,
    status: Literal["all", "open", "completed"] = "all",
    priority: Literal["Low", "Medium", "High"] | None = None,
) -> TaskList:
    """The user's tasks: open ones first, then by due date."""
    completed = None if status == "all" else status == "completed"
    with service.session(user) as session:
        found = TaskStore(session, user.user_id).find(completed=completed, priority=priority)
    return TaskList(tasks=[TaskBody.model_validate(task.model_dump()) for task in found])


@router.post("/tasks", status_code=201)
async def add_task(
    body: AddTask, user: User, service: Service, idempotency_key: IdempotencyKey = None
) -> TaskBody:
    """Add a task."""

    def add(session: TaskSession) -> dict[str, Any]:
        added = session.tasks.add(
            body.title, description=body.description, priority=body.priority, due_date=body.due_date
        )
        return state_of(added)

    asked = ["add", body.model_dump(mode="json")]
    return TaskBody(**await _changed(service, user, idempotency_key, "add_task", asked, add))


@router.post("/tasks/from-words", status_code=201)
async def add_task_from_words(
    body: TaskWords, user: User, service: Service, idempotency_key: IdempotencyKey = None
) -> TaskBody:
    """Add a task as a person writes it: its date and its priority are understood, and the rest is its title."""
    from maverick.chat.offline.grammar import read_sentence

    if over := _OVER.search(body.text):
        problem = f"A task cannot be due {over[0]}, which is over. Name a day to come, or leave it out."
        raise RequestRefusedError(422, "invalid", problem)
    here = now().date()
    today = body.today if body.today is not None and abs(body.today - here) <= timedelta(days=1) else here
    calls = read_sentence(f"add {body.text}", "", today) or []
    given = calls[0].arguments if len(calls) == 1 and calls[0].tool_name == "add_task" else {}
    try:
        task = AddTask.model_validate(given)
    except ValidationError:
        task = AddTask(title=body.text)
    if day := _NO_DAY.search(task.title):
        problem = f"There is no {day[0]}. Name another day, or leave it out."
        raise RequestRefusedError(422, "invalid", problem)
    return await add_task(task, user, service, idempotency_key)


@router.get("/tasks/{task_id}")
def get_task(task_id: PathNumber, user: User, service: Service) -> TaskBody:
    """A task."""
    with service.session(user) as session:
        return TaskBody.model_validate(_the(TaskStore(session, user.user_id), task_id).model_dump())


@router.patch("/tasks/{task_id}")
async def change_task(
    task_id: PathNumber,
    body: TaskChanges,
    user: User,
    service: Service,
    idempotency_key: IdempotencyKey = None,
) -> TaskBody:
    """Change a task."""

    def change(session: TaskSession) -> dict[str, Any]:
        return state_of(session.tasks.change(_the(session.tasks, task_id), **body.values()))

    asked = ["change", task_id, body.model_dump(mode="json", exclude_unset=True)]
    return TaskBody(**await _changed(service, user, idempotency_key, "change_task", asked, change))


@router.delete("/tasks/{task_id}")
async def delete_task(
    task_id: PathNumber, user: User, service: Service, idempotency_key: IdempotencyKey = None
) -> TaskBody:
    """Delete a task, and return it as it was."""

    def delete(session: TaskSession) -> dict[str, Any]:
        task = _the(session.tasks, task_id)
        session.tasks.remove(task)
        return state_of(task)

    asked = ["delete", task_id]
    return TaskBody(**await _changed(service, user, idempotency_key, "delete_task", asked, delete))


@router.post("/undo")
async def undo(user: User, service: Service, idempotency_key: IdempotencyKey = None) -> Undone:
    """Undo the user's last change, however it was made."""

    def act(session: TaskSession) -> dict[str, Any]:
        return UNDO_LAST.act(session, UndoChange())

    undone = await _changed(service, user, idempotency_key, UNDO_LAST.name, UndoChange().recorded(), act)
    return Undone(message=undone["message"])


@router.post("/redo")
async def redo(user: User, service: Service, idempotency_key: IdempotencyKey = None) -> Undone:
    """Make the change again that was undone last, unless another was made since."""

    def act(session: TaskSession) -> dict[str, Any]:
        if session.changes.redo_last(session.tasks) is None:
            raise TaskRefusedError("nothing_to_redo", "There is nothing to redo.")
        titles = {**session.tasks.before, **session.tasks.after}.values()
        return {"message": phrases.redone([state["title"] for state in titles])}

    return Undone(**await _changed(service, user, idempotency_key, REDO, [], act))


async def _changed(
    service: ChatService,
    user: Principal,
    idempotency_key: str | None,
    name: str,
    asked: object,
    act: Callable[[TaskSession], dict[str, Any]],
) -> dict[str, Any]:
    """Make a change once, so that it can be undone, and update the user's pages."""
    # No key of a tool call can be equal to it.
    caller = Caller(user.user_id, f"request {idempotency_key or secrets.token_hex(16)}")

    def change() -> dict[str, Any]:
        with service.session(user, writes=True) as session:
            changing = TaskSession(session, caller, now().date())
            made: dict[str, Any] = changing.once(name, asked, lambda: act(changing))["data"]
        return made

    try:
        try:
            changed = await run_in_thread(change)
        except StorageError as error:
            if not isinstance(error.cause, IntegrityError):
                raise
            # The same request came at the same time, and is saved by now.
            changed = await run_in_thread(change)
    except TaskRefusedError as error:
        raise RequestRefusedError(409, error.code, str(error)) from error
    except InvalidInputError as error:
        raise key_reused() from error
    service.updates.publish(user.user_id, TASKS)
    return changed


def _the(tasks: TaskStore, task_id: int) -> Task:
    task = tasks.get(task_id)
    if task is None:
        raise not_found("task")
    return task
