"""Requests that are not as they should be."""

from __future__ import annotations

import asyncio
import json
import sys
from urllib.parse import quote, urlsplit

import pytest

from server.chat_server import PATIENCE, ChatServer, Person

DEEP = b'{"message":' + b"[" * 20_000 + b"]" * 20_000 + b"}"
BODIES = {
    "deep JSON": (DEEP, 422 if sys.version_info >= (3, 14) else 400),  # which can read it, and finds no text
    "a NUL": (b'{"message":"a\\u0000b"}', 422),
    "half a surrogate pair": (b'{"message":"\\ud800"}', 422),
    "bytes that are no text": (b'{"message":"\xff\xfe"}', 400),
    "no JSON": (b"{message}", 422),
    "cut JSON": (b'{"message":"', 422),
    "nothing": (b"", 422),
    "a list": (b"[1,2]", 422),
    "a number for a text": (b'{"message":1}', 422),
    "an empty message": (b'{"message":""}', 422),
    "nothing but spaces": (b'{"message":"  \\n "}', 422),
    "a message that is too long": (json.dumps({"message": "x" * 10_001}).encode(), 422),
    "an unknown field": (b'{"message":"hi","user_id":"user_bob"}', 422),
    "a number too large": (b'{"message":"hi","replaces":99999999999999999999999}', 422),
    "not a number": (b'{"message":"hi","replaces":NaN}', 422),
    "an id that can not be": (b'{"message":"hi","conversation_id":"../../etc"}', 422),
    "a key twice": (b'{"message":"hi","message":1}', 422),
}


@pytest.mark.requirement("SERVER-BAD-REQUESTS")
async def test_a_body_that_can_not_be_is_refused_clearly(ana: Person) -> None:
    for what, (body, status) in BODIES.items():
        answer = await ana.ask("POST", "/api/chat", data=body, headers={"Content-Type": "application/json"})

        assert answer.status == status, (what, answer)
        assert set(answer.body["error"]) == {"code", "message", "fields"}, what
    assert (await ana.get("/api/conversations"))["conversations"] == []


@pytest.mark.requirement("SERVER-BAD-REQUESTS")
@pytest.mark.parametrize(("path", "size"), [("/api/tasks", 2_000_000), ("/api/chat", 20_000_000)])
async def test_a_body_is_measured_and_not_believed(ana: Person, path: str, size: int) -> None:
    async def endless() -> object:
        for _ in range(size // 10_000):
            yield b"x" * 10_000

    answer = await ana.ask("POST", path, data=endless(), headers={"Content-Type": "application/json"})

    assert (answer.status, answer.code) == (413, "too_large")


@pytest.mark.requirement("SERVER-BAD-REQUESTS")
@pytest.mark.parametrize(
    "path",
    [
        "/api/tasks/0",
        "/api/tasks/-1",
        "/api/tasks/nine",
        "/api/tasks/99999999999999999999999999",
        f"/api/conversations/{quote('a' * 101)}",
        "/api/conversations/%00",
        "/api/conversations/%F0%9F%98%80",
        "/api/runs/%ED%A0%80/events",
    ],
)
async def test_an_id_that_can_not_be_is_refused(ana: Person, path: str) -> None:
    answer = await ana.get(path)

    assert answer.status in (404, 422)


@pytest.mark.requirement("SERVER-BAD-REQUESTS")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Idempotency-Key", "x" * 201),
        ("Idempotency-Key", "with space"),
        ("Last-Event-ID", "-1"),
        ("Last-Event-ID", "x"),
    ],
)
async def test_a_header_that_can_not_be_is_refused(ana: Person, name: str, value: str) -> None:
    answer = await ana.post("/api/chat", {"message": "hello"}, headers={name: value})

    assert answer.status == 422


@pytest.mark.requirement("SERVER-BAD-REQUESTS")
async def test_a_request_that_is_no_http_harms_nobody(server: ChatServer, ana: Person) -> None:
    port = urlsplit(server.url).port
    for raw in (
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/chat HTTP/1.1\r\n",
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(raw)
        writer.write_eof()
        async with asyncio.timeout(PATIENCE):
            await reader.read()
        writer.close()

    assert (await ana.get("/api/tasks")).status == 200


@pytest.mark.requirement("SERVER-BAD-REQUESTS")
async def test_an_address_or_method_that_is_not_there_is_told_in_the_same_form(ana: Person) -> None:
    nowhere = await ana.post("/api/nowhere")
    other = await ana.ask("PUT", "/api/tasks")

    assert (other.status, other.code) == (405, "method_not_allowed")
    assert nowhere.status in (404, 405)
    assert set(nowhere.body["error"]) == {"code", "message", "fields"}
