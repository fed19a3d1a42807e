"""A run with images and documents: its journal grows by each of them once, and every use of the run finds them."""

from __future__ import annotations

import json
import os
import sqlite3
import tracemalloc
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from maverick import AgentExecutor, tool
from maverick.exceptions import JournalDamagedError
from maverick.journal import SqliteJournal
from maverick.journal.compare import compare_runs
from maverick.journal.export import export_run, read_recording
from maverick.journal.playback import plain_messages
from maverick.journal.repair import check_runs, repair
from maverick.journal.sqlite.database import MIGRATIONS, open_database
from maverick.loop.events import RunEnd
from maverick.model import Blob, Image, Message
from maverick.runtime.interruption import AbortSignal
from maverick.testing import ScriptedClient, call, reply
from scenario import agent

MEGABYTE = 1_000_000


def photo(size: int = 1_000) -> Image:
    """An image, as far as a journal is concerned."""
    return Image(media_type="image/png", blob=Blob(os.urandom(size)), pixels=(640, 480))


def conversation(*images: Image) -> list[Message]:
    return [Message.user(["What is on these?", *images]), Message.assistant("A shelf.")]


def contents(messages: Iterable[Message]) -> list[bytes]:
    return [
        part.blob.data
        for message in messages
        for part in message.parts
        if isinstance(part, Image) and part.blob is not None
    ]


@tool
def step() -> str:
    """Go on."""
    return "on"


async def test_a_journal_grows_by_an_image_once_whatever_the_turns_and_runs(tmp_path: Path) -> None:
    image = photo(10 * MEGABYTE)
    path = tmp_path / "runs.db"
    for run_id in ("one", "two"):
        script: list[Any] = [*(call("step") for _ in range(20)), reply("Done.")]
        async with SqliteJournal(path) as journal:
            executor = AgentExecutor(ScriptedClient(script), journal=journal)
            await executor.execute(agent(step), messages=conversation(image), run_id=run_id)

        assert 10 * MEGABYTE < path.stat().st_size < 10.5 * MEGABYTE


async def test_a_run_resumes_and_forks_with_its_images_and_holds_them_once(tmp_path: Path) -> None:
    images = [photo(2 * MEGABYTE) for _ in range(10)]
    stop = AbortSignal()

    @tool
    def halt() -> str:
        """Stop the run."""
        stop.abort("enough")
        return "stopped"

    async with SqliteJournal(tmp_path / "runs.db") as journal:
        executor = AgentExecutor(ScriptedClient([call("halt")]), journal=journal)
        await executor.execute(agent(halt), messages=conversation(*images), run_id="r", signal=stop)
    expected = contents(conversation(*images))

    async with SqliteJournal(tmp_path / "runs.db") as journal:
        client = ScriptedClient([reply("Resumed.")])
        tracemalloc.start()
        result = await AgentExecutor(client, journal=journal).resume("r", agent(halt))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        forking = ScriptedClient([reply("Forked.")])
        await AgentExecutor(forking, journal=journal).fork("r", agent(halt), turn=1, new_run_id="f")
        await journal.delete("r")
        *_, end = [event async for event in AgentExecutor(journal=journal).replay("f", agent(halt))]
        assert isinstance(end, RunEnd)
        on = ScriptedClient([reply("Gone on.")])
        await AgentExecutor(on, journal=journal).execute(agent(), messages=end.result.messages)

    assert result.output == "Resumed."
    assert most < 1.5 * 20 * MEGABYTE
    for sent in (client, forking, on):
        assert contents(sent.requests[0].messages) == expected


async def test_an_export_has_each_image_once_and_is_played_back_by_hash(tmp_path: Path) -> None:
    image = photo()
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        executor = AgentExecutor(ScriptedClient([reply("A."), reply("B.")]), journal=journal)
        for run_id in ("r", "same"):
            await executor.execute(agent(), messages=conversation(image), run_id=run_id)
        lines = [line async for line in export_run(journal, "r")]
        difference = await compare_runs(journal, "r", "same")
    cassette = tmp_path / "run.json"
    cassette.write_bytes(b"".join(lines))

    blobs = [json.loads(line)["blob"] for line in lines if line.startswith(b'{"blob":')]
    (exchange,) = read_recording(cassette).runs[0]

    assert image.blob is not None
    assert blobs == [image.blob.base64.decode()]
    assert exchange.asked["messages"][:2] == plain_messages(conversation(image))
    assert difference is not None
    assert difference.path == "response.parts[0].text"


async def test_two_runs_with_other_images_differ_at_the_hash(tmp_path: Path) -> None:
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        for run_id in ("one", "other"):
            executor = AgentExecutor(ScriptedClient([reply("A.")]), journal=journal)
            await executor.execute(agent(), messages=conversation(photo()), run_id=run_id)

        difference = await compare_runs(journal, "one", "other")

    assert difference is not None
    assert difference.path == "messages[0].parts[1].blob.sha256"


@pytest.mark.parametrize(
    "damage", ["DELETE FROM blobs WHERE rowid = 1", "UPDATE blobs SET data = x'00' WHERE rowid = 1"]
)
async def test_a_lost_image_is_found_by_a_check_and_a_repair_saves_the_other_runs(
    tmp_path: Path, damage: str
) -> None:
    path, copy = tmp_path / "runs.db", tmp_path / "copy.db"
    async with SqliteJournal(path) as journal:
        for run_id in ("lost", "whole"):
            executor = AgentExecutor(ScriptedClient([reply("A.")]), journal=journal)
            await executor.execute(agent(), messages=conversation(photo()), run_id=run_id)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(damage)

    async with SqliteJournal(path) as journal:
        health = await check_runs(journal)
        with pytest.raises(JournalDamagedError, match="sha256"):
            await AgentExecutor(ScriptedClient([]), journal=journal).resume("lost", agent())
    saved = repair(path, copy)

    assert [(run.run_id, bool(run.problem)) for run in health] == [("lost", True), ("whole", False)]
    assert saved.whole == 1
    assert [run.run_id for run in saved.damaged] == ["lost"]
    assert saved.lost_tables == []
    async with SqliteJournal(copy) as journal:
        assert not any(run.problem for run in await check_runs(journal))
        assert len(await journal.blob_names("whole")) == 1
    with closing(sqlite3.connect(copy)) as db:
        assert db.execute("SELECT count(*) FROM blobs").fetchone() == (1,)


def test_a_journal_from_before_there_were_images_is_saved_without_a_loss(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statements in MIGRATIONS[:2]:
            db.executescript(statements)
        db.execute("PRAGMA user_version=2")

    assert repair(path, tmp_path / "copy.db").lost_tables == []
    open_database(str(path), 1.0).close()
