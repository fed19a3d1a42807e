"""A server's database and journal of an earlier version go on with this one."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from maverick.journal import SqliteJournal
from server.chat_server import ChatServer, Person
from upgrade.agents import PASSWORD

DATA = Path(__file__).parents[1] / "data" / "0.1.0"

pytestmark = pytest.mark.requirement("P1")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ChatServer]:
    for name in ("chat.db", "chat_runs.db"):
        shutil.copy(DATA / name, tmp_path)
    async with (
        SqliteJournal(tmp_path / "chat_runs.db") as journal,
        ChatServer(tmp_path / "chat.db", journal=journal) as server,
    ):
        yield server


async def sign_in(server: ChatServer, name: str) -> Person:
    nobody = server.person(None)
    session = await nobody.post("/api/login", {"name": name, "password": PASSWORD})
    return server.bearer(session["token"])


async def test_users_tasks_and_conversations_are_there(server: ChatServer) -> None:
    ana, bob = await sign_in(server, "ana"), await sign_in(server, "bob")

    conversations = (await ana.get("/api/conversations"))["conversations"]
    opened = [await ana.get(f"/api/conversations/{one['id']}") for one in conversations]
    said = [message["content"] for whole in opened for message in whole["messages"]]

    assert len(conversations) == 2
    assert "Got it! Added 'buy milk' to your list. Anything else?" in said
    assert {task["title"] for task in (await ana.get("/api/tasks"))["tasks"]} == {"buy milk", "call Bob"}
    assert [task["title"] for task in (await bob.get("/api/tasks"))["tasks"]] == ["write a letter"]


async def test_a_request_that_is_sent_again_has_the_answer_it_had(server: ChatServer) -> None:
    ana = await sign_in(server, "ana")

    again = await ana.post("/api/chat", {"message": "Add task buy milk"}, headers={"Idempotency-Key": "milk"})

    assert again["response"] == "Got it! Added 'buy milk' to your list. Anything else?"
    assert len((await ana.get("/api/tasks"))["tasks"]) == 2


async def test_an_open_question_is_still_open(server: ChatServer) -> None:
    ana = await sign_in(server, "ana")

    open_questions = (await ana.get("/api/approvals"))["approvals"]

    assert [one["question"] for one in open_questions] == [
        "Do you really want to delete 'buy milk'? Reply 'yes delete' to confirm."
    ]


async def test_an_answer_whose_server_was_killed_is_given_and_has_acted_once(server: ChatServer) -> None:
    bob = await sign_in(server, "bob")
    letters = (await bob.get("/api/conversations"))["conversations"][0]["id"]
    ask = {"message": "Add task post the letter", "conversation_id": letters}

    answers = [await bob.post("/api/chat", ask, headers={"Idempotency-Key": "post"}) for _ in range(2)]

    assert {answer["response"] for answer in answers} == {
        "Got it! Added 'post the letter' to your list. Anything else?"
    }
    titles = [task["title"] for task in (await bob.get("/api/tasks"))["tasks"]]
    assert titles.count("post the letter") == 1
