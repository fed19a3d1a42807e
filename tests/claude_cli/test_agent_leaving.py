"""Agents on the real CLI: a query that is left in the middle ends without a word."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from claude_cli.api import CliApi, endless
from claude_cli.census import gone

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.mark.requirement("CLI-QUIET-END", "CLI-NO-ORPHANS")
async def test_a_program_that_leaves_queries_in_the_middle_and_ends_logs_nothing_and_leaves_nothing(
    api: CliApi, env: dict[str, str], tmp_path: Path
) -> None:
    api.play(endless)

    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-m", "claude_cli.leaver", api.url, str(tmp_path)),
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await program.communicate()

    assert (program.returncode, said.decode()) == (0, "")
    assert await gone(f"CLAUDE_CONFIG_DIR={env['CLAUDE_CONFIG_DIR']}") == []
