"""The keyword arguments that several methods of an executor take."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from maverick.loop.definition import AgentDefinition


class Decision(TypedDict):
    """A person's decision on a tool call."""

    by: str
    """Who decides."""
    reason: NotRequired[str]
    resume: NotRequired[bool]
    """Whether to go on with the run at once."""
    definition: NotRequired[AgentDefinition[Any]]
    """The agent of the run; by default the one of its name that this executor has run last."""
