"""Images and documents that are sent with a message."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from maverick import Document, Image, Text
from maverick.server import ServerLimits
from maverick.testing import ScriptedClient, reply
from media_files import pdf, png
from server.chat_server import ChatServer

SHELF = Image.from_bytes(png(), name="shelf.png")
LIST = Document.from_bytes(pdf(), name="list.pdf")


def sent(name: str, data: bytes) -> dict[str, Any]:
    return {"name": name, "data": b64encode(data).decode()}


@pytest.fixture
def model() -> ScriptedClient:
    return ScriptedClient(lambda _: reply("I see."))


@pytest.fixture
async def server(tmp_path: Path, model: ScriptedClient) -> AsyncIterator[ChatServer]:
    limits = ServerLimits(body_bytes=50_000, attachment_bytes=200_000)
    async with ChatServer(tmp_path / "chat.db", client=model, limits=limits) as server:
        yield server


async def test_attachments_reach_the_model_now_and_in_later_turns_and_are_listed(
    server: ChatServer, model: ScriptedClient
) -> None:
    ana = server.person("ana")
    body = {
        "message": "What is it?",
        "attachments": [sent("shelf.png", png()), sent("list.pdf", pdf())],
    }

    first = await ana.post("/api/chat", body, headers={"Idempotency-Key": "k1"})
    again = await ana.post("/api/chat", body, headers={"Idempotency-Key": "k1"})
    other = await ana.post("/api/chat", {"message": "What is it?"}, headers={"Idempotency-Key": "k1"})
    await ana.say("Who painted it?", first["conversation_id"])
    kept = await ana.get(f"/api/conversations/{first['conversation_id']}")

    assert (first.status, first.body, other.code) == (200, again.body, "key_reused")
    asked = (SHELF, LIST, Text("What is it?"))
    assert model.requests[0].messages[-1].parts == asked
    assert [message.parts for message in model.requests[1].messages] == [
        asked,
        (Text("I see."),),
        (Text("Who painted it?"),),
    ]
    assert [message["attachments"] for message in kept["messages"]] == [
        [
            {"name": "shelf.png", "media_type": "image/png"},
            {"name": "list.pdf", "media_type": "application/pdf"},
        ],
        None,
        None,
        None,
    ]


async def test_only_what_was_sent_last_is_sent_to_the_model_again(
    server: ChatServer, model: ScriptedClient
) -> None:
    ana, conversation = server.person("ana"), None
    for name in ("a.png", "b.png", "c.png", "d.png"):
        body = {"message": name, "conversation_id": conversation, "attachments": [sent(name, png())]}
        conversation = (await ana.post("/api/chat", body))["conversation_id"]

    asked = [message.parts for message in model.requests[-1].messages[::2]]
    assert [[type(part) for part in parts] for parts in asked] == [[Text], *[[Image, Text]] * 3]


async def test_what_is_taken_back_is_gone_with_its_attachments_and_no_one_else_has_them(
    server: ChatServer, model: ScriptedClient
) -> None:
    ana, ben = server.person("ana"), server.person("ben")
    first = await ana.post("/api/chat", {"message": "Look.", "attachments": [sent("a.png", png())]})
    conversation, number = first["conversation_id"], first["user_message_id"]

    theirs = await ben.say("Show me.", conversation)
    await ana.post("/api/chat", {"message": "Hi.", "conversation_id": conversation, "replaces": number})

    assert theirs.status == 404
    assert [message.parts for message in model.requests[-1].messages] == [(Text("Hi."),)]


@pytest.mark.parametrize(
    ("attachments", "status", "said"),
    [
        ([sent("bomb.png", png(2, 2, says=(60_000, 60_000)))], 422, "60000 × 60000 pixels"),
        ([sent("program", b"\x7fELF\0\0")], 422, "program is neither"),
        ([sent("empty", b"")], 422, "is empty"),
        ([{"name": "x", "data": "%%%"}], 422, ""),
        ([sent("a.png", png())] * 21, 422, ""),
        ([{**sent("a.png", png()), "url": "https://example.org"}], 422, ""),
        ([sent("large.txt", b"x" * 150_000)] * 2, 413, "too large"),
        ([sent("large.txt", b"x" * 55_000)] * 4, 413, "Attachments may have"),
    ],
)
async def test_attachments_that_are_wrong_or_too_large_are_refused_and_nothing_is_said(
    server: ChatServer, model: ScriptedClient, attachments: list[dict[str, Any]], status: int, said: str
) -> None:
    answer = await server.person("ana").post("/api/chat", {"message": "Look.", "attachments": attachments})

    assert answer.status == status
    assert said in str(answer.body)
    assert model.requests == []


@pytest.mark.requirement("SERVER-BAD-REQUESTS")
async def test_a_large_body_of_somebody_who_is_not_signed_in_is_not_read_to_its_end(
    server: ChatServer,
) -> None:
    sent_bytes = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal sent_bytes
        while sent_bytes < 60_000:
            sent_bytes += 10_000
            yield b"x" * 10_000
        await asyncio.Event().wait()  # the rest is never sent

    headers = {"Content-Type": "application/json"}
    async with asyncio.timeout(30):
        answer = await server.person(None).ask("POST", "/api/chat", data=body(), headers=headers)

    assert (answer.status, answer.code) == (401, "unauthorized")
    assert sent_bytes == 60_000
