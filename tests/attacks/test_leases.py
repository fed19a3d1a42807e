"""Whoever was overtaken, or comes late, takes nothing from whoever is in charge now."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from attacks.frozen_caller import OVERTAKEN, boss, client
from conformance.journals.shelf import (
    KeptShelf,
    MemoryShelf,
    PostgresShelf,
    Shelf,
    SqliteShelf,
    notes,
    record,
)
from maverick import AgentExecutor
from maverick.chat import Database
from maverick.chat.conversations import ConversationBusyError
from maverick.chat.migrations import migrate
from maverick.exceptions import LeaseLostError, RunNotFoundError
from maverick.journal import Approval, ApprovalStatus, Journal, RunStatus
from maverick.server.answer import AnswerJob, AnswerStatus, Question, Reply
from maverick.server.tables import SERVER
from postgres import postgres_server, postgres_url
from server.chat_server import answer_store
from warm_start import Script

__all__ = ["postgres_server", "postgres_url"]

PATIENCE = 60
"""Seconds that anything may take on a busy machine."""


def kept_shelf(request: pytest.FixtureRequest, folder: Path) -> KeptShelf:
    if request.param == "sqlite":
        return SqliteShelf(str(folder / "runs.db"))
    return PostgresShelf(request.getfixturevalue("postgres_url"))


@pytest.fixture(params=["sqlite", "postgres"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> KeptShelf:
    return kept_shelf(request, tmp_path)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def any_shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Shelf:
    return MemoryShelf() if request.param == "memory" else kept_shelf(request, tmp_path)


async def frozen(address: str, folder: Path) -> Script:
    """A process that has written the intent to call a subagent, and has been stopped since."""
    process = Script("attacks.frozen_caller", address, str(folder))
    async with asyncio.timeout(PATIENCE):
        while not is_stopped(process.pid):  # noqa: ASYNC110 - no event of this process
            await asyncio.sleep(0.01)
    return process


def is_stopped(pid: int) -> bool:
    return " T " in Path(f"/proc/{pid}/stat").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc to see that a process has been stopped")
@pytest.mark.requirement("P1", "P2", "JOURNAL-FENCE")
async def test_a_process_that_wakes_up_overtaken_begins_no_subagent_and_takes_none(
    shelf: KeptShelf, tmp_path: Path
) -> None:
    former = await frozen(shelf.address, tmp_path)

    async def let_it_wake_up() -> None:
        former.send_signal(signal.SIGCONT)
        await former.ended(PATIENCE)

    async with shelf.open() as journal:
        executor = AgentExecutor(client(tmp_path, "rightful", before=let_it_wake_up), journal=journal)
        result = await executor.resume("r", boss(tmp_path, "rightful"))

    assert result.output == "Done."
    assert former.returncode == OVERTAKEN
    ledger = (tmp_path / "ledger").read_text().splitlines()
    assert ledger == ["former asked", "rightful asked", "rightful looked", "rightful asked", "rightful asked"]


@pytest.mark.requirement("JOURNAL-FENCE")
async def test_a_lease_that_was_overtaken_neither_adds_nor_claims_a_subagents_run(any_shelf: Shelf) -> None:
    async with any_shelf.open() as journal:
        overtaken = await journal.create(record(), notes("begun"))
        rightful = await journal.claim("r")

        with pytest.raises(LeaseLostError) as lost:
            await journal.create(record("r/1/0", parent="r"), notes("mine"), overtaken)
        with pytest.raises(RunNotFoundError):
            await journal.get("r/1/0")
        await journal.create(record("r/1/0", parent="r"), notes("begun"), rightful)
        with pytest.raises(LeaseLostError):
            await journal.claim("r/1/0", overtaken)

        assert lost.value.run_id == "r"
        lease = await journal.claim("r/1/0", rightful)
        await journal.append(lease, notes("more"))


@pytest.mark.requirement("JOURNAL-FENCE")
async def test_claiming_a_run_voids_the_leases_on_all_runs_below_it(any_shelf: Shelf) -> None:
    async with any_shelf.open() as journal:
        leases = [await journal.create(record(), [])]
        for run_id, parent in (("r/1/0", "r"), ("r/1/1", "r"), ("r/1/1/2/0", "r/1/1")):
            leases.append(await journal.create(record(run_id, parent=parent), []))
        neighbour = await journal.create(record("neighbour"), [])

        await journal.claim("r")

        for lease in leases:
            with pytest.raises(LeaseLostError):
                await journal.append(lease, notes("too late"))
        await journal.append(neighbour, notes("not concerned"))


@pytest.mark.requirement("JOURNAL-FENCE")
async def test_a_process_that_was_overtaken_does_not_settle_what_a_person_was_asked(any_shelf: Shelf) -> None:
    asked = Approval(
        approval_id="r:1:0",
        run_id="r",
        turn=1,
        index=0,
        tool_name="pay",
        arguments_json="{}",
        arguments_hash="",
        tool_hash="",
        user_id=None,
        requested_at=1.0,
        expires_at=None,
        status=ApprovalStatus.PENDING,
    )
    used = replace(asked, status=ApprovalStatus.USED)
    async with any_shelf.open() as journal:
        overtaken = await journal.create(record(), [])
        await journal.request_approvals(overtaken, [asked])
        rightful = await journal.claim("r")

        with pytest.raises(LeaseLostError):
            await journal.settle_approval(used, ApprovalStatus.PENDING, overtaken)

        assert await journal.get_approval("r:1:0") == asked
        assert await journal.settle_approval(used, ApprovalStatus.PENDING, rightful)


@pytest.mark.requirement("JOURNAL-FENCE")
async def test_many_takeovers_of_runs_with_subagents_do_not_wait_for_each_other(shelf: KeptShelf) -> None:
    async def work(journal: Journal, number: int) -> None:
        run_id = f"r{number % 3}"
        for turn in range(4):
            lease = await journal.claim(run_id)
            try:
                names = [f"{run_id}/{number}-{turn}/{index}" for index in range(3)]
                children = [await journal.create(record(name, parent=run_id), [], lease) for name in names]
                await asyncio.gather(*(journal.append(child, notes("on")) for child in (lease, *children)))
            except LeaseLostError:
                continue

    async with shelf.open() as one, shelf.open() as other:
        for number in range(3):
            await one.create(record(f"r{number}"), [])
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*(work((one, other)[number % 2], number) for number in range(6)))

        assert all(run.status is RunStatus.RUNNING for run in await one.list_runs())


@pytest.mark.requirement("SERVER-ONE-WRITER")
def test_of_two_processes_that_made_an_answer_the_first_one_keeps_it(tmp_path: Path) -> None:
    database = Database(tmp_path / "chat.db")
    migrate(database.engine, SERVER)
    store = answer_store(database)
    first = store.admit("ana", Question("hello"), None)
    assert isinstance(first, AnswerJob)
    conversation = first.record.conversation_id
    record, taken_over = store.get("ana", first.record.run_id)
    assert (record, isinstance(taken_over, AnswerJob)) == (first.record, True)
    assert isinstance(taken_over, AnswerJob)

    def save(made: AnswerJob, words: str) -> str:
        said = Reply(status=AnswerStatus.COMPLETE, response=words)
        return store.save(made, said, 1).response

    assert save(taken_over, "Hello!") == "Hello!"
    second = store.admit("ana", Question("and now?", conversation), None)
    assert save(first, "Hello again!") == "Hello!"

    assert isinstance(second, AnswerJob)
    with pytest.raises(ConversationBusyError):  # whoever came late has let nobody in
        store.admit("ana", Question("and then?", conversation), None)
    assert [said.content for said in second.context.message_history] == ["hello", "Hello!"]
    database.close()
