"""Searching, with ripgrep and without."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from maverick.exceptions import ToolError
from maverick.tools import Workspace
from maverick.tools.coding.search import Search

PATIENCE = 60
PROGRAMS = [
    pytest.param("no-such-program", id="ours"),
    pytest.param(
        "rg",
        id="ripgrep",
        marks=pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed"),
    ),
]


@pytest.fixture(params=PROGRAMS)
def search(request: pytest.FixtureRequest, tmp_path: Path) -> Search:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("import os\nNeedle = 1\nneedle = 2\n", encoding="utf-8")
    (tmp_path / "b.txt").write_bytes(b"a needle\r\nhay\n")
    (tmp_path / "binary").write_bytes(b"needle\0needle\n")
    return Search(Workspace(tmp_path), request.param)


def found_in(answer: str) -> list[str]:
    return sorted(answer.splitlines()[1:-1])


@pytest.mark.requirement("C-SEARCH")
async def test_lines_are_found_with_their_place(search: Search) -> None:
    assert found_in(await search.grep("n[e]+dle")) == ["b.txt:1:a needle", "src/a.py:3:needle = 2"]
    assert found_in(await search.grep("needle", "src")) == ["src/a.py:3:needle = 2"]
    assert found_in(await search.grep("needle", "b.txt")) == ["b.txt:1:a needle"]
    assert found_in(await search.grep("^needle", files="*.py", ignore_case=True)) == [
        "src/a.py:2:Needle = 1",
        "src/a.py:3:needle = 2",
    ]
    assert "Nothing below . matches absent" in await search.grep("absent")
    assert found_in(await search.grep("--os|import")) == ["src/a.py:1:import os"]


@pytest.mark.requirement("C-SEARCH")
async def test_a_pattern_that_is_none_is_explained(search: Search) -> None:
    with pytest.raises(ToolError, match="Correct the pattern"):
        await search.grep("(")


@pytest.mark.requirement("C-SEARCH")
async def test_many_files_and_many_findings_are_searched_and_cut_off(search: Search, tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"{number}.log").write_text("found\n" * 2 + "x" * 9000 + "found\n", encoding="utf-8")

    answer = await search.grep("found", files="*.log")

    assert answer.endswith("[only the first 300 lines are shown]")
    assert max(map(len, answer.splitlines())) < 500


@pytest.mark.requirement("C-SEARCH")
async def test_a_pattern_that_would_take_forever_is_stopped_with_its_call(tmp_path: Path) -> None:
    (tmp_path / "trap.txt").write_text("a" * 60 + "!\n", encoding="utf-8")
    search = Search(Workspace(tmp_path), "no-such-program")

    async with asyncio.timeout(PATIENCE):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await search.grep("(a+)+$")
