"""The user's tasks."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from maverick.chat import phrases
from maverick.chat.database import owned_session
from maverick.chat.tables import Task, now
from maverick.chat.task_arguments import AddTask, Description, PriorityName, Title
from maverick.chat.task_tools import Caller, TaskSession
from maverick.chat.tasks import REDO, UNDO, TaskStore, state_of
from maverick.exceptions import InvalidInputError
from maverick.server.dependencies import (
    CONFLICT,
    NOT_FOUND,
    REFUSALS,
    ChatService,
    IdempotencyKey,
    PathNumber,
    Service,
    User,
)
from maverick.server.errors import RequestRefusedError, not_found
from maverick.server.tokens import Principal
from maverick.server.updates import TASKS
from maverick.tools.threads import run_in_thread

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


class TaskChanges(BaseModel):
    """Changes to a task; fields that are left out stay as they are."""

    model_config = ConfigDict(extra="forbid")

    title: Title | None = None
    description: Description | None = None
    priority: PriorityName | None = None
    due_date: Annotated[date | None, Field(description="null removes the due date.")] = None
    completed: bool | None = None

    def values(self) -> dict[str, Any]:
        """The fields that were given."""
        given = self.model_dump(exclude_unset=True)
        return {name: value for name, value in given.items() if value is not None or name == "due_date"}


class TaskWords(BaseModel):
    """A task as a person writes it: ``call Bob on Friday, high priority``."""

    model_config = ConfigDict(extra="forbid")

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
    with owned_session(service.session_factory, user.user_id) as session:
        found = TaskStore(session, user.user_id).find(completed=completed, priority=priority)
    return TaskList(tasks=[TaskBody.model_validate(task.model_dump()) for task in found])


@router.post("/tasks", status_code=201)
async def add_task(
    body: AddTask, user: User, service: Service, idempotency_key: IdempotencyKey = None
) -> TaskBody:
    """Add a task."""

    def add(tasks: TaskStore) -> Task:
        return tasks.add(
            body.title, description=body.description, priority=body.priority, due_date=body.due_date
        )

    return await _changed(service, user, idempotency_key, ["add", body.model_dump(mode="json")], add)


@router.post("/tasks/from-words", status_code=201)
async def add_task_from_words(
    body: TaskWords, user: User, service: Service, idempotency_key: IdempotencyKey = None
) -> TaskBody:
    """Add a task as a person writes it: its date and its priority are understood, and the rest is its title."""
    from maverick.chat.offline.grammar import read_sentence

    here = now().date()
    today = body.today if body.today is not None and abs(body.today - here) <= timedelta(days=1) else here
    calls = read_sentence(f"add {body.text}", "", today) or []
    given = calls[0].arguments if len(calls) == 1 and calls[0].tool_name == "add_task" else {}
    try:
        task = AddTask.model_validate(given)
    except ValidationError:
        task = AddTask(title=body.text)
    return await add_task(task, user, service, idempotency_key)


@router.get("/tasks/{task_id}", responses=NOT_FOUND)
def get_task(task_id: PathNumber, user: User, service: Service) -> TaskBody:
    """A task."""
    with owned_session(service.session_factory, user.user_id) as session:
        return TaskBody.model_validate(_the(TaskStore(session, user.user_id), task_id).model_dump())


@router.patch("/tasks/{task_id}", responses=NOT_FOUND)
async def change_task(
    task_id: PathNumber,
    body: TaskChanges,
    user: User,
    service: Service,
    idempotency_key: IdempotencyKey = None,
) -> TaskBody:
    """Change a task."""

    def change(tasks: TaskStore) -> Task:
        return tasks.change(_the(tasks, task_id), **body.values())

    asked = ["change", task_id, body.model_dump(mode="json", exclude_unset=True)]
    return await _changed(service, user, idempotency_key, asked, change)


@router.delete("/tasks/{task_id}", responses=NOT_FOUND)
async def delete_task(
    task_id: PathNumber, user: User, service: Service, idempotency_key: IdempotencyKey = None
) -> TaskBody:
    """Delete a task, and return it as it was."""

    def delete(tasks: TaskStore) -> Task:
        task = _the(tasks, task_id)
        tasks.remove(task)
        return task

    return await _changed(service, user, idempotency_key, ["delete", task_id], delete)


@router.post("/undo", responses=CONFLICT)
async def undo(user: User, service: Service, idempotency_key: IdempotencyKey = None) -> Undone:
    """Undo the user's last change, however it was made."""
    answer = await service.tools.call(UNDO, {}, Caller(user.user_id, _key(idempotency_key)))
    if not answer["success"]:
        raise _refusal(answer["error"])
    service.updates.publish(user.user_id, TASKS)
    return Undone(message=answer["data"]["message"])


@router.post("/redo", responses=CONFLICT)
async def redo(user: User, service: Service, idempotency_key: IdempotencyKey = None) -> Undone:
    """Make the change again that was undone last, unless another was made since."""
    made = await run_in_thread(_redo, service, user.user_id, _key(idempotency_key))
    service.updates.publish(user.user_id, TASKS)
    return Undone(message=made["message"])


def _redo(service: ChatService, user_id: str, key: str) -> dict[str, Any]:
    with owned_session(service.session_factory, user_id, writes=True) as session:
        changing = TaskSession(session, Caller(user_id, key), now().date())

        def act() -> dict[str, Any]:
            if changing.changes.redo_last(changing.tasks) is None:
                raise RequestRefusedError(409, "nothing_to_redo", "There is nothing to redo.")
            titles = {**changing.tasks.before, **changing.tasks.after}.values()
            return {"message": phrases.redone([state["title"] for state in titles])}

        made: dict[str, Any] = _once(changing, REDO, [], act)["data"]
        return made


async def _changed(
    service: ChatService,
    user: Principal,
    idempotency_key: str | None,
    asked: list[Any],
    act: Callable[[TaskStore], Task],
) -> TaskBody:
    """Make a change once, so that it can be undone, and update the user's pages."""
    changed = await run_in_thread(_change, service, user.user_id, _key(idempotency_key), asked, act)
    service.updates.publish(user.user_id, TASKS)
    return TaskBody.model_validate(changed)


def _change(
    service: ChatService, user_id: str, key: str, asked: list[Any], act: Callable[[TaskStore], Task]
) -> dict[str, Any]:
    with owned_session(service.session_factory, user_id, writes=True) as session:
        changing = TaskSession(session, Caller(user_id, key), now().date())
        made = _once(changing, f"{asked[0]}_task", asked, lambda: state_of(act(changing.tasks)))
    data: dict[str, Any] = made["data"]
    return data


def _once(
    changing: TaskSession, name: str, asked: list[Any], act: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    try:
        return changing.once(name, asked, act)
    except InvalidInputError as error:
        raise RequestRefusedError(422, "key_reused", str(error), cause=error) from error


def _refusal(error: dict[str, Any]) -> RequestRefusedError:
    match error["code"]:
        case "nothing_to_undo":
            return RequestRefusedError(409, "nothing_to_undo", error["message"])
        case "conflict":
            return RequestRefusedError(
                422,
                "key_reused",
                "The idempotency key was used for another request. Use a new one.",
            )
    return RequestRefusedError(503, "unavailable", error["message"], {"Retry-After": "2"})


def _the(tasks: TaskStore, task_id: int) -> Task:
    task = tasks.get(task_id)
    if task is None:
        raise not_found("task")
    return task


def _key(idempotency_key: str | None) -> str:
    """The key of a change, which no key of a tool call can be equal to."""
    return f"request {idempotency_key or secrets.token_hex(16)}"
