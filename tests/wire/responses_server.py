"""A real server on this machine that speaks OpenAI's Responses API, with the faults of the Chat Completions server.

Every request is held to the types that OpenAI's own SDK declares: one that is not of its type is refused with status 400,
and so is a reasoning item without the item that came after it, a call without its result, and a request that would be
stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from openai.types.responses.response_compact_params import ResponseCompactParams
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)

from wire import openai_server
from wire.made_up import made_up_object
from wire.openai_answers import Answer, call, error_body
from wire.openai_server import FAULTS, Body, OpenAIServer, Received, Served
from wire.responses_answers import USAGE, Items, function_call, items_of, message, reasoning
from wire.typed_dicts import as_typed

SEARCH = {
    "id": "ws_1",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "shelf", "queries": ["shelf"]},
}
CITATION = {
    "type": "url_citation",
    "start_index": 0,
    "end_index": 5,
    "title": "Shelves",
    "url": "https://shelves.example/",
}
COMPACTION = {"id": "cmp_1", "type": "compaction", "encrypted_content": "gAAAcompact=="}


def _echo(body: Body) -> Items:
    last = body["input"][-1]
    said = last["output"] if last.get("type") == "function_call_output" else last["content"]
    return Items([message(str(said))], piece=100_000)


def _echo_in_pieces(body: Body) -> Items:
    return Items([message(str(body["input"][-1]["content"]))], piece=3)


def _loop(body: Body) -> Items:
    results = sum(item.get("type") == "function_call_output" for item in body["input"])
    if results >= openai_server.LOOP_TURNS:
        return Items([message(f"done after {results}")])
    asked = function_call(call(f"call_{results}", "add", a=results, b=1), results)
    return Items([reasoning(number=results), asked])


def _structured(body: Body) -> Items:
    return Items([message(json.dumps(made_up_object(body["text"]["format"]["schema"])))])


def _of_chat(name: str) -> Callable[[Body], Items]:
    return lambda body: items_of(openai_server.ANSWERS[name](body))


_NOT_HERE = {"function_call", "parallel_tools_all_first", "parallel_tools_without_index", "tool_without_id"}
"""What only servers of Chat Completions do."""

ANSWERS: Mapping[str, Callable[[Body], Items]] = {
    **{name: _of_chat(name) for name in openai_server.ANSWERS if name not in _NOT_HERE},
    "echo": _echo,
    "echo_in_pieces": _echo_in_pieces,
    "loop": _loop,
    "structured": _structured,
    "search": lambda _: Items(
        [
            reasoning("I should look it up.", "Then answer."),
            SEARCH,
            reasoning(number=2),
            reasoning(number=3),
            message("Shelf facts.", annotations=[CITATION], phase="final_answer"),
        ]
    ),
    "thinking_and_tools": lambda _: Items(
        [
            reasoning("A sum."),
            message("Let me see.", phase="commentary"),
            function_call(call("call_1", "add", a=2, b=3)),
            function_call(call("call_2", "add", a=1, b=1), 2),
        ]
    ),
}


@dataclass(frozen=True)
class ServedResponse(Served):
    """A request that is being served."""

    def answer_bytes(self, answer: Any) -> list[bytes]:
        items = items_of(answer) if isinstance(answer, Answer) else answer
        if self.streams:
            return items.stream(self.body["model"])
        return [json.dumps(items.response(self.body["model"])).encode()]


class ResponsesServer(OpenAIServer):
    """The server, on a free port of this machine, for the length of an ``async with`` block."""

    def at(self, scenario: str) -> str:
        assert scenario in ANSWERS or scenario in FAULTS, scenario
        return f"{self.url}/{scenario}/v1"

    def _routes(self, app: web.Application) -> None:
        for path in ("/v1/responses", "/{scenario}/v1/responses"):
            app.router.add_post(path, self._completions)
            app.router.add_post(f"{path}/compact", self._compact)

    async def _play(self, request: web.Request, received: Received) -> web.StreamResponse:
        served = ServedResponse(request, received.body)
        scenario = request.match_info.get("scenario", "text")
        if scenario in FAULTS:
            return await FAULTS[scenario](served)
        if problem := problem_of(served.body):
            return web.json_response(error_body("invalid_request_error", problem), status=400)
        return await served.send(*served.answer_bytes(ANSWERS[scenario](served.body)))

    async def _compact(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        self.received.append(Received(request.path, request.headers, raw))
        body = json.loads(raw)
        if as_typed(ResponseCompactParams, body) != body or order_problem(body["input"]):
            return web.json_response(error_body("invalid_request_error", "not of its type"), status=400)
        users = [
            {
                "id": f"msg_u{number}",
                "type": "message",
                "status": "completed",
                "role": "user",
                "content": said,
            }
            for number, item in enumerate(body["input"])
            if item.get("role") == "user"
            for said in [[{"type": "input_text", "text": item["content"]}]]
        ]
        output = [*users, COMPACTION]
        compacted = {"id": "resp_2", "object": "response.compaction", "created_at": 1, "output": output}
        return web.json_response(compacted | {"usage": USAGE})


def problem_of(body: Body) -> str:
    """What the API would refuse of a request; empty if it would serve it."""
    declared = ResponseCreateParamsStreaming if body.get("stream") else ResponseCreateParamsNonStreaming
    if body.get("store") is not False:
        return "store: the conversation would be kept"
    typed = body | {"input": [_without_id(item) for item in body["input"]]}
    if as_typed(declared, typed) != typed:
        return "the request is not of its type"
    return order_problem(body["input"])


def _without_id(item: dict[str, Any]) -> dict[str, Any]:
    """A user's message as it is declared: one that condensing gave back has an id, and goes back with it."""
    return {name: value for name, value in item.items() if name != "id" or item.get("role") != "user"}


def order_problem(items: list[dict[str, Any]]) -> str:
    """What is wrong with the order of the items."""
    kinds = [item.get("type", "message") for item in items]
    for kind, following in zip(kinds, [*kinds[1:], "nothing"], strict=True):
        if kind == "reasoning" and following in ("nothing", "function_call_output"):
            return "a reasoning item was provided without its required following item"
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    results = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    return "" if calls == results else "a function call has no output, or an output no call"
