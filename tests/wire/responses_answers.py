"""Answers of OpenAI's Responses API as it sends them: one JSON body, or a stream of events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from wire.openai_answers import Answer, Call

Item = dict[str, Any]

USAGE = {
    "input_tokens": 118,
    "input_tokens_details": {"cached_tokens": 11, "cache_write_tokens": 7},
    "output_tokens": 42,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 160,
}


@dataclass(frozen=True)
class Items:
    """What the model says, for either form."""

    items: Sequence[Item]
    reason: str = ""
    """Why the answer is incomplete, if it is."""
    usage: bool = True
    piece: int = 12
    """How many characters a delta has."""

    def response(self, model: str, status: str = "") -> dict[str, Any]:
        """The answer as one body."""
        begun = status == "in_progress"
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1_700_000_000,
            "status": status or ("incomplete" if self.reason else "completed"),
            "error": None,
            "incomplete_details": {"reason": self.reason} if self.reason and not begun else None,
            "instructions": None,
            "metadata": {},
            "model": model,
            "output": [] if begun else list(self.items),
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": USAGE if self.usage and not begun else None,
        }

    def events(self, model: str) -> Iterator[list[dict[str, Any]]]:
        """The answer as events, in the groups that arrive together."""
        begun = self.response(model, "in_progress")
        group = [
            {"type": "response.created", "response": begun},
            {"type": "response.in_progress", "response": begun},
        ]
        for index, item in enumerate(self.items):
            opening, *others = self._item_events(index, item)
            yield [*group, *opening]
            group = []
            yield from ([event] for event in others)
            yield [{"type": "response.output_item.done", "output_index": index, "item": item}]
        kind = "response.incomplete" if self.reason else "response.completed"
        yield [*group, {"type": kind, "response": self.response(model)}]

    def _item_events(self, index: int, item: Item) -> Iterator[Any]:
        where = {"output_index": index, "item_id": item["id"]}
        added = {"type": "response.output_item.added", "output_index": index, "item": _opened(item)}
        if item["type"] == "message":
            yield from self._message_events(added, where, item)
        elif item["type"] == "reasoning":
            yield from self._reasoning_events(added, where, item)
        elif item["type"] == "function_call":
            yield [added]
            for delta in self._pieces(item["arguments"]):
                yield {"type": "response.function_call_arguments.delta", **where, "delta": delta}
            done = {"arguments": item["arguments"], "name": item["name"]}
            yield {"type": "response.function_call_arguments.done", **where, **done}
        else:
            yield [added]

    def _message_events(self, added: Item, where: Item, item: Item) -> Iterator[Any]:
        opening = [added]
        for number, content in enumerate(item["content"]):
            place = {**where, "content_index": number}
            is_refusal = content["type"] == "refusal"
            name, field = ("refusal", "refusal") if is_refusal else ("output_text", "text")
            empty = {**content, field: "", **({} if is_refusal else {"annotations": []})}
            yield [*opening, {"type": "response.content_part.added", **place, "part": empty}]
            opening = []
            extra: Item = {} if is_refusal else {"logprobs": []}
            for delta in self._pieces(content[field]):
                yield {"type": f"response.{name}.delta", **place, "delta": delta, **extra}
            for annotation_index, annotation in enumerate(content.get("annotations", ())):
                noted = {"annotation": annotation, "annotation_index": annotation_index}
                yield {"type": "response.output_text.annotation.added", **place, **noted}
            yield {"type": f"response.{name}.done", **place, field: content[field], **extra}
            yield {"type": "response.content_part.done", **place, "part": content}
        if opening:
            yield opening

    def _reasoning_events(self, added: Item, where: Item, item: Item) -> Iterator[Any]:
        opening = [added]
        for number, summary in enumerate(item["summary"]):
            place = {**where, "summary_index": number}
            part = {"type": "summary_text", "text": ""}
            yield [*opening, {"type": "response.reasoning_summary_part.added", **place, "part": part}]
            opening = []
            for delta in self._pieces(summary["text"]):
                yield {"type": "response.reasoning_summary_text.delta", **place, "delta": delta}
            yield {"type": "response.reasoning_summary_text.done", **place, "text": summary["text"]}
            yield {"type": "response.reasoning_summary_part.done", **place, "part": summary}
        if opening:
            yield opening

    def _pieces(self, text: str) -> Iterator[str]:
        return (text[start : start + self.piece] for start in range(0, len(text), self.piece))

    def stream(self, model: str) -> list[bytes]:
        """The events as they are on the wire, numbered, in the pieces they are sent in."""
        pieces: list[bytes] = []
        number = 0
        for group in self.events(model):
            piece = b""
            for event in group:
                for single in event if isinstance(event, list) else [event]:
                    piece += sse({**single, "sequence_number": number})
                    number += 1
            pieces.append(piece)
        return pieces


def sse(event: dict[str, Any]) -> bytes:
    """An event as it is on the wire."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def message(text: str = "", *, annotations: Sequence[Item] = (), refusal: str = "", **more: Any) -> Item:
    content: list[Item] = []
    if text or not refusal:
        content.append(
            {"type": "output_text", "text": text, "annotations": list(annotations), "logprobs": []}
        )
    if refusal:
        content.append({"type": "refusal", "refusal": refusal})
    item = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": content}
    return item | more


def reasoning(*summaries: str, number: int = 1) -> Item:
    summary = [{"type": "summary_text", "text": text} for text in summaries]
    return {
        "id": f"rs_{number}",
        "type": "reasoning",
        "summary": summary,
        "encrypted_content": f"gAAA{number}==",
        "status": "completed",
    }


def function_call(call: Call, number: int = 1, status: str = "completed") -> Item:
    return {
        "id": f"fc_{number}",
        "type": "function_call",
        "status": status,
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
    }


def items_of(answer: Answer) -> Items:
    """An answer of the other API as this one would give it."""
    items: list[Item] = [reasoning(answer.thoughts)] if answer.thoughts else []
    if answer.text or answer.refusal:
        items.append(message(answer.text, refusal=answer.refusal))
    reason = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(answer.finish_reason, "")
    for number, call in enumerate(answer.calls, 1):
        is_cut = bool(reason) and number == len(answer.calls)
        items.append(function_call(call, number, "incomplete" if is_cut else "completed"))
    return Items(items, reason, answer.usage, answer.piece)


def _opened(item: Item) -> Item:
    empty = {"content": [], "arguments": "", "summary": []}
    return item | {name: value for name, value in empty.items() if name in item} | {"status": "in_progress"}
