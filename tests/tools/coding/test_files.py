"""Reading, writing, editing and listing files."""

from __future__ import annotations

import asyncio

import pytest

from maverick.model import Outcome
from tools.coding.desk import CONTEXT, Desk


def put(desk: Desk, path: str, content: str | bytes) -> None:
    file = desk.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.mark.requirement("C-FILES")
async def test_a_file_is_read_with_the_numbers_of_its_lines_and_from_any_line_on(desk: Desk) -> None:
    put(desk, "poem.txt", "one\ntwo\nthree\nfour\n")

    assert "1\tone\n2\ttwo\n3\tthree\n4\tfour\n" in await desk.use("read_file", path="poem.txt")
    part = await desk.use("read_file", path="poem.txt", first_line=2, lines=2)
    assert "2\ttwo\n3\tthree\n" in part
    assert part.endswith("[lines 2 to 3 of 4]")
    assert "there is no line 9" in await desk.use("read_file", path="poem.txt", first_line=9)


@pytest.mark.requirement("C-FILES")
async def test_a_long_file_is_read_in_parts_and_a_huge_or_binary_one_not_at_all(desk: Desk) -> None:
    put(desk, "long.txt", "x" * 100 + "\n" + ("y" * 100 + "\n") * 5000)
    put(desk, "huge.txt", b"z" * 8_000_001)
    put(desk, "image.png", b"\x89PNG\0\0")

    assert len(await desk.use("read_file", path="long.txt", lines=10_000)) < 45_000
    assert "larger than 8 MB" in await desk.use("read_file", path="huge.txt")
    assert "not a text file" in await desk.use("read_file", path="image.png")


@pytest.mark.requirement("C-FILES")
async def test_bytes_that_are_no_utf8_are_shown_and_survive_an_edit_of_what_is_beside_them(
    desk: Desk,
) -> None:
    put(desk, "latin.txt", b"caf\xe9\nold\n")

    assert "caf\N{REPLACEMENT CHARACTER}" in await desk.use("read_file", path="latin.txt")
    await desk.use("edit_file", path="latin.txt", old="old", new="new")

    assert (desk.root / "latin.txt").read_bytes() == b"caf\xe9\nnew\n"


@pytest.mark.requirement("C-FILES")
async def test_writing_makes_folders_and_shows_the_difference_to_what_was_there(desk: Desk) -> None:
    assert (
        await desk.use("write_file", path="new/deep/a.txt", content="one\ntwo\n")
        == "new/deep/a.txt was made, 2 lines."
    )
    shown = await desk.use("write_file", path="new/deep/a.txt", content="one\nthree\n")

    assert "-two\n+three" in shown
    assert (desk.root / "new/deep/a.txt").read_text(encoding="utf-8") == "one\nthree\n"
    assert sorted(path.name for path in (desk.root / "new/deep").iterdir()) == ["a.txt"]


@pytest.mark.requirement("C-FILES")
async def test_a_file_keeps_its_permissions_but_lends_nobody_rights(desk: Desk) -> None:
    put(desk, "run.sh", "echo\n")
    (desk.root / "run.sh").chmod(0o4750)

    await desk.use("edit_file", path="run.sh", old="echo", new="true")

    assert (desk.root / "run.sh").stat().st_mode & 0o7777 == 0o750


@pytest.mark.requirement("C-FILES")
async def test_an_edit_replaces_exactly_one_place_and_shows_it(desk: Desk) -> None:
    put(desk, "a.py", "x = 1\ny = 1\n")

    shown = await desk.use("edit_file", path="a.py", old="y = 1", new="y = 2")

    assert shown.splitlines()[-1] == "+y = 2"
    assert (desk.root / "a.py").read_text(encoding="utf-8") == "x = 1\ny = 2\n"


@pytest.mark.requirement("C-FILES")
@pytest.mark.parametrize(
    ("old", "words"), [("= 1", "2 times"), ("z = 9", "does not have that piece"), ("", "old is empty")]
)
async def test_an_edit_that_is_not_exact_changes_nothing_and_says_what_to_do(
    old: str, words: str, desk: Desk
) -> None:
    put(desk, "a.py", "x = 1\ny = 1\n")

    assert words in await desk.use("edit_file", path="a.py", old=old, new="?")
    assert (desk.root / "a.py").read_text(encoding="utf-8") == "x = 1\ny = 1\n"


@pytest.mark.requirement("C-FILES")
async def test_every_place_is_replaced_when_that_is_asked_for_and_line_ends_stay_as_they_were(
    desk: Desk,
) -> None:
    put(desk, "dos.txt", "a\r\nb\r\na\r\n")

    await desk.use("edit_file", path="dos.txt", old="a\n", new="c\nd\n", replace_all=True)

    assert (desk.root / "dos.txt").read_bytes() == b"c\r\nd\r\nb\r\nc\r\nd\r\n"


@pytest.mark.requirement("C-FILES")
async def test_edits_of_one_file_at_the_same_time_all_arrive(desk: Desk) -> None:
    put(desk, "a.txt", "\n".join(f"<{n}>" for n in range(20)))

    await asyncio.gather(
        *(desk.use("edit_file", path="a.txt", old=f"<{n}>", new=f"[{n}]") for n in range(20))
    )

    assert (desk.root / "a.txt").read_text(encoding="utf-8") == "\n".join(f"[{n}]" for n in range(20))


@pytest.mark.requirement("C-FILES")
async def test_files_are_listed_by_name_and_by_path(desk: Desk) -> None:
    for path in ("a.py", "src/b.py", "src/deep/c.py", "src/d.txt", ".git/config", "node_modules/x/e.py"):
        put(desk, path, "")

    everywhere = await desk.use("list_files", pattern="*.py")
    below = await desk.use("list_files", pattern="src/**/*.py")
    inside = await desk.use("list_files", pattern="*", path="src")

    assert everywhere.splitlines()[1:-1] == ["a.py", "src/b.py", "src/deep/c.py"]
    assert below.splitlines()[1:-1] == ["src/b.py", "src/deep/c.py"]
    assert inside.splitlines()[1:-1] == ["src/b.py", "src/d.txt", "src/deep/", "src/deep/c.py"]
    assert "Nothing below . is called *.rs" in await desk.use("list_files", pattern="*.rs")
    assert "is not there" in await desk.use("list_files", path="missing")


@pytest.mark.requirement("C-FILES")
async def test_a_long_listing_is_cut_off_and_says_so(desk: Desk) -> None:
    for number in range(1100):
        (desk.root / f"{number:04}").touch()

    assert (await desk.use("list_files")).endswith("[only the first 1000 are shown]")


@pytest.mark.requirement("C-EFFECTS", "P2")
async def test_after_a_crash_the_file_tells_whether_it_was_written_or_edited(desk: Desk) -> None:
    put(desk, "a.txt", "before\n")
    write, edit = desk.tools["write_file"].reconciler, desk.tools["edit_file"].reconciler
    assert write is not None
    assert edit is not None

    assert await write({"path": "new.txt", "content": "x"}, CONTEXT) == Outcome.not_done()
    assert (await write({"path": "a.txt", "content": "before\n"}, CONTEXT)).happened is True
    assert await write({"path": "a.txt", "content": "other"}, CONTEXT) == Outcome.unknown()
    assert await edit({"path": "a.txt", "old": "before", "new": "since"}, CONTEXT) == Outcome.not_done()
    assert (await edit({"path": "a.txt", "old": "ever", "new": "before"}, CONTEXT)).happened is True
    assert await edit({"path": "a.txt", "old": "x", "new": "y"}, CONTEXT) == Outcome.unknown()
    assert await edit({"path": "a.txt", "old": "x", "new": "xx"}, CONTEXT) == Outcome.unknown()
