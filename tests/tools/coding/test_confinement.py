"""No file tool reads or writes outside of its workspace, whatever path it is given and whatever moves meanwhile."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from maverick.exceptions import ConfigError
from maverick.tools import Workspace
from tools.coding.desk import SECRET, Desk

FILE_TOOLS: dict[str, dict[str, Any]] = {
    "read_file": {},
    "write_file": {"content": "written\n"},
    "edit_file": {"old": "CANARY", "new": "changed", "replace_all": True},
    "list_files": {"pattern": "**"},
    "grep": {"pattern": "CANARY|note|plain"},
}
PATIENCE = 60

NAMES = [
    "..",
    ".",
    "",
    "~",
    "a",
    "b",
    "work",
    "outside",
    "secret.txt",
    "note.txt",
    "deep.txt",
    "link",
    "relative",
    "door",
    "up",
    "loop",
    "inner",
    "dangling",
    "pipe",
    "socket",
    "new",
    "..\\..",
    "%2e%2e",
    "..\0",
    "\0",
    "...",
    " ..",
    "‥",
    "\udcff",
    "proc",
    "self",
    "root",
    "x" * 300,
]


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    with TemporaryDirectory() as base:
        made = Desk(Path(base).resolve())
        made.fill()
        yield made


def paths(desk: Desk) -> st.SearchStrategy[str]:
    """Paths made of names that mean something here, from the root of the system, the workspace or nowhere."""
    starts = ["", "/", "//", f"{desk.root}/", f"{desk.base}/", "/proc/self/root/", f"{desk.root}/../", "./"]
    names = st.lists(st.sampled_from(NAMES) | st.text(max_size=4), max_size=7)
    return st.builds(lambda start, parts: start + "/".join(parts), st.sampled_from(starts), names)


@pytest.mark.requirement("C-CONFINED")
@pytest.mark.parametrize("tool", sorted(FILE_TOOLS))
def test_no_path_leads_a_file_tool_out_of_its_workspace(tool: str, desk: Desk) -> None:
    before = desk.outside()

    @seed(7)
    @settings(
        max_examples=60 if tool == "grep" else 400,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(path=paths(desk))
    def attempt(path: str) -> None:
        async def use() -> str:
            async with asyncio.timeout(PATIENCE):
                return await desk.use(tool, path=path, **FILE_TOOLS[tool])

        assert SECRET not in runner.run(use()).removeprefix(f"refused: {path}")

    with asyncio.Runner() as runner:
        attempt()
    assert desk.outside() == before


@pytest.mark.requirement("C-CONFINED")
@pytest.mark.parametrize("tool", sorted(FILE_TOOLS))
@pytest.mark.parametrize("path", ["dir/secret.txt", "file.txt", "dir", "dir/new/secret.txt"])
async def test_no_link_that_is_put_in_place_meanwhile_leads_a_file_tool_out(
    tool: str, path: str, tmp_path: Path
) -> None:
    desk = Desk(tmp_path)
    (desk.root / "dir").mkdir()
    (desk.root / "dir" / "secret.txt").write_text("plain\n", encoding="utf-8")
    (desk.root / "file.txt").write_text("plain\n", encoding="utf-8")
    before = desk.outside()
    swapper = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        Path(__file__).with_name("swapper.py"),
        desk.root,
        desk.base / "outside",
        stdin=subprocess.PIPE,
    )
    try:
        for _ in range(20 if tool == "grep" else 150):
            async with asyncio.timeout(PATIENCE):
                assert SECRET not in await desk.use(tool, path=path, **FILE_TOOLS[tool])
    finally:
        assert swapper.stdin is not None
        swapper.stdin.close()
        await swapper.wait()

    assert desk.outside() == before


@pytest.mark.requirement("C-CONFINED")
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("link", "symbolic link"),
        ("door/secret.txt", "symbolic link"),
        ("pipe", "device, a pipe or a socket"),
        ("socket", "device, a pipe or a socket"),
        ("a", "is a folder"),
        ("../outside/secret.txt", "outside the workspace"),
        ("/etc/passwd", "outside the workspace"),
        ("no/such", "does not exist"),
        ("", "workspace itself"),
    ],
)
async def test_what_is_refused_is_refused_in_words_that_help(path: str, words: str, desk: Desk) -> None:
    async with asyncio.timeout(PATIENCE):
        answer = await desk.use("read_file", path=path)

    assert answer.startswith("refused: ")
    assert words in answer


@pytest.mark.requirement("C-CONFINED")
async def test_a_device_is_not_opened(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    try:
        os.mknod(desk.root / "zero", 0o20666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root can make a device")

    async with asyncio.timeout(PATIENCE):
        assert "device" in await desk.use("read_file", path="zero")
        assert "device" in await desk.use("write_file", path="zero", content="x")


@pytest.mark.requirement("C-CONFINED")
async def test_a_path_of_the_workspace_may_be_written_in_any_way_that_stays_inside(desk: Desk) -> None:
    for path in ("a/note.txt", "./a/b/../note.txt", f"{desk.root}/a/note.txt", "a//note.txt"):
        assert "a note" in await desk.use("read_file", path=path)


@pytest.mark.requirement("C-CONFINED")
@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit",
        ".GIT/config",
        "a/.git/config",
        ".maverick/permissions.yaml",
        "maverick.yaml",
        ".claude/agents/general.md",
        ".claude/settings.local.json",
        ".mcp.json",
    ],
)
async def test_what_decides_how_the_workspace_is_treated_may_be_read_but_not_changed(
    path: str, tmp_path: Path
) -> None:
    desk = Desk(tmp_path)
    file = desk.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("kept\n", encoding="utf-8")

    assert "protected" in await desk.use("write_file", path=path, content="x")
    assert "protected" in await desk.use("edit_file", path=path, old="kept", new="x")
    assert "kept" in await desk.use("read_file", path=path)
    assert file.read_text(encoding="utf-8") == "kept\n"


@pytest.mark.requirement("C-CONFINED")
async def test_a_file_that_has_a_second_name_outside_is_replaced_and_not_written_through(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path)
    (desk.root / "twin.txt").hardlink_to(desk.base / "outside" / "secret.txt")
    before = desk.outside()

    await desk.use("write_file", path="twin.txt", content="changed")

    assert desk.outside() == before


@pytest.mark.requirement("C-CONFINED")
def test_a_workspace_has_to_be_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a folder"):
        Workspace(tmp_path / "missing")
    with pytest.raises(ConfigError, match="names without a slash"):
        Workspace(tmp_path, protected=["a/b"])
