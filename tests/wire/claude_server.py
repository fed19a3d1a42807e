"""A real server on this machine that speaks the Claude Messages API, faults included.

Which scenario it plays is the first part of the path, so a client chooses one by its base URL::

    async with ClaudeServer() as server:
        client = connect("claude-test", base_url=server.at("parallel_tools"), api_key="key")

The names of :data:`ANSWERS` are things a model says; each is served as one body or as a stream, whichever the request
asks for. The names of :data:`FAULTS` are things that go wrong. ``server.received`` has every request;
``server.dropped`` is set when a client hangs up on a request that was not answered in full. Under the same base URL it
answers as Vertex and Bedrock do, when it is asked as they are.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from wire.claude_answers import (
    REQUEST_ID,
    Answer,
    error_body,
    redacted,
    text,
    thinking,
    tool_use,
)
from wire.claude_blocks import KEPT, READ
from wire.claude_clouds import BEDROCK_PATH, VERTEX_PATH, Framing, body_of, framing_of
from wire.made_up import made_up

Body = dict[str, Any]
Fault = Callable[["Served"], Awaitable[web.StreamResponse]]

HELLO = "Hello from the server. 你好 🌍"
SENTENCE = "Tea is a drink made from leaves."
LOOP_TURNS = 5


@dataclass(frozen=True)
class Received:
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Body:
        """Its JSON."""
        body: Body = json.loads(self.raw)
        return body


@dataclass(frozen=True)
class Served:
    """A request that is being served."""

    request: web.Request
    body: Body

    @property
    def streams(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def framing(self) -> Framing:
        return framing_of(self.request)

    def answer_bytes(self, answer: Answer) -> list[bytes]:
        """The answer in the pieces it is sent in: one body, or one piece for each event."""
        model = self.body["model"]
        if self.streams:
            return [self.framing.event(event) for event in answer.events(model)]
        return [json.dumps(answer.message(model)).encode()]

    async def begin(self, length: int | None = None, content_type: str = "") -> web.StreamResponse:
        """Send the status and the headers of a good answer."""
        kind = content_type or (self.framing.content_type if self.streams else "application/json")
        response = web.StreamResponse(headers={"content-type": kind, "request-id": REQUEST_ID})
        response.content_length = length
        await response.prepare(self.request)
        return response

    async def send(self, *pieces: bytes) -> web.StreamResponse:
        """Send a whole good answer."""
        response = await self.begin(None if self.streams else sum(map(len, pieces)))
        for piece in pieces:
            await response.write(piece)
        return response

    def refuse(
        self, status: int, kind: str, message: str, headers: Mapping[str, str] | None = None
    ) -> web.Response:
        """Answer with an error."""
        headers = {"request-id": REQUEST_ID, **(headers or {})}
        return web.json_response(error_body(kind, message), status=status, headers=headers)


def _said(body: Body) -> str:
    """The last text in the last message."""
    content = body["messages"][-1]["content"]
    texts = [block.get("text") or block.get("content", "") for block in content]
    return str(texts[-1])


def _echo(body: Body) -> Answer:
    return Answer([text(_said(body))], piece=100_000)


def _echo_in_pieces(body: Body) -> Answer:
    return Answer([text(_said(body))], piece=3)


def _paused_search(body: Body) -> Answer:
    if body["messages"][-1]["role"] == "user":
        return Answer([READ[0], KEPT[0]], "pause_turn")
    return Answer([KEPT[1], READ[4]])


def _loop(body: Body) -> Answer:
    results = json.dumps(body["messages"]).count('"tool_result"')
    if results >= LOOP_TURNS:
        return Answer([text(f"done after {results}")])
    return Answer([tool_use(f"toolu_{results}", "add", a=results, b=1)], "tool_use")


def _structured(body: Body) -> Answer:
    schema = body["output_config"]["format"]["schema"]
    return Answer([text(json.dumps(made_up(schema)))])


ANSWERS: Mapping[str, Callable[[Body], Answer]] = {
    "text": lambda _: Answer([text(HELLO)]),
    "echo": _echo,
    "echo_in_pieces": _echo_in_pieces,
    "loop": _loop,
    "structured": _structured,
    "tool": lambda _: Answer([text("Let me see."), tool_use("toolu_1", "add", a=2, b=3)], "tool_use"),
    "parallel_tools": lambda _: Answer(
        [
            tool_use("toolu_1", "add", a=1, b=2),
            tool_use("toolu_2", "add", a=3, b=4),
            tool_use("toolu_3", "now"),
        ],
        "tool_use",
    ),
    "thinking": lambda _: Answer(
        [thinking("The sum of two numbers."), redacted("ZW5jcnlwdGVk"), text("Five.")], "end_turn"
    ),
    "refusal": lambda _: Answer([text("I can't help with that.")], "refusal"),
    "max_tokens": lambda _: Answer([text("It was a dark and")], "max_tokens"),
    "stop_sequence": lambda _: Answer([text("Up to here.")], "stop_sequence"),
    "pause": lambda _: Answer([text("Still at it.")], "pause_turn"),
    "window_full": lambda _: Answer([text("And then")], "model_context_window_exceeded"),
    "tool_cut_off": lambda _: Answer(
        [tool_use("toolu_1", "add", a=1, b=2), tool_use("toolu_2", "write_file")],
        "max_tokens",
        arguments={1: '{"path": "a.txt", "content": "once upon'},
    ),
    "tool_cut_before_arguments": lambda _: Answer(
        [tool_use("toolu_1", "delete_everything")], "max_tokens", arguments={0: ""}
    ),
    "tool_arguments_malformed": lambda _: Answer(
        [{"type": "tool_use", "id": "toolu_1", "name": "add", "input": [1, 2]}],
        "tool_use",
        arguments={0: '{"a": 1, "b": '},
    ),
    "new_kinds": lambda _: Answer(
        [
            {"type": "hologram", "text": {"rows": [1, 2]}, "id": 7},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
            text("Known."),
        ]
    ),
    "paused_search": _paused_search,
    "server_tools": lambda _: Answer([*READ, *KEPT]),
    "empty": lambda _: Answer([text("")]),
    "half_a_character": lambda _: Answer([text("broken \ud83d here")], piece=1000),
}


async def _status(served: Served, status: int, kind: str, message: str, **headers: str) -> web.StreamResponse:
    return served.refuse(status, kind, message, {k.replace("_", "-"): v for k, v in headers.items()})


def _refusal(status: int, kind: str, message: str, **headers: str) -> Fault:
    return lambda served: _status(served, status, kind, message, **headers)


async def _echo_the_key(served: Served) -> web.StreamResponse:
    headers = served.request.headers
    key = headers.get("x-api-key") or headers["authorization"]
    said = f"bad key {key} ({key[:20]}\n{key[20:]}, {key[:27]}…), {served.body.get('mcp_servers')}"
    return served.refuse(401, "authentication_error", said)


async def _html(served: Served) -> web.StreamResponse:
    return web.Response(text="<html><title>Log in</title></html>", content_type="text/html")


async def _html_error(served: Served) -> web.StreamResponse:
    return web.Response(status=502, text="<html>Bad Gateway</html>", content_type="text/html")


async def _redirect(served: Served) -> web.StreamResponse:
    raise web.HTTPTemporaryRedirect("https://elsewhere.invalid/v1/messages")


async def _nothing(served: Served) -> web.StreamResponse:
    return await served.begin(None if served.streams else 0)


async def _hang(served: Served) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError("this wait has no end")


async def _stall(served: Served) -> web.StreamResponse:
    await _first_half(served)
    return await _hang(served)


async def _stall_after_a_sentence(served: Served) -> web.StreamResponse:
    pieces = served.answer_bytes(Answer([text(f"{SENTENCE} It is")], piece=len(SENTENCE) + 1))
    response = await served.begin()
    for piece in pieces[:5]:  # up to its two deltas
        await response.write(piece)
    return await _hang(served)


async def _cut(served: Served) -> web.StreamResponse:
    response = await _first_half(served)
    await asyncio.sleep(0.02)  # let the client have the first half before the reset can overtake it
    assert served.request.transport is not None
    served.request.transport.abort()
    return response


async def _first_half(served: Served) -> web.StreamResponse:
    pieces = served.answer_bytes(Answer([text(HELLO)]))
    if not served.streams:
        response = await served.begin(len(pieces[0]))
        await response.write(pieces[0][:40])
        return response
    response = await served.begin()
    for piece in pieces[:5]:
        await response.write(piece)
    return response


async def _no_stop(served: Served) -> web.StreamResponse:
    return await served.send(*served.answer_bytes(Answer([text(HELLO)]))[:6])


async def _bad_json(served: Served) -> web.StreamResponse:
    broken = served.framing.delta(b'{"type": "content_block_delta", oops')
    if not served.streams:
        return await served.send(b'{"id": "msg_1", "content": [oops')
    pieces = served.answer_bytes(Answer([text(HELLO)]))
    return await served.send(*pieces[:4], broken, *pieces[4:])


async def _error_event(served: Served) -> web.StreamResponse:
    body = error_body("overloaded_error", "Overloaded")
    if not served.streams:
        return await served.send(json.dumps(body).encode())
    pieces = served.answer_bytes(Answer([text(HELLO)]))
    return await served.send(*pieces[:5], served.framing.error(body))


async def _not_http(served: Served) -> web.StreamResponse:
    assert served.request.transport is not None
    served.request.transport.write(b"220 mail.example.test ready\r\n\r\n")
    served.request.transport.close()
    return web.Response()


async def _one_byte_at_a_time(served: Served) -> web.StreamResponse:
    whole = b"".join(served.answer_bytes(Answer([text(HELLO)])))
    return await served.send(*(whole[index : index + 1] for index in range(len(whole))))


async def _carriage_returns(served: Served) -> web.StreamResponse:
    pieces = served.answer_bytes(Answer([text(HELLO)]))
    return await served.send(
        b"\xef\xbb\xbf: hello\r\n\r\n", *(piece.replace(b"\n", b"\r\n") for piece in pieces)
    )


async def _never_ends(served: Served) -> web.StreamResponse:
    response = await served.begin()
    for piece in served.answer_bytes(Answer([text(HELLO)])):
        await response.write(piece)
    return await _hang(served)


async def _endless_event(served: Served) -> web.StreamResponse:
    response = await served.begin()
    while True:
        await response.write(b"data: " + b"x" * 1_000_000)


FAULTS: Mapping[str, Fault] = {
    "bad_request": _refusal(400, "invalid_request_error", "max_tokens: must be positive"),
    "prompt_too_long": _refusal(
        400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"
    ),
    "wrong_key": _refusal(401, "authentication_error", "invalid x-api-key"),
    "no_credit": _refusal(402, "billing_error", "Your credit balance is too low"),
    "forbidden": _refusal(403, "permission_error", "not allowed to use this model"),
    "no_such_model": _refusal(404, "not_found_error", "model: claude-nine"),
    "too_large": _refusal(413, "request_too_large", "Request exceeds the maximum size"),
    "rate_limited": _refusal(429, "rate_limit_error", "too many requests", retry_after="7"),
    "rate_limited_until": _refusal(
        429, "rate_limit_error", "too many requests", retry_after="Fri, 31 Dec 2100 23:59:59 GMT"
    ),
    "server_error": _refusal(500, "api_error", "Internal server error"),
    "overloaded": _refusal(529, "overloaded_error", "Overloaded", retry_after="2"),
    "key_echoed": _echo_the_key,
    "html": _html,
    "html_error": _html_error,
    "redirect": _redirect,
    "nothing": _nothing,
    "hang": _hang,
    "stall": _stall,
    "stall_after_a_sentence": _stall_after_a_sentence,
    "cut": _cut,
    "no_stop": _no_stop,
    "bad_json": _bad_json,
    "error_event": _error_event,
    "not_http": _not_http,
    "one_byte_at_a_time": _one_byte_at_a_time,
    "carriage_returns": _carriage_returns,
    "never_ends": _never_ends,
    "endless_event": _endless_event,
}


SILENT = ("hang", "stall", "stall_after_a_sentence", "never_ends")
"""Faults in which nothing more comes, so that a client waits as long as its timeouts say; all others end by themselves."""


class ClaudeServer:
    """The server, on a free port of this machine, for the length of an ``async with`` block.

    Args:
        tls: Its certificate, to serve over TLS.
    """

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._runner: web.AppRunner | None = None
        self.url = ""
        """Where it is, without a scenario."""
        self.received: list[Received] = []
        """Every request so far."""
        self.asked = asyncio.Event()
        """Set when there is a first one."""
        self.connections: set[object] = set()
        """The connections that requests came over, open or not."""
        self.dropped = asyncio.Event()
        """Set when a client hung up before it had its answer."""

    def at(self, scenario: str) -> str:
        """The base URL at which the server plays a scenario."""
        assert scenario in ANSWERS or scenario in FAULTS, scenario
        return f"{self.url}/{scenario}"

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=1 << 28)
        for path in ("/v1/messages", VERTEX_PATH, BEDROCK_PATH):
            app.router.add_post("/{scenario}" + path, self._messages)
        app.router.add_post("/{scenario}/v1/messages/count_tokens", self._count_tokens)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls, backlog=1024)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"https://localhost:{port}" if self._tls else f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        served = Served(request, body_of(request, await self._receive(request)))
        try:
            return await self._play(served, request.match_info["scenario"])
        except (asyncio.CancelledError, ConnectionError):
            self.dropped.set()
            raise

    async def _play(self, served: Served, scenario: str) -> web.StreamResponse:
        if scenario in FAULTS:
            return await FAULTS[scenario](served)
        return await served.send(*served.answer_bytes(ANSWERS[scenario](served.body)))

    async def _count_tokens(self, request: web.Request) -> web.StreamResponse:
        raw = await self._receive(request)
        if request.match_info["scenario"] == "html":
            return web.Response(text="<html></html>", content_type="text/html")
        if request.match_info["scenario"] == "wrong_key":
            return web.json_response(error_body("authentication_error", "invalid x-api-key"), status=401)
        return web.json_response({"input_tokens": len(raw) // 4})

    async def _receive(self, request: web.Request) -> bytes:
        raw = await request.read()
        self.received.append(Received(request.path, request.headers, raw))
        self.asked.set()
        self.connections.add(request.transport)
        return raw
