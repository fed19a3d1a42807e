"""``maverick run … --attach FILE``: images and documents beside the prompt."""

from __future__ import annotations

import asyncio
import os

import pytest

from cli.folder import Folder
from maverick import Document, Image
from maverick.journal import SqliteJournal
from maverick.loop.entries import RunStarted
from maverick.model import Message
from media_files import pdf, png

SEER = """
    from maverick import AgentDefinition, Document, Image, InputConfig, PromptConfig
    seer = AgentDefinition(
        name="seer",
        description="Sees.",
        prompt_config=PromptConfig(initial_messages=["Look: ${picture}"]),
        input_config=InputConfig({"picture": Image | Document}),
    )
"""
SHELF = Image.from_bytes(png(), name="shelf.png")
LIST = Document.from_bytes(pdf(), name="list.pdf")


@pytest.fixture
def desk(folder: Folder) -> Folder:
    (folder.path / "shelf.png").write_bytes(png())
    (folder.path / "list.pdf").write_bytes(pdf())
    folder.write("seer.py", SEER)
    return folder


def sent(folder: Folder) -> Message:
    """The first message of the last run, as the journal has it."""
    (run, *_) = folder.runs()

    async def look() -> Message:
        async with SqliteJournal(folder.path / ".maverick" / "runs.db") as journal:
            entries = [stored.entry async for stored in journal.read(run.run_id)]
        assert isinstance(entries[0], RunStarted)
        return entries[0].messages[0]

    return asyncio.run(look())


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["what is 2 * 3?", "--attach", "shelf.png"], [SHELF, "what is 2 * 3?"]),
        (
            ["-p", "what is 2 * 3?", "--attach", "shelf.png", "--attach", "list.pdf"],
            [SHELF, LIST, "what is 2 * 3?"],
        ),
        (["general", "-p", "what is 2 * 3?", "--attach", "./list.pdf"], [LIST, "what is 2 * 3?"]),
        (["what is 2 * 3?"], ["what is 2 * 3?"]),
        (["seer.py", "-i", "picture=list.pdf", "--model", "offline:"], ["Look: ", LIST]),
    ],
)
def test_files_go_with_the_prompt_and_are_kept_with_the_run(
    desk: Folder, words: list[str], parts: list[Image | Document | str]
) -> None:
    done = desk.main("run", *words)

    assert done.returncode == 0, done.stderr
    assert sent(desk) == Message.user(parts)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-p", "look", "--attach", "missing.png"], "missing.png cannot be read: No such file"),
        (["-p", "look", "--attach", "."], "is not a file"),
        (["-p", "look", "--attach", "pipe"], "pipe is not a file"),
        (["-p", "look", "--attach", "bomb.png"], "60000 × 60000 pixels"),
        (["-p", "look", "--attach", "program"], "program is neither"),
        (["-p", "look", "--attach", "empty"], "empty is empty"),
        (["seer.py", "-i", "picture=shelf.png", "--attach", "shelf.png"], "Add: -p"),
    ],
)
def test_a_file_that_cannot_be_attached_is_wrong_usage_and_no_run_is_begun(
    desk: Folder, words: list[str], said: str
) -> None:
    os.mkfifo(desk.path / "pipe")
    (desk.path / "bomb.png").write_bytes(png(2, 2, says=(60_000, 60_000)))
    (desk.path / "program").write_bytes(b"\x7fELF\0\0")
    (desk.path / "empty").touch()

    assert said in desk.refuse("run", *words, "--model", "offline:")

    assert not (desk.path / ".maverick" / "runs.db").exists()
