"""What happened in a run: the facts the loop is fed, in order.

A run *is* its entries. Fed to a fresh :class:`~maverick.loop.machine.AgentLoop` they rebuild its state, so the list
of entries, once recorded, is the checkpoint. Entries with "called" and "started" in their name are intents: they
are recorded before the driver acts.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct, field

from maverick.exceptions import AgentError
from maverick.loop.fingerprint import Fingerprint
from maverick.loop.limits import Limits
from maverick.loop.policy import Verdict
from maverick.loop.result import TerminateReason, ToolOutcome
from maverick.loop.run_settings import RunSettings
from maverick.model import Message, ModelInfo, Part, Response, ToolCall, Usage
from maverick.model.response import NO_USAGE


class _Entry(Struct, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    at: float
    """When it happened, in seconds since the epoch. The loop reads no other clock."""
    waited: float = 0.0
    """The seconds before it, since the entry before, in which the run waited for a person; no limit counts them."""


class Execution(Struct, frozen=True, omit_defaults=True):
    """The ``execute()`` of an agent that is a class, as far as resuming it needs it: its prompts are runs of their own."""

    run_id: str
    """The id of the whole, which is that of its first prompt."""
    prompt: int
    """Which prompt this is, from 1."""
    inputs: dict[str, Any] = {}
    """What it was given."""

    @property
    def prompt_run_id(self) -> str:
        """The id of the prompt's run."""
        return self.run_id if self.prompt == 1 else f"{self.run_id}.{self.prompt}"


class RunStarted(_Entry, frozen=True, kw_only=True):
    """A run began."""

    run_id: str
    trace_id: str
    agent: tuple[str, ...]
    """The path of agent names, outermost first."""
    system: str
    messages: tuple[Message, ...]
    head: int
    """How many of the messages state the task and are never compacted."""
    earlier: int = 0
    """How many messages come before those: a conversation that the run continues, which may be compacted."""
    limits: Limits
    info: ModelInfo
    """What the client knows of the model."""
    fingerprint: Fingerprint | None = None
    """What the agent was when the run began; kept with runs that can be resumed."""
    settings: RunSettings | None = field(name="terms", default=None)
    """What the run is decided by; by default the settings of its agent. Journals call it ``terms``."""
    user_id: str | None = None
    """The verified user it acts for."""
    parent: str | None = None
    """The run that called this one as a subagent."""
    worker: str = ""
    """The process that works on the run; kept with runs that can be resumed."""
    execution: Execution | None = None
    """What it is a prompt of, if its agent is a class."""


class ModelCalled(_Entry, frozen=True, kw_only=True):
    """The model is about to be called."""

    turn: int
    attempt: int = 1
    compaction: bool = False
    """Whether the conversation is to be compacted."""
    native: bool = False
    """Whether the provider compacts it itself, in place of a summary that the model writes."""


class ModelReplied(_Entry, frozen=True, kw_only=True):
    """The model answered."""

    response: Response
    """The answer, as hooks have left it."""
    review: bool = False
    """Whether hooks are asked about its tool calls before anything else is decided about them."""
    refusal: str = ""
    """Why a hook refused the answer, which is then not kept."""
    refused_by: str = ""
    """The hook that did."""


class ModelFailed(_Entry, frozen=True, kw_only=True):
    """The model call failed."""

    error: AgentError
    partial_text: str = ""
    """What had arrived of the answer; it is kept if the run ends here."""


class ToolsStarted(_Entry, frozen=True, kw_only=True):
    """The tool calls of a turn are about to run."""

    turn: int


class ToolFinished(_Entry, frozen=True, kw_only=True):
    """A tool call has its result."""

    index: int
    """Which call of the turn it was."""
    outcome: ToolOutcome
    content: str
    """The result as text."""
    parts: tuple[Part, ...] = ()
    """The result as the model gets it, when it is more than that text."""
    data: dict[str, Any] | None = None
    """The result as JSON values, from tools that return a ``StructuredResult``."""
    duration_ms: int = 0
    usage: Usage = NO_USAGE
    """What a subagent used."""
    turns: int = 0
    """The turns a subagent took."""
    tool_calls: int = 0
    """The tool calls a subagent made."""


class RequestReviewed(_Entry, frozen=True, kw_only=True):
    """Hooks changed the conversation before it is sent to the model, or refused to send it. Consent leaves no entry."""

    by: str
    """The hooks that did, by name."""
    refusal: str = ""
    """Why the model is not called, and the run ends."""
    since: int = 0
    messages: tuple[Message, ...] = ()
    """What replaces the messages from ``since`` on, one for one."""
    added: tuple[Message, ...] = ()
    """What comes after all of them."""

    @property
    def decision(self) -> str:
        """What was decided, in words."""
        if self.refusal:
            return f"refused to call the model: {self.refusal}"
        if self.messages:
            return f"changed {len(self.messages)} messages of the conversation"
        return "wrote: " + "\n".join(message.content for message in self.added)


class CallReview(Struct, frozen=True, omit_defaults=True):
    """What a hook decided about a tool call."""

    index: int
    by: str
    """The hooks that did, by name."""
    refusal: str = ""
    """Why it is not run."""
    call: ToolCall | None = None
    """The call that is made instead."""


class CallsReviewed(_Entry, frozen=True, kw_only=True):
    """Hooks were asked about the tool calls of a turn; those that are not named may run as they are."""

    calls: tuple[CallReview, ...] = ()


class OutputChecked(_Entry, frozen=True, kw_only=True):
    """The output's validators were asked about an answer of the declared type."""

    retry: str = ""
    """Why the model is asked for another answer."""
    output: str = ""
    """The output as JSON, if a validator changed it."""


class CallRuled(_Entry, frozen=True, kw_only=True):
    """The executor's permissions forbid a tool call, or want a person asked about it. Consent leaves no entry."""

    index: int
    verdict: Verdict
    reason: str = ""


class ApprovalDecided(_Entry, frozen=True, kw_only=True):
    """A person decided on a tool call that waited for it."""

    index: int
    approved: bool
    by: str = ""
    reason: str = ""
    arguments: dict[str, Any] | None = None
    """The arguments that it was approved with, in place of those that the model asked for."""


class Interrupted(_Entry, frozen=True, kw_only=True):
    """The run was stopped from outside."""

    reason: TerminateReason
    message: str = ""
    partial_text: str = ""
    """What had arrived of the answer."""
    usage: Usage = NO_USAGE
    """What the subagents had used that were cut short."""
    turns: int = 0
    """The turns those had taken."""
    tool_calls: int = 0
    """The tool calls those had made."""
    error: AgentError | None = None
    """What went wrong, if it was a failure of the program's own code: a hook, or a validator."""


class Resumed(_Entry, frozen=True, kw_only=True):
    """The run was resumed after its process died, or after it was stopped."""

    limits: Limits
    """The limits from now on."""
    settings: RunSettings | None = field(name="terms", default=None)
    """What the run is decided by from now on; by default the settings of its agent."""
    worker: str = ""
    """The process that works on the run from now on."""


class Edited(_Entry, frozen=True, kw_only=True):
    """A person added a message to the conversation, before the next turn."""

    content: str
    """The message as text."""
    parts: tuple[Part, ...] = ()
    """All of it, when it is more than that text, such as an image."""
    keeps_media: bool = False
    """Whether the images and documents of the message that it replaces stay; they did not in runs from before this."""


class Said(_Entry, frozen=True, kw_only=True):
    """Words for the run while it continues: the user's next message, before the next turn or in place of the end."""

    content: str
    """The words as text."""
    parts: tuple[Part, ...] = ()
    """All of it, when it is more than that text, such as an image."""
    by: str = ""
    """Who said it; the model is not told."""


Entry: TypeAlias = (
    RunStarted
    | ModelCalled
    | ModelReplied
    | ModelFailed
    | ToolsStarted
    | ToolFinished
    | RequestReviewed
    | CallsReviewed
    | OutputChecked
    | CallRuled
    | ApprovalDecided
    | Interrupted
    | Resumed
    | Edited
    | Said
)
