"""A transactional tool, whatever SQL it runs and however long it takes, keeps effect and entry together and breaks no run."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conformance.journals.shelf import KeptShelf, PostgresShelf, SqliteShelf, notes, record, texts_of
from maverick import AgentExecutor, AgentResult, ToolContext, tool
from maverick.exceptions import ToolError
from maverick.journal import Journal, PostgresJournal, SqliteJournal
from maverick.journal.sqlite.database import begin
from maverick.journal.transaction import Session
from maverick.loop.entries import ToolFinished
from maverick.loop.result import ToolOutcome
from maverick.model import Request, Role
from maverick.testing import ScriptedClient, call, calls, reply
from postgres import postgres_server, postgres_url
from scenario import agent

__all__ = ["postgres_server", "postgres_url"]

PATIENCE = 60
"""Seconds that anything may take on a busy machine."""
ENDLESS = "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
ENDINGS = (
    "COMMIT",
    "/* */ COMMIT",
    "-- for good\nCOMMIT",
    ";COMMIT",
    "; ; /* a */ -- b\n commit",
    "END",
    "/**/END TRANSACTION",
    "/**/ROLLBACK",
    "/**/ COMMIT AND CHAIN",
    "/**/ ROLLBACK AND CHAIN",
    "/**/ABORT",
    "/**/ PREPARE TRANSACTION 'x'",
    "/**/ SAVEPOINT mine",
    "/**/ BEGIN",
    "/**/ RELEASE step",
    "/**/ ROLLBACK TO step",
)
"""Ways to begin or end a transaction; each database refuses those it does not know."""

Deed = Callable[[Session], Awaitable[object]]


@pytest.fixture(params=["sqlite", "postgres"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> KeptShelf:
    if request.param == "sqlite":
        return SqliteShelf(str(tmp_path / "runs.db"))
    return PostgresShelf(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def journal(shelf: KeptShelf) -> AsyncIterator[Journal]:
    """A journal with a table beside it."""
    async with shelf.open() as journal:
        await make_table(journal)
        yield journal


async def make_table(journal: Journal) -> None:
    async with journal.transaction(await journal.create(record("table"), [])) as transaction:
        await transaction.execute("CREATE TABLE payments (payee VARCHAR(40) PRIMARY KEY)")
        await transaction.commit(notes("made"))


async def payees(journal: Journal) -> list[str]:
    async with journal.transaction(await journal.claim("table")) as transaction:
        rows = await transaction.fetch("SELECT payee FROM payments ORDER BY payee")
    return [row["payee"] for row in rows]


def by_turn(request: Request) -> Any:
    """Pays in the first turn, and says how that went in the second."""
    if any(message.role is Role.ASSISTANT for message in request.messages):
        return reply(request.messages[-1].content)
    return calls(*(call(each.name) for each in request.tools))


async def run_deed(journal: Journal, deed: Deed, run_id: str = "r", **options: Any) -> AgentResult[Any]:
    """Run an agent whose tool does something in its transaction."""

    @tool(effect="transactional", **options)
    async def pay(ctx: ToolContext) -> str:
        """Pay."""
        await deed(ctx.session)
        return "paid"

    executor = AgentExecutor(ScriptedClient(by_turn), journal=journal)
    async with asyncio.timeout(PATIENCE):
        return await executor.execute(agent(pay), run_id=run_id)


async def outcomes_in(journal: Journal) -> list[ToolOutcome]:
    """What the journal has of the calls of the run, in order."""
    entries = [stored.entry async for stored in journal.read("r")]
    return [entry.outcome for entry in entries if isinstance(entry, ToolFinished)]


@pytest.mark.requirement("P2", "JOURNAL-COMMIT")
@pytest.mark.parametrize("way", ["execute", "fetch"])
async def test_no_sql_of_a_tool_commits_its_effect_without_its_entry(journal: Journal, way: str) -> None:
    async def pay_and_fail(session: Session, ending: str) -> None:
        await session.execute("INSERT INTO payments VALUES ('Ana')")
        with pytest.raises(ToolError):
            await getattr(session, way)(ending)
        raise ToolError("The tool failed.")

    for ending in ENDINGS:
        result = await run_deed(journal, partial(pay_and_fail, ending=ending), ending.replace("/", "-"))

        assert [each.outcome for each in result.tool_calls] == [ToolOutcome.FAILED], ending
        assert result.success, ending
        assert await payees(journal) == [], ending


@pytest.mark.requirement("P2", "JOURNAL-COMMIT")
async def test_a_tool_that_does_not_mind_what_it_was_told_has_all_of_its_effect_or_none(
    journal: Journal,
) -> None:
    async def pay_on(session: Session, ending: str) -> None:
        insert = "INSERT INTO payments VALUES ('{}')"
        for statement in (insert.format("Ana"), ending, insert.format("Ben")):
            with suppress(ToolError):
                await session.execute(statement)

    for ending in ENDINGS:
        result = await run_deed(journal, partial(pay_on, ending=ending), ending.replace("/", "-"))

        [made] = result.tool_calls
        assert made.outcome in (ToolOutcome.FINISHED, ToolOutcome.FAILED), ending
        assert made.outcome is ToolOutcome.FINISHED or "Nothing has happened" in made.result, ending
        paid = ["Ana", "Ben"] if made.outcome is ToolOutcome.FINISHED else []
        assert await payees(journal) == paid, ending
        cleared = f"after {ending}".replace("/", "-")
        await run_deed(journal, lambda session: session.execute("DELETE FROM payments"), cleared)


@pytest.mark.requirement("P2", "JOURNAL-COMMIT")
async def test_a_tool_that_commits_against_all_precautions_has_an_unknown_outcome(postgres_url: str) -> None:
    async def take_the_guard_away(session: Session) -> None:
        await session.execute("INSERT INTO payments VALUES ('Ana')")
        await session.execute("DELETE FROM maverick.commit_guards")
        await session.execute("/**/ COMMIT")

    async with PostgresJournal(postgres_url) as journal:
        await make_table(journal)
        result = await run_deed(journal, take_the_guard_away)

        assert await payees(journal) == ["Ana"]
    assert [each.outcome for each in result.tool_calls] == [ToolOutcome.UNKNOWN]
    assert "by itself" in result.tool_calls[0].result


@pytest.mark.requirement("JOURNAL-COMMIT", "JOURNAL-SLOW-TOOL")
async def test_a_transaction_that_the_database_undoes_is_a_failed_call_and_no_broken_run(
    journal: Journal, shelf: KeptShelf
) -> None:
    deferred = "DEFERRABLE INITIALLY DEFERRED"
    is_sqlite = isinstance(shelf, SqliteShelf)

    async def owe(session: Session) -> None:
        if is_sqlite:
            await session.execute("INSERT INTO payments VALUES ('Ana')")
            with pytest.raises(ToolError):
                await session.execute("INSERT OR ROLLBACK INTO payments VALUES ('Ana')")
        else:
            await session.execute(
                f"CREATE TABLE debts (payee VARCHAR(40) REFERENCES payments (payee) {deferred})"
            )
            await session.execute("INSERT INTO debts VALUES ('Ana')")

    result = await run_deed(journal, owe)

    assert result.success
    assert [each.outcome for each in result.tool_calls] == [ToolOutcome.FAILED]
    assert "Nothing has happened" in result.tool_calls[0].result
    assert await payees(journal) == []


@pytest.mark.requirement("P3", "JOURNAL-COMMIT")
async def test_a_tool_that_ends_well_after_it_was_cut_off_commits_nothing(journal: Journal) -> None:
    ended = asyncio.Event()

    async def not_listen(session: Session) -> None:
        await session.execute("INSERT INTO payments VALUES ('Ana')")
        try:
            await asyncio.sleep(PATIENCE)
        except asyncio.CancelledError:
            ended.set()

    result = await run_deed(journal, not_listen, timeout=0.2)
    await ended.wait()

    assert [each.outcome for each in result.tool_calls] == [ToolOutcome.FAILED]
    assert await payees(journal) == []
    assert await outcomes_in(journal) == [ToolOutcome.FAILED]


@pytest.mark.requirement("JOURNAL-SLOW-TOOL")
async def test_a_tool_that_was_cut_off_and_goes_on_lets_the_database_go(journal: Journal) -> None:
    go_on = asyncio.Event()

    async def never_listen(session: Session) -> None:
        await session.execute("INSERT INTO payments VALUES ('Ana')")
        while not go_on.is_set():
            try:
                await go_on.wait()
            except asyncio.CancelledError:
                continue

    result = await run_deed(journal, never_listen, timeout=0.2)

    assert await payees(journal) == []
    go_on.set()
    assert result.success
    assert await outcomes_in(journal) == [ToolOutcome.FAILED]


async def hold_forever(session: Session) -> None:
    await session.execute("INSERT INTO payments VALUES ('Ana')")
    while True:
        await asyncio.sleep(0.01)
        await session.fetch("SELECT payee FROM payments")


async def compute_forever(session: Session) -> None:
    await session.fetch(ENDLESS)


@pytest.mark.requirement("JOURNAL-SLOW-TOOL")
@pytest.mark.parametrize("deed", [hold_forever, compute_forever])
async def test_a_tool_that_holds_a_file_for_too_long_fails_and_breaks_neither_its_neighbours_nor_other_runs(
    tmp_path: Path, deed: Deed
) -> None:
    @tool(effect="transactional")
    async def hold(ctx: ToolContext) -> str:
        """Hold the file."""
        await deed(ctx.session)
        return "held"

    @tool
    async def send() -> str:
        """Send."""
        return "sent"

    @tool
    async def post() -> str:
        """Post."""
        return "posted"

    async with SqliteJournal(tmp_path / "runs.db", busy_timeout=0.6) as journal:
        await make_table(journal)
        executor = AgentExecutor(ScriptedClient(by_turn), journal=journal)
        async with asyncio.timeout(PATIENCE):
            results = await asyncio.gather(
                executor.execute(agent(hold, send, post), run_id="r"),
                *(executor.execute(agent(send, post), run_id=f"other-{number}") for number in range(5)),
            )

        assert await payees(journal) == []
    assert all(result.success for result in results)
    held, *sent = results[0].tool_calls
    assert held.outcome is ToolOutcome.FAILED
    assert "held the journal for more than" in held.result
    assert [each.outcome for each in sent] == [ToolOutcome.FINISHED] * 2


@pytest.mark.requirement("JOURNAL-SLOW-TOOL")
async def test_a_process_that_waits_for_a_file_has_patience_while_others_get_something_done(
    tmp_path: Path,
) -> None:
    path = tmp_path / "runs.db"
    async with SqliteJournal(path) as journal:
        await journal.create(record(), notes("one"))
    busy = sqlite3.connect(path, isolation_level=None)
    commits = 0

    class Waiting(sqlite3.Connection):
        """Somebody whose every look at the file finds another transaction in it, until ten were made."""

        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            nonlocal commits
            if statement == "PRAGMA data_version":
                busy.execute("UPDATE runs SET updated_at = updated_at + 1")
                busy.execute("COMMIT")
                commits += 1
                if commits < 10:
                    busy.execute("BEGIN IMMEDIATE")
            return super().execute(statement, *values)

    busy.execute("BEGIN IMMEDIATE")
    waiting = sqlite3.connect(path, timeout=0.01, isolation_level=None, factory=Waiting)

    begin(waiting)

    assert commits == 10
    assert waiting.in_transaction
    waiting.close()
    busy.close()


@pytest.mark.requirement("JOURNAL-SLOW-TOOL")
async def test_tools_that_hold_their_connections_keep_no_reader_out(postgres_url: str) -> None:
    holding, enough = asyncio.Event(), asyncio.Event()

    async def hold(journal: Journal, number: int) -> None:
        lease = await journal.create(record(f"r{number}"), [])
        async with journal.transaction(lease) as transaction:
            await transaction.execute("INSERT INTO payments VALUES ($1)", str(number))
            holding.set()
            await enough.wait()
            await transaction.commit(notes("held"))

    async with PostgresJournal(postgres_url, pool_size=3, timeout=5) as journal:
        await make_table(journal)
        tools = [asyncio.ensure_future(hold(journal, number)) for number in range(6)]
        await holding.wait()

        for _ in range(3):
            assert await texts_of(journal, "table") == ["made"]
        enough.set()
        await asyncio.gather(*tools)

        assert await payees(journal) == [str(number) for number in range(6)]
