"""The commands of the guide run as they are printed, in order, in one folder."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from cli.command import PATIENCE, environment
from docs.documents import ROOT, read_blocks
from warm_start import for_shells

GUIDES = [ROOT / "docs" / "guides" / name for name in ("command-line.md", "evals.md", "mcp.md")]


def pattern(expected: str) -> re.Pattern[str]:
    """What a text of the guide matches, where ``…`` stands for anything."""
    return re.compile(".*?".join(re.escape(part) for part in expected.split("…")), re.DOTALL)


def commands(guide: Path) -> list[tuple[str, int, str]]:
    """Each command of a guide, the exit code it says it has, and what it writes."""
    found: list[tuple[str, int, str]] = []
    for block in read_blocks(guide):
        if block.language == "console":
            for piece in block.text.removeprefix("$ ").split("\n$ "):
                command, _, written = piece.partition("\n")
                code = re.search(r"# exit (\d+)$", command)
                found.append((command, int(code[1]) if code else 0, written))
    return found


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_every_command_of_the_guide_runs_as_printed(guide: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    env = for_shells(tmp_path / "bin", environment(folder, USER="ana"))

    for command, code, written in commands(guide):
        done = subprocess.run(  # noqa: S603 - the guide's own commands
            ["/bin/bash", "-o", "pipefail", "-c", f"{{ {command}\n}} 2>&1"],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert done.returncode == code, f"{command}\n{done.stdout}"
        assert pattern(written).search(done.stdout), f"{command}\n{done.stdout}"
