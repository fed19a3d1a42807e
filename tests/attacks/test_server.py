"""Attacks on the server: from other sites, through names it does not have, and with texts made to keep it busy."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import aiohttp
import pytest

from chat.served import served
from maverick.chat import Database, MCPToolServer
from maverick.chat.offline import TaskModel
from maverick.chat.prompt import MESSAGE_LENGTH
from maverick.chat.serving import KnownTokens, http_app
from maverick.model import Message, Request
from maverick.server import ServerLimits
from server.chat_server import ChatServer

CPU_SECONDS = 2.0
"""For ten messages: some fifty times what they take, and a third of what they took when one held everybody up."""


@pytest.mark.requirement("SERVER-BUSYWORK")
@pytest.mark.parametrize(
    "text", ["1" * MESSAGE_LENGTH, "add " + "1" * 9_000, "(" * MESSAGE_LENGTH, "1 " * 5_000]
)
async def test_a_message_made_of_one_character_does_not_keep_the_offline_model_busy(text: str) -> None:
    model, began = TaskModel(), time.process_time()

    for _ in range(10):
        await model.run(Request([Message.user(text)]))

    assert time.process_time() - began < CPU_SECONDS


FOREIGN = [
    "evil.example",
    "evil.example:8765",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "[::1",
    "",
    "-",
]


@pytest.mark.requirement("SERVER-OTHER-SITES")
async def test_a_name_that_leads_to_this_machine_does_not_reach_the_server(tmp_path: Path) -> None:
    async with ChatServer(tmp_path / "chat.db") as server:
        ana, nobody = server.person("ana"), server.person(None)

        refused = [
            await person.ask(method, path, headers={"Host": host})
            for host in FOREIGN
            for person, method, path in (
                (ana, "GET", "/api/tasks"),
                (nobody, "GET", "/"),
                (nobody, "POST", "/api/login"),
                (nobody, "GET", "/health"),
            )
        ]

    assert {(answer.status, answer.code) for answer in refused} == {(421, "unknown_host")}


@pytest.mark.requirement("SERVER-OTHER-SITES")
async def test_addresses_localhost_and_names_that_are_allowed_reach_the_server(tmp_path: Path) -> None:
    allowed = ["Tasks.example.org"]
    async with ChatServer(tmp_path / "chat.db", allowed_hosts=allowed) as server:
        hosts = [
            "localhost:1",
            "LOCALHOST",
            "127.0.0.1",
            "192.0.2.7:80",
            "[::1]:8765",
            "tasks.example.org:443",
        ]

        statuses = [
            (await server.person("ana").get("/api/me", headers={"Host": host})).status for host in hosts
        ]

    assert statuses == [200] * len(hosts)


@pytest.mark.requirement("SERVER-OTHER-SITES")
async def test_a_name_that_leads_to_this_machine_does_not_reach_the_tasks_over_mcp(tmp_path: Path) -> None:
    database = Database(tmp_path / "chat.db")
    app = http_app(MCPToolServer(database.session), KnownTokens({"token-of-ana-0123456789": "ana"}))
    async with served(app) as url, aiohttp.ClientSession() as http:
        async with http.post(url, headers={"Host": "evil.example"}) as nobody:
            pass
        headers = {"Host": "evil.example", "Authorization": "Bearer token-of-ana-0123456789"}
        async with http.post(url, headers=headers) as ana:
            pass
    database.close()

    assert (nobody.status, ana.status) == (421, 421)


@pytest.mark.requirement("SERVER-OVERLOAD")
async def test_what_can_not_be_served_soon_is_refused_at_once_and_the_rest_is_answered(
    tmp_path: Path,
) -> None:
    limits = ServerLimits(waiting=4)
    async with ChatServer(tmp_path / "chat.db", limits=limits) as server:
        people = [server.person(f"user{number}") for number in range(40)]
        await people[0].say("hello")

        answered = await asyncio.gather(*(person.say("add buy milk") for person in people))
        later = await people[-1].say("add buy milk")

    refused = [answer for answer in answered if answer.status != 200]
    assert {(answer.status, answer.code) for answer in refused} == {(503, "overloaded")}
    assert all(int(answer.headers["Retry-After"]) >= 1 for answer in refused)
    assert {answer["status"] for answer in answered if answer.status == 200} == {"complete"}
    assert later["status"] == "complete"
