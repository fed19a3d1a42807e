"""A run can be taken out of the journal, whole and exact, as lines of JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from maverick import AgentExecutor, tool
from maverick.exceptions import RunNotFoundError
from maverick.journal import Journal, MemoryJournal, RunRecord, RunStatus
from maverick.journal.codec import VERSION, decode_entry, encode_entry
from maverick.journal.export import export_run
from maverick.loop.entries import Edited
from maverick.testing import ScriptedClient, call, reply
from scenario import agent


async def exported(journal: Journal, run_id: str) -> list[dict[str, Any]]:
    return [json.loads(line) async for line in export_run(journal, run_id)]


async def test_an_export_has_the_record_and_then_every_entry() -> None:
    journal = MemoryJournal()
    executor = AgentExecutor(ScriptedClient([reply("Hello.")]), journal=journal)
    await executor.execute(agent(), run_id="r", user_id="ana")

    first, *entries = await exported(journal, "r")

    assert first["run"]["run_id"] == "r"
    assert first["run"]["status"] == "complete"
    assert first["run"]["user_id"] == "ana"
    assert first["run"]["entries"] == len(entries)
    assert [line["seq"] for line in entries] == [1, 2, 3]
    assert {line["version"] for line in entries} == {VERSION}
    assert [line["entry"]["type"] for line in entries] == ["RunStarted", "ModelCalled", "ModelReplied"]


async def test_an_exported_entry_can_be_read_back() -> None:
    journal = MemoryJournal()
    odd = Edited(at=1.0, content="line\nbreak \0 \ud800 🦊")
    await journal.create(
        RunRecord(run_id="r", agent="a", status=RunStatus.RUNNING, created_at=1, updated_at=1, entries=0),
        [encode_entry(odd)],
    )

    lines = [line async for line in export_run(journal, "r")]

    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
    kept = lines[1].removeprefix(b'{"seq":1,"version":1,"entry":').removesuffix(b"}\n")
    assert decode_entry(kept, VERSION) == odd


async def test_a_long_run_is_exported_page_by_page() -> None:
    journal = MemoryJournal()
    await journal.create(
        RunRecord(run_id="r", agent="a", status=RunStatus.RUNNING, created_at=1, updated_at=1, entries=0),
        [encode_entry(Edited(at=1.0, content=str(number))) for number in range(1000)],
    )

    assert [line["entry"]["content"] for line in (await exported(journal, "r"))[1:]] == [
        str(number) for number in range(1000)
    ]


async def test_subagents_follow_the_run_that_called_them() -> None:
    @tool
    async def look() -> str:
        """Look."""
        return "seen"

    scout = agent(look, name="scout", ask="Scout ${place}.")
    journal = MemoryJournal()
    client = ScriptedClient([call("scout", place="A"), call("look"), reply("Clear."), reply("All clear.")])
    await AgentExecutor(client, journal=journal).execute(agent(scout.as_tool(), name="chief"), run_id="r")

    lines = await exported(journal, "r")

    assert [line["run"]["run_id"] for line in lines if "run" in line] == ["r", "r/1/0"]
    assert [line["run"]["agent"] for line in lines if "run" in line] == ["chief", "chief/scout"]


async def test_an_unknown_run_can_not_be_exported() -> None:
    with pytest.raises(RunNotFoundError):
        await anext(export_run(MemoryJournal(), "x"))
