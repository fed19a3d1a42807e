"""Runs of a fleet that are forked: a worker makes the new run."""

from __future__ import annotations

import asyncio

import pytest

from fleet.test_worker import clerk, done, offer, then, working
from maverick import AgentExecutor
from maverick.exceptions import InvalidInputError, RunNotFoundError
from maverick.fleet import Fleet
from maverick.fleet.worker import Worker
from maverick.loop.entries import Edited, ModelReplied
from maverick.model import Image
from maverick.testing import ScriptedClient, call, reply
from media_files import png

PIXEL = Image.from_bytes(png(2, 2))


@pytest.mark.requirement("FLEET-FORK")
async def test_a_fork_has_what_its_run_had_before_a_turn_and_is_made_once(fleet: Fleet) -> None:
    done.clear()
    answers = then(call("note", text="milk"), call("note", text="bread"))
    async with working(Worker(fleet, offer(fleet, answers))):
        run = await fleet.start("clerk", inputs={"prompt": "Note."}, user_id="ana")
        await asyncio.wait_for(run.ended(), 30)
        forks = [
            await fleet.fork(run.run_id, turn=2, edit=["And this.", PIXEL], new_run_id="again", user_id="ana")
            for _ in range(2)
        ]
        record = await asyncio.wait_for(forks[1].ended(), 30)

    old, new = [
        [stored.entry async for stored in fleet.journal.read(run_id)] for run_id in (run.run_id, "again")
    ]
    (edited,) = [entry for entry in new if isinstance(entry, Edited)]
    assert (record.forked_from, record.user_id) == (run.run_id, "ana")
    assert done == ["milk", "bread", "bread"]
    assert new[1:4] == old[1:4]
    assert isinstance(new[2], ModelReplied)
    assert edited.parts[1] == PIXEL


@pytest.mark.requirement("FLEET-FORK")
async def test_a_fork_of_what_is_not_there_or_not_theirs_is_refused(fleet: Fleet) -> None:
    async with working(Worker(fleet, offer(fleet, then()))):
        run = await fleet.start("clerk", inputs={"prompt": "Note."}, user_id="ana")
        await asyncio.wait_for(run.ended(), 30)

        with pytest.raises(RunNotFoundError):
            await fleet.fork(run.run_id, turn=1, user_id="bob")
        no_turn = await fleet.fork(run.run_id, turn=9, new_run_id="again")
        with pytest.raises(InvalidInputError, match="turns 1 to 1, not 9"):
            await asyncio.wait_for(no_turn.result(), 30)
        with pytest.raises(InvalidInputError, match="another run 'again'"):
            await fleet.fork(run.run_id, turn=1, new_run_id="again")


@pytest.mark.requirement("FLEET-FORK")
async def test_a_fork_does_not_take_over_a_run_of_the_same_user_that_has_its_id(fleet: Fleet) -> None:
    async with working(Worker(fleet, offer(fleet, then()))):
        run = await fleet.start("clerk", inputs={"prompt": "Note."}, user_id="ana")
        await asyncio.wait_for(run.ended(), 30)
    late = await fleet.fork(run.run_id, turn=1, new_run_id="late", user_id="ana")
    answers = ScriptedClient([reply("Mine.") for _ in range(3)])
    async with AgentExecutor(answers, journal=fleet.journal) as elsewhere:
        for taken in ("taken", "late"):
            await elsewhere.execute(clerk, inputs={"prompt": "x"}, run_id=taken, user_id="ana")
        await elsewhere.fork(run.run_id, clerk, turn=1, new_run_id="forked")

    for taken in ("taken", "forked"):
        with pytest.raises(InvalidInputError, match=f"another run '{taken}'"):
            await fleet.fork(run.run_id, turn=1, new_run_id=taken, user_id="ana")
    async with working(Worker(fleet, offer(fleet, then()))):
        await asyncio.wait_for(late.ended(), 30)
    assert "another run 'late'" in ((await late.status()).error or "")
