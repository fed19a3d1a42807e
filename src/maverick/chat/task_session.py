"""What a task tool is, and what it acts with: the tasks, changes and confirmations of one user."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Generic, TypeVar

import msgspec
from sqlmodel import Session

from maverick.chat import phrases
from maverick.chat.confirmations import ConfirmationStore
from maverick.chat.matching import find_each, find_matches, find_named, nearest
from maverick.chat.tables import Task
from maverick.chat.task_arguments import Arguments
from maverick.chat.tasks import ChangeLog, TaskStore
from maverick.exceptions import ToolError
from maverick.journal.approvals import binding_hash

A = TypeVar("A", bound=Arguments)


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

    def confirmed_tasks(self, tool: TaskTool[Any], operation: str, phrase: str) -> list[int] | None:
        """Use up the user's confirmation of an operation on many tasks, if there is one; returns the ids of the tasks.

        The user has confirmed what they were asked: what the model passes along with the operation is not looked at.
        """
        asked = self.confirmations.last(tool.name, phrase)
        if asked is None or asked.tasks is None:
            return None
        what = [operation, asked.tasks]
        return asked.tasks if self.confirmations.consume(tool.name, _binding(tool, what)) else None

    def require_confirmation(
        self,
        tool: TaskTool[Any],
        what: Sequence[Any],
        phrase: str,
        question: str,
        action: str,
        *,
        tasks: Sequence[Task] = (),
        spared: Sequence[int] = (),
    ) -> None:
        """Use up the user's confirmation of exactly this action.

        Args:
            tool: The tool.
            what: What it would do, as JSON values.
            phrase: What the user has to reply.
            question: What the user is asked.
            action: What will happen, in the words of a button.
            tasks: What an action on many tasks is for.
            spared: The ids of tasks that the user was told are left as they are.

        Raises:
            TaskRefusedError: It was not confirmed yet; the user is asked now.
        """
        binding = _binding(tool, what)
        if not self.confirmations.consume(tool.name, binding):
            asked = self.confirmations.ask(
                tool.name, binding, phrase, question, action, tasks=ids_of(tasks), spared=spared
            )
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


def ids_of(tasks: Iterable[Task]) -> list[int]:
    """The ids of tasks, in order."""
    return sorted(task.id or 0 for task in tasks)


def _binding(tool: TaskTool[Any], what: Sequence[Any]) -> str:
    return binding_hash([tool.name, tool.description, tool.parameters, what])
