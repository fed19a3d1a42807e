"""``maverick runs export``: a run and its subagents' as JSON lines, on standard output or in a file."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from maverick.cli.formatting import plain_json
from maverick.cli.runs.console import Console
from maverick.exceptions import InvalidInputError
from maverick.journal.export import export_run
from maverick.tui.figures import counted


async def write_export(console: Console, *, run_id: str, output: str | None, force: bool) -> None:
    """Write a run; nothing is written if the run does not exist."""
    lines = export_run(console.journal, run_id)
    first = await anext(lines)
    if output is None:
        console.say([plain_json(first)])
        async for line in lines:
            console.say([plain_json(line)])
        return
    written = 1
    try:
        with _opened(Path(output), force=force) as file:
            file.write(first)
            async for line in lines:
                file.write(line)
                written += 1
    except OSError as error:
        problem = f"{output} cannot be written: {error.strerror}. Name another file, or free some space."
        if isinstance(error, FileExistsError):
            problem = f"{output} already exists. Name another file, or overwrite it with --force."
        raise InvalidInputError(f"--output: {problem}", field="output") from error
    console.screen.remark(f"Wrote {counted(written, 'line')} to {output}.")


def _opened(path: Path, *, force: bool) -> BinaryIO:
    is_device = path.exists() and not path.is_file()  # which has nothing in it that could be lost
    return path.open("wb" if force or is_device else "xb")
