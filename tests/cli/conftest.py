"""A folder for each test, a journal to look at, made once and copied, and an API that answers."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.folder import Folder
from cli.runs_command import Runs, fill
from maverick.journal import SqliteJournal
from postgres import postgres_server, postgres_url
from temporal import temporal_server
from wire.claude_server import ClaudeServer

__all__ = ["postgres_server", "postgres_url", "temporal_server"]


@pytest.fixture(scope="session")
def _filled_journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("journal") / "runs.db"

    async def make() -> None:
        async with SqliteJournal(file) as journal:
            await fill(journal)

    asyncio.run(make())
    return file


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Folder]:
    """An empty folder, and the command in it."""
    folder = Folder(tmp_path, monkeypatch)
    yield folder
    folder.forget()


@pytest.fixture
def runs(_filled_journal: Path, folder: Folder) -> Runs:
    """A journal with a run of every kind."""
    runs = Runs(folder)
    shutil.copy(_filled_journal, runs.file)
    return runs


@pytest.fixture
def server() -> Iterator[ClaudeServer]:
    """Claude's API, in a thread of its own: the command wants the main one, where Ctrl-C arrives."""
    loop, made = asyncio.new_event_loop(), ClaudeServer()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(made.__aenter__(), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(made.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
