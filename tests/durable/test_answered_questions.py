"""What a person has answered is not asked again when the process is killed after it, whatever the reason to ask was."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from durable.doomed import send_letters
from maverick import AgentExecutor, ApprovalRequest, tool
from maverick.journal import Journal
from maverick.loop.entries import ApprovalDecided, CallRuled
from maverick.loop.result import ToolOutcome
from maverick.testing import ScriptedClient, call, reply
from scenario import agent
from warm_start import Script


async def killed_at(folder: Path, *place: str) -> None:
    """Have a process of its own run the agent and die."""
    assert await Script("durable.doomed", str(folder), *place).ended() == -signal.SIGKILL


@pytest.mark.requirement("C-PERMISSIONS", "P1", "P7")
@pytest.mark.parametrize(
    "place",
    [("ApprovalDecided", "after", "1"), ("ApprovalDecided", "after", "2"), ("ToolsStarted", "before", "1")],
    ids=" ".join,
)
async def test_a_person_is_asked_once_although_the_policy_gives_no_reason_and_the_process_is_killed(
    place: tuple[str, ...], journal: Journal, tmp_path: Path
) -> None:
    await killed_at(tmp_path, *place)

    result = await send_letters(tmp_path, journal, resume=True)

    assert (tmp_path / "asked").read_text().split() == ["ana", "bob"]
    assert (tmp_path / "sent").read_text().split() == ["ana"]
    assert [record.outcome for record in result.tool_calls] == [ToolOutcome.FINISHED, ToolOutcome.DENIED]
    entries = [stored.entry async for stored in journal.read("r")]
    assert [entry.index for entry in entries if isinstance(entry, CallRuled)] == [0, 1]
    assert [entry.index for entry in entries if isinstance(entry, ApprovalDecided)] == [0, 1]


@pytest.mark.requirement("P1")
async def test_what_the_model_said_is_written_while_a_person_thinks(journal: Journal) -> None:
    @tool(approval=True)
    async def send() -> str:
        """Send a letter."""
        return "sent"

    async def kinds() -> set[str]:
        return {type(stored.entry).__name__ async for stored in journal.read("r")}

    async def approve(wanted: ApprovalRequest) -> bool:
        async with asyncio.timeout(60):
            while "ModelReplied" not in await kinds():  # noqa: ASYNC110 - a journal has no event to wait for
                await asyncio.sleep(0.01)
        return True

    executor = AgentExecutor(ScriptedClient([call("send"), reply("Done.")]), journal=journal, approve=approve)
    result = await executor.execute(agent(send), run_id="r")

    assert result.output == "Done."
