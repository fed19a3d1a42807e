"""Images and documents are kept once, beside the entries that name them, alike in every journal."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from conformance.journals.shelf import KeptShelf, PostgresShelf, document, note, notes, record, seen, texts_of
from maverick.exceptions import InvalidInputError, JournalDamagedError, LeaseLostError
from maverick.journal import Journal
from maverick.journal.codec import blobs_in
from maverick.loop.entries import Entry
from maverick.model import Blob


async def entries_of(journal: Journal, run_id: str = "r") -> list[Entry]:
    return [stored.entry async for stored in journal.read(run_id)]


async def contents_of(journal: Journal, run_id: str = "r") -> list[bytes]:
    entries = await entries_of(journal, run_id)
    await journal.load_blobs(entries, run_id)
    return [blob.data for entry in entries for blob in blobs_in(entry)]


async def is_stored(journal: Journal, blob: Blob) -> bool:
    try:
        await journal.load_blob(Blob(None, blob.sha256))
    except JournalDamagedError:
        return False
    return True


async def test_an_entry_is_read_without_the_bytes_it_names_until_they_are_asked_for(journal: Journal) -> None:
    first, second = document("first"), document("second")
    lease = await journal.create(record(), [note("hi"), seen(first)], blobs=[first.blob])
    await journal.append(lease, [seen(second), seen(first)], blobs=[second.blob, first.blob])

    entries = await entries_of(journal)
    named = [blob for entry in entries for blob in blobs_in(entry)]

    assert named == [first.blob, second.blob, first.blob]
    assert [blob.size for blob in named] == [5, 6, 5]
    assert not any(blob.is_loaded for blob in named)
    with pytest.raises(InvalidInputError, match="not been loaded"):
        _ = named[0].data
    await journal.load_blobs(entries)
    assert [blob.data for blob in named] == [b"first", b"second", b"first"]
    assert await journal.blob_names("r") == sorted({first.blob.sha256, second.blob.sha256})


async def test_a_blob_goes_with_the_last_run_that_names_it(journal: Journal) -> None:
    shared, own = document("shared"), document("own")
    await journal.create(record("one"), [seen(shared), seen(own)], blobs=[shared.blob, own.blob])
    await journal.create(record("one/1/0", parent="one"), [seen(shared)], blobs=[shared.blob])
    await journal.create(record("two"), [seen(shared)], blobs=[shared.blob])

    await journal.delete("one")

    assert not await is_stored(journal, own.blob)
    assert await contents_of(journal, "two") == [b"shared"]
    await journal.delete("two")
    assert not await is_stored(journal, shared.blob)


async def test_runs_that_write_at_once_each_get_their_blobs(journal: Journal) -> None:
    leases = [await journal.create(record(f"r{number}"), []) for number in range(20)]

    await asyncio.gather(
        *(
            journal.append(lease, [seen(each := document(f"no. {number // 2}"))], blobs=[each.blob])
            for number, lease in enumerate(leases)
        ),
        journal.append(await journal.create(record("plain"), []), notes("text")),
    )

    for number in range(20):
        assert await contents_of(journal, f"r{number}") == [b"no. %d" % (number // 2)]
    assert await journal.blob_names("plain") == []


async def test_an_overtaken_process_leaves_no_blob_behind(journal: Journal) -> None:
    lease, late = await journal.create(record(), notes("one")), document("late")
    await journal.claim("r")

    with pytest.raises(LeaseLostError):
        await journal.append(lease, [seen(late)], blobs=[late.blob])

    assert not await is_stored(journal, late.blob)
    assert await journal.blob_names("r") == []


async def test_a_tools_transaction_keeps_its_blobs_or_nothing(kept: Journal) -> None:
    lease, done, undone = await kept.create(record(), notes("one")), document("done"), document("undone")

    async with kept.transaction(lease) as transaction:
        await transaction.fetch("SELECT 1")
        await transaction.commit([seen(done)], [done.blob])
    await kept.claim("r")
    async with kept.transaction(lease) as transaction:
        await transaction.fetch("SELECT 1")
        with pytest.raises(LeaseLostError):
            await transaction.commit([seen(undone)], [undone.blob])

    assert await contents_of(kept) == [b"done"]
    assert not await is_stored(kept, undone.blob)


async def test_a_run_that_names_a_blob_keeps_it_while_others_that_named_it_are_removed(
    kept_shelf: KeptShelf,
) -> None:
    shared = document("shared")
    async with kept_shelf.open() as one, kept_shelf.open() as other:
        await one.create(record("0"), [seen(shared)], blobs=[shared.blob])
        for before, after in pairwise(map(str, range(30))):
            await asyncio.gather(
                one.create(record(after), [seen(shared)], blobs=[shared.blob]), other.delete(before)
            )

            assert await contents_of(one, after) == [b"shared"]


@pytest.mark.parametrize(
    ("change", "state"), [("DELETE FROM {}", "missing"), ("UPDATE {} SET data = {}", "damaged")]
)
async def test_what_is_missing_or_damaged_is_named(kept_shelf: KeptShelf, change: str, state: str) -> None:
    lost = document("lost")
    is_postgres = isinstance(kept_shelf, PostgresShelf)
    names = ("maverick.blobs", "'x'::bytea") if is_postgres else ("blobs", "x'00'")
    async with kept_shelf.open() as journal:
        lease = await journal.create(record(), [note("hi"), seen(lost)], blobs=[lost.blob])
        async with journal.transaction(lease) as transaction:
            await transaction.execute(change.format(*names))
            await transaction.commit([])

        with pytest.raises(JournalDamagedError, match=f"{state}.*{lost.blob.sha256}") as damage:
            await contents_of(journal)

        assert damage.value.run_id == "r"
        assert await texts_of(journal) == ["hi"]
