"""A journal to look at, made once and copied for each test that uses it."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from cli.folder import Folder
from cli.runs_command import Runs, fill
from maverick.journal import SqliteJournal
from postgres import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]


@pytest.fixture(scope="session")
def _filled_journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("journal") / "runs.db"

    async def make() -> None:
        async with SqliteJournal(file) as journal:
            await fill(journal)

    asyncio.run(make())
    return file


@pytest.fixture
def runs(_filled_journal: Path, tmp_path: Path) -> Runs:
    """A journal with a run of every kind."""
    runs = Runs(tmp_path)
    shutil.copy(_filled_journal, runs.file)
    return runs


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """An empty folder, and the command in it."""
    return Folder(tmp_path, monkeypatch)
