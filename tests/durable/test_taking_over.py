"""A run that is taken over: what its former process may still do is not done a second time."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from durable.payer import pay_once
from maverick import AbortSignal, AgentExecutor
from maverick.exceptions import LeaseLostError, RunHandedOverError, RunMovedError
from maverick.journal import Journal, MemoryJournal, RunStatus
from maverick.journal.records import Lease
from maverick.loop.entries import RunStarted
from maverick.loop.limits import Limits
from maverick.loop.result import ToolOutcome
from maverick.model import ModelInfo
from maverick.runtime.worker import Predecessor, worker_name
from maverick.testing import ScriptedClient
from scenario import agent
from warm_start import Script


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for something that another process does."""
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110 - no event of this process
            await asyncio.sleep(0.01)


async def a_process_that_pays(folder: Path) -> Script:
    """Start one, and wait until it is at it."""
    process = Script("durable.payer", str(folder), stderr=subprocess.DEVNULL)
    await until((folder / "begun").exists)
    return process


@pytest.mark.requirement("P2")
async def test_what_a_living_process_may_still_do_is_not_done_again_although_it_has_no_effect_yet(
    journal: Journal, tmp_path: Path
) -> None:
    former = await a_process_that_pays(tmp_path)

    result = await pay_once(tmp_path, journal, resume=True)
    (tmp_path / "go").touch()
    await former.ended()

    assert [record.outcome for record in result.tool_calls] == [ToolOutcome.UNKNOWN]
    assert "may still be running it" in result.tool_calls[0].result
    assert (tmp_path / "paid").read_text() == "ana\n"
    assert former.returncode == 1  # it was told that it had lost the run


@pytest.mark.requirement("P2")
async def test_what_a_killed_process_has_not_done_is_done(journal: Journal, tmp_path: Path) -> None:
    former = await a_process_that_pays(tmp_path)
    former.send_signal(signal.SIGKILL)
    await former.ended()
    (tmp_path / "go").touch()

    result = await pay_once(tmp_path, journal, resume=True)

    assert [record.outcome for record in result.tool_calls] == [ToolOutcome.FINISHED]
    assert (tmp_path / "paid").read_text() == "ana\n"


@pytest.mark.requirement("P2")
async def test_a_run_that_is_resumed_where_it_is_at_work_does_nothing_twice(
    journal: Journal, tmp_path: Path
) -> None:
    working = asyncio.ensure_future(pay_once(tmp_path, journal, resume=False))
    await until((tmp_path / "begun").exists)

    result = await pay_once(tmp_path, journal, resume=True)
    (tmp_path / "go").touch()
    with pytest.raises(LeaseLostError):
        await working

    assert [record.outcome for record in result.tool_calls] == [ToolOutcome.UNKNOWN]
    assert (tmp_path / "paid").read_text() == "ana\n"


@pytest.mark.requirement("P2")
@pytest.mark.parametrize("worker", ["another-computer 7 12345", ""])
def test_a_call_somewhere_else_is_over_when_its_time_is_and_clocks_may_differ(worker: str) -> None:
    former = Predecessor.of("r", [begun_by(worker)])

    assert former.may_act(30.0, now=1_000.0 + 31.0)
    assert not former.may_act(30.0, now=1_000.0 + 3_600.0)
    assert former.may_act(None, now=1_000.0 + 3_600.0)


@pytest.mark.requirement("P2")
def test_a_process_is_not_taken_for_a_later_one_with_its_number() -> None:
    place, number, began = worker_name().split()

    former = Predecessor.of("r", [begun_by(f"{place} {number} {int(began) - 1}")])

    assert former.is_there is False


def begun_by(worker: str) -> RunStarted:
    """The beginning of a run of this process."""
    return RunStarted(
        at=1_000.0,
        run_id="r",
        trace_id="t",
        agent=("payer",),
        system="",
        messages=(),
        head=0,
        limits=Limits(),
        info=ModelInfo(),
        worker=worker,
    )


@pytest.mark.requirement("P2")
async def test_a_run_that_is_moved_while_it_is_resumed_continues_only_where_it_went() -> None:
    class Crossing(MemoryJournal):
        """A journal from which a run is moved just before it is claimed."""

        async def claim(self, run_id: str, caller: Lease | None = None) -> Lease:
            if not await elsewhere.run_ids():
                lease = await super().claim(run_id, caller)
                await elsewhere.create(await self.get(run_id), notes)
                await self.append(lease, (), RunStatus.STOPPED, "moved (running) to elsewhere")
            return await super().claim(run_id, caller)

    journal, elsewhere, signal = Crossing(), MemoryJournal(), AbortSignal()
    signal.hand_over()
    client = ScriptedClient(["Done."])
    with pytest.raises(RunHandedOverError):
        await AgentExecutor(client, journal=journal).execute(agent(), run_id="r", signal=signal)
    notes = [payload async for _, _, payload in journal.read_payloads("r")]

    with pytest.raises(RunMovedError, match="was moved to elsewhere"):
        await AgentExecutor(client, journal=journal).resume("r", agent())

    assert client.requests == []
    assert (await AgentExecutor(client, journal=elsewhere).resume("r", agent())).output == "Done."
