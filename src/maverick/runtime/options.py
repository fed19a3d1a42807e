"""The keyword arguments that several methods of an executor take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from maverick.loop.definition import AgentDefinition
from maverick.model import Message
from maverick.runtime.interruption import AbortSignal


class StreamOptions(TypedDict, total=False):
    """What :meth:`AgentExecutor.stream` takes besides the agent; see :meth:`AgentExecutor.execute`."""

    inputs: Mapping[str, Any] | None
    signal: AbortSignal | None
    messages: Sequence[Message]
    run_id: str | None
    trace_id: str | None
    user_id: str | None
    deps: object
    if_exists: Literal["raise", "resume"]
    accept_changes: bool


class Decision(TypedDict):
    """A person's decision on a tool call."""

    by: str
    """Who decides."""
    reason: NotRequired[str]
    resume: NotRequired[bool]
    """Whether to go on with the run at once."""
    definition: NotRequired[AgentDefinition[Any]]
    """The agent of the run; by default the one of its name that this executor has run last."""
