"""A model that cannot be asked: what the log has of it, and what the user is told."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from canary import CANARY
from maverick.chat.phrases import TROUBLE
from maverick.chat.prompt import CHAT_LIMITS
from maverick.providers import connect
from maverick.telemetry import configure_logging
from server.chat_server import ChatServer

pytestmark = pytest.mark.requirement("SERVER-FAILURES")

ERRORS = {
    401: ("authentication_error", f"invalid x-api-key {CANARY}"),
    529: ("overloaded_error", "Overloaded"),
    429: ("rate_limit_error", "Slow down"),
    400: ("invalid_request_error", "Your credit balance is too low"),
}
JARGON = ("api", "key", "http", "status", "error", "exception", "token", "529", "401", "429")


class Provider:
    """A service whose every answer is the same trouble."""

    def __init__(self) -> None:
        self.status = 401
        self.over = asyncio.Event()

    async def answer(self, _: web.Request) -> web.Response:
        if not self.status:
            await self.over.wait()
            return web.Response()
        if self.status == 200:
            return web.Response(text="<html><title>Log in</title></html>", content_type="text/html")
        if self.status == 307:
            raise web.HTTPTemporaryRedirect("http://127.0.0.1:9/login")
        kind, message = ERRORS[self.status]
        body = {"type": "error", "error": {"type": kind, "message": message}}
        return web.json_response(body, status=self.status)


@pytest.fixture
async def provider() -> AsyncIterator[tuple[Provider, str]]:
    provider, app = Provider(), web.Application()
    app.router.add_post("/{path:.*}", provider.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield provider, f"http://127.0.0.1:{runner.addresses[0][1]}"
    provider.over.set()
    await runner.cleanup()


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (401, "AuthenticationError", "rejected this server's key"),
        (529, "ServerError", "overloaded or has failed"),
        (429, "RateLimitError", "is busy"),
        (400, "ProviderError", "does not serve this request"),
        (0, "AnswerTimeoutError", "took too long"),
        (200, "MalformedResponseError", "Something other than the language model answered at its address"),
        (307, "ProviderError", "Something other than the language model answered at its address"),
    ],
    ids=[
        "wrong key",
        "overloaded",
        "too many requests",
        "no credit",
        "stalled",
        "a login page",
        "a way to one",
    ],
)
async def test_why_there_is_no_answer_is_in_the_log_in_full_and_told_in_plain_words(
    tmp_path: Path, provider: tuple[Provider, str], status: int, error: str, words: str
) -> None:
    service, url = provider
    service.status = status
    lines = io.StringIO()
    configure_logging(logging.WARNING, stream=lines)
    limits = replace(CHAT_LIMITS, max_retries=0, timeout_ms=3000)
    client = connect("claude:claude-test", api_key=CANARY, base_url=url)

    async with ChatServer(tmp_path / "chat.db", client=client, run_config=limits) as server:
        ana = server.person("ana")
        told = await ana.say("What is there to do?")
        again = await ana.get(f"/api/runs/{told['run_id']}")
    await client.aclose()

    logged: list[dict[str, Any]] = [json.loads(line) for line in lines.getvalue().splitlines()]
    failed = next(line for line in logged if line["message"] == "answer_failed")
    assert (told["status"], again["reason"]) == ("failed", told["reason"])
    assert told["response"] == TROUBLE
    assert words in told["reason"]
    assert not [word for word in JARGON if word in told["reason"].lower().split()]
    assert (failed["run_id"], failed["error"], failed["level"]) == (told["run_id"], error, "error")
    assert failed["text"]
    assert error in failed["exception"]
    assert "maverick/" in failed["exception"] or status == 0  # a time that is up was raised nowhere
    assert CANARY not in lines.getvalue()


async def test_a_database_that_fails_is_in_the_log(tmp_path: Path) -> None:
    lines = io.StringIO()
    configure_logging(logging.WARNING, stream=lines)
    async with ChatServer(tmp_path / "chat.db") as server:
        ana = server.person("ana")
        with server.database.engine.begin() as connection:
            connection.exec_driver_sql("DROP TABLE tasks")

        refused = await ana.get("/api/tasks")

    failed = json.loads(lines.getvalue().splitlines()[-1])
    assert (refused.status, refused.code) == (503, "unavailable")
    assert (failed["message"], failed["error"], failed["path"]) == (
        "request_failed",
        "StorageError",
        "/api/tasks",
    )
    assert "OperationalError" in failed["exception"]
