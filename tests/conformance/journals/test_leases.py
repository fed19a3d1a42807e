"""One process at a time writes a run; whoever was overtaken, or failed once, writes nothing."""

from __future__ import annotations

import asyncio

import pytest

from conformance.journals.shelf import KeptShelf, note, notes, record, texts_of
from maverick.exceptions import JournalError, LeaseLostError, RunExistsError
from maverick.journal import Journal, RunStatus
from maverick.journal.records import Lease


@pytest.mark.requirement("P1")
async def test_a_lease_that_was_overtaken_writes_nothing(journal: Journal) -> None:
    old = await journal.create(record(), notes("one"))
    new = await journal.claim("r")

    with pytest.raises(LeaseLostError) as lost:
        await journal.append(old, notes("stale"), RunStatus.STOPPED, "stale")

    assert lost.value.run_id == "r"
    assert (await journal.get("r")).status is RunStatus.RUNNING
    await journal.append(new, notes("two"))
    assert await texts_of(journal) == ["one", "two"]


async def test_each_claim_voids_all_before_it(journal: Journal) -> None:
    leases = [await journal.create(record(), [])]
    leases += [await journal.claim("r") for _ in range(4)]

    for lease in leases[:-1]:
        with pytest.raises(LeaseLostError):
            await journal.append(lease, notes("stale"))

    await journal.append(leases[-1], notes("newest"))
    assert await texts_of(journal) == ["newest"]


async def test_the_lease_on_a_run_that_was_removed_is_lost(journal: Journal) -> None:
    lease = await journal.create(record(), [])
    await journal.delete("r")

    with pytest.raises(LeaseLostError):
        await journal.append(lease, notes("late"))

    assert await journal.list_runs() == []


@pytest.mark.requirement("P1")
async def test_a_lease_ends_with_the_first_write_that_fails(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = await journal.create(record(), notes("one"))

    async def fail(*_: object) -> None:
        raise JournalError("The disk is full.")

    with monkeypatch.context() as broken:
        broken.setattr(journal, "_append", fail)
        with pytest.raises(JournalError, match="full"):
            await journal.append(lease, notes("lost"))

    with pytest.raises(LeaseLostError, match="Resume the run"):
        await journal.append(lease, notes("after a hole"))
    await journal.append(await journal.claim("r"), notes("two"))
    assert await texts_of(journal) == ["one", "two"]


async def test_entries_of_one_write_are_kept_together_or_not_at_all(kept: Journal) -> None:
    lease = await kept.create(record(), notes("one"))

    with pytest.raises(JournalError):
        await kept.append(lease, [note("two"), None], RunStatus.COMPLETE)  # type: ignore[list-item]

    assert await texts_of(kept) == ["one"]
    assert (await kept.get("r")).entries == 1
    assert (await kept.get("r")).status is RunStatus.RUNNING


async def test_a_write_that_fails_takes_no_other_run_with_it(journal: Journal) -> None:
    leases = [await journal.create(record(f"r{number}"), []) for number in range(20)]
    await journal.claim("r7")

    results = await asyncio.gather(
        *(journal.append(lease, notes("a", "b")) for lease in leases),
        journal.create(record("r3"), notes("taken")),
        return_exceptions=True,
    )

    assert isinstance(results.pop(), RunExistsError)
    assert [type(result) for result in results] == [
        LeaseLostError if number == 7 else type(None) for number in range(20)
    ]
    for number in range(20):
        assert await texts_of(journal, f"r{number}") == ([] if number == 7 else ["a", "b"])


async def test_a_write_that_can_not_be_made_sense_of_takes_no_other_run_with_it(kept: Journal) -> None:
    leases = [await kept.create(record(f"r{number}"), []) for number in range(20)]

    results = await asyncio.gather(
        *(
            kept.append(lease, [object()] if number == 7 else notes("a"))  # type: ignore[list-item]
            for number, lease in enumerate(leases)
        ),
        return_exceptions=True,
    )

    assert [type(result) for result in results] == [
        JournalError if number == 7 else type(None) for number in range(20)
    ]
    assert await texts_of(kept, "r7") == []
    assert await texts_of(kept, "r8") == ["a"]


@pytest.mark.requirement("P1")
async def test_many_runs_are_written_at_once_and_each_keeps_its_order(journal: Journal) -> None:
    async def write(run_id: str) -> None:
        lease = await journal.create(record(run_id), notes("0"))
        for number in range(1, 10):
            await journal.append(lease, notes(f"{number}", f"{number}'"))

    runs = [f"run {number}" for number in range(50)]
    await asyncio.gather(*map(write, runs))

    expected = ["0"] + [text for number in range(1, 10) for text in (f"{number}", f"{number}'")]
    for run_id in runs:
        assert await texts_of(journal, run_id) == expected


@pytest.mark.requirement("P1")
async def test_writes_of_any_size_that_come_together_are_each_kept_whole(journal: Journal) -> None:
    leases = [await journal.create(record(f"r{number}"), notes("first")) for number in range(40)]
    await journal.claim("r13")

    results = await asyncio.gather(
        *(
            journal.append(
                lease,
                notes(*(f"{number}.{place}" for place in range(7 * number))),
                RunStatus.STOPPED if number % 2 else RunStatus.RUNNING,
                "told so" if number % 2 else "",
            )
            for number, lease in enumerate(leases)
        ),
        return_exceptions=True,
    )

    assert [type(result) for result in results if result is not None] == [LeaseLostError]
    for number in range(40):
        kept = await journal.get(f"r{number}")
        added = 0 if number == 13 else 7 * number
        assert await texts_of(journal, kept.run_id) == ["first", *(f"{number}.{n}" for n in range(added))]
        assert kept.entries == 1 + added
        ended = number % 2 == 1 and number != 13
        assert kept.status is (RunStatus.STOPPED if ended else RunStatus.RUNNING)
        assert kept.reason == ("told so" if ended else "")


async def test_writes_of_one_lease_that_overlap_share_no_number(journal: Journal) -> None:
    lease = await journal.create(record(), [])

    await asyncio.gather(*(journal.append(lease, notes(str(number), str(number))) for number in range(30)))

    written = await texts_of(journal)
    assert sorted(written) == sorted(str(number) for number in range(30) for _ in range(2))
    assert written[::2] == written[1::2]
    assert (await journal.get("r")).entries == 60


async def test_of_many_who_create_the_same_run_one_succeeds(journal: Journal) -> None:
    results = await asyncio.gather(
        *(journal.create(record(), notes(str(number))) for number in range(20)), return_exceptions=True
    )

    made = [number for number, result in enumerate(results) if isinstance(result, Lease)]
    assert len(made) == 1
    assert sum(isinstance(result, RunExistsError) for result in results) == 19
    assert await texts_of(journal) == [str(made[0])]


@pytest.mark.requirement("P1")
async def test_of_many_who_claim_a_run_one_may_write(journal: Journal) -> None:
    await journal.create(record(), [])
    leases = await asyncio.gather(*(journal.claim("r") for _ in range(20)))

    results = await asyncio.gather(
        *(journal.append(lease, notes(str(lease.token))) for lease in leases), return_exceptions=True
    )

    assert len({lease.token for lease in leases}) == 20
    assert [type(result) for result in results].count(type(None)) == 1
    assert await texts_of(journal) == [str(max(lease.token for lease in leases))]


async def test_a_write_goes_on_when_whoever_waits_for_it_is_cancelled(journal: Journal) -> None:
    lease = await journal.create(record(), [])
    writing = asyncio.ensure_future(journal.append(lease, notes("kept")))
    await asyncio.sleep(0)
    writing.cancel()
    await asyncio.wait([writing])

    await journal.append(await journal.claim("r"), notes("next"))

    assert await texts_of(journal) in (["kept", "next"], ["next"])


@pytest.mark.requirement("P1")
async def test_what_was_written_is_there_after_closing_and_opening_again(kept_shelf: KeptShelf) -> None:
    async with kept_shelf.open() as journal:
        lease = await journal.create(record(), notes("one"))

    await journal.append(lease, notes("two"))
    assert await texts_of(journal) == ["one", "two"]
    await journal.aclose()
    await journal.aclose()

    async with kept_shelf.open() as again:
        assert await texts_of(again) == ["one", "two"]
        await again.append(lease, notes("three"))
        assert (await again.get("r")).entries == 3


async def test_closing_waits_for_what_is_being_written(kept_shelf: KeptShelf) -> None:
    journal = kept_shelf.open()
    lease = await journal.create(record(), [])
    writing = [asyncio.ensure_future(journal.append(lease, notes(str(number)))) for number in range(50)]
    await asyncio.sleep(0)

    await journal.aclose()

    await asyncio.gather(*writing)
    async with kept_shelf.open() as again:
        assert len(await texts_of(again)) == 50


def test_a_journal_serves_one_event_loop_after_another(kept_shelf: KeptShelf) -> None:
    journal = kept_shelf.open()

    async def write_and_close() -> int:
        before = len(await journal.list_runs())
        await journal.create(record(f"r{before}"), notes("hi"))
        await journal.aclose()
        return before

    with asyncio.Runner() as first, asyncio.Runner() as second:
        assert [runner.run(write_and_close()) for runner in (first, second, first)] == [0, 1, 2]
