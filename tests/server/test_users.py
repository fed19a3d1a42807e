"""Deleting a user: nothing of them is left, and everybody else keeps what they have."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from canary import CANARY
from maverick.chat.database import owned_session
from maverick.exceptions import InvalidInputError
from maverick.journal import MemoryJournal, SqliteJournal
from maverick.server.accounts import TABLES, Users
from postgres import postgres_server, postgres_url
from server.chat_server import ChatServer

__all__ = ["postgres_server", "postgres_url"]
from cli.command import run


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return str(tmp_path / "chat.db")


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[SqliteJournal]:
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        yield journal


async def user_with_everything(server: ChatServer, name: str) -> str:
    token: str = (await server.person(None).post("/api/signup", {"name": name, "password": CANARY}))["token"]
    person = server.bearer(token)
    conversation = (await person.say("add buy milk"))["conversation_id"]
    await person.say("delete buy milk", conversation)
    await person.post("/api/tasks", {"title": "bread"})
    return token


@pytest.mark.requirement("SERVER-DELETION")
async def test_a_user_is_deleted_as_a_whole_and_nobody_else_is(location: str, journal: SqliteJournal) -> None:
    async with ChatServer(location, journal=journal) as server:
        anas, bobs = await user_with_everything(server, "ana"), await user_with_everything(server, "bob")
        users = Users(server.database, journal)
        ana, bob = users.find("Ana"), users.find("bob")

        removed = await users.delete(ana)
        whose = {"id": ana.user_id}

        with owned_session(server.database.session, ana.user_id) as session:
            left = {
                table: session.connection().execute(
                    text(f"SELECT count(*) FROM {table} WHERE user_id = :id"),  # noqa: S608 - a literal
                    whose,
                )
                for table in (*TABLES, "accounts")
            }
            assert {table: found.scalar_one() for table, found in left.items()} == dict.fromkeys(left, 0)
        assert {run.user_id for run in await journal.list_runs()} == {bob.user_id}
        assert [user.name for user in users.all() if user.name] == ["bob"]
        assert users.find(bob.user_id) == bob
        assert (removed["tasks"], removed["accounts"], removed["runs"], removed["conversations"]) == (
            2,
            1,
            2,
            1,
        )
        async with ChatServer(location) as another:
            assert (await another.bearer(anas).get("/api/me")).status == 401
            assert (await another.bearer(bobs).get("/api/tasks")).status == 200
        assert (
            await server.person(None).post("/api/signup", {"name": "ana", "password": CANARY})
        ).status == 201


@pytest.mark.requirement("SERVER-DELETION")
async def test_no_table_with_an_owner_is_forgotten(tmp_path: Path) -> None:
    async with ChatServer(tmp_path / "chat.db") as server:
        found = inspect(server.database.engine)
        owned = {
            table
            for table in found.get_table_names()
            if "user_id" in {column["name"] for column in found.get_columns(table)}
        }

    assert owned == {*TABLES, "accounts"}


@pytest.mark.requirement("SERVER-DELETION")
async def test_an_unknown_user_is_refused(tmp_path: Path) -> None:
    async with ChatServer(tmp_path / "chat.db") as server:
        with pytest.raises(InvalidInputError, match="no user 'nobody'"):
            Users(server.database, MemoryJournal()).find("nobody")


def maverick(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run("users", *arguments, home=home)


@pytest.mark.requirement("SERVER-DELETION")
async def test_the_command_lists_users_and_deletes_one_who_was_agreed_to(tmp_path: Path) -> None:
    location = tmp_path / ".maverick" / "chat.db"
    async with ChatServer(location) as server:
        await user_with_everything(server, "ana")

    listed = json.loads(maverick(tmp_path, "list", "--json", "--database", str(location)).stdout)
    unasked = maverick(tmp_path, "delete", "ana", "--database", str(location))
    deleted = maverick(tmp_path, "delete", "ana", "--yes", "--database", str(location))
    again = maverick(tmp_path, "delete", "ana", "--yes", "--database", str(location))

    assert [(user["name"], user["tasks"]) for user in listed] == [("ana", 2)]
    assert (unasked.returncode, "--yes" in unasked.stderr) == (2, True)
    assert (deleted.returncode, deleted.stdout.startswith("Deleted ana (user_")) == (0, True)
    assert "2 tasks" in deleted.stdout
    assert (again.returncode, "no user 'ana'" in again.stderr) == (2, True)
