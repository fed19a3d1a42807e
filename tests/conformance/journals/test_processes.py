"""Several processes share one journal: nothing is lost, and one of them writes a run."""

from __future__ import annotations

import asyncio

import pytest

from conformance.journals.other_process import other_processes
from conformance.journals.shelf import KeptShelf, notes, record, texts_of
from conformance.journals.test_approvals import request
from maverick.exceptions import LeaseLostError
from maverick.journal import ApprovalStatus
from maverick.journal.codec import blobs_in


@pytest.mark.requirement("P1")
async def test_processes_that_make_a_new_journal_at_once_all_write_to_it(kept_shelf: KeptShelf) -> None:
    async with other_processes(kept_shelf.address, 3) as others:
        answers = await asyncio.gather(
            *(other.ask("fill", f"p{n}-", 10, 5) for n, other in enumerate(others))
        )

    assert answers == ["None"] * 3
    async with kept_shelf.open() as journal:
        runs = await journal.list_runs()
        assert sorted(run.run_id for run in runs) == sorted(f"p{p}-{n}" for p in range(3) for n in range(10))
        assert {run.entries for run in runs} == {5}
        assert await texts_of(journal, "p2-9") == ["0", "1", "2", "3", "4"]


@pytest.mark.requirement("P1")
async def test_a_run_another_process_has_claimed_is_no_longer_written_by_this_one(
    kept_shelf: KeptShelf,
) -> None:
    async with kept_shelf.open() as journal, other_processes(kept_shelf.address) as (other,):
        lease = await journal.create(record(), notes("mine"))
        assert await other.ask("claim", "r") == "2"

        with pytest.raises(LeaseLostError):
            await journal.append(lease, notes("stale"))

        assert await other.ask("append", "r", "theirs") == "None"
        assert await texts_of(journal) == ["mine", "theirs"]
        await journal.claim("r")
        assert await other.ask("append", "r", "stale") == "LeaseLostError"


@pytest.mark.requirement("P1")
async def test_nothing_is_written_by_another_process_after_its_run_was_claimed(kept_shelf: KeptShelf) -> None:
    async with kept_shelf.open() as journal, other_processes(kept_shelf.address) as (other,):
        for attempt in range(5):
            run_id = f"r{attempt}"
            await other.ask("create", run_id)
            other.tell("write_for_ever", run_id)
            await other.hear()

            lease = await journal.claim(run_id)
            seen = await texts_of(journal, run_id)
            await journal.append(lease, notes("mine"))
            while (said := await other.hear()) != "LeaseLostError":
                assert said in seen

            assert await texts_of(journal, run_id) == [*seen, "mine"]


async def test_of_processes_that_create_the_same_run_one_succeeds(kept_shelf: KeptShelf) -> None:
    async with other_processes(kept_shelf.address, 3) as others:
        answers = await asyncio.gather(*(other.ask("create", "r") for other in others))

    assert sorted(answers) == ["1", "RunExistsError", "RunExistsError"]


@pytest.mark.requirement("P1")
async def test_of_processes_that_claim_a_run_at_once_one_may_write(kept_shelf: KeptShelf) -> None:
    async with kept_shelf.open() as journal, other_processes(kept_shelf.address, 3) as others:
        await journal.create(record(), [])
        tokens = await asyncio.gather(*(other.ask("claim", "r") for other in others))
        answers = await asyncio.gather(
            *(other.ask("append", "r", token) for other, token in zip(others, tokens, strict=True))
        )

        assert sorted(tokens) == ["2", "3", "4"]
        assert sorted(answers) == ["LeaseLostError", "LeaseLostError", "None"]
        assert await texts_of(journal) == ["4"]


@pytest.mark.requirement("P7")
async def test_of_processes_that_decide_at_once_one_decides(kept_shelf: KeptShelf) -> None:
    async with kept_shelf.open() as journal, other_processes(kept_shelf.address, 3) as others:
        await journal.request_approvals(await journal.create(record(), []), [request()])
        answers = await asyncio.gather(
            *(other.ask("approve", "r:1:0", f"user{n}") for n, other in enumerate(others))
        )

        assert answers.count("ApprovalError") == 2
        decided = await journal.get_approval("r:1:0")
        assert (decided.status, decided.decided_by in answers) == (ApprovalStatus.APPROVED, True)


@pytest.mark.requirement("P1")
async def test_what_a_killed_process_called_durable_is_there(kept_shelf: KeptShelf) -> None:
    async with other_processes(kept_shelf.address) as (other,):
        await other.ask("create", "r")
        other.tell("write_for_ever", "r")
        said = [await other.hear() for _ in range(30)]
        said += await other.kill()

    async with kept_shelf.open() as journal:
        written = await texts_of(journal)
        assert written[: len(said)] == said
        assert len(written) <= len(said) + 1
        entries = [stored.entry async for stored in journal.read("r")]
        await journal.load_blobs(entries)
        named = {blob.sha256 for entry in entries for blob in blobs_in(entry)}
        assert len(named) == len(written)
        assert await journal.blob_names("r") == sorted(named)
        await journal.append(await journal.claim("r"), notes("on"))
        assert (await texts_of(journal))[-1] == "on"
