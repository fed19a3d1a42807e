"""A real server on this machine that speaks Chat Completions, faults included.

Which scenario it plays is the first part of the path, so a client chooses one by its base URL::

    async with OpenAIServer() as server:
        client = connect("test-model", base_url=server.at("parallel_tools"))

The names of :data:`ANSWERS` are things a model says; each is served as one body or as a stream, whichever the request
asks for. The names of :data:`FAULTS` are things that go wrong. ``server.received`` has every request;
``server.dropped`` is set when a client hangs up on a request that was not answered in full.
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

from wire.made_up import made_up_object
from wire.openai_answers import DONE, REQUEST_ID, Answer, Call, call, error_body, sse

Body = dict[str, Any]
Fault = Callable[["Served"], Awaitable[web.StreamResponse]]

HELLO = "Hello from the server. 你好 🌍"
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

    def answer_bytes(self, answer: Answer) -> list[bytes]:
        """The answer in the pieces it is sent in: one body, or one piece for each event."""
        model = self.body["model"]
        if self.streams:
            return [*map(sse, answer.chunks(model)), DONE]
        return [json.dumps(answer.completion(model)).encode()]

    async def begin(self, length: int | None = None) -> web.StreamResponse:
        """Send the status and the headers of a good answer."""
        kind = "text/event-stream; charset=utf-8" if self.streams else "application/json"
        response = web.StreamResponse(headers={"content-type": kind, "x-request-id": REQUEST_ID})
        response.content_length = length
        await response.prepare(self.request)
        return response

    async def send(self, *pieces: bytes) -> web.StreamResponse:
        """Send a whole good answer."""
        response = await self.begin(None if self.streams else sum(map(len, pieces)))
        for piece in pieces:
            await response.write(piece)
        return response


def _echo(body: Body) -> Answer:
    return Answer(str(body["messages"][-1]["content"]), piece=100_000)


def _echo_in_pieces(body: Body) -> Answer:
    return Answer(str(body["messages"][-1]["content"]), piece=3)


def _loop(body: Body) -> Answer:
    results = sum(message["role"] == "tool" for message in body["messages"])
    if results >= LOOP_TURNS:
        return Answer(f"done after {results}")
    return Answer(calls=[call(f"call_{results}", "add", a=results, b=1)], finish_reason="tool_calls")


def _structured(body: Body) -> Answer:
    schema = body["response_format"]["json_schema"]["schema"]
    return Answer(json.dumps(made_up_object(schema)))


_THREE_CALLS = (call("call_1", "add", a=1, b=2), call("call_2", "add", a=3, b=4), Call("call_3", "now", ""))

ANSWERS: Mapping[str, Callable[[Body], Answer]] = {
    "text": lambda _: Answer(HELLO),
    "echo": _echo,
    "echo_in_pieces": _echo_in_pieces,
    "loop": _loop,
    "structured": _structured,
    "tool": lambda _: Answer("Let me see.", [call("call_1", "add", a=2, b=3)], "tool_calls"),
    "parallel_tools": lambda _: Answer("", _THREE_CALLS, "tool_calls"),
    "parallel_tools_all_first": lambda _: Answer("", _THREE_CALLS, "tool_calls", numbering="always_first"),
    "parallel_tools_without_index": lambda _: Answer("", _THREE_CALLS, "tool_calls", numbering="none"),
    "tool_but_stop": lambda _: Answer("", [call("call_1", "add", a=2, b=3)], "stop"),
    "tool_without_id": lambda _: Answer("", [Call("", "add", '{"a": 2}')], "tool_calls"),
    "function_call": lambda _: Answer(legacy_call=call("", "add", a=2, b=3), finish_reason="function_call"),
    "thinking": lambda _: Answer("Five.", thoughts="The sum of two numbers."),
    "thinking_as_reasoning": lambda _: Answer(
        "Five.", thoughts="The sum of two numbers.", thoughts_field="reasoning"
    ),
    "refusal": lambda _: Answer(refusal="I can't help with that."),
    "filtered": lambda _: Answer("Once upon", finish_reason="content_filter"),
    "max_tokens": lambda _: Answer("It was a dark and", finish_reason="length"),
    "tool_cut_off": lambda _: Answer(
        "",
        [
            call("call_1", "add", a=1, b=2),
            Call("call_2", "write_file", '{"path": "a.txt", "content": "once upon'),
        ],
        "length",
    ),
    "tool_cut_before_arguments": lambda _: Answer("", [Call("call_1", "delete_everything", "")], "length"),
    "tool_arguments_malformed": lambda _: Answer("", [Call("call_1", "add", '{"a": 1, "b": ')], "tool_calls"),
    "tool_arguments_a_list": lambda _: Answer("", [Call("call_1", "add", "[1, 2]")], "tool_calls"),
    "uncounted": lambda _: Answer(HELLO, usage=False),
    "empty": lambda _: Answer(),
    "half_a_character": lambda _: Answer("broken \ud83d here", piece=1000),
}


def _refusal(status: int, kind: str, message: str, code: str | int | None = None, **headers: str) -> Fault:
    async def refuse(served: Served) -> web.StreamResponse:
        named = {"x-request-id": REQUEST_ID} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        return web.json_response(error_body(kind, message, code), status=status, headers=named)

    return refuse


async def _echo_the_key(served: Served) -> web.StreamResponse:
    key = served.request.headers["authorization"]
    said = f"bad key {key} ({key[:20]}\n{key[20:]}, {key[:27]}…), {served.body.get('mcp_servers')}"
    return web.json_response(error_body("invalid_request_error", said, "invalid_api_key"), status=401)


async def _html(served: Served) -> web.StreamResponse:
    return web.Response(text="<html><title>Log in</title></html>", content_type="text/html")


async def _html_error(served: Served) -> web.StreamResponse:
    return web.Response(status=502, text="<html>Bad Gateway</html>", content_type="text/html")


async def _redirect(served: Served) -> web.StreamResponse:
    raise web.HTTPTemporaryRedirect("https://elsewhere.invalid/v1/chat/completions")


async def _nothing(served: Served) -> web.StreamResponse:
    return await served.begin(None if served.streams else 0)


async def _hang(served: Served) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError("this wait has no end")


async def _stall(served: Served) -> web.StreamResponse:
    await _begin_and_write(served, Answer(HELLO))
    return await _hang(served)


async def _cut(served: Served) -> web.StreamResponse:
    return await _break_off(served, Answer(HELLO))


async def _cut_in_a_call(served: Served) -> web.StreamResponse:
    """The connection breaks when the arguments are all there, but before the answer says that it is over."""
    return await _break_off(served, Answer("On it.", [Call("call_1", "pay", '{"euros": 1}')]))


async def _break_off(served: Served, answer: Answer) -> web.StreamResponse:
    response = await _begin_and_write(served, answer)
    await asyncio.sleep(0.02)  # let the client have the first part before the reset can overtake it
    assert served.request.transport is not None
    served.request.transport.abort()
    return response


async def _begin_and_write(served: Served, answer: Answer) -> web.StreamResponse:
    """Send the first part of an answer."""
    pieces = served.answer_bytes(answer)
    if not served.streams:
        response = await served.begin(len(pieces[0]))
        await response.write(pieces[0][:40])
        return response
    response = await served.begin()
    for piece in pieces[:4]:
        await response.write(piece)
    return response


async def _no_stop(served: Served) -> web.StreamResponse:
    return await served.send(*served.answer_bytes(Answer(HELLO))[:3])


async def _done_too_soon(served: Served) -> web.StreamResponse:
    if not served.streams:
        return await served.send(b"{}")
    return await served.send(*served.answer_bytes(Answer(HELLO))[:3], DONE)


async def _no_done(served: Served) -> web.StreamResponse:
    pieces = served.answer_bytes(Answer(HELLO))
    return await served.send(*(pieces[:-1] if served.streams else pieces))


async def _gave_up(served: Served) -> web.StreamResponse:
    return await served.send(*served.answer_bytes(Answer("Well, ", finish_reason="abort")))


async def _bad_json(served: Served) -> web.StreamResponse:
    if not served.streams:
        return await served.send(b'{"id": "chatcmpl-1", "choices": [oops')
    pieces = served.answer_bytes(Answer(HELLO))
    return await served.send(*pieces[:2], b'data: {"choices": [oops\n\n', *pieces[2:])


async def _wrong_shape(served: Served) -> web.StreamResponse:
    wrong = {"choices": [{"message": {"content": 5}, "delta": {"content": 5}, "finish_reason": "stop"}]}
    return await served.send(sse(wrong) if served.streams else json.dumps(wrong).encode())


async def _orphan_piece(served: Served) -> web.StreamResponse:
    call_piece = {"index": 3, "function": {"arguments": '{"a"'}}
    content = {"tool_calls": [call_piece]}
    wrong = {"choices": [{"message": content, "delta": content, "finish_reason": None}]}
    return await served.send(sse(wrong) if served.streams else json.dumps(wrong).encode())


def _reported(kind: str, message: str, code: str | int | None = None) -> Fault:
    """An error inside an answer that began well."""

    async def report(served: Served) -> web.StreamResponse:
        body = error_body(kind, message, code)
        if not served.streams:
            return await served.send(json.dumps(body).encode())
        return await served.send(*served.answer_bytes(Answer(HELLO))[:3], sse(body))

    return report


async def _not_http(served: Served) -> web.StreamResponse:
    assert served.request.transport is not None
    served.request.transport.write(b"220 mail.example.test ready\r\n\r\n")
    served.request.transport.close()
    return web.Response()


async def _one_byte_at_a_time(served: Served) -> web.StreamResponse:
    whole = b"".join(served.answer_bytes(Answer(HELLO)))
    return await served.send(*(whole[index : index + 1] for index in range(len(whole))))


async def _carriage_returns(served: Served) -> web.StreamResponse:
    pieces = served.answer_bytes(Answer(HELLO))
    if not served.streams:
        return await served.send(*pieces)
    return await served.send(b": hello\r\n\r\n", *(piece.replace(b"\n", b"\r\n") for piece in pieces))


async def _never_ends(served: Served) -> web.StreamResponse:
    response = await served.begin()
    for piece in served.answer_bytes(Answer(HELLO)):
        await response.write(piece)
    return await _hang(served)


async def _endless_event(served: Served) -> web.StreamResponse:
    response = await served.begin()
    while True:
        await response.write(b"data: " + b"x" * 1_000_000)


FAULTS: Mapping[str, Fault] = {
    "bad_request": _refusal(400, "invalid_request_error", "max_tokens: must be positive"),
    "prompt_too_long": _refusal(
        400,
        "invalid_request_error",
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 210000.",
        "context_length_exceeded",
    ),
    "prompt_too_long_locally": _refusal(
        400,
        "exceed_context_size_error",
        "the request exceeds the available context size, try increasing it",
        400,
    ),
    "wrong_key": _refusal(401, "invalid_request_error", "Incorrect API key provided", "invalid_api_key"),
    "no_credit": _refusal(429, "insufficient_quota", "You exceeded your current quota", "insufficient_quota"),
    "forbidden": _refusal(403, "permission_error", "not allowed to use this model"),
    "no_such_model": _refusal(
        404, "invalid_request_error", "The model `gpt-nine` does not exist", "model_not_found"
    ),
    "too_large": _refusal(413, "invalid_request_error", "Request too large"),
    "rate_limited": _refusal(429, "requests", "Rate limit reached", "rate_limit_exceeded", retry_after="7"),
    "server_error": _refusal(500, "server_error", "The server had an error while processing your request"),
    "overloaded": _refusal(503, "server_error", "The engine is currently overloaded", retry_after="2"),
    "key_echoed": _echo_the_key,
    "html": _html,
    "html_error": _html_error,
    "redirect": _redirect,
    "nothing": _nothing,
    "hang": _hang,
    "stall": _stall,
    "cut": _cut,
    "cut_in_a_call": _cut_in_a_call,
    "no_stop": _no_stop,
    "done_too_soon": _done_too_soon,
    "no_done": _no_done,
    "gave_up": _gave_up,
    "bad_json": _bad_json,
    "wrong_shape": _wrong_shape,
    "orphan_piece": _orphan_piece,
    "error_event": _reported("server_error", "The server is overloaded"),
    "error_event_with_status": _reported("BadRequestError", "temperature must be at most 2", 400),
    "error_event_rate_limit": _reported("tokens", "Rate limit reached", "rate_limit_exceeded"),
    "not_http": _not_http,
    "one_byte_at_a_time": _one_byte_at_a_time,
    "carriage_returns": _carriage_returns,
    "never_ends": _never_ends,
    "endless_event": _endless_event,
}


class OpenAIServer:
    """The server, on a free port of this machine, for the length of an ``async with`` block.

    Args:
        tls: Its certificate, to serve over TLS.
    """

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._runner: web.AppRunner | None = None
        self.url = ""
        """Where it is; without a scenario in the path, it plays ``text``."""
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
        return f"{self.url}/{scenario}/v1"

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=1 << 28)
        self._routes(app)
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

    def _routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/chat/completions", self._completions)
        app.router.add_post("/{scenario}/v1/chat/completions", self._completions)

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        received = Received(request.path, request.headers, await request.read())
        self.received.append(received)
        self.connections.add(request.transport)
        self.asked.set()
        try:
            return await self._play(request, received)
        except (asyncio.CancelledError, ConnectionError):
            self.dropped.set()
            raise

    async def _play(self, request: web.Request, received: Received) -> web.StreamResponse:
        served = Served(request, received.body)
        scenario = request.match_info.get("scenario", "text")
        if scenario in FAULTS:
            return await FAULTS[scenario](served)
        return await served.send(*served.answer_bytes(ANSWERS[scenario](served.body)))
