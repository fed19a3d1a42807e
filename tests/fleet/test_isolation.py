"""What one user, or whoever may send to the database, cannot do to the runs of another."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import pytest

from fleet.test_worker import clerk, done, eventually, is_parked, offer, then, working
from maverick import AgentExecutor
from maverick.exceptions import ApprovalError, InvalidInputError, RunExistsError, RunNotFoundError
from maverick.fleet import Fleet
from maverick.fleet.client import move_in
from maverick.fleet.live import Broadcast
from maverick.fleet.request import RunRequest
from maverick.fleet.store import FleetState
from maverick.fleet.worker import Offer, Worker
from maverick.journal import Approval, Journal, MemoryJournal, RunStatus
from maverick.journal.postgres.schema import FLEET_CHANNEL
from maverick.testing import ScriptedClient, call


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    done.clear()


async def _waiting_run_of_ana(journal: Journal) -> None:
    """A run that a process began directly in a journal, and that waits for her."""
    executor = AgentExecutor(ScriptedClient([call("publish", text="ana's")]), journal=journal)
    await executor.execute(clerk, inputs={"prompt": "My secret."}, run_id="report-7", user_id="ana")


async def test_a_run_of_another_user_is_not_started_again_as_ones_own(fleet: Fleet) -> None:
    await _waiting_run_of_ana(fleet.journal)
    with pytest.raises(InvalidInputError, match="Choose another id"):
        await fleet.start("clerk", run_id="report-7", user_id="ben")
    assert await fleet.store.get("report-7") is None


async def test_a_worker_does_not_drive_a_run_for_another_user(fleet: Fleet) -> None:
    await fleet.store.add("report-7", "clerk", "ben", 3, RunRequest(), fleet.queue_of("clerk"))
    await _waiting_run_of_ana(fleet.journal)
    before = (await fleet.journal.get("report-7")).entries

    async with working(Worker(fleet, offer(fleet, then()))):
        await fleet.workflows.offer(await fleet.store.admit("ben"))

        async def is_refused() -> bool:
            record = await fleet.store.get("report-7")
            return record is not None and bool(record.error)

        await eventually(is_refused)
    found = await fleet.journal.get("report-7")
    assert (found.status, found.entries, found.user_id) == (RunStatus.WAITING, before, "ana")


async def test_a_user_finds_and_resumes_only_their_own_runs(fleet: Fleet) -> None:
    run = await fleet.start("clerk", user_id="ana")

    for stranger in ("ben", "", None):
        with pytest.raises(RunNotFoundError):
            await fleet.find(run.run_id, user_id=stranger)
    with pytest.raises(RunNotFoundError):
        await fleet.resume(run.run_id, user_id="ben")
    with pytest.raises(RunNotFoundError):
        await fleet.find("none", user_id="ana")

    assert (await fleet.find(run.run_id, user_id="ana")).run_id == run.run_id


async def test_a_run_does_not_move_into_the_place_of_another_users(fleet: Fleet) -> None:
    theirs = await fleet.start("clerk", run_id="report-7", user_id="ben")
    source = MemoryJournal()
    await _waiting_run_of_ana(source)

    with pytest.raises(RunExistsError):
        await move_in(fleet, "report-7", source)

    assert (await source.get("report-7")).status is RunStatus.WAITING
    assert (await theirs.status()).user_id == "ben"


@pytest.mark.parametrize("agent", ["", "clerk@0123456789ab", "a/b", "a\0b", "\ud800", "x" * 101], ids=ascii)
async def test_what_cannot_be_the_name_of_an_agent_is_refused(fleet: Fleet, agent: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await fleet.start(agent)
    assert caught.value.field == "agent"
    assert await fleet.list() == []


async def test_a_run_decides_only_on_its_own_requests(fleet: Fleet) -> None:
    async with working(Worker(fleet, offer(fleet, then(call("publish", text="news"))))):
        mine = await fleet.start("clerk", inputs={"prompt": "Publish."})
        other = await fleet.start("clerk", inputs={"prompt": "Publish."})
        for run in (mine, other):
            await eventually(partial(is_parked, fleet, run.run_id))
        (asked,) = await fleet.journal.list_approvals(run_id=other.run_id)
        for decide in (mine.approve, mine.deny):
            with pytest.raises(ApprovalError):
                await decide(asked.approval_id, by="ben")
        await other.approve(asked.approval_id, by="ben")
        assert (await asyncio.wait_for(other.result(), 30)).success
    assert done == ["news"]


async def test_the_worker_asks_its_own_rule_who_may_decide(fleet: Fleet) -> None:
    asked_about: list[str] = []

    def may_approve(_: Approval, by: str) -> bool:
        asked_about.append(by)
        return by == "boss"

    @asynccontextmanager
    async def strict(_: str | None) -> AsyncIterator[AgentExecutor]:
        model = ScriptedClient(then(call("publish", text="news"))())
        yield AgentExecutor(model, journal=fleet.journal, may_approve=may_approve)

    async with working(Worker(fleet, {"clerk": Offer(clerk, strict)})):
        run = await fleet.start("clerk", inputs={"prompt": "Publish."}, user_id="ana")
        await eventually(partial(is_parked, fleet, run.run_id))
        (asked,) = await fleet.journal.list_approvals(run_id=run.run_id)

        async def is_pending_again() -> bool:
            return bool(asked_about) and bool(await fleet.journal.list_approvals(run_id=run.run_id))

        await run.deny(asked.approval_id, by="ana")
        await eventually(is_pending_again)
        await eventually(partial(is_parked, fleet, run.run_id))
        await run.approve(asked.approval_id, by="boss", arguments={"text": "good news"})
        result = await asyncio.wait_for(run.result(), 30)

    assert (result.success, done) == (True, ["good news"])


async def test_ids_of_any_script_and_length_do_not_make_other_watchers_deaf(fleet: Fleet) -> None:
    heard: list[str] = []
    stop = await fleet.journal.database.listen(FLEET_CHANNEL, heard.append)
    ids = [*(f"{number:02}{'𝒳' * 198}" for number in range(30)), *(f"run_{number}" for number in range(1000))]
    async with AsyncExitStack() as stack:
        for run_id in [*ids, "x" * 10_000]:
            await stack.enter_async_context(fleet.feed.watch(run_id, words=True))
            heard.clear()

        async def is_announced() -> bool:
            return set(ids) <= {name for text in heard for name in json.loads(text).get("watch", ())}

        await eventually(is_announced)
    await stop()


@pytest.mark.parametrize(
    "channel", ["maverick_watch_" + "a" * 60, "maverick_watch_", "maverick_fleet", ["x"]]
)
async def test_words_go_to_channels_of_watchers_only(fleet: Fleet, channel: Any) -> None:
    broadcast = Broadcast(fleet.journal)
    with broadcast.listening("run_1"):
        broadcast.hear({"watch": ["run_1"], "by": channel, "words": True})
        assert not broadcast._watchers
        broadcast.hear({"watch": ["run_1"], "by": fleet.feed._channel, "words": True})
        assert set(broadcast._watchers["run_1"]) == {fleet.feed._channel}


@pytest.mark.parametrize(
    "text", ["", "[" * 7000, "[]", "1", '"abort"', '{"watch": 1}', '{"move": {}}', '{"decided": [1]}', "{"]
)
async def test_what_is_not_for_workers_does_not_harm_one(fleet: Fleet, text: str) -> None:
    Worker(fleet, {})._hear(text)


async def test_what_a_user_may_leave_in_a_fleet_is_bounded(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maverick.fleet.store.MAX_QUEUED_PER_USER", 2)
    fleet.store.max_runs_per_user = 1
    started = [await fleet.start("clerk", run_id=f"r{number}", user_id="ana") for number in range(3)]

    for refused in (
        fleet.start("clerk", user_id="ana"),  # one is in progress, and two wait
        fleet.start("clerk", user_id="a" * 301),
        fleet.start("clerk", user_id=""),
        started[0].abort("x" * 2_001),
    ):
        with pytest.raises(InvalidInputError, match=r"user_id: |reason: "):
            await refused
    again = await fleet.start("clerk", run_id="r2", user_id="ana")

    assert (repr(again), (await again.status()).state) == ("<FleetRun r2>", FleetState.QUEUED)
    assert (await (await fleet.start("clerk", user_id="ben")).status()).state is FleetState.STARTED
