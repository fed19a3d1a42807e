"""Mistakes with journals, runs that are resumed, and approvals."""

# mypy: disable-error-code="call-arg,arg-type"
# These are mistakes.

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from maverick import AgentExecutor, PostgresJournal, RunConfig, SqliteJournal, ToolConfig
from maverick.testing import ScriptedClient, reply
from mistakes.catalog import mistake
from mistakes.definitions import define, get_weather


def executor(journal: Any = None) -> AgentExecutor:
    return AgentExecutor(ScriptedClient(lambda _: reply("Hi!")), journal=journal)


async def run(journal: Any, **options: Any) -> None:
    await executor(journal).execute(define(), **{"inputs": {"prompt": "Hi!"}, **options})


@mistake("journal: expected a SqliteJournal(…)", "got 'runs.db'")
def a_path_as_a_journal() -> None:
    executor("runs.db")


@mistake("there is no folder", "Create it")
async def a_folder_that_is_not_there() -> None:
    await run(SqliteJournal("data/runs.db"))


@mistake("it is a folder", "Name a file in it")
async def a_folder_as_a_file(folder: Path) -> None:
    await run(SqliteJournal(folder))


@mistake("'notes.txt' could not be opened", "Check that it is the right file")
async def another_file(folder: Path) -> None:
    folder.joinpath("notes.txt").write_text("Not a database. " * 100, "utf-8")
    await run(SqliteJournal("notes.txt"))


@mistake("begins with 'sqlite://'", "SqliteJournal('runs.db')")
def an_address_as_a_path() -> None:
    SqliteJournal("sqlite:///runs.db")


@mistake("begins with 'postgresql://'", "PostgresJournal(…)")
def the_wrong_kind_of_journal() -> None:
    SqliteJournal("postgresql://ana:secret@host/runs")


@mistake("expected an address such as postgresql://user:password@host/database")
def a_host_as_an_address() -> None:
    PostgresJournal("localhost/runs")


@mistake("nothing answers at this address", "Check that the server runs")
async def a_server_that_does_not_run() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        await run(PostgresJournal(f"postgresql://ana:secret@127.0.0.1:{held.getsockname()[1]}/runs"))


@mistake("already has a run 'job-7'", "Choose another id", "if_exists='resume'")
async def an_id_that_is_taken() -> None:
    journal = SqliteJournal("runs.db")
    await run(journal, run_id="job-7")
    await run(journal, run_id="job-7")


@mistake("run_id: expected a string, got 7", "str(…)")
async def a_number_as_an_id() -> None:
    await run(None, run_id=7)


@mistake("'jobs/7' has a '/'", "another character")
async def an_id_with_a_slash() -> None:
    await run(None, run_id="jobs/7")


@mistake("no journal", "journal=SqliteJournal(…)")
async def resuming_without_a_journal() -> None:
    await executor().resume("job-7", define())


@mistake("no run 'job-8'", "maverick runs list")
async def resuming_a_run_that_is_not_there() -> None:
    await executor(SqliteJournal("runs.db")).resume("job-8", define())


@mistake("definition is missing", "Add definition=")
async def resuming_without_the_agent() -> None:
    await executor(SqliteJournal("runs.db")).resume("job-8")


@mistake("the tool 'get_weather' is new", "accept_changes=True")
async def resuming_with_another_agent() -> None:
    journal, stopped = SqliteJournal("runs.db"), define(run_config=RunConfig(max_total_tokens=1))
    await executor(journal).execute(stopped, inputs={"prompt": "Hi!"}, run_id="job-7")
    await executor(journal).resume("job-7", define(tool_config=ToolConfig(tools=[get_weather])))


@mistake("if_exists", "'raise' or 'resume'", "got 'continue'")
async def a_way_to_go_on_that_does_not_exist() -> None:
    await run(SqliteJournal("runs.db"), run_id="job-7", if_exists="continue")


@mistake("has turns 1 to 1, not 3")
async def a_fork_at_a_turn_that_is_not_there() -> None:
    journal = SqliteJournal("runs.db")
    await run(journal, run_id="job-7")
    await executor(journal).fork("job-7", define(), turn=3)


@mistake("state: expected 'all', 'pending'", "got 'open'")
async def a_state_that_no_approval_has() -> None:
    await SqliteJournal("runs.db").list_approvals(state="open")


@mistake("no request for approval 'job-7'", "journal.list_approvals()")
async def approving_a_run() -> None:
    await executor(SqliteJournal("runs.db")).approve("job-7", by="ana")
