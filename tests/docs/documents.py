"""The documents of the repository, and the fenced blocks in them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "benchmarks").rglob("*.md")),
]

_SETTINGS = ("MAVERICK_", "ANTHROPIC_", "OPENAI_")
"""What the variables begin with that change what Maverick does."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text, and the line of the document it begins at."""

    language: str
    text: str
    line: int


def read_blocks(document: Path) -> list[Block]:
    """The fenced blocks of a document, in order."""
    blocks: list[Block] = []
    language: str | None = None
    begun = 0
    lines: list[str] = []
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("```"):
            lines.append(line)
        elif language is None:
            language, begun, lines = line[3:].strip(), number + 1, []
        else:
            blocks.append(Block(language, "\n".join(lines), begun))
            language = None
    assert language is None, f"{document} has a block that is not closed"
    return blocks


def run_python(*arguments: str | Path, cwd: Path, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Run this interpreter as a user would, with nothing of Maverick in the environment; warnings are errors."""
    from canary import lookout  # which loads pytest, and the programs that read documents go without

    done = subprocess.run(  # noqa: S603 - this interpreter, and programs of this repository
        [sys.executable, "-W", "error", *map(str, arguments)],
        env=_environment() | {"PYTHONIOENCODING": "utf-8"},
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        timeout=timeout,
        check=False,
    )
    lookout.look("the output of a program", (done.stdout, done.stderr))
    return done


def run_module(
    module: str, *arguments: str | Path, cwd: Path, home: Path | None = None, timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """The same for a module of a folder, by default the one it is run in, which is started quickly."""
    from canary import lookout
    from warm_start import Program

    environment = _environment() | {"PYTHONPATH": str(home or cwd), "PYTHONWARNINGS": "error"}
    pipes: dict[str, Any] = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    with Program(
        module, *map(str, arguments), env=environment, cwd=cwd, encoding="utf-8", **pipes
    ) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        finally:
            process.kill()
    lookout.look("the output of a program", (out, err))
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(_SETTINGS)}


def named(paths: Sequence[Path]) -> list[str]:
    """What the paths are called in a test's name."""
    return [str(path.relative_to(ROOT)) for path in paths]
