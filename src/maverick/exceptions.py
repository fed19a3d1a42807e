"""Every error Maverick raises, in one tree.

    MaverickError
    ├── AgentError                     has a ``kind`` and says whether trying again may help
    │   ├── ProviderError              the model's service answered with an error (status, request_id)
    │   │   ├── AuthenticationError    the key is missing, wrong or not allowed
    │   │   ├── RateLimitError         too many requests or tokens (retry_after)
    │   │   ├── ServerError            the service failed or is overloaded; worth retrying
    │   │   ├── ContextOverflowError   the conversation is longer than the model can read
    │   │   ├── ThinkingRejectedError  the service does not take earlier thinking back
    │   │   └── MediaRejectedError     the service could not read an image or a document (media)
    │   ├── CassetteMissError          a recording holds no answer to this request (line, difference)
    │   ├── RefusalError               the model declined to answer
    │   │   └── HookRefusedError       a hook refused to call the model, or its answer (hook, reason)
    │   ├── HookError                  a hook or an output validator failed (hook)
    │   ├── CLINotFoundError           the Claude CLI is not installed (cli_path)
    │   ├── ProcessError               a process failed (exit_code, stderr)
    │   ├── TimeoutError               something took too long; also a builtin TimeoutError
    │   ├── NetworkError               the service could not be reached
    │   ├── StreamingError             a stream broke (partial_messages)
    │   │   └── StreamTimeoutError     its time was up; also a TimeoutError
    │   ├── MalformedResponseError     an answer could not be understood (raw_response)
    │   ├── ToolError                  a tool failed (tool_name)
    │   ├── InvalidToolError           a tool is unknown or badly declared (tool_name, available_tools)
    │   ├── InvalidInputError          a value is not acceptable (field); also a ValueError
    │   ├── OutputValidationError      the answer does not fit the declared type (raw_output)
    │   ├── LimitExceededError         a limit of the run was reached (limit)
    │   ├── AbortedError               the run was aborted (reason, partial_messages)
    │   ├── ApprovalRequiredError      a tool call waits for a person (tool_name, call_id)
    │   ├── JournalError               a run could not be written or read
    │   │   ├── RunNotFoundError       no run has this id (run_id)
    │   │   ├── RunExistsError         the id is taken (run_id)
    │   │   ├── RunMovedError          the run is in another journal (run_id, moved_to)
    │   │   ├── LeaseLostError         another process has taken the run over (run_id)
    │   │   ├── JournalDamagedError    the journal can no longer be read (run_id, readable)
    │   │   ├── RunChangedError        the agent is not the one the run was made with (changes)
    │   │   └── ApprovalError          the decision does not fit what was asked (approval_id)
    │   ├── StorageError               a chat's database could not be written or read
    │   ├── DuplicateAgentError        the name is taken (agent_name)
    │   └── AgentNotFoundError         no agent has this name (agent_name)
    ├── RetryOutput                    raised by an output validator: the model is asked for another answer
    ├── RunHandedOverError             the run was left unfinished, for another process to resume
    ├── WorkflowError                  a workflow of agents failed
    └── ConfigError                    a setting is wrong (source, field)

Each message says what happened and what to do next. The underlying error, where there is one, is ``__cause__``.
This module imports nothing else of the package, so every layer can use it.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, ClassVar


class ErrorKind(StrEnum):
    """What sort of failure it was: what a caller branches on."""

    AGENT = "agent"
    """The model or its service failed."""
    TOOL = "tool"
    """A tool failed."""
    TIMEOUT = "timeout"
    """A deadline passed."""
    RATE_LIMIT = "rate_limit"
    """The provider asks to slow down."""
    NETWORK = "network"
    """The provider could not be reached, or the connection broke."""
    INVALID = "invalid"
    """The request, definition or value was wrong; the same thing again fails again."""


class MaverickError(Exception):
    """The base of every error Maverick raises."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return self.message


class AgentError(MaverickError):
    """A failure of an agent, its model or its tools.

    What a class declares, such as ``retry_after``, is given by its name when an error is made.

    Args:
        message: What happened and what to do next; some classes have a message of their own.
        kind: What sort of failure it was; each subclass has a fitting default.
        cause: The underlying error; kept as ``__cause__``.
        retryable: Whether the same request may succeed if tried again; by default, what the kind suggests.
        fields: What the class declares.
    """

    default_kind: ClassVar[ErrorKind] = ErrorKind.AGENT
    """The ``kind`` of errors of this class, unless another is given."""
    default_retryable: ClassVar[bool] = False
    """Whether errors of this class may be retried, unless it is said otherwise."""
    default_message: ClassVar[str] = ""
    """What errors of this class say, with their fields, unless something else is given."""
    _fields: ClassVar[dict[str, Any]] = {}
    """What each error of this class has, and what it is by default."""

    def __init_subclass__(cls, *, kind: ErrorKind | None = None, retryable: bool | None = None) -> None:
        """Declare a class of errors, with the ``kind`` and whether to retry that its errors have by default."""
        super().__init_subclass__()
        cls.default_kind = cls.default_kind if kind is None else kind
        cls.default_retryable = cls.default_retryable if retryable is None else retryable
        inherited: dict[str, Any] = {}
        for base in reversed(cls.__bases__):
            inherited |= getattr(base, "_fields", {})
        cls._fields = inherited | {
            name: getattr(cls, name) for name in cls.__annotations__ if hasattr(cls, name)
        }

    def __init__(
        self,
        message: str | None = None,
        *,
        kind: ErrorKind | str | None = None,
        cause: BaseException | None = None,
        retryable: bool | None = None,
        **fields: Any,
    ) -> None:
        if unknown := fields.keys() - self._fields.keys():
            raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument {min(unknown)!r}")
        if message is None and not self.default_message:
            raise TypeError(f"{type(self).__name__}() missing 1 required positional argument: 'message'")
        for name, default in self._fields.items():
            value = fields[name] if name in fields else vars(self).get(name, default)
            setattr(self, name, list(value) if isinstance(default, tuple) else value)
        super().__init__(message or self.default_message.format_map(vars(self)))
        self.kind = self.default_kind if kind is None else ErrorKind(kind)
        self.retryable = self.default_retryable if retryable is None else retryable
        if cause is not None:
            self.__cause__ = cause

    @property
    def cause(self) -> BaseException | None:
        """The underlying error, if any."""
        return self.__cause__


_NONE: Any = ()
"""The default of a list; each error gets a list of its own."""


class ProviderError(AgentError):
    """The model's service answered with an error: its HTTP ``status``, and its own id of the request."""

    status: int | None = None
    """The HTTP status of the answer, if there was one."""
    request_id: str | None = None
    """The provider's own id of the request."""


class AuthenticationError(ProviderError):
    """The key is missing, wrong, or may not use this model."""


class RateLimitError(ProviderError, kind=ErrorKind.RATE_LIMIT, retryable=True):
    """The provider asks to slow down; ``retry_after`` is in seconds, when it said so."""

    retry_after: float | None = None
    """After how many seconds to try again, if the provider said so."""


class ServerError(ProviderError, retryable=True):
    """The provider failed or is overloaded; ``retry_after`` is in seconds, when it said so."""

    retry_after: float | None = None
    """After how many seconds to try again, if the provider said so."""


class ContextOverflowError(ProviderError, kind=ErrorKind.INVALID):
    """The conversation is longer than the model can read."""


class ThinkingRejectedError(ProviderError, kind=ErrorKind.INVALID):
    """The service does not take the thinking of earlier turns back, since what came before it has changed, or it itself.

    The same conversation without its thinking is accepted.
    """


class MediaRejectedError(ProviderError, kind=ErrorKind.INVALID):
    """The service could not read an image or a document; ``media`` is ``image`` or ``document``."""

    media: str = "image"
    """``image`` or ``document``."""


class CassetteMissError(AgentError, kind=ErrorKind.INVALID):
    """A recording holds no answer to a request, and a replay never goes live."""

    line: int | None = None
    """Where in the file the nearest recorded request stands, if there is one."""
    difference: Any = None
    """Where the request that was asked first differs from it."""


class RefusalError(AgentError):
    """The model declined to answer."""


class HookRefusedError(RefusalError):
    """A hook refused to call the model, or to let its answer pass; ``hook`` is its name."""

    hook: str = ""
    """The hook's name."""
    reason: str = ""
    """Why, in words."""


class HookError(AgentError, kind=ErrorKind.INVALID):
    """A hook, or an output validator, failed or returned what it may not; ``hook`` is its name."""

    hook: str = ""
    """The hook's name."""


class RetryOutput(MaverickError):  # noqa: N818 - not a failure: it asks for another answer
    """Raised by an output validator to have the model asked for another answer; the message tells it why."""


class CLINotFoundError(AgentError):
    """The Claude CLI is not installed; ``cli_path`` is where it was looked for, if only there."""

    cli_path: str | None = None
    """Where the CLI was looked for, if only there."""

    def __init__(self, message: str | None = None, *, cli_path: str | None = None, **details: Any) -> None:
        where = f" at {cli_path}" if cli_path else ""
        install = "Install it with: npm install -g @anthropic-ai/claude-code"
        default = f"The Claude CLI was not found{where}. {install}"
        super().__init__(message or default, cli_path=cli_path, **details)


class ProcessError(AgentError):
    """A process that was started for the agent failed."""

    exit_code: int | None = None
    """What it exited with, if it ended by itself."""
    stderr: str | None = None
    """What it wrote to its standard error."""


class TimeoutError(AgentError, builtins.TimeoutError, kind=ErrorKind.TIMEOUT, retryable=True):  # noqa: A001 - the seed's name, and it is one
    """Something took longer than it was allowed to."""


class NetworkError(AgentError, kind=ErrorKind.NETWORK, retryable=True):
    """The service could not be reached, or the connection broke."""


class StreamingError(AgentError, kind=ErrorKind.NETWORK, retryable=True):
    """A stream broke before its end; ``partial_messages`` holds what had arrived."""

    partial_messages: list[Any] = _NONE
    """What had arrived before the end."""


class StreamTimeoutError(StreamingError, TimeoutError, kind=ErrorKind.TIMEOUT):
    """A stream was not complete when its time was up."""


class MalformedResponseError(AgentError, retryable=True):
    """A response could not be understood; ``raw_response`` is what came, as it came."""

    raw_response: str = ""
    """What came, as it came."""


class ToolError(AgentError, kind=ErrorKind.TOOL):
    """A tool failed. Raise it from a tool to choose the message the model reads."""

    tool_name: str | None = None
    """The tool's name."""


class InvalidToolError(AgentError, kind=ErrorKind.INVALID):
    """A tool is unknown or badly declared; ``field`` names the setting it was given in, if it was."""

    tool_name: str = ""
    """The tool's name."""
    available_tools: list[str] = _NONE
    """The tools there are."""
    field: str | None = None
    """The setting or value it is about."""

    def __init__(self, message: str | None = None, **details: Any) -> None:
        names = details.get("tool_name", ""), details.get("available_tools", ())
        super().__init__(message or describe_unknown("tool", *names), **details)


class InvalidInputError(AgentError, ValueError, kind=ErrorKind.INVALID):
    """A value is not acceptable; ``field`` names it."""

    field: str | None = None
    """The setting or value it is about."""


class OutputValidationError(AgentError, kind=ErrorKind.INVALID):
    """The agent's answer, ``raw_output``, does not fit the type its definition declares."""

    raw_output: str = ""
    """The answer, as it came."""


class LimitExceededError(AgentError):
    """A limit of the run was reached; ``limit`` is the setting's name."""

    limit: str = ""
    """The setting's name."""


class AbortedError(AgentError):
    """The run was aborted; ``partial_messages`` holds what had arrived of a stream."""

    reason: str = ""
    """Why, in words."""
    partial_messages: list[Any] = _NONE
    """What had arrived before the end."""


class ApprovalRequiredError(AgentError, kind=ErrorKind.TOOL):
    """A tool call waits for a person's decision."""

    tool_name: str = ""
    """The tool's name."""
    call_id: str = ""
    """The id of the call."""


class JournalError(AgentError):
    """A run could not be written to its journal, or read from it. Nothing was done that is not in the journal."""


class RunNotFoundError(JournalError, kind=ErrorKind.INVALID):
    """The journal has no run of this id."""

    default_message = "The journal has no run {run_id!r}. `maverick runs list` shows what there is."
    run_id: str = ""
    """The run's id."""


class RunExistsError(JournalError, kind=ErrorKind.INVALID):
    """The journal already has a run of this id."""

    default_message = (
        "The journal already has a run {run_id!r}. Choose another id, or resume it: if_exists='resume', or "
        "`maverick runs resume {run_id}`."
    )
    run_id: str = ""
    """The run's id."""


class RunMovedError(JournalError, kind=ErrorKind.INVALID):
    """The run was moved, or is being moved, to another journal or fleet, and continues only there."""

    run_id: str = ""
    """The run's id."""
    moved_to: str = ""
    """Where it continues."""


class LeaseLostError(JournalError):
    """Another process has taken the run over; this one must not write or act any more."""

    default_message = "Another process has taken over the run {run_id!r}; this one has stopped."
    run_id: str = ""
    """The run's id."""


class JournalDamagedError(JournalError):
    """A journal, or a run in it, can no longer be read. Other runs can be, unless the whole file is damaged."""

    run_id: str = ""
    """The run, if it is about one."""
    readable: int = 0
    """How many of its entries can be read, from the first on."""


class RunChangedError(JournalError, kind=ErrorKind.INVALID):
    """The agent, its prompt or its tools are not what the run was made with; ``changes`` names each difference."""

    changes: list[str] = _NONE
    """Each difference, in words."""


class ApprovalError(JournalError, kind=ErrorKind.INVALID):
    """A decision does not fit what was asked: unknown, already decided, expired, or another user's."""

    default_message = (
        "There is no request for approval {approval_id!r}. `journal.list_approvals()` lists those that wait."
    )
    approval_id: str = ""
    """The request's id."""


class StorageError(AgentError, retryable=True):
    """The database of a chat could not be opened, written or read. What was being written has not happened."""


class DuplicateAgentError(AgentError, kind=ErrorKind.INVALID):
    """An agent of this name is already registered."""

    default_message = (
        "An agent named {agent_name!r} is already registered. Choose another name, or unregister it first."
    )
    agent_name: str = ""
    """The agent's name."""


class AgentNotFoundError(AgentError, kind=ErrorKind.INVALID):
    """No agent of this name is registered."""

    agent_name: str = ""
    """The agent's name."""
    available_agents: list[str] = _NONE
    """The agents there are."""

    def __init__(self, message: str | None = None, **details: Any) -> None:
        names = details.get("agent_name", ""), details.get("available_agents", ())
        super().__init__(message or describe_unknown("agent", *names), **details)


class RunHandedOverError(MaverickError):
    """The run was left unfinished as its signal asked, not stopped: it is in its journal, and can be resumed at once."""

    def __init__(
        self, message: str = "The run was handed over. Resume it, here or in another process."
    ) -> None:
        super().__init__(message)


class WorkflowError(MaverickError):
    """A workflow of several agents failed."""


class ConfigError(MaverickError):
    """A setting is wrong; ``source`` is the file or variable it came from, ``field`` its name."""

    def __init__(self, message: str, *, source: str | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.source = source
        self.field = field


def describe_unknown(noun: str, name: str, known: Sequence[str]) -> str:
    """Say that no such thing exists, what the nearest one is, and what there is to choose from: of many, the nearest."""
    from difflib import get_close_matches  # here, since most programs never ask for what is not there

    nearest = get_close_matches(name, known, n=1)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    choices, rest = sorted(known), ""
    if len(choices) > _MOST_NAMED:
        choices = get_close_matches(name, known, n=_FEW_NAMED, cutoff=0) or choices[:_FEW_NAMED]
        rest = f" and {len(known) - len(choices)} more{_LISTED_BY.get(noun, '')}"
    available = f" Available: {', '.join(choices)}{rest}." if known else f" No {noun}s are available."
    return f"There is no {noun} named {name!r}.{hint}{available}"


_MOST_NAMED, _FEW_NAMED = 30, 10
_LISTED_BY = {"agent": ", listed by `maverick agents list`", "MCP server": ", listed by `maverick mcp list`"}
