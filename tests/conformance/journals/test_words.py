"""Words for a run wait in its journal until the run takes them in, once and in order, alike in every journal."""

from __future__ import annotations

import asyncio

import pytest

from conformance.journals.shelf import KeptShelf, document, notes, record, texts_of
from maverick.exceptions import InvalidInputError, LeaseLostError, RunNotFoundError
from maverick.journal import Journal, RunStatus
from maverick.journal.codec import blobs_in, encode_entry
from maverick.journal.records import Lease, Words
from maverick.loop.entries import Said
from maverick.model import Message, Text


async def listen(journal: Journal, lease: Lease, text: str = "turn") -> Words | None:
    """Write an entry, unless words wait."""
    return await journal.append(lease, notes(text), listens=True)


async def take_in(journal: Journal, lease: Lease, words: Words) -> None:
    await journal.append(lease, [encode_entry(words.said)], heard=words.number, blobs=blobs_in(words.said))


async def test_words_come_before_a_write_that_listens_one_by_one_and_in_order(journal: Journal) -> None:
    lease = await journal.create(record(), notes("one"))
    assert await listen(journal, lease, "two") is None
    await journal.say("r", "first", by="ana")
    await journal.say("r", "second")
    await journal.append(lease, notes("three"))

    heard = []
    while (words := await listen(journal, lease, "four")) is not None:
        heard.append((words.said.content, words.said.by))
        await take_in(journal, lease, words)

    assert heard == [("first", "ana"), ("second", "")]
    assert await texts_of(journal) == ["one", "two", "three", "four"]
    said = [stored.entry async for stored in journal.read("r") if isinstance(stored.entry, Said)]
    assert [entry.content for entry in said] == ["first", "second"]


async def test_words_may_have_images_and_documents(journal: Journal) -> None:
    lease, plan = await journal.create(record(), notes("one")), document("the plan")
    await journal.say("r", ["Follow this.", plan.part])

    words = await listen(journal, lease)

    assert words is not None
    await journal.load_blobs([words.said])
    assert Message.user(words.said.parts) == Message.user([Text("Follow this."), plan.part])
    assert [blob.data for blob in blobs_in(words.said)] == [b"the plan"]
    await take_in(journal, lease, words)
    await journal.delete("r")
    assert await journal.blob_names("r") == []


async def test_only_runs_that_may_go_on_hear_and_only_those_of_the_user(journal: Journal) -> None:
    for run_id, status, reason in (
        ("waiting", RunStatus.WAITING, ""),
        ("stopped", RunStatus.STOPPED, "max_turns"),
        ("done", RunStatus.COMPLETE, "complete"),
        ("refused", RunStatus.STOPPED, "refused"),
    ):
        await journal.create(record(run_id, status=status, reason=reason, user_id="ana"), [])

    await journal.say("waiting", "on", user_id="ana")
    await journal.say("stopped", "on")

    for ended in ("done", "refused"):
        with pytest.raises(InvalidInputError, match=f"{ended}.*has ended.*new run"):
            await journal.say(ended, "on")
    for run_id, user_id in (("waiting", "bob"), ("nowhere", None)):
        with pytest.raises(RunNotFoundError):
            await journal.say(run_id, "on", user_id=user_id)
    assert await listen(journal, await journal.claim("stopped")) is not None


@pytest.mark.parametrize("content", ["", " ", [], "x" * 100_001, ["x"] * 101])
async def test_nothing_and_too_much_cannot_be_said(journal: Journal, content: str | list[str]) -> None:
    await journal.create(record(), notes("one"))

    with pytest.raises(InvalidInputError, match="content"):
        await journal.say("r", content)


async def test_words_that_wait_can_be_taken_back_and_those_that_were_heard_cannot(journal: Journal) -> None:
    lease = await journal.create(record(), notes("one"))
    numbers = [await journal.say("r", words) for words in ("first", "second", "third")]

    taken = await journal.unsay("r", numbers[1])
    again = await journal.unsay("r", numbers[1])
    heard = []
    while (said := await listen(journal, lease)) is not None:
        heard.append(said.said.content)
        await take_in(journal, lease, said)

    assert (taken, again) == (True, False)
    assert heard == ["first", "third"]
    assert not await journal.unsay("r", numbers[0])


async def test_so_many_words_may_wait_and_no_more(journal: Journal) -> None:
    lease = await journal.create(record(), [])
    await asyncio.gather(*(journal.say("r", str(number)) for number in range(100)))

    with pytest.raises(InvalidInputError, match="100 messages already wait"):
        await journal.say("r", "one too many")

    words = await listen(journal, lease)
    assert words is not None
    await take_in(journal, lease, words)
    await journal.say("r", "room again")


async def test_an_overtaken_process_takes_no_words_in(journal: Journal) -> None:
    lease = await journal.create(record(), notes("one"))
    await journal.say("r", "hello")
    words = await listen(journal, lease)
    newest = await journal.claim("r")

    assert words is not None
    with pytest.raises(LeaseLostError):
        await take_in(journal, lease, words)
    with pytest.raises(LeaseLostError):
        await listen(journal, Lease("r", 1))

    assert await listen(journal, newest) == words


async def test_of_many_runs_that_write_at_once_only_those_with_words_hear(journal: Journal) -> None:
    leases = [await journal.create(record(f"r{number}"), []) for number in range(10)]
    await journal.say("r3", "hello")

    heard = await asyncio.gather(*(listen(journal, lease) for lease in leases))

    assert [words is not None for words in heard] == [number == 3 for number in range(10)]
    for number in range(10):
        assert await texts_of(journal, f"r{number}") == ([] if number == 3 else ["turn"])


async def test_what_is_said_while_a_run_ends_is_heard_or_refused(kept_shelf: KeptShelf) -> None:
    async with kept_shelf.open() as driver, kept_shelf.open() as person:
        for number in range(20):
            run_id = f"r{number}"
            lease = await driver.create(record(run_id), [])

            words, said = await asyncio.gather(
                driver.append(lease, notes("end"), RunStatus.COMPLETE, "complete", listens=True),
                person.say(run_id, "wait"),
                return_exceptions=True,
            )

            ended = (await driver.get(run_id)).status is RunStatus.COMPLETE
            assert (words is None) == ended
            assert isinstance(said, InvalidInputError) == ended
