"""Fixtures for runs on the real CLI."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

pytest.importorskip("claude_agent_sdk", reason="the extra claude-code is not installed")

from claude_cli.census import gone
from claude_cli_runs.scripted_api import Script, ScriptedAPI, Serve
from maverick.journal import Journal, SqliteJournal


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    """Starts a server with a script. Whatever a test does with it, no process may be left in the end."""
    async with AsyncExitStack() as servers:

        async def start(script: Script) -> ScriptedAPI:
            started.append(await servers.enter_async_context(ScriptedAPI(tmp_path, script)))
            return started[-1]

        started: list[ScriptedAPI] = []
        yield start
        for api in started:
            assert not await gone(api.url)


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        yield journal
