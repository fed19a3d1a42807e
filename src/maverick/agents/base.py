"""An agent as a class, on the Claude Agent SDK."""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload
from weakref import WeakKeyDictionary, finalize

from maverick.agents.class_definition import (
    DEFAULT_MODEL,
    ON_THE_CLI,
    configured,
    default_model,
    define,
    executor_with_own_tools,
    for_prompt,
    is_on_the_cli,
    prompt_runner,
    warn_of_unsupported,
    with_own_tools,
)
from maverick.agents.context import AgentContext
from maverick.agents.named_tools import BUILTIN_TOOLS, LATER_TOOLS, find_invalid_tool
from maverick.agents.query import MessageStream, ask
from maverick.exceptions import AgentError, CLINotFoundError, InvalidToolError
from maverick.loop.definition import AgentDefinition
from maverick.loop.result import AgentResult, ResultMetadata
from maverick.misuse import refuse
from maverick.providers.claude_cli import (
    CliSession,
    SessionPool,
    build_options,
    check_numbers,
    wrap_sdk_error,
)
from maverick.providers.claude_cli.client import CliClient
from maverick.providers.claude_cli.options import built_in, check_names
from maverick.providers.claude_cli.pool import DEFAULT_SIZE
from maverick.providers.claude_cli.settings import CliSettings
from maverick.providers.prices import PriceTable
from maverick.providers.resolve import is_for_claude
from maverick.runtime import AbortSignal, AgentExecutor

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, Message, ResultMessage
    from pydantic import BaseModel

__all__ = [
    "BUILTIN_TOOLS",
    "DEFAULT_MAX_TOKENS",
    "DEFAULT_MODEL",
    "DEFAULT_PERMISSION_MODE",
    "DEFAULT_TIMEOUT",
    "MaverickAgent",
]

M = TypeVar("M", bound="BaseModel")

DEFAULT_PERMISSION_MODE: str = "acceptEdits"
"""The CLI's permission mode: files may be edited, and whatever else is not allowed is refused, as no one can be asked."""
DEFAULT_MAX_TOKENS: int = 16_384
"""The most tokens of one answer of the model."""
DEFAULT_TIMEOUT: float = 3600.0
"""How many seconds a query may take."""


class MaverickAgent(ABC):
    """An agent that works through the Claude CLI. A subclass implements :meth:`execute`, and has a ``system_prompt``.

    ``name``, ``system_prompt``, ``allowed_tools``, ``model`` and ``mcp_servers`` may be attributes of the class or
    arguments, which take precedence. The agent copies them: changing a list later adds no tool.

    Each prompt is a conversation of its own. Inside ``async with agent:`` the CLIs are kept from one prompt to the next,
    which then begins in a fraction of the time; otherwise each ends with its prompt.

    Args:
        name: The agent's name; by default, the one it is registered under, or the class's.
        system_prompt: What the agent is and how it works.
        allowed_tools: The tools it may use, and no others: names of the CLI's tools, rules such as ``Bash(git:*)``,
            and ``mcp__<server>__<tool>`` or ``mcp__<server>`` for the servers below.
        model: The model, as the CLI names it; by default that of the settings, which may be another provider's, or else
            :func:`default_model`.
        mcp_servers: MCP servers by name, as the SDK describes them.
        permission_mode: How the CLI decides on tools that are not allowed.
        max_tokens: The most tokens of one answer of the model; ``None`` leaves it to the CLI.
        timeout: How many seconds a prompt may take; ``None`` is no limit.
        partial_messages: Whether :meth:`query` also yields the pieces of answers, as ``StreamEvent``.
        max_processes: How many CLIs may run for the agent at once; further prompts wait.
        warm: Whether to start CLIs in the current folder before they are asked for: at once where an event loop runs,
            else with ``async with``. There are two, since they are set up differently: one for :meth:`run_prompt` and one
            for :meth:`query`. Each takes about a second of CPU to start, and some 250 MB until :meth:`aclose`, or the end of
            the event loop. Where ``max_processes`` is 1, only the first one is started.
        options: Any other field of the SDK's ``ClaudeAgentOptions``, such as ``max_turns`` or ``env``.

    Raises:
        InvalidToolError: A tool is unknown, or of a server that is not there.
        InvalidInputError: The name is empty, the system prompt is missing, a number makes no sense, or the SDK has no such
            option; a class with its own ``_build_options`` may take others.
    """

    name: str = ""
    system_prompt: str | None = None
    model: str = ""

    _class_tools: Iterable[str] = ()
    _class_servers: Mapping[str, Any] = {}
    _has_sdk_options = True

    def __init__(
        self,
        name: str | None = None,
        system_prompt: str | None = None,
        allowed_tools: Iterable[str] | None = None,
        model: str | None = None,
        mcp_servers: Mapping[str, Any] | None = None,
        *,
        permission_mode: str = DEFAULT_PERMISSION_MODE,
        max_tokens: int | None = DEFAULT_MAX_TOKENS,
        timeout: float | None = DEFAULT_TIMEOUT,
        partial_messages: bool = False,
        max_processes: int = DEFAULT_SIZE,
        warm: bool = False,
        **options: Any,
    ) -> None:
        name = self.name or type(self).__name__ if name is None else name
        if not isinstance(name, str) or not name.strip():
            refuse("name", f"expected a non-empty string, got {name!r}.")
        if system_prompt is None and self.system_prompt is None:
            refuse(
                "system_prompt",
                f"{type(self).__name__} has none. Give the class one, or pass it as an argument.",
            )
        check_numbers(max_tokens=max_tokens, timeout=timeout, max_processes=max_processes, **options)
        if options and self._has_sdk_options:
            with suppress(CLINotFoundError):  # without the SDK, no one knows its options
                check_names(options)
        self.name = name
        self.system_prompt = self.system_prompt if system_prompt is None else system_prompt
        named = model or self.model
        self.model = named or default_model()
        self._names_model = bool(named)
        self.permission_mode = permission_mode
        self.max_tokens = max_tokens
        self.timeout = timeout
        self.partial_messages = partial_messages
        self.max_processes = max_processes
        self.warm = warm
        self._chosen = options
        self._allowed_tools = _listed(self._class_tools if allowed_tools is None else allowed_tools)
        self._mcp_servers = dict(self._class_servers if mcp_servers is None else mcp_servers)
        self._validate_tools(self._allowed_tools, self._mcp_servers)
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, SessionPool] = WeakKeyDictionary()
        if warm:
            with suppress(RuntimeError):  # no event loop runs yet
                asyncio.get_running_loop().call_soon(self._begin_to_warm)

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        cls._has_sdk_options = cls._build_options is MaverickAgent._build_options
        for attribute, kept in (("allowed_tools", "_class_tools"), ("mcp_servers", "_class_servers")):
            if attribute in cls.__dict__ and not isinstance(cls.__dict__[attribute], property):
                setattr(cls, kept, cls.__dict__[attribute])
                delattr(cls, attribute)

    @property
    def allowed_tools(self) -> list[str]:
        """The tools the agent may use; a copy."""
        return list(self._allowed_tools)

    @property
    def mcp_servers(self) -> dict[str, Any]:
        """The MCP servers it has; a copy."""
        return dict(self._mcp_servers)

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

    def query(
        self, prompt: str, cwd: str | Path | None = None, *, signal: AbortSignal | None = None
    ) -> MessageStream:
        """Ask, and yield the SDK's messages as they arrive; the last one of a good answer is a ``ResultMessage``.

        Nothing is retried. When an answer breaks off, what came of it is yielded before the error is raised. To
        leave early, break out of the loop: the CLI is ended.

        Args:
            prompt: What to ask.
            cwd: The folder to work in; by default, the current one.
            signal: Aborts the query.

        Raises:
            StreamingError: The answer broke off; ``partial_messages`` has what came, the cause says why. If its time
                was up, it is a :class:`~maverick.exceptions.StreamTimeoutError`.
            AgentError: There was no answer at all, or a limit was reached, or it was stopped.
        """
        return MessageStream(self._messages(prompt, cwd, signal))

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
        if (runner := prompt_runner.get()) is not None:
            result = await runner.run(self, prompt, context, output_type, signal)
        else:
            report: dict[str, Any] = {}
            definition = for_prompt(self.definition(context), output_type)
            if context is None or is_on_the_cli(definition):
                executor = AgentExecutor(self.cli_client(context, report))
            else:
                definition = with_own_tools(definition)
                executor = executor_with_own_tools(context, self.permission_mode)
            async with executor:
                result = await executor.execute(definition, inputs={"prompt": prompt}, signal=signal)
            result = replace(result, metadata=ResultMetadata(result.metadata | report))
        is_text = output_type is None and result.output is None
        return replace(result, output="") if is_text else result

    def definition(self, context: AgentContext | None = None) -> AgentDefinition[Any]:
        """The agent as the definition that each of its prompts is run with.

        Args:
            context: Where it works, and the settings for what the agent leaves open.
        """
        about = (inspect.getdoc(type(self)) or "").partition("\n\n")[0].replace("\n", " ")
        try:
            options: Any = self._options_in(context)
        except CLINotFoundError:  # without the SDK there is no CLI, but there are other models
            given = {"max_turns": None, "max_budget_usd": None, "env": {}, **self._chosen}
            own = ("system_prompt", "allowed_tools", "mcp_servers", "model")
            given |= {"tools": built_in(self.allowed_tools), **{name: getattr(self, name) for name in own}}
            options = SimpleNamespace(**given)
        defined = define(self.name, about, options, self.timeout)
        if context is None or self._named_model or is_for_claude(context.config.agent):
            return defined
        return replace(defined, model_config=replace(defined.model_config, model=None))

    def cli_client(
        self, context: AgentContext | None = None, report: dict[str, Any] | None = None
    ) -> CliClient:
        """The client for the agent's prompts, on a CLI that is started as the agent says.

        Args:
            context: Where it works, and the settings for what the agent leaves open.
            report: Filled with what the CLI says of its session when an answer is there.
        """

        def note(result: ResultMessage) -> None:
            if report is not None:
                report["session_id"] = result.session_id
                report["duration_api_ms"] = report.get("duration_api_ms", 0) + result.duration_api_ms
                report["permission_denials"] = result.permission_denials or []

        options = self._options_in(context)
        if context is not None:
            warn_of_unsupported(context.config.agent)
        model = f"{ON_THE_CLI}{options.model or ''}"
        return CliClient(CliSettings(model, options, PriceTable(), note, self._pool()))

    async def warm_up(self, context: AgentContext | None = None) -> None:
        """Start CLIs for a prompt and a query that are still to come, and wait until they are ready.

        Args:
            context: Where they will be asked; by default, in the current folder.

        Raises:
            AgentError: They could not be started.
        """
        await self._pool().prepare(*self._sessions(context))

    async def aclose(self) -> None:
        """End the CLIs that were kept for later queries."""
        if pool := self._pools.get(asyncio.get_running_loop()):
            await pool.aclose()

    async def __aenter__(self) -> Self:
        self._pool().keep = True
        if self.warm:
            await self.warm_up()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def _validate_tools(self, allowed_tools: Iterable[str], mcp_servers: Mapping[str, Any]) -> None:
        """Refuse tools that the CLI does not have and that no server can bring.

        Raises:
            InvalidToolError: There is one; the error names it, what there is, and the nearest.
        """
        tool = find_invalid_tool(allowed_tools, mcp_servers)
        if tool is not None:
            known = [*BUILTIN_TOOLS, *LATER_TOOLS, *(f"mcp__{server}" for server in mcp_servers)]
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

    def _options_in(self, context: AgentContext | None) -> ClaudeAgentOptions:
        """What the CLI is started with in a context, whose settings hold for what the agent leaves open."""
        if context is None:
            return self._build_options()
        is_open = self.max_tokens in (None, DEFAULT_MAX_TOKENS)
        options = self._build_options(context.cwd)
        settings, named = context.config.agent, self._named_model
        return configured(options, settings, named, self._chosen, max_tokens_open=is_open)

    @property
    def _named_model(self) -> str | None:
        """The model, if the agent names one and does not leave it to the settings."""
        return self.model if self._names_model or "model" in self._chosen else None

    def _wrap_sdk_error(self, error: Exception) -> AgentError:
        """The error of ours for one that came out of the SDK; override it to say more."""
        return wrap_sdk_error(error)

    async def _messages(
        self, prompt: str, cwd: str | Path | None, signal: AbortSignal | None
    ) -> AsyncGenerator[Message, None]:
        """Yield the messages of a query, without pieces of answers unless they are wanted."""
        runner = prompt_runner.get()
        if runner is not None and signal is None:
            signal = runner.signal
        asked = ask(
            self._pool(), self._build_options(cwd), prompt, self.timeout, signal, self._wrap_sdk_error
        )
        async with aclosing(asked) as messages:
            from claude_agent_sdk import StreamEvent

            async for message in messages:
                if runner is not None:
                    runner.hear(message)
                if self.partial_messages or not isinstance(message, StreamEvent):
                    yield message

    def _begin_to_warm(self) -> None:
        """Start CLIs in the background; if that fails, the next prompt reports it."""
        with suppress(AgentError):
            end_warming = self._pool().prepare_soon(*self._sessions(None))
            finalize(self, end_warming).atexit = False  # the CLIs end with this process anyway

    def _sessions(self, context: AgentContext | None) -> tuple[CliSession, CliSession]:
        """A session for the agent's next prompt, in which the loop decides, and one for its next query."""
        for_loop = self.cli_client(context).session_for(for_prompt(self.definition(context)))
        cwd = None if context is None else context.cwd
        return for_loop, CliSession(self._build_options(cwd))

    def _pool(self) -> SessionPool:
        """The CLIs of the agent in this event loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._pools:
            self._pools[loop] = SessionPool(self.max_processes, keep=False)
        return self._pools[loop]


def _listed(tools: Iterable[str]) -> list[str]:
    if isinstance(tools, str):
        refuse("allowed_tools", f"expected a list of names, got the text {tools!r}.")
    return list(tools)
