"""The client of models on the Claude Code CLI: ``claude-code:…``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from maverick.exceptions import ToolError
from maverick.loop import AgentDefinition
from maverick.model import History, ModelInfo, Price, Request, Response, StreamItem, Tool, ToolCall
from maverick.providers.claude_cli.options import sdk
from maverick.providers.claude_cli.session import CliSession
from maverick.providers.claude_cli.settings import CliSettings, check_supported, max_tokens_of
from maverick.providers.claude_cli.tool import current_run
from maverick.providers.client import Client, requested_model
from maverick.providers.network import check_network_allowed
from maverick.providers.prices import PriceTable

if TYPE_CHECKING:
    from maverick.providers.claude_cli.conversation import Conversation

PROVIDER = "claude-code"


def connect(
    model: str,
    *,
    cwd: str | os.PathLike[str] | None = None,
    api_key: str | None = None,
    base_url: str | None = None,
    cli_path: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    prices: Mapping[str, Price] | None = None,
) -> CliClient:
    """Make a client of the Claude Code CLI.

    Args:
        model: The model as the CLI names it, such as ``claude-sonnet-5-5`` or ``opus``; by default the CLI's own choice.
        cwd: The folder the CLI works in; by default, the current one.
        api_key: The key; by default the CLI signs in as it is set up to.
        base_url: The address of the API; by default the CLI's own.
        cli_path: The program; by default the one that comes with the SDK.
        env: Variables to add to the CLI's environment.
        prices: Prices that replace, or add to, those Maverick knows.
    """
    named = {"ANTHROPIC_API_KEY": api_key, "ANTHROPIC_BASE_URL": base_url}
    start = {
        "cwd": str(Path.cwd() if cwd is None else Path(cwd)),
        "cli_path": None if cli_path is None else str(cli_path),
        "env": {**(env or {}), **{name: value for name, value in named.items() if value is not None}},
    }
    return CliClient(
        CliSettings(f"{PROVIDER}:{model.removeprefix(f'{PROVIDER}:')}", start, PriceTable(prices))
    )


class CliClient(Client):
    """A client of the Claude Code CLI; :func:`connect` makes one.

    In a run it keeps one CLI, which waits between two turns. Outside a run, each request starts a CLI with the
    conversation so far, which ends with its answer.
    """

    def __init__(self, settings: CliSettings) -> None:
        self.model = settings.model
        self._settings = settings

    async def run(self, request: Request) -> Response:
        """Send a request and return the whole answer."""
        async for item in self.stream(request):
            if isinstance(item, Response):
                response = item
        return response

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Send a request and yield its answer as it arrives; the last item is the whole ``Response``."""
        check_network_allowed(PROVIDER, self._settings.url)
        request = self.defaults.applied_to(request)
        check_supported(request.config, tools=bool(request.tools))
        async with self._run_for(request) as run, aclosing(run.stream(request)) as items:
            async for item in items:
                yield item

    def check(self, request: Request) -> None:
        """Refuse a request that names another provider's model."""
        requested_model(request, self.model)

    def session_for(self, definition: AgentDefinition[Any]) -> CliSession:
        """A session for runs of a definition, to be started before there is one."""
        sdk()  # or else it says what to install
        from maverick.providers.claude_cli.gated_cli import GatedCli

        system, _ = definition.render({"prompt": ""})
        tools = [tool for tool in definition.tool_config.tools if isinstance(tool, Tool)]
        model = definition.model_config
        return GatedCli(self._settings, Request((), tools, system=system, config=model.request_config))

    def model_info(self, model: str) -> ModelInfo:
        """What is known of a model: its context window and price. What an answer costs the CLI says itself."""
        return replace(self._settings.prices.find(model.removeprefix(f"{PROVIDER}:")), needs_price=False)

    @asynccontextmanager
    async def for_run(self) -> AsyncIterator[RunSession]:
        """Keep one CLI for the length of a run."""
        async with aclosing(RunSession(self, self._settings)) as run:
            token = current_run.set(run)
            try:
                yield run
            finally:
                current_run.reset(token)

    def _run_for(self, request: Request) -> AbstractAsyncContextManager[RunSession]:
        """The run the request is part of, or one for this request alone."""
        run = current_run.get()
        if isinstance(run, RunSession) and run.client is self and isinstance(request.messages, History):
            return nullcontext(run)
        return aclosing(RunSession(self, self._settings))


class RunSession:
    """The CLI of one run."""

    def __init__(self, client: object, settings: CliSettings) -> None:
        self.client = client
        self._settings = settings
        self._conversation: Conversation | None = None
        self._log: object = None
        self._seen = 0

    async def stream(self, request: Request) -> AsyncGenerator[StreamItem, None]:
        """Yield the next turn as it arrives; the last item is the whole response."""
        try:
            conversation = await self._continued(request) or await self._opened(request)
            async with aclosing(conversation.turn()) as items:
                async for item in items:
                    if isinstance(item, Response):
                        response = item
                    else:
                        yield item
        except BaseException:  # the CLI must not continue a turn that no one waits for
            await self.aclose()
            raise
        if conversation.over:
            await self.aclose()
        self._seen, self._log = len(request.messages), _log_of(request)
        yield response

    def tool_finished(self, call_id: str, content: str, *, failed: bool) -> None:
        """Give the CLI the result of a call that it waits for."""
        if self._conversation is not None:
            self._conversation.tool_finished(call_id, content, failed=failed)

    async def perform(self, call: ToolCall, *, approved: bool) -> str:
        """Have a CLI run a call: the one that waits for it, or else one that is started for this call."""
        waiting = self._conversation
        if waiting is None or not waiting.waits_for(call.id):
            sdk()  # or else it says what to install
            from maverick.providers.claude_cli.transcript import run_single_call

            result = await run_single_call(self._settings, call, approved=approved)
        else:
            try:
                result = await waiting.perform(call.id, approved=approved)
            except asyncio.CancelledError:
                await self.aclose()  # nothing else stops a tool of the CLI
                raise
        if result.is_error:
            raise ToolError(result.content, tool_name=call.tool_name)
        return result.content

    async def aclose(self) -> None:
        """End the CLI."""
        conversation, self._conversation = self._conversation, None
        if conversation is not None:
            await conversation.close()

    async def _continued(self, request: Request) -> Conversation | None:
        """The current conversation, if the request continues it."""
        held = self._conversation
        if (
            held is not None
            and self._log is _log_of(request)
            and max_tokens_of(request) >= held.max_tokens
            and await held.resume(request.messages[self._seen :])
        ):
            return held
        await self.aclose()
        return None

    async def _opened(self, request: Request) -> Conversation:
        sdk()  # or else it says what to install
        from maverick.providers.claude_cli.conversation import Conversation

        self._conversation = Conversation(self._settings, request)
        await self._conversation.open()
        return self._conversation


def _log_of(request: Request) -> object:
    """What identifies the conversation of a request."""
    return request.messages.derived if isinstance(request.messages, History) else None
