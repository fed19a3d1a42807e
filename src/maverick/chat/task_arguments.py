"""The arguments of the task tools: none of them names the user."""

from __future__ import annotations

import unicodedata
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from maverick.chat.tables import DESCRIPTION_LENGTH, TITLE_LENGTH
from maverick.chat.tasks import DUE_SPANS, Due

_MOST_DAYS = 3660
_NEWER = {"about", "postpone_days", "except_tasks"}
"""Arguments that version 0.1.0 did not have."""


def _clean(value: object) -> object:
    """A text on one line, without control characters."""
    if not isinstance(value, str):
        return value
    return " ".join("".join(" " if _is_control(c) else c for c in value).split())


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")


def _capital(value: object) -> object:
    return value.strip().capitalize() if isinstance(value, str) else value


def _is_span(value: str) -> str:
    Due.of(value, date(2000, 1, 1))
    return value


Title = Annotated[str, BeforeValidator(_clean), Field(min_length=1, max_length=TITLE_LENGTH)]
Description = Annotated[str, BeforeValidator(_clean), Field(max_length=DESCRIPTION_LENGTH)]
PriorityName = Annotated[Literal["Low", "Medium", "High"], BeforeValidator(_capital)]
Reference = Annotated[
    str,
    BeforeValidator(_clean),
    Field(min_length=1, max_length=TITLE_LENGTH, description="The title of the task, or words from it."),
]


class Arguments(BaseModel):
    """Arguments of a tool; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid")

    def recorded(self) -> dict[str, Any]:
        """JSON values to tell a call by; those of an older version are the same if it could have made the call."""
        return self.model_dump(mode="json", exclude=_NEWER - self.model_fields_set)


class AddTask(Arguments):
    """What a new task is."""

    title: Annotated[Title, Field(description="What there is to do, in a few words.")]
    description: Annotated[Description, Field(description="More about it, if there is more.")] = ""
    priority: Annotated[PriorityName, Field(description="How important it is.")] = "Medium"
    due_date: Annotated[date | None, Field(description="When it is due, as YYYY-MM-DD.")] = None


class ListTasks(Arguments):
    """Which tasks to show."""

    status: Annotated[
        Literal["all", "open", "completed"], Field(description="Only open or only completed tasks.")
    ] = "all"
    priority: Annotated[PriorityName | None, Field(description="Only tasks of this priority.")] = None
    due: Annotated[
        Annotated[str, AfterValidator(_is_span)] | None,
        Field(
            description=f"Only tasks due then: one of {', '.join(DUE_SPANS)}, a date as YYYY-MM-DD, or 'by YYYY-MM-DD' for all until then."
        ),
    ] = None
    about: Annotated[
        Reference | None, Field(description="Only tasks that have these words in their title.")
    ] = None


class OneTask(Arguments):
    """Which task is meant."""

    task: Reference


class UpdateTask(OneTask):
    """Which task is meant, and what it shall be."""

    title: Annotated[Title | None, Field(description="Its new title.")] = None
    description: Annotated[Description | None, Field(description="Its new description.")] = None
    priority: Annotated[PriorityName | None, Field(description="Its new priority.")] = None
    due_date: Annotated[
        date | Literal["none"] | None,
        Field(description="Its new due date as YYYY-MM-DD, or none for no due date."),
    ] = None
    postpone_days: Annotated[
        int | None,
        Field(
            ge=-_MOST_DAYS,
            le=_MOST_DAYS,
            description="How many days later it is to be due than now; a negative number is earlier.",
        ),
    ] = None
    completed: Annotated[bool | None, Field(description="false reopens a task that was complete.")] = None

    @model_validator(mode="before")
    @classmethod
    def _says_what(cls, values: Any) -> Any:  # noqa: ANN401 - whatever was passed
        if isinstance(values, dict) and not {name for name in values if values[name] is not None} - {"task"}:
            raise ValueError("changes")
        return values


class AllTasks(Arguments):
    """What to do with many tasks at once."""

    operation: Annotated[
        Literal["complete_all", "reopen_all", "delete_completed", "delete_all"],
        Field(description="What to do, and with which tasks."),
    ]
    except_tasks: Annotated[
        list[Reference], Field(max_length=20, description="Tasks to leave as they are, by title.")
    ] = []


class UndoChange(Arguments):
    """Which change is undone: the last one, whatever it was."""

    about: Annotated[
        Reference | None, Field(description="Undo it only if it was a change to the task with this title.")
    ] = None
