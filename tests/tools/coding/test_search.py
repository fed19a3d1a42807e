"""Searching, with ripgrep and without."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from maverick.exceptions import ToolError
from maverick.tools import Workspace
from maverick.tools.coding import line_search
from maverick.tools.coding.search import Search
from programs import needs

PATIENCE = 60
OWN_SEARCH = [sys.executable, "-I", "-S", line_search.__file__]
PROGRAMS = [
    pytest.param("no-such-program", id="ours"),
    pytest.param(
        "rg",
        id="ripgrep",
        marks=needs("rg"),
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
    return sorted(answer.partition("\n</untrusted")[0].splitlines()[1:])


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


@pytest.mark.requirement("C-SEARCH")
async def test_a_file_that_is_too_large_is_named_and_not_searched(search: Search, tmp_path: Path) -> None:
    with (tmp_path / "data.bin").open("wb") as file:
        file.truncate(50_000_000_000)

    async with asyncio.timeout(PATIENCE):
        found, nothing = await search.grep("needle"), await search.grep("absent")
        alone = await search.grep("needle", "data.bin")
    (tmp_path / "data.bin").unlink()  # nobody could read it in order to look for secrets

    assert found_in(found)[0] == "[data.bin is larger than 100 MB and was not searched]"
    assert found_in(found)[1:] == ["b.txt:1:a needle", "src/a.py:3:needle = 2"]
    for answer in (nothing, alone):
        assert found_in(answer) == ["[data.bin is larger than 100 MB and was not searched]"]
    assert nothing.endswith("Nothing else below . matches absent.")


@pytest.mark.requirement("C-SEARCH")
async def test_a_line_that_is_very_long_is_searched_and_hides_no_other(
    search: Search, tmp_path: Path
) -> None:
    (tmp_path / "long.txt").write_bytes(b"a needle" + b"x" * 5_000_000 + b"\nhay\nneedle two\n")

    answer = await search.grep("needle", "long.txt")

    assert [line[:20] for line in found_in(answer)] == ["long.txt:1:a needlex", "long.txt:3:needle tw"]
    assert len(answer) < 1000


@pytest.mark.requirement("C-SEARCH")
def test_our_own_search_takes_little_memory_however_large_a_file_or_a_line_is(tmp_path: Path) -> None:
    file = tmp_path / "large.txt"
    file.write_bytes(b"x" * 60_000_000 + b"\n" + b"hay\n" * 500_000 + b"needle\n")

    done = subprocess.run(  # noqa: S603 - our own program
        ["/bin/sh", "-c", 'ulimit -v 80000; exec "$@"', "sh", *OWN_SEARCH, "--", "needle", str(file)],
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    file.unlink()

    assert (done.returncode, done.stdout) == (0, f"{file}\000500002:needle\n".encode())


@pytest.mark.requirement("C-SEARCH")
@pytest.mark.parametrize(
    "message", ["Traceback: MemoryError", "rg: /dev/fd/7: Input/output error (os error 5)"]
)
@pytest.mark.parametrize("code", [1, 2, 101])
async def test_a_search_that_breaks_down_is_not_taken_for_one_that_found_nothing(
    code: int, message: str, tmp_path: Path
) -> None:
    broken = tmp_path / "rg"
    broken.write_text(f"#!/bin/sh\necho '{message}' >&2\nexit {code}\n", encoding="utf-8")
    broken.chmod(0o755)

    with pytest.raises(ToolError, match=f"The search failed: {re.escape(message)}"):
        await Search(Workspace(tmp_path), str(broken)).grep("needle")


@pytest.mark.requirement("C-SEARCH")
async def test_what_was_found_before_a_search_broke_down_is_told_with_a_warning(tmp_path: Path) -> None:
    broken = tmp_path / "rg"
    broken.write_text(
        '#!/bin/sh\nfor last in "$@"; do :; done\nprintf \'%s\\0001:needle\\n\' "$last"\nkill -9 $$\n',
        encoding="utf-8",
    )
    broken.chmod(0o755)

    answer = await Search(Workspace(tmp_path), str(broken)).grep("needle")

    assert found_in(answer)[0].startswith("rg:1:needle")
    assert answer.endswith("[the search failed before its end]")
