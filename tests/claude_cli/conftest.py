"""Fixtures for tests that run the real CLI."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

pytest.importorskip("claude_agent_sdk", reason="the extra claude-code is not installed")

from claude_cli.api import CliApi, surroundings


@pytest.fixture
async def api() -> AsyncIterator[CliApi]:
    async with CliApi() as api:
        yield api


@pytest.fixture
def env(api: CliApi, tmp_path: Path) -> dict[str, str]:
    return surroundings(tmp_path, api.url)
