"""``maverick runs`` on a journal in a Postgres database."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from canary import CANARY
from cli.command import run
from cli.office_agents import clerk
from cli.runs_command import AGENTS
from maverick import AgentExecutor
from maverick.journal import PostgresJournal


async def test_a_run_in_a_database_is_listed_decided_on_and_resumed(
    tmp_path: Path, postgres_url: str
) -> None:
    async with PostgresJournal(postgres_url) as journal:
        inputs = {"prompt": "delete the file 'a.txt'"}
        await AgentExecutor(journal=journal).execute(clerk, inputs=inputs, run_id="wait")

    async def runs(*words: str) -> str:
        env = {"MAVERICK_JOURNAL": postgres_url}
        done = await asyncio.to_thread(run, "runs", *words, home=tmp_path, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert [record["status"] for record in json.loads(await runs("list", "--json"))] == ["waiting"]
    assert "is approved by ana." in await runs("approve", "wait", "--by", "ana")
    assert "deleted a.txt" in await runs("resume", "wait", "--agents", AGENTS)
    assert "complete" in await runs("show", "wait")


async def test_a_database_that_can_not_be_reached_is_one_line_without_its_password(tmp_path: Path) -> None:
    address = f"postgresql://ana:{CANARY}@127.0.0.1:1/runs"

    done = await asyncio.to_thread(run, "runs", "list", "--journal", address, home=tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("maverick: ")
    assert CANARY not in line
