"""A response of the Responses API as a stream brings it: how each item begins, and what happens to it until it is done."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from random import Random
from typing import Any, TypeAlias

from strict.openai_rules import Body

Event: TypeAlias = tuple[str, Body]
"""What follows ``response.`` in its type, and its fields."""


def response_events(response: Body, rng: Random) -> Iterator[Body]:
    """A response as the events of a stream."""
    numbers = count()
    begun = {**response, "output": [], "status": "in_progress", "usage": None, "incomplete_details": None}

    def event(kind: str, **fields: Any) -> Body:
        return {"type": f"response.{kind}", "sequence_number": next(numbers), **fields}

    yield event("created", response=begun)
    yield event("in_progress", response=begun)
    for index, item in enumerate(response["output"]):
        yield event("output_item.added", output_index=index, item=_opened(item))
        for kind, fields in _progress(item, rng):
            yield event(kind, output_index=index, item_id=item.get("id") or "", **fields)
        yield event("output_item.done", output_index=index, item=item)
    yield event(response["status"], response=response)


def sse(event: Body) -> bytes:
    """An event as it is sent."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


_EMPTY: Mapping[str, Body] = {
    "message": {"content": [], "status": "in_progress"},
    "function_call": {"arguments": "", "status": "in_progress"},
    "reasoning": {"summary": []},
    "web_search_call": {"status": "in_progress"},
    "custom_tool_call": {"input": ""},
    "mcp_call": {"arguments": "", "output": None},
    "code_interpreter_call": {"code": "", "status": "in_progress"},
    "image_generation_call": {"result": None, "status": "in_progress"},
}


def _opened(item: Body) -> Body:
    """An item as it is when it begins."""
    return item | _EMPTY.get(item["type"], {})


def _progress(item: Body, rng: Random) -> Iterator[Event]:
    """What happens to an item between its beginning and its end."""
    made = _PROGRESS.get(item["type"])
    yield from made(item, rng) if made else ()


def _message(item: Body, rng: Random) -> Iterator[Event]:
    for index, part in enumerate(item["content"]):
        at = {"content_index": index}
        if part["type"] == "refusal":
            yield "content_part.added", {**at, "part": {**part, "refusal": ""}}
            for bit in _bits(part["refusal"], rng):
                yield "refusal.delta", {**at, "delta": bit}
            yield "refusal.done", {**at, "refusal": part["refusal"]}
        else:
            yield "content_part.added", {**at, "part": {**part, "text": "", "annotations": []}}
            for bit in _bits(part["text"], rng):
                yield "output_text.delta", {**at, "delta": bit, "logprobs": []}
            for number, note in enumerate(part["annotations"]):
                yield "output_text.annotation.added", {**at, "annotation_index": number, "annotation": note}
            yield "output_text.done", {**at, "text": part["text"], "logprobs": []}
        yield "content_part.done", {**at, "part": part}


def _function_call(item: Body, rng: Random) -> Iterator[Event]:
    for bit in _bits(item["arguments"], rng):
        yield "function_call_arguments.delta", {"delta": bit}
    yield "function_call_arguments.done", {"arguments": item["arguments"], "name": item["name"]}


def _reasoning(item: Body, rng: Random) -> Iterator[Event]:
    for index, part in enumerate(item["summary"]):
        at = {"summary_index": index}
        yield "reasoning_summary_part.added", {**at, "part": {**part, "text": ""}}
        for bit in _bits(part["text"], rng):
            yield "reasoning_summary_text.delta", {**at, "delta": bit}
        yield "reasoning_summary_text.done", {**at, "text": part["text"]}
        yield "reasoning_summary_part.done", {**at, "part": part}


def _stages(kind: str, *stages: str) -> Callable[[Body, Random], Iterator[Event]]:
    return lambda _item, _rng: iter([(f"{kind}.{stage}", {}) for stage in stages])


def _typed(name: str, field: str, *after: str, before: str = "") -> Callable[[Body, Random], Iterator[Event]]:
    """The stages of a call, and between them what is asked of its tool, piece by piece."""

    def events(item: Body, rng: Random) -> Iterator[Event]:
        kind = item["type"]
        if before:
            yield f"{kind}.{before}", {}
        for bit in _bits(item.get(field) or "", rng):
            yield f"{name}.delta", {"delta": bit}
        yield f"{name}.done", {field: item.get(field) or ""}
        yield from ((f"{kind}.{stage}", {}) for stage in after)

    return events


def _image(item: Body, rng: Random) -> Iterator[Event]:
    yield "image_generation_call.in_progress", {}
    yield "image_generation_call.generating", {}
    for index in range(rng.randint(0, 3)):
        drawn = {"partial_image_index": index, "partial_image_b64": "iVBORw0KGgo="}
        yield "image_generation_call.partial_image", drawn
    yield "image_generation_call.completed", {}


_PROGRESS: Mapping[str, Callable[[Body, Random], Iterator[Event]]] = {
    "message": _message,
    "function_call": _function_call,
    "reasoning": _reasoning,
    "web_search_call": _stages("web_search_call", "in_progress", "searching", "completed"),
    "file_search_call": _stages("file_search_call", "in_progress", "searching", "completed"),
    "code_interpreter_call": _typed(
        "code_interpreter_call_code", "code", "interpreting", "completed", before="in_progress"
    ),
    "custom_tool_call": _typed("custom_tool_call_input", "input"),
    "image_generation_call": _image,
    "mcp_call": _typed("mcp_call_arguments", "arguments", "completed", before="in_progress"),
    "mcp_list_tools": _stages("mcp_list_tools", "in_progress", "completed"),
    "compaction": _stages("compaction", "compacting"),
}


def _bits(text: str, rng: Random) -> list[str]:
    """A text in pieces."""
    size = rng.choice((3, 11, 1_000))
    return [text[place : place + size] for place in range(0, len(text), size)]
