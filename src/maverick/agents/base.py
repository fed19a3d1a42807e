"""An agent as a class, on the Claude Agent SDK."""

from __future__ import annotations

import asyncio
import warnings
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload
from weakref import WeakKeyDictionary

from maverick.agents.answer import Answer
from maverick.agents.context import AgentContext
from maverick.agents.partial_answer import PartialAnswer
from maverick.agents.stopping import Stopping
from maverick.config import DEFAULT
from maverick.exceptions import (
    AbortedError,
    AgentError,
    InvalidInputError,
    InvalidToolError,
    LimitExceededError,
    StreamingError,
)
from maverick.loop.result import AgentResult
from maverick.providers.claude_cli import SessionPool, build_options, wrap_sdk_error
from maverick.providers.claude_cli.pool import DEFAULT_SIZE
from maverick.providers.resolve import resolve_claude_code
from maverick.runtime.abort import AbortSignal

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, Message
    from pydantic import BaseModel

    from maverick.config import AgentConfig

M = TypeVar("M", bound="BaseModel")

BUILTIN_TOOLS: frozenset[str] = frozenset(
    {
        "Read",
        "Write",
        "Edit",
        "Bash",
        "Glob",
        "Grep",
        "NotebookEdit",
        "WebFetch",
        "WebSearch",
        "TodoWrite",
        "BashOutput",
        "KillBash",
        "Task",
        "ExitPlanMode",
        "ListMcpResources",
        "ReadMcpResource",
    }
)
"""The CLI's own tools that any agent may be allowed."""
LATER_TOOLS: frozenset[str] = frozenset(
    {
        "Agent",
        "AskUserQuestion",
        "Monitor",
        "Skill",
        "TaskCreate",
        "TaskGet",
        "TaskList",
        "TaskOutput",
        "TaskStop",
        "TaskUpdate",
        "ToolSearch",
    }
)
"""Tools that today's CLI has besides."""
DEFAULT_MODEL: str = "claude-sonnet-4-5-20250929"
"""The model of an agent that names none, until its provider retires it: see :func:`default_model`."""
RETIREMENT = date(2026, 11, 30)
"""The day from which ``DEFAULT_MODEL`` no longer answers."""
SUCCESSOR = "claude-sonnet-5-5"
"""What an agent that names no model gets from then on."""
DEFAULT_PERMISSION_MODE: str = "acceptEdits"
"""How the CLI asks: edits of files are made, whatever else is not allowed is refused, since nobody is there to ask."""
DEFAULT_TIMEOUT: float = 3600.0
"""How many seconds a query may take."""


class MaverickAgent(ABC):
    """An agent that works through the Claude CLI. A subclass says what it is, and implements :meth:`execute`.

    Each query is a conversation of its own. Inside ``async with agent:`` the CLIs are kept from one query to the
    next, which then begins in a fraction of the time; otherwise each ends with its query.

    Args:
        name: A name for people and for the registry.
        system_prompt: What the agent is and how it works.
        allowed_tools: The tools it may use, and no others: names of the CLI's tools, rules such as ``Bash(git:*)``,
            and ``mcp__<server>__<tool>`` or ``mcp__<server>`` for the servers below.
        model: The model, as the CLI names it; by default that of the settings, or else :func:`default_model`.
        mcp_servers: MCP servers by name, as the SDK describes them.
        permission_mode: How the CLI decides on tools that are not allowed.
        max_tokens: The most tokens of one answer of the model.
        timeout: How many seconds a query may take; ``None`` is as long as it likes.
        partial_messages: Whether :meth:`query` also yields the pieces of answers, as ``StreamEvent``.
        max_processes: How many CLIs may run for the agent at once; further queries wait.
        options: Any other field of the SDK's ``ClaudeAgentOptions``, such as ``max_turns`` or ``env``.

    Raises:
        InvalidToolError: A tool is unknown, or of a server that is not there.
        InvalidInputError: The name is empty, or a number makes no sense.
    """

    def __init__(
        self,
        name: str,
        system_prompt: str,
        allowed_tools: Iterable[str] = (),
        model: str | None = None,
        mcp_servers: Mapping[str, Any] | None = None,
        *,
        permission_mode: str = DEFAULT_PERMISSION_MODE,
        max_tokens: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
        partial_messages: bool = False,
        max_processes: int = DEFAULT_SIZE,
        **options: Any,
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise InvalidInputError(f"name: expected a non-empty string, got {name!r}.", field="name")
        if timeout is not None and timeout <= 0:
            raise InvalidInputError(
                f"timeout: expected more than 0 seconds, got {timeout!r}.", field="timeout"
            )
        self.name = name
        self.system_prompt = system_prompt
        self.allowed_tools = list(allowed_tools)
        self.model = model or default_model()
        self._names_model = model is not None
        self.mcp_servers = dict(mcp_servers or {})
        self.permission_mode = permission_mode
        self.max_tokens = max_tokens
        self.timeout = timeout
        self.partial_messages = partial_messages
        self.max_processes = max_processes
        self.on_message: Callable[[Message], object] | None = None
        """Told each message of every query, the pieces of answers too, by whoever shows what the agent does."""
        self.signal: AbortSignal | None = None
        """Aborts every query that is given no signal of its own."""
        self._chosen = options
        self._validate_tools(self.allowed_tools, self.mcp_servers)
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, SessionPool] = WeakKeyDictionary()

    @abstractmethod
    async def execute(self, context: AgentContext) -> AgentResult[Any]:
        """Do the agent's work.

        Args:
            context: The folder to work in, and what else the agent is told.
        """

    @property
    def options(self) -> ClaudeAgentOptions:
        """What the CLI is started with."""
        return self._build_options()

    async def query(
        self, prompt: str, cwd: str | Path | None = None, *, signal: AbortSignal | None = None
    ) -> AsyncGenerator[Message, None]:
        """Ask, and yield the SDK's messages as they arrive; the last one of a good answer is a ``ResultMessage``.

        Nothing is retried. When an answer breaks off, what came of it is yielded before the error is raised. To
        leave early, break out of the loop: the CLI is ended.

        Args:
            prompt: What to ask.
            cwd: The folder to work in; by default, the current one.
            signal: Aborts the query.

        Raises:
            StreamingError: The answer broke off; ``partial_messages`` has what came, the cause says why.
            AgentError: There was no answer at all, or a limit was reached, or it was stopped.
        """
        async with aclosing(self._ask(prompt, self._build_options(cwd), signal)) as messages:
            from claude_agent_sdk import StreamEvent

            async for message in messages:
                if self.partial_messages or not isinstance(message, StreamEvent):
                    yield message

    @overload
    async def run_prompt(
        self, prompt: str, context: AgentContext | None = None, *, signal: AbortSignal | None = None
    ) -> AgentResult[str]: ...
    @overload
    async def run_prompt(
        self,
        prompt: str,
        context: AgentContext | None = None,
        *,
        output_type: type[M],
        signal: AbortSignal | None = None,
    ) -> AgentResult[M]: ...
    async def run_prompt(
        self,
        prompt: str,
        context: AgentContext | None = None,
        *,
        output_type: type[M] | None = None,
        signal: AbortSignal | None = None,
    ) -> AgentResult[Any]:
        """Ask, and return the outcome: the final text, or a value of a type; failures are in the result too.

        Args:
            prompt: What to ask.
            context: Where to work, and the settings for what the agent leaves open.
            output_type: The Pydantic model that the answer has to be.
            signal: Aborts the run.
        """
        options = self._build_options(None if context is None else context.cwd)
        if context is not None:
            options = self._configured(options, context.config.agent)
        if output_type is not None:
            schema = {"type": "json_schema", "schema": output_type.model_json_schema()}
            options = replace(options, output_format=schema)
        answer = Answer(output_type)
        try:
            async for message in self._ask(prompt, options, signal):
                answer.see(message)
        except AgentError as error:
            return answer.failure(error)
        return answer.result()

    async def aclose(self) -> None:
        """End the CLIs that were kept for later queries."""
        if pool := self._pools.get(asyncio.get_running_loop()):
            await pool.aclose()

    async def __aenter__(self) -> Self:
        self._pool().keep = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _validate_tools(self, allowed_tools: Iterable[str], mcp_servers: Mapping[str, Any]) -> None:
        """Refuse tools that the CLI does not have and that no server can bring.

        Raises:
            InvalidToolError: There is one; the error names it, what there is, and the nearest.
        """
        known = [*BUILTIN_TOOLS, *LATER_TOOLS, *(f"mcp__{server}" for server in mcp_servers)]
        for tool in allowed_tools:
            name = tool.partition("(")[0]
            server = "__".join(name.split("__")[:2]) if name.startswith("mcp__") else name
            if server not in known:
                raise InvalidToolError(tool_name=tool, available_tools=sorted(known))

    def _build_options(self, cwd: str | Path | None = None) -> ClaudeAgentOptions:
        """What the CLI is started with; override it to change anything.

        Args:
            cwd: The folder to work in; by default, the current one.

        Raises:
            CLINotFoundError: The SDK, which brings the CLI, is not installed.
            InvalidInputError: The agent was made with an option that the SDK does not have.
        """
        return build_options(
            **{
                "system_prompt": self.system_prompt,
                "allowed_tools": self.allowed_tools,
                "model": self.model,
                "mcp_servers": self.mcp_servers,
                "permission_mode": self.permission_mode,
                "max_tokens": self.max_tokens,
                "cwd": cwd,
                **self._chosen,
            }
        )

    def _configured(self, options: ClaudeAgentOptions, settings: AgentConfig) -> ClaudeAgentOptions:
        """The options with what the settings say of Claude and the agent leaves open."""
        named = self.model if self._names_model or "model" in self._chosen else None
        found = resolve_claude_code(settings, named)
        env = {} if found.api_key is None else {"ANTHROPIC_API_KEY": found.api_key.get_secret_value()}
        if found.base_url is not None:
            env["ANTHROPIC_BASE_URL"] = found.base_url
        if found.sources["request_timeout"] != DEFAULT and "request_seconds" not in self._chosen:
            env["API_TIMEOUT_MS"] = str(round(found.request_timeout * 1000))
        if found.max_tokens and self.max_tokens is None:
            env["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = str(found.max_tokens)
        env = {**options.env, **env, **self._chosen.get("env", {})}
        return replace(options, env=env, model=found.name or options.model)

    def _wrap_sdk_error(self, error: Exception) -> AgentError:
        """The error of ours for one that came out of the SDK; override it to say more."""
        return wrap_sdk_error(error)

    async def _ask(
        self, prompt: str, options: ClaudeAgentOptions, signal: AbortSignal | None
    ) -> AsyncGenerator[Message, None]:
        """Yield every message, then what is left of an answer that broke off, and raise why it did."""
        partial = PartialAnswer()
        stopping: Stopping | None = None
        try:
            async with self._pool().session(options, wait_seconds=self.timeout) as session:
                stopping = Stopping(self.timeout, signal or self.signal, session.kill)
                async with aclosing(session.ask(prompt)) as messages:
                    async for message in messages:
                        for told in partial.see(message):
                            if self.on_message is not None:
                                self.on_message(told)
                            yield told
        except Exception as error:  # noqa: BLE001 - the SDK raises plain exceptions too; each becomes ours
            failure = self._wrap_sdk_error(error)
        else:
            return
        finally:
            if stopping is not None:
                stopping.close()
        if (rest := partial.broken_off()) is not None:
            yield rest
        if stopping is not None and stopping.cause is not None:
            raise stopping.cause
        raise _broken_off(failure, partial.messages)

    def _pool(self) -> SessionPool:
        """The CLIs of the agent in this event loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._pools:
            self._pools[loop] = SessionPool(self.max_processes, keep=False)
        return self._pools[loop]


def _broken_off(failure: AgentError, messages: list[Message]) -> AgentError:
    """The failure itself, or a :class:`StreamingError` because of it if a part of the answer had come."""
    if not messages or isinstance(failure, AbortedError | LimitExceededError):
        return failure
    return StreamingError(
        f"The answer broke off. {failure}",
        partial_messages=messages,
        kind=failure.kind,
        retryable=failure.retryable,
        cause=failure,
    )


def default_model(today: date | None = None) -> str:
    """The model of an agent that names none: ``DEFAULT_MODEL``, and its successor from the day it is retired.

    Args:
        today: The day to answer for; by default this one.
    """
    if (today or _today()) < RETIREMENT:
        return DEFAULT_MODEL
    warnings.warn(
        f"{DEFAULT_MODEL} was retired on {RETIREMENT}; {SUCCESSOR} is used for agents that name no model.",
        stacklevel=3,
    )
    return SUCCESSOR


def _today() -> date:
    return datetime.now(UTC).date()
