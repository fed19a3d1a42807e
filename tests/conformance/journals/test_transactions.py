"""What a transactional tool does and the entry that tells of it are one (promise P2), in every database."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from conformance.journals.shelf import KeptShelf, notes, record, texts_of
from maverick.exceptions import JournalError, LeaseLostError, ToolError
from maverick.journal import Journal, MemoryJournal, RunStatus
from maverick.journal.records import Lease


class Bank:
    """A table beside the journal's own."""

    def __init__(self, journal: Journal, shelf: KeptShelf) -> None:
        self.journal = journal
        self.lease: Lease
        first, second = shelf.placeholders
        self.insert = f"INSERT INTO payments (payee, amount) VALUES ({first}, {second})"  # noqa: S608 - our own
        self.find = f"SELECT payee, amount FROM payments WHERE payee = {first}"  # noqa: S608 - our own

    async def open(self) -> Bank:
        self.lease = await self.journal.create(record(), [])
        async with self.journal.transaction(self.lease) as transaction:
            await transaction.execute(
                "CREATE TABLE payments (payee VARCHAR(40) PRIMARY KEY, amount INTEGER NOT NULL)"
            )
            await transaction.commit(notes("made"))
        return self

    async def pay(self, payee: str, *, error: Exception | None = None) -> None:
        async with self.journal.transaction(self.lease) as transaction:
            await transaction.execute(self.insert, payee, 5)
            if error is not None:
                raise error
            await transaction.commit(notes(f"paid {payee}"))

    async def payees(self) -> list[str]:
        async with self.journal.transaction(self.lease) as transaction:
            rows = await transaction.fetch("SELECT payee FROM payments ORDER BY payee")
        return [row["payee"] for row in rows]


@pytest.fixture
async def bank(kept: Journal, kept_shelf: KeptShelf) -> Bank:
    """A run with a table beside it."""
    return await Bank(kept, kept_shelf).open()


@pytest.mark.requirement("P2")
async def test_effect_and_entry_are_committed_together(bank: Bank) -> None:
    await bank.pay("Ana")

    assert await bank.payees() == ["Ana"]
    assert await texts_of(bank.journal) == ["made", "paid Ana"]
    assert (await bank.journal.get("r")).entries == 2


@pytest.mark.requirement("P2")
async def test_without_commit_nothing_has_happened(bank: Bank) -> None:
    async with bank.journal.transaction(bank.lease) as transaction:
        await transaction.execute(bank.insert, "Ana", 5)
    with pytest.raises(ZeroDivisionError):
        await bank.pay("Ben", error=ZeroDivisionError())

    assert await bank.payees() == []
    assert await texts_of(bank.journal) == ["made"]


@pytest.mark.requirement("P2")
async def test_a_run_that_was_taken_over_undoes_the_effect(bank: Bank) -> None:
    await bank.journal.claim("r")

    with pytest.raises(LeaseLostError):
        await bank.pay("Ana")

    assert await bank.payees() == []
    assert await texts_of(bank.journal) == ["made"]


async def test_a_lease_that_has_ended_commits_nothing(bank: Bank) -> None:
    bank.lease.ended = True

    with pytest.raises(LeaseLostError):
        await bank.pay("Ana")

    assert await bank.payees() == []


async def test_a_tool_reads_what_it_has_written(bank: Bank) -> None:
    async with bank.journal.transaction(bank.lease) as transaction:
        await transaction.execute(bank.insert, "Ana", 5)

        assert await transaction.fetch(bank.find, "Ana") == [{"payee": "Ana", "amount": 5}]
        assert await transaction.fetch(bank.find, "Ben") == []
        assert await transaction.execute("UPDATE payments SET amount = 6") == 1
        assert await transaction.execute("DELETE FROM payments WHERE amount = 7") == 0


async def test_nobody_else_sees_it_before_the_commit(bank: Bank, kept_shelf: KeptShelf) -> None:
    async with kept_shelf.open() as other, bank.journal.transaction(bank.lease) as transaction:
        await transaction.execute(bank.insert, "Ana", 5)

        assert await texts_of(other) == ["made"]
        await transaction.commit(notes("paid"))
        assert await texts_of(other) == ["made", "paid"]


async def test_a_statement_that_is_refused_leaves_the_others_as_they_are(bank: Bank) -> None:
    async with bank.journal.transaction(bank.lease) as transaction:
        session = transaction
        await session.execute(bank.insert, "Ana", 5)
        for statement, values in (
            (bank.insert, ("Ana", 6)),
            (bank.insert, ("Ben", None)),
            ("SELEKT 1", ()),
            ("SELECT * FROM nowhere", ()),
            (bank.find, ("\ud800",)),
        ):
            with pytest.raises(ToolError, match="refused"):
                await session.execute(statement, *values)
        await session.execute(bank.insert, "Cleo", 5)
        await transaction.commit(notes("paid"))

    assert await bank.payees() == ["Ana", "Cleo"]


@pytest.mark.requirement("P2")
@pytest.mark.parametrize(
    "statement", ["COMMIT", "  rollback;", "END", "BEGIN", "savepoint x", "RELEASE x", "START TRANSACTION"]
)
async def test_a_tool_can_not_end_its_transaction_itself(bank: Bank, statement: str) -> None:
    async with bank.journal.transaction(bank.lease) as transaction:
        await transaction.execute(bank.insert, "Ana", 5)
        with pytest.raises(ToolError, match=r"not allowed in a tool|refused"):
            await transaction.execute(statement)

    assert await bank.payees() == []


@pytest.mark.requirement("P2")
async def test_a_tool_can_not_hide_a_commit_behind_another_statement(bank: Bank) -> None:
    async with bank.journal.transaction(bank.lease) as transaction:
        with pytest.raises(ToolError, match="refused"):
            await transaction.execute("DELETE FROM payments; COMMIT")
        await transaction.execute(bank.insert, "Ana", 5)

    assert await bank.payees() == []


@pytest.mark.parametrize("ending", ["committed", "rolled back"])
async def test_a_session_can_not_be_used_after_its_end(bank: Bank, ending: str) -> None:
    async with bank.journal.transaction(bank.lease) as transaction:
        if ending == "committed":
            await transaction.commit(notes("nothing"))
            with pytest.raises(ToolError, match="over"):
                await transaction.execute(bank.insert, "Ana", 5)

    with pytest.raises(ToolError, match="over"):
        await transaction.execute(bank.insert, "Ana", 5)

    assert await bank.payees() == []
    await bank.journal.append(bank.lease, notes("not held up"))


async def test_a_tool_that_used_no_statement_has_its_entry(bank: Bank) -> None:
    async with bank.journal.transaction(bank.lease) as transaction:
        await transaction.commit(notes("did nothing"))

    assert await texts_of(bank.journal) == ["made", "did nothing"]


@pytest.mark.requirement("P2")
async def test_forty_tools_at_once_have_all_their_effects_and_entries(bank: Bank) -> None:
    async def pay(number: int) -> None:
        async with bank.journal.transaction(bank.lease) as transaction:
            await transaction.execute(bank.insert, f"payee {number:02}", number)
            await asyncio.sleep(0.001)
            await transaction.fetch(bank.find, "somebody")
            await transaction.commit(notes(f"paid {number:02}"))

    await asyncio.gather(*map(pay, range(40)))

    assert await bank.payees() == [f"payee {number:02}" for number in range(40)]
    assert sorted(await texts_of(bank.journal)) == ["made", *(f"paid {number:02}" for number in range(40))]


async def test_tools_that_commit_and_other_writes_of_their_run_may_overlap(bank: Bank) -> None:
    appending = [bank.journal.append(bank.lease, notes(f"a{n:02}", f"a{n:02}")) for n in range(20)]
    await asyncio.gather(*appending, *(bank.pay(f"{n:02}") for n in range(20)))

    written = await texts_of(bank.journal)
    assert sorted(written) == sorted(
        ["made", *(f"a{n:02}" for n in range(20) for _ in range(2)), *(f"paid {n:02}" for n in range(20))]
    )


async def test_other_writes_wait_for_a_tool_and_are_not_lost(bank: Bank) -> None:
    async with bank.journal.transaction(bank.lease) as transaction:
        await transaction.execute(bank.insert, "Ana", 5)
        writing = asyncio.ensure_future(bank.journal.create(record("other"), notes("hi")))
        await asyncio.sleep(0.05)
        await transaction.commit(notes("paid"))

    await writing
    assert await texts_of(bank.journal, "other") == ["hi"]


async def test_a_tool_that_is_cancelled_undoes_its_effect_and_holds_nobody_up(bank: Bank) -> None:
    began = asyncio.Event()

    async def pay_and_wait() -> None:
        async with bank.journal.transaction(bank.lease) as transaction:
            await transaction.execute(bank.insert, "Ana", 5)
            began.set()
            await asyncio.Event().wait()

    paying = asyncio.ensure_future(pay_and_wait())
    await began.wait()
    paying.cancel()
    await asyncio.wait([paying])

    await bank.journal.append(bank.lease, notes("on"))
    assert await bank.payees() == []


async def test_a_tool_cancelled_at_any_moment_leaves_all_or_nothing(bank: Bank) -> None:
    for number in range(30):
        paying = asyncio.ensure_future(bank.pay(f"{number:02}"))
        for _ in range(number):
            await asyncio.sleep(0)
        paying.cancel()
        await asyncio.wait([paying])

    lease = await bank.journal.claim("r")
    await bank.journal.append(lease, notes("end"))
    bank.lease = lease
    assert await texts_of(bank.journal) == [
        "made",
        *(f"paid {payee}" for payee in await bank.payees()),
        "end",
    ]


async def test_statements_of_one_tool_may_overlap(bank: Bank) -> None:
    async with bank.journal.transaction(bank.lease) as transaction:
        await asyncio.gather(*(transaction.execute(bank.insert, f"{n:02}", n) for n in range(10)))
        await transaction.commit(notes("paid"))

    assert len(await bank.payees()) == 10


@pytest.mark.parametrize("values", [("a", 2**70), ("a", object()), ("a",), ("a", 1, 2)])
async def test_values_the_database_can_not_hold_are_a_typed_error(
    bank: Bank, values: tuple[Any, ...]
) -> None:
    async with bank.journal.transaction(bank.lease) as transaction:
        with pytest.raises(ToolError, match="refused"):
            await transaction.execute(bank.insert, *values)


async def test_a_store_that_is_no_database_says_so() -> None:
    journal = MemoryJournal()
    lease = await journal.create(record(), [])

    with pytest.raises(JournalError, match="SqliteJournal or a PostgresJournal"):
        journal.transaction(lease)
    assert (await journal.get("r")).status is RunStatus.RUNNING
