"""A run moves between any two journals with all that belongs to it, and only one of them can continue it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, suppress
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from conformance.journals.shelf import document, note, notes, record, seen, texts_of
from conformance.journals.test_approvals import request as approval
from durable.office import ProcessDied, die_at
from maverick.exceptions import (
    InvalidInputError,
    JournalDamagedError,
    LeaseLostError,
    RunExistsError,
    RunMovedError,
)
from maverick.journal import ApprovalStatus, Journal, RunStatus
from maverick.journal.codec import encode_entry
from maverick.journal.memory import MemoryJournal
from maverick.journal.opening import open_journal
from maverick.journal.records import Departure, Lease, RunRecord, check_here
from maverick.journal.transfer import move_run
from maverick.loop.entries import Execution, RunStarted
from maverick.loop.limits import Limits
from maverick.model import ModelInfo
from postgres import fresh_database

KINDS = ("memory", "sqlite", "postgres")


class Places(NamedTuple):
    """Two journals, and what is needed to open them anew."""

    here: Journal
    there: Journal


@pytest.fixture
async def places(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Places]:
    """Two empty journals of the kinds that the test names."""
    async with AsyncExitStack() as stack:

        async def opened(kind: str, name: str) -> Journal:
            if kind == "memory":
                return MemoryJournal()
            if kind == "sqlite":
                return await stack.enter_async_context(open_journal(tmp_path / f"{name}.db"))
            server = request.getfixturevalue("postgres_server")
            return await stack.enter_async_context(
                open_journal(await stack.enter_async_context(fresh_database(server)))
            )

        here, there = request.param
        yield Places(await opened(here, "here"), await opened(there, "there"))


all_pairs = pytest.mark.parametrize("places", list(product(KINDS, KINDS)), indirect=True, ids="-".join)
one_pair = pytest.mark.parametrize("places", [("sqlite", "postgres")], indirect=True, ids="-".join)


async def begun(journal: Journal) -> Lease:
    """A run that waits, with a subagent's run, a document, words and a request for approval."""
    lease = await journal.create(record(user_id="ana"), notes("one"))
    attachment = document("a map")
    child = record("r/1/0", parent="r", agent="clerk/helper")
    child_lease = await journal.create(child, [note("child"), seen(attachment)], lease, [attachment.blob])
    await journal.say("r", "hurry", by="ana")
    await journal.say("r", "please", by="ana")
    await journal.request_approvals(child_lease, [approval("r/1/0")])
    await journal.request_approvals(lease, [])
    return lease


async def live(run_id: str, *journals: Journal) -> list[Journal]:
    """The journals that have a run which can be resumed there."""
    return [
        journal
        for journal in journals
        if run_id in await journal.run_ids() and Departure.of(await journal.get(run_id)) is None
    ]


async def lost(journal: Journal, lease: Lease) -> bool:
    try:
        await journal.append(replace(lease, ended=False), notes("a zombie's"))
    except LeaseLostError:
        return True
    return False


@pytest.mark.requirement("P1", "P2", "P7")
@all_pairs
async def test_a_run_moves_there_and_back_with_all_that_belongs_to_it(places: Places) -> None:
    here, there = places
    first = await begun(here)
    before = await here.get("r")

    await move_run(here, "r", there, "there")

    moved = await there.get("r")
    assert moved == replace(before, updated_at=moved.updated_at)
    assert (await there.get("r/1/0")).parent == "r"
    (entry,) = [stored.entry async for stored in there.read("r/1/0", after=1)]
    await there.load_blobs([entry], "r/1/0")
    (pending,) = await there.list_approvals()
    assert (await here.get("r")).status is RunStatus.STOPPED
    assert await here.list_approvals() == []
    with pytest.raises(RunMovedError, match=r"was moved to there\. Continue it there"):
        await here.say("r", "late")
    with pytest.raises(RunMovedError, match="was moved to there"):
        await here.approve(pending.approval_id, by="ana")

    second = await there.claim("r")
    for words in ("hurry", "please"):
        heard = await there.append(second, (), listens=True)
        assert heard is not None
        assert heard.said.content == words
        await there.append(second, notes(words), heard=heard.number)
    await there.approve(pending.approval_id, by="ana")
    await move_run(there, "r", here, "here")

    assert await texts_of(here) == ["one", "hurry", "please"]
    assert (await here.get_approval(pending.approval_id)).status is ApprovalStatus.APPROVED
    assert await here.waiting_words("r") == []
    assert await live("r", here, there) == [here]
    for _ in range(3):
        assert await lost(here, first)
        assert await lost(there, second)
        await here.claim("r")


@pytest.mark.requirement("P1", "P2")
@one_pair
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("point", ["Departed", "Received", "Arrived"])
async def test_a_move_that_is_cut_off_anywhere_can_be_repeated(
    places: Places, point: str, *, before: bool
) -> None:
    for here, there, name in ((*places, "there"), (places.there, places.here, "here")):
        if name == "there":
            await begun(here)
        die_at(there if point == "Received" else here, point, before=before)
        with pytest.raises(ProcessDied):
            await move_run(here, "r", there, name)
        assert len(await live("r", here, there)) <= 1
        if await live("r", there) == []:
            assert await here.prune(time.time() + 60) == 0  # it may be the only copy

        await move_run(here, "r", there, name)

        assert await live("r", here, there) == [there]
        assert await there.waiting_words("r") != []
        assert len(await there.list_approvals()) == 1
        await move_run(here, "r", there, name)  # it is done, and stays done


@one_pair
async def test_a_move_back_finishes_the_one_before_it_that_was_cut_off_at_its_end(places: Places) -> None:
    here, there = places
    await begun(here)
    die_at(here, "Arrived")
    with pytest.raises(ProcessDied):
        await move_run(here, "r", there, "there")
    await there.append(await there.claim("r"), notes("two"))
    die_at(here, "Received")
    with pytest.raises(ProcessDied):
        await move_run(there, "r", here, "here")

    with pytest.raises(RunMovedError):  # else what happened there would be lost
        await move_run(here, "r", there, "there")
    await move_run(there, "r", here, "here")

    assert await texts_of(here) == ["one", "two"]
    assert await live("r", here, there) == [here]


@pytest.mark.requirement("P2")
@one_pair
async def test_of_movers_and_drivers_that_meet_none_makes_a_second_copy_or_loses_an_entry(
    places: Places,
) -> None:
    here, there = places

    async def drive(run_id: str) -> list[str]:
        written = []
        with suppress(LeaseLostError, RunMovedError):
            lease = await here.claim(run_id)
            check_here(await here.get(run_id))
            for number in range(5):
                await here.append(lease, notes(str(number)))
                written.append(str(number))
        return written

    for run_id in map(str, range(10)):
        await here.create(record(run_id), notes("one"))
        moves = [move_run(here, run_id, there, "there") for _ in range(2)]
        driving = asyncio.create_task(drive(run_id))
        await asyncio.gather(driving, *moves, return_exceptions=True)
        assert len(await live(run_id, here, there)) <= 1

        await move_run(here, run_id, there, "there")

        assert await live(run_id, here, there) == [there]
        assert await texts_of(there, run_id) == ["one", *driving.result()]


@pytest.mark.parametrize("places", [("memory", "memory")], indirect=True, ids="-".join)
async def test_a_run_that_cannot_be_moved_stays_as_it_is(places: Places) -> None:
    here, there = places
    lease = await begun(here)
    await there.create(record(), notes("another run"))
    with pytest.raises(RunExistsError):
        await move_run(here, "r", there, "there")
    with pytest.raises(InvalidInputError, match="Move the run 'r'"):
        await move_run(here, "r/1/0", MemoryJournal(), "there")
    assert await lost(here, lease) is False

    start = RunStarted(
        at=1.0, run_id="c", trace_id="t", agent=("c",), system="", messages=(), head=0, limits=Limits(),
        info=ModelInfo(), execution=Execution("c", 1),
    )  # fmt: skip
    await here.create(record("c"), [encode_entry(start)])
    with pytest.raises(InvalidInputError, match="an agent that is a class"):
        await move_run(here, "c", there, "there")

    await here.create(record("d"), [note("one")], blobs=[])
    await here.create(record("d/1/0", parent="d"), [b"damage"])
    here._runs["d/1/0"].record = replace(here._runs["d/1/0"].record, entries=9)  # type: ignore[attr-defined]
    with pytest.raises(JournalDamagedError):
        await move_run(here, "d", there, "there")
    assert await live("d", here, there) == [here]
    assert (await here.get("d")).status is RunStatus.RUNNING


class Overtaken(MemoryJournal):
    """A journal to which a run is being moved while it is moved by others, too."""

    moves: Sequence[tuple[Journal, Journal, str]] = ()

    async def get(self, run_id: str) -> RunRecord:
        """Have the others move the run first."""
        moves, self.moves = self.moves, ()
        for source, target, place in moves:
            await move_run(source, run_id, target, place)
        return await super().get(run_id)


@pytest.mark.requirement("P2")
@pytest.mark.parametrize("through", [False, True], ids=["elsewhere", "there-and-on"])
async def test_a_run_that_two_move_at_once_is_in_one_place(through: bool) -> None:
    here, there, late = MemoryJournal(), MemoryJournal(), Overtaken()
    await begun(here)
    late.moves = [(here, late, "late"), (late, there, "there")] if through else [(here, there, "there")]

    with pytest.raises(RunMovedError):
        await move_run(here, "r", late, "late")

    assert await live("r", here, there, late) == [there]
