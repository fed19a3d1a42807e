"""OpenAI's Responses API and Chat Completions on this machine, refusing what OpenAI's refuse.

It speaks from an :class:`~strict.improviser.Improviser`. What it answers it notes, so that the next request is held to
it; ``service.refused`` has why requests were refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from random import Random
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from strict.improviser import Improviser, Kind, Move, Plan
from strict.openai_items import response_events, sse
from strict.openai_ledger import ResponsesLedger
from strict.openai_rules import (
    Body,
    RefusedError,
    check_chat,
    check_compact,
    check_headers,
    check_responses,
)


class StrictOpenAI:
    """The service, on a free port of this machine, for the length of an ``async with`` block.

    Args:
        improviser: What the model answers.
        seed: Decides where a stream is cut into pieces.
        failing: How often it is unavailable, from 0 to 1.
    """

    def __init__(self, improviser: Improviser, *, seed: int = 0, failing: float = 0) -> None:
        self._improviser = improviser
        self._failing = failing
        self._rng = Random(seed)
        self._ids = count(1)
        self._runner: web.AppRunner | None = None
        self.url = ""
        """Its base URL."""
        self.ledger = ResponsesLedger()
        """What it issued."""
        self.accepted: list[Body] = []
        """The requests that it took."""
        self.refused: list[str] = []
        """Why it refused others."""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=1 << 28)
        for path, answer in {
            "/v1/responses": self._response,
            "/v1/responses/compact": self._compacted,
            "/v1/chat/completions": self._completion,
        }.items():
            app.router.add_post(path, self._served(answer))
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    def _served(self, answer: Callable[[Body], Body]) -> Any:
        async def serve(request: web.Request) -> web.StreamResponse:
            raw = await request.read()
            if self._rng.random() < self._failing:
                return web.json_response({"error": {"message": "The server is overloaded."}}, status=503)
            try:
                check_headers(request.headers, len(raw))
                body = _read(raw)
                made = answer(body)
                self.accepted.append(body)
            except RefusedError as refusal:
                self.refused.append(refusal.message)
                error = {
                    "message": refusal.message,
                    "type": "invalid_request_error",
                    "param": refusal.param,
                    "code": refusal.code,
                }
                return web.json_response({"error": error}, status=refusal.status)
            if not body.get("stream"):
                return web.json_response(made)
            response = web.StreamResponse(headers={"content-type": "text/event-stream"})
            await response.prepare(request)
            chat = made["object"] == "chat.completion"
            events = _chunks(made, body) if chat else map(sse, response_events(made, self._rng))
            for piece in self._pieces(b"".join(events)):
                await response.write(piece)
            return response

        return serve

    # Responses ----------------------------------------------------------------------------------------------------

    def _response(self, body: Body) -> Body:
        check_responses(body)
        if body.get("store") is not False:
            raise RefusedError("This service stores nothing: set store to false.", "store")
        self.ledger.check(body)
        items = body["input"] if isinstance(body["input"], list) else []
        if items and items[-1].get("type") == "compaction_trigger":
            return self._made(body, [self._compaction()])
        tools = [tool["name"] for tool in body.get("tools", []) if tool["type"] == "function"]
        searches = any(tool["type"].startswith("web_search") for tool in body.get("tools", []))
        plan = self._improviser.answer(tools, searches=searches, hidden=False)
        thinks = (body.get("reasoning") or {}).get("effort") != "none"
        sealed = "reasoning.encrypted_content" in (body.get("include") or [])
        output = [
            self._item(move, sealed=sealed)
            for move in _with_an_end(plan).moves
            if thinks or move.kind is not Kind.THINK
        ]
        return self._made(body, output)

    def _made(self, body: Body, output: list[Body]) -> Body:
        self.ledger.issue(output, with_tools=bool(body.get("tools")))
        return {
            "id": f"resp_{next(self._ids)}",
            "object": "response",
            "created_at": 1,
            "model": body["model"],
            "status": "completed",
            "incomplete_details": None,
            "error": None,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": body.get("tools", []),
            "usage": _usage(body),
        }

    def _compacted(self, body: Body) -> Body:
        check_compact(body)
        self.ledger.check(body)
        kept = [
            {
                "id": f"msg_{next(self._ids)}",
                "type": "message",
                "status": "completed",
                "role": "user",
                "content": item["content"]
                if isinstance(item["content"], list)
                else [{"type": "input_text", "text": item["content"]}],
            }
            for item in body["input"]
            if item.get("role") == "user"
        ]
        output = [*kept, self._compaction()]
        self.ledger.issue(output)
        return {
            "id": f"resp_{next(self._ids)}",
            "object": "response.compaction",
            "created_at": 1,
            "output": output,
            "usage": _usage(body),
        }

    def _compaction(self) -> Body:
        number = next(self._ids)
        return {"id": f"cmp_{number}", "type": "compaction", "encrypted_content": f"sealed-{number}"}

    def _item(self, move: Move, *, sealed: bool) -> Body:
        number = next(self._ids)
        match move.kind:
            case Kind.THINK:
                summary = [{"type": "summary_text", "text": move.text}] if move.text else []
                seal = {"encrypted_content": f"sealed-{number}"} if sealed else {}
                return {"id": f"rs_{number}", "type": "reasoning", "summary": summary, **seal}
            case Kind.CALL:
                return {
                    "id": f"fc_{number}",
                    "type": "function_call",
                    "status": "completed",
                    "call_id": f"call_{move.number}",
                    "name": move.tool,
                    "arguments": json.dumps(move.arguments, ensure_ascii=False),
                }
            case Kind.SEARCH:
                action = {"type": "search", "query": f"{move.text} {number}"}
                return {
                    "id": f"ws_{number}",
                    "type": "web_search_call",
                    "status": "completed",
                    "action": action,
                }
        cited = {
            "type": "url_citation",
            "start_index": 0,
            "end_index": 9,
            "url": f"https://pages.example/{number}",
            "title": "A page",
        }
        part = {
            "type": "output_text",
            "text": move.text,
            "annotations": [cited] if move.kind is Kind.CITE else [],
        }
        return {
            "id": f"msg_{number}",
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [part],
            "phase": "final_answer" if move.kind is Kind.SAY else "commentary",
        }

    def _pieces(self, whole: bytes) -> Iterator[bytes]:
        place = 0
        while place < len(whole):
            size = self._rng.choice((7, 100, 1_000, 100_000))
            yield whole[place : place + size]
            place += size

    # Chat Completions ---------------------------------------------------------------------------------------------

    def _completion(self, body: Body) -> Body:
        check_chat(body)
        tools = [tool["function"]["name"] for tool in body.get("tools", []) if tool["type"] == "function"]
        plan = self._improviser.answer(tools, searches=False, hidden=False)
        calls = [
            {
                "id": f"call_{move.number}",
                "type": "function",
                "function": {"name": move.tool, "arguments": json.dumps(move.arguments)},
            }
            for move in plan.moves
            if move.kind is Kind.CALL
        ]
        said = "".join(move.text for move in plan.moves if move.kind is Kind.SAY)
        message = {"role": "assistant", "content": said or None} | ({"tool_calls": calls} if calls else {})
        reason = "tool_calls" if calls else "stop"
        usage = _usage(body)
        return {
            "id": f"chatcmpl_{next(self._ids)}",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
            "usage": {
                "prompt_tokens": usage["input_tokens"],
                "completion_tokens": usage["output_tokens"],
                "total_tokens": usage["total_tokens"],
            },
        }


def _read(raw: bytes) -> Body:
    try:
        body: Body = json.loads(raw)
    except ValueError as error:
        raise RefusedError("We could not parse the JSON body of your request.") from error
    return body


def _with_an_end(plan: Plan) -> Plan:
    """An answer that thinks also says or does something: reasoning always leads to an item."""
    if plan.moves and plan.moves[-1].kind is not Kind.THINK:
        return plan
    number = plan.moves[-1].number if plan.moves else 0
    return Plan([*plan.moves, Move(Kind.SAY, f"So be it. (after {number})", number=number)], plan.ending)


def _usage(body: Body) -> Body:
    read = len(json.dumps(body)) // 4
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": read // 2, "cache_write_tokens": 0},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 4},
        "total_tokens": read + 9,
    }


def _chunks(completion: Body, body: Body) -> Iterator[bytes]:
    base = {**completion, "object": "chat.completion.chunk"}
    del base["usage"]
    choice = completion["choices"][0]
    message = choice["message"]
    deltas: list[Body] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": message["content"]}] if message["content"] else []
    deltas += [{"tool_calls": [{"index": n, **call}]} for n, call in enumerate(message.get("tool_calls", []))]
    for delta in deltas:
        yield _data({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield _data({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    if (body.get("stream_options") or {}).get("include_usage"):
        yield _data({**base, "choices": [], "usage": completion["usage"]})
    yield b"data: [DONE]\n\n"


def _data(chunk: Body) -> bytes:
    return f"data: {json.dumps(chunk)}\n\n".encode()
