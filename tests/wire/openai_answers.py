"""Answers of the Chat Completions API as servers send them: one JSON body, or a stream of chunks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

REQUEST_ID = "req_test_1"
USAGE = {
    "prompt_tokens": 118,
    "completion_tokens": 42,
    "total_tokens": 160,
    "prompt_tokens_details": {"cached_tokens": 11, "cache_write_tokens": 7},
    "completion_tokens_details": {"reasoning_tokens": 5},
}
"""What every answer says it used: 118 tokens of input altogether, 18 of them read from or written to the cache."""

DONE = b"data: [DONE]\n\n"

Numbering = Literal["proper", "always_first", "none"]


@dataclass(frozen=True)
class Call:
    """A tool call; its arguments are whatever the model wrote."""

    id: str
    name: str
    arguments: str = "{}"


@dataclass(frozen=True)
class Answer:
    """What the model says, for either form."""

    text: str = ""
    calls: Sequence[Call] = ()
    finish_reason: str = "stop"
    thoughts: str = ""
    thoughts_field: str = "reasoning_content"
    refusal: str = ""
    legacy_call: Call | None = None
    """A call in the form that was used before there could be several."""
    usage: bool = True
    """Whether the server counts tokens."""
    numbering: Numbering = "proper"
    """How the server numbers the calls of a stream."""
    piece: int = 12
    """How many characters a chunk has."""

    def completion(self, model: str) -> dict[str, Any]:
        """The answer as one body."""
        message: dict[str, Any] = {
            "role": "assistant",
            "content": self.text or None,
            "refusal": self.refusal or None,
        }
        if self.thoughts:
            message[self.thoughts_field] = self.thoughts
        if self.calls:
            message["tool_calls"] = [_whole_call(call) for call in self.calls]
        if self.legacy_call is not None:
            message["function_call"] = _function(self.legacy_call)
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self.finish_reason}
        completion = _header(model, "chat.completion") | {"choices": [choice]}
        return completion | ({"usage": USAGE} if self.usage else {})

    def chunks(self, model: str) -> Iterator[dict[str, Any]]:
        """The answer as chunks; the last has the usage and no choice, as servers do it when asked for usage."""
        for delta in self._deltas():
            yield _chunk(model, delta)
        yield _chunk(model, {}, self.finish_reason)
        if self.usage:
            yield _header(model, "chat.completion.chunk") | {"choices": [], "usage": USAGE}

    def _deltas(self) -> Iterator[dict[str, Any]]:
        yield {"role": "assistant", "content": "", "refusal": None}
        yield from ({self.thoughts_field: piece, "content": None} for piece in self._pieces(self.thoughts))
        yield from ({"content": piece} for piece in self._pieces(self.text))
        yield from ({"refusal": piece} for piece in self._pieces(self.refusal))
        for index, call in enumerate(self.calls):
            yield from ({"tool_calls": [piece]} for piece in self._call_pieces(index, call))
        if self.legacy_call is not None:
            yield {"function_call": {"name": self.legacy_call.name, "arguments": ""}}
            for piece in self._pieces(self.legacy_call.arguments):
                yield {"function_call": {"arguments": piece}}

    def _call_pieces(self, index: int, call: Call) -> Iterator[dict[str, Any]]:
        number = {"proper": {"index": index}, "always_first": {"index": 0}, "none": {}}[self.numbering]
        begun = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield {**number, **begun}
        for piece in self._pieces(call.arguments):
            yield {**number, "function": {"arguments": piece}}

    def _pieces(self, text: str) -> Iterator[str]:
        return (text[start : start + self.piece] for start in range(0, len(text), self.piece))


def call(call_id: str, name: str, **arguments: Any) -> Call:
    return Call(call_id, name, json.dumps(arguments))


def sse(chunk: object) -> bytes:
    """A chunk as it is on the wire."""
    return f"data: {json.dumps(chunk)}\n\n".encode()


def error_body(kind: str, message: str, code: str | int | None = None) -> dict[str, Any]:
    """What servers say when something is wrong."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _header(model: str, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-test-1", "object": kind, "created": 1_700_000_000, "model": model}


def _chunk(model: str, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return _header(model, "chat.completion.chunk") | {"choices": [choice], "usage": None}


def _whole_call(whole: Call) -> dict[str, Any]:
    return {"id": whole.id, "type": "function", "function": _function(whole)}


def _function(whole: Call) -> dict[str, Any]:
    return {"name": whole.name, "arguments": whole.arguments}
