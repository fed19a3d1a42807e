"""Fixtures for tests that run the real CLI."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

pytest.importorskip("claude_agent_sdk", reason="the extra claude-code is not installed")

from claude_cli.api import CliApi, Greeter, surroundings


@pytest.fixture
async def api() -> AsyncIterator[CliApi]:
    async with CliApi() as api:
        yield api


@pytest.fixture
def env(api: CliApi, tmp_path: Path) -> dict[str, str]:
    return surroundings(tmp_path, api.url)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the CLIs work that the tests of a module share."""
    return tmp_path_factory.mktemp("work")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kept_api() -> AsyncIterator[CliApi]:
    """The API that they talk to."""
    async with CliApi() as api:
        yield api


@pytest.fixture(scope="module")
def kept_env(kept_api: CliApi, folder: Path) -> dict[str, str]:
    """Their environment, without the variable that pytest changes with each test: a CLI is kept for the same one."""
    return surroundings(folder, kept_api.url) | {"PYTEST_CURRENT_TEST": ""}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def greeter(kept_env: dict[str, str]) -> AsyncIterator[Greeter]:
    """An agent whose CLIs are kept for the next test: to start one costs more than what it is asked."""
    async with Greeter(env=kept_env) as greeter:
        yield greeter
