"""``maverick runs export``: a run as JSON lines, for another journal or another program."""

from __future__ import annotations

from maverick.cli.runs.console import Console


async def export_run(console: Console, *, run_id: str, output: str | None) -> int:
    """Write a run."""
    raise NotImplementedError
