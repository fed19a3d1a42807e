"""The client of models on the Claude Code CLI: ``claude-code:…``."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, nullcontext
from pathlib import Path

from maverick.exceptions import InvalidInputError
from maverick.model import History, ModelInfo, Price, Request, Response, StreamItem
from maverick.providers.claude_cli.whole_run.run import WholeRun
from maverick.providers.claude_cli.whole_run.settings import CliSettings
from maverick.providers.claude_cli.whole_run.tool import current_run
from maverick.providers.client import Client
from maverick.providers.model_names import ModelNames
from maverick.providers.network import check_network_allowed
from maverick.providers.prices import PriceTable

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
        model: The model as the CLI names it, such as ``claude-sonnet-5-5`` or ``opus``; empty is the CLI's own choice.
        cwd: The folder the CLI works in; by default, the current one.
        api_key: The key; by default the CLI signs in as it is set up to.
        base_url: The address of the API; by default the CLI's own.
        cli_path: The program; by default the one that comes with the SDK.
        env: What to add to the CLI's environment.
        prices: Prices that replace, or add to, those Maverick knows.
    """
    named = {"ANTHROPIC_API_KEY": api_key, "ANTHROPIC_BASE_URL": base_url}
    settings = CliSettings(
        names=ModelNames(PROVIDER, model),
        cwd=str(Path.cwd() if cwd is None else Path(cwd)),
        cli_path=None if cli_path is None else str(cli_path),
        env={**(env or {}), **{name: value for name, value in named.items() if value is not None}},
        prices=PriceTable(prices),
    )
    return CliClient(settings)


class CliClient(Client):
    """A client of the Claude Code CLI; :func:`connect` makes one.

    In a run it keeps one CLI, which waits between two turns. Outside of one, each request starts a CLI that is handed
    the conversation so far and ends with its answer.
    """

    def __init__(self, settings: CliSettings) -> None:
        self.model = settings.names.own
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
        if request.config.temperature >= 0:
            raise InvalidInputError(
                "temperature: the Claude Code CLI takes none. Leave it at -1, or use 'claude:…'.",
                field="temperature",
            )
        async with self._run_for(request) as run, aclosing(run.stream(request)) as items:
            async for item in items:
                yield item

    def model_info(self, model: str) -> ModelInfo:
        """What is known of a model: its context window and price."""
        return self._settings.prices.find(self._settings.names.bare(model))

    @asynccontextmanager
    async def for_run(self) -> AsyncIterator[WholeRun]:
        """Keep one CLI for the length of a run."""
        async with aclosing(WholeRun(self, self._settings)) as run:
            token = current_run.set(run)
            try:
                yield run
            finally:
                current_run.reset(token)

    def _run_for(self, request: Request) -> AbstractAsyncContextManager[WholeRun]:
        """The run the request is part of, or one for this request alone."""
        run = current_run.get()
        if isinstance(run, WholeRun) and run.client is self and isinstance(request.messages, History):
            return nullcontext(run)
        return aclosing(WholeRun(self, self._settings))
