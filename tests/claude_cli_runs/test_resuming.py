"""A run on the CLI outlives its process: what is known goes on, what is not is said to be unknown."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from claude_cli.census import gone, until
from claude_cli_runs.errand import errand
from claude_cli_runs.scripted_api import Body, ScriptedAPI, Serve, calls, conversation, in_turn, ours, says
from maverick import AgentExecutor
from maverick.cli.main import main
from maverick.journal import Journal
from maverick.loop.result import ToolOutcome
from warm_start import Script


@asynccontextmanager
async def killed_when(api: ScriptedAPI, happened: Callable[[], bool]) -> AsyncIterator[None]:
    """Runs the errand in a process of its own and kills it at a moment."""
    process = Script("claude_cli_runs.errand", str(api.folder), api.url)
    assert await until(happened, 60)
    process.send_signal(signal.SIGKILL)
    await process.ended()
    assert not await gone(api.url)
    yield


@pytest.mark.requirement("005-RUN-JOURNAL", "P1", "P2")
async def test_what_the_cli_was_doing_when_everything_was_killed_is_unknown_and_not_done_again(
    serve: Serve, journal: Journal
) -> None:
    def model(body: Body, number: int) -> Any:
        if number == 1:
            endless = {"command": "echo begun >> begun.txt; exec tail -f /dev/null"}
            return calls((ours("note"), {"words": "once"}), ("Bash", endless))
        return says("I had better check.")

    api = await serve(model)
    async with killed_when(api, (api.work / "begun.txt").exists):
        result = await AgentExecutor(api.client(), journal=journal).resume("r", errand(api.work))

    assert result.output == "I had better check."
    noted, ran = (record.outcome for record in result.tool_calls)
    assert noted in {ToolOutcome.FINISHED, ToolOutcome.UNKNOWN}  # its result may not have been written yet
    assert ran is ToolOutcome.UNKNOWN
    assert (api.work / "begun.txt").read_text() == "begun\n"
    assert (api.work / "notes.txt").read_text() == "once\n"
    assert conversation(api.bodies[1])[2] == ("user", [record.result for record in result.tool_calls])


@pytest.mark.requirement("005-RUN-JOURNAL")
async def test_a_run_can_be_shown_replayed_and_forked(
    serve: Serve, journal: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    first = calls((ours("note"), {"words": "one"}), ("Bash", {"command": "echo two"}))
    api = await serve(in_turn(first, says("Two things."), says("No, three.")))
    executor, worker = AgentExecutor(api.client(), journal=journal), errand(api.work)
    await executor.execute(worker, run_id="r")
    replayed = [event.type async for event in executor.replay("r", worker)]
    other = await executor.fork("r", worker, turn=2, edit="Count again.", new_run_id="f")

    assert replayed[-1] == "run_end"
    assert other.output == "No, three."
    assert conversation(api.bodies[2])[-1] == ("user", ["Count again."])
    assert await asyncio.to_thread(main, ["runs", "show", "r", "--journal", str(api.folder / "runs.db")]) == 0
    shown = capsys.readouterr().out
    assert "note" in shown
    assert "Bash" in shown
    assert "Two things." in shown
