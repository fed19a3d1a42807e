"""``maverick runs export``: a run and its subagents' as JSON lines, on standard output or in a file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

from maverick.cli.exit_codes import SUCCESS
from maverick.cli.formatting import counted
from maverick.cli.json_text import plain_json
from maverick.cli.runs.console import Console
from maverick.exceptions import InvalidInputError
from maverick.journal.export import export_run


async def write_export(console: Console, *, run_id: str, output: str | None, force: bool) -> int:
    """Write a run.

    Raises:
        RunNotFoundError: There is no such run; nothing is written.
        InvalidInputError: The file exists, or cannot be written.
    """
    lines = export_run(console.journal, run_id)
    first = await anext(lines)
    if output is None:
        console.say([plain_json(first)])
        async for line in lines:
            console.say([plain_json(line)])
        return SUCCESS
    try:
        written = await _write_file(Path(output), first, lines, force=force)
    except FileExistsError as error:
        problem = f"--output: {output} already exists. Name another file, or overwrite it with --force."
        raise InvalidInputError(problem, field="output", cause=error) from error
    except OSError as error:
        problem = (
            f"--output: {output} cannot be written: {error.strerror}. Name another file, or free some space."
        )
        raise InvalidInputError(problem, field="output", cause=error) from error
    console.screen.remark(f"Wrote {counted(written, 'line')} to {output}.")
    return SUCCESS


async def _write_file(path: Path, first: bytes, lines: AsyncIterator[bytes], *, force: bool) -> int:
    with _opened(path, force=force) as file:
        file.write(first)
        written = 1
        async for line in lines:
            file.write(line)
            written += 1
    return written


def _opened(path: Path, *, force: bool) -> BinaryIO:
    is_device = path.exists() and not path.is_file()  # which has nothing in it that could be lost
    return path.open("wb" if force or is_device else "xb")
