"""What was written comes back: in order, page by page, and exactly as it was."""

from __future__ import annotations

import pytest

from conformance.journals.shelf import note, notes, record, texts_of
from maverick.exceptions import JournalError
from maverick.journal import Journal
from maverick.journal.codec import VERSION, encode_entry
from maverick.loop.entries import Edited, ToolFinished
from maverick.loop.result import ToolOutcome


class CountedPages:
    """Counts the rows a journal hands out."""

    def __init__(self, journal: Journal) -> None:
        self.rows = 0
        self.largest = 0
        self._read_page = journal.read_page
        journal.read_page = self  # type: ignore[method-assign]

    async def __call__(self, run_id: str, after: int, limit: int) -> list[tuple[int, int, bytes]]:
        page = await self._read_page(run_id, after, limit)
        self.rows += len(page)
        self.largest = max(self.largest, len(page))
        return page


async def test_entries_are_read_in_the_order_they_were_written(journal: Journal) -> None:
    lease = await journal.create(record(), notes("1", "2"))
    await journal.append(lease, notes("3"))
    lease = await journal.claim("r")
    await journal.append(lease, notes("4", "5"))

    assert await texts_of(journal) == ["1", "2", "3", "4", "5"]
    assert await texts_of(journal, after=3) == ["4", "5"]
    assert await texts_of(journal, after=5) == []


async def test_a_run_without_entries_reads_as_nothing(journal: Journal) -> None:
    await journal.create(record(), [])

    assert await texts_of(journal) == []


async def test_a_page_has_numbers_versions_and_payloads(journal: Journal) -> None:
    await journal.create(record(), notes("1", "2", "3"))

    assert await journal.read_page("r", 1, 1) == [(2, VERSION, note("2"))]
    assert await journal.read_page("r", 0, 2) == [(1, VERSION, note("1")), (2, VERSION, note("2"))]
    assert await journal.read_page("r", 3, 10) == []
    assert await journal.read_page("x", 0, 10) == []


async def test_the_last_of_ten_thousand_entries_are_read_without_the_rest(journal: Journal) -> None:
    lease = await journal.create(record(), [])
    for thousand in range(10):
        await journal.append(lease, [note(str(thousand * 1000 + number)) for number in range(1000)])
    counted = CountedPages(journal)

    tail = [stored async for stored in journal.read("r", after=9_980)]

    assert [stored.seq for stored in tail] == list(range(9_981, 10_001))
    assert isinstance(tail[-1].entry, Edited)
    assert tail[-1].entry.content == "9999"
    assert counted.rows == 20


async def test_ten_thousand_entries_are_read_in_pages(journal: Journal) -> None:
    await journal.create(record(), [note(str(number)) for number in range(10_000)])
    counted = CountedPages(journal)

    assert await texts_of(journal) == [str(number) for number in range(10_000)]
    assert counted.rows == 10_000
    assert counted.largest < 1_000


async def test_whoever_stops_reading_causes_no_more_reading(journal: Journal) -> None:
    await journal.create(record(), [note(str(number)) for number in range(10_000)])
    counted = CountedPages(journal)

    async for stored in journal.read("r"):
        if stored.seq == 10:
            break

    assert counted.rows < 1_000


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("a\0b", id="nul"),
        pytest.param("\ud800", id="a lone high surrogate"),
        pytest.param("x\udfffy\0z", id="a lone low surrogate and a nul"),
        pytest.param("🦊👩‍👩‍👧 naïve — 漢字 \u202e", id="emoji and other scripts"),
        pytest.param('"\\\n\r\t\x1b\x7f</script>', id="what JSON escapes"),
    ],
)
async def test_any_text_comes_back_as_it_was(journal: Journal, text: str) -> None:
    finished = ToolFinished(at=1.0, index=0, outcome=ToolOutcome.FINISHED, content=text)
    await journal.create(record(), [encode_entry(finished)])

    assert [stored.entry async for stored in journal.read("r")] == [finished]


async def test_five_megabytes_come_back_as_they_were(journal: Journal) -> None:
    text = "0123456789abcdé" * 350_000
    lease = await journal.create(record(), [note(text)])
    await journal.append(lease, notes(text[::-1], "end"))

    assert await texts_of(journal) == [text, text[::-1], "end"]


async def test_payloads_are_kept_byte_for_byte(journal: Journal) -> None:
    payload = bytes(range(256))
    await journal.create(record(), [payload, b""])

    assert [kept for _, _, kept in await journal.read_page("r", 0, 10)] == [payload, b""]


async def test_a_damaged_entry_is_a_typed_error(journal: Journal) -> None:
    await journal.create(record(), [note("whole"), b'{"type":"Edited"', note("after it")])

    with pytest.raises(JournalError, match="damaged"):
        await texts_of(journal)
