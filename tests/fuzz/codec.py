"""The codecs as a fuzzer sees them: valid answers to begin with, and the client that reads them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, ClassVar

from anthropic.types.beta import BetaContentBlock, BetaToolUseBlock
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputItem,
    ResponseOutputMessage,
    ResponseReasoningItem,
)

from canary import CANARY
from fuzz.prepared import Answer, PreparedTransport
from maverick.model import Price, Request
from maverick.providers import Client
from maverick.providers.claude import client as claude
from maverick.providers.claude.request import RequestEncoder as ClaudeEncoder
from maverick.providers.http.transport import Transport
from maverick.providers.openai import client as openai
from maverick.providers.openai.chat_request import ChatEncoder
from maverick.providers.openai.responses_request import ResponsesEncoder
from strict import openai_items
from strict.claude_server import claude_events, sse
from strict.examples import example_of, members_of
from wire import claude_answers, openai_answers

KEY = CANARY

_CLAUDE = "claude-sonnet-4-5"
_OTHER = "test-model"
_WORDS = ("Hello", " world", " 你好", " 🌍", "\n\n", '"quoted"', "data: x", "\\", "é" * 40, " ")
_NAMES = ("add", "now", "write_file", "unheard_of")
_VALUES: tuple[Any, ...] = (0, -1, 2.5, True, None, "", "text 🌍", [], [1, "a"], {"deep": {"er": [None]}})


@dataclass(frozen=True, slots=True)
class Sample:
    """A valid answer in both of its forms."""

    events: Sequence[bytes]
    """As events of a stream."""
    body: bytes
    """As one body."""


class Codec(ABC):
    """One provider's wire format."""

    name: ClassVar[str]
    headers: ClassVar[Mapping[str, str]]
    """What a good answer begins with."""

    def __init__(self) -> None:
        self._transport = PreparedTransport()
        self._client = self.connect(self._transport)

    def client_of(self, answer: Answer) -> Client:
        """A client that gets this answer to whatever it asks."""
        self._transport.answer = answer
        return self._client

    @abstractmethod
    def connect(self, transport: Transport) -> Client:
        """A client on this transport, which knows what its model costs."""

    @abstractmethod
    def sample(self, rng: Random) -> Sample:
        """A valid answer."""

    @abstractmethod
    def encode(self, request: Request) -> list[dict[str, Any]]:
        """The messages of the request as they would be sent."""


@cache
def _claude_blocks() -> list[dict[str, Any]]:
    """Many blocks of every kind that the SDK knows; made once, as making one takes longer than reading it."""
    rng = Random(15)
    kinds = [kind for kind in members_of(BetaContentBlock) if kind is not BetaToolUseBlock]
    return [example_of(kind, rng) for kind in kinds for _ in range(20)]


class ClaudeCodec(Codec):
    """The Claude Messages API."""

    name = "claude"
    headers: ClassVar[Mapping[str, str]] = {"content-type": "text/event-stream", "request-id": "req_1"}

    def __init__(self) -> None:
        super().__init__()
        self._encoder = ClaudeEncoder()

    def sample(self, rng: Random) -> Sample:
        known = (self._text, self._thinking, self._redacted, self._tool_use, self._tool_use)
        makers = (*known, self._unknown, self._own, self._own, self._own, self._own)
        content = [rng.choice(makers)(rng, index) for index in range(rng.choice((0, 1, 1, 2, 3, 4)))]
        calls = any(block["type"] == "tool_use" for block in content)
        usual = "tool_use" if calls else "end_turn"
        others = ("max_tokens", "refusal", "pause_turn", "stop_sequence", "compaction")
        reason = rng.choice((usual, usual, usual, *others))
        message = claude_answers.Answer(content, reason).message(_CLAUDE)
        return Sample([*map(sse, claude_events(message, rng))], json.dumps(message).encode())

    def connect(self, transport: Transport) -> Client:
        return claude.connect(_CLAUDE, api_key=KEY, base_url="http://localhost", transport=transport)

    def encode(self, request: Request) -> list[dict[str, Any]]:
        body = self._encoder.encode(request, model="any", stream=True)
        messages: list[dict[str, Any]] = json.loads(b"".join(body))["messages"]
        return messages

    def _text(self, rng: Random, _: int) -> dict[str, Any]:
        return claude_answers.text(words(rng))

    def _thinking(self, rng: Random, _: int) -> dict[str, Any]:
        return claude_answers.thinking(words(rng))

    def _redacted(self, rng: Random, _: int) -> dict[str, Any]:
        return claude_answers.redacted("ZW5jcnlwdGVk")

    def _tool_use(self, rng: Random, index: int) -> dict[str, Any]:
        return claude_answers.tool_use(f"toolu_{index}", rng.choice(_NAMES), **arguments(rng))

    def _unknown(self, rng: Random, _: int) -> dict[str, Any]:
        return {"type": "hologram", "rows": [1, 2]}

    def _own(self, rng: Random, _: int) -> dict[str, Any]:
        """A block of a kind that only Claude has: a server tool's, a citation, a compaction."""
        return rng.choice(_claude_blocks())


class OpenAICodec(Codec):
    """Chat Completions."""

    name = "openai"
    headers: ClassVar[Mapping[str, str]] = {"content-type": "text/event-stream", "x-request-id": "req_1"}

    def __init__(self) -> None:
        super().__init__()
        self._encoder = ChatEncoder()

    def sample(self, rng: Random) -> Sample:
        calls = [
            openai_answers.call(f"call_{index}", rng.choice(_NAMES), **arguments(rng))
            for index in range(rng.choice((0, 0, 1, 1, 2, 3)))
        ]
        usual = "tool_calls" if calls else "stop"
        answer = openai_answers.Answer(
            text=words(rng) if rng.random() < 0.7 else "",
            calls=calls,
            finish_reason=rng.choice((usual, usual, usual, "length", "content_filter")),
            thoughts=words(rng) if rng.random() < 0.3 else "",
            refusal=words(rng) if rng.random() < 0.1 else "",
            usage=rng.random() < 0.8,
            numbering=rng.choice(("proper", "proper", "always_first", "none")),
            piece=rng.choice((5, 12, 40)),
        )
        return Sample(
            [*map(openai_answers.sse, answer.chunks(_OTHER)), openai_answers.DONE],
            json.dumps(answer.completion(_OTHER)).encode(),
        )

    def connect(self, transport: Transport) -> Client:
        prices = {_OTHER: Price(1, 2, 0.1, 1.25)}
        return openai.connect(
            _OTHER, api_key=KEY, base_url="http://localhost", transport=transport, prices=prices
        )

    def encode(self, request: Request) -> list[dict[str, Any]]:
        body = self._encoder.encode(request, model="any", stream=True)
        messages: list[dict[str, Any]] = json.loads(b"".join(body))["messages"]
        return messages


@cache
def _response_items() -> list[dict[str, Any]]:
    """Many items of every kind that the SDK knows, but for those that are read."""
    rng = Random(15)
    read = (ResponseOutputMessage, ResponseReasoningItem, ResponseFunctionToolCall)
    kinds = [kind for kind in members_of(ResponseOutputItem) if kind not in read]
    return [example_of(kind, rng) for kind in kinds for _ in range(10)]


class ResponsesCodec(Codec):
    """OpenAI's Responses API."""

    name = "openai-responses"
    headers: ClassVar[Mapping[str, str]] = {"content-type": "text/event-stream", "x-request-id": "req_1"}

    def __init__(self) -> None:
        super().__init__()
        self._encoder = ResponsesEncoder()

    def sample(self, rng: Random) -> Sample:
        makers = (self._message, self._message, self._reasoning, self._call, self._call, self._own, self._own)
        output = [rng.choice(makers)(rng, index) for index in range(rng.choice((0, 1, 1, 2, 3, 4)))]
        status = rng.choice(("completed", "completed", "completed", "incomplete"))
        cut = {"reason": rng.choice(("max_output_tokens", "content_filter"))}
        details = {"cached_tokens": 3, "cache_write_tokens": 2}
        response = {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "model": _OTHER,
            "status": status,
            "incomplete_details": cut if status == "incomplete" else None,
            "error": None,
            "output": output,
            "usage": {
                "input_tokens": 11,
                "input_tokens_details": details,
                "output_tokens": 7,
                "output_tokens_details": {"reasoning_tokens": 2},
                "total_tokens": 18,
            },
        }
        events = [openai_items.sse(event) for event in openai_items.response_events(response, rng)]
        return Sample(events, json.dumps(response).encode())

    def connect(self, transport: Transport) -> Client:
        prices = {_OTHER: Price(1, 2, 0.1, 1.25)}
        return openai.OpenAIResponsesClient(
            _OTHER, api_key=KEY, base_url="http://localhost", transport=transport, prices=prices
        )

    def encode(self, request: Request) -> list[dict[str, Any]]:
        body = self._encoder.encode(request, model="any", stream=True)
        items: list[dict[str, Any]] = json.loads(b"".join(body))["input"]
        return items

    def _message(self, rng: Random, index: int) -> dict[str, Any]:
        said: dict[str, Any] = {"type": "output_text", "text": words(rng), "annotations": []}
        if rng.random() < 0.3:
            said["annotations"] = [{"type": "file_path", "file_id": "f", "index": 1}]
        if rng.random() < 0.1:
            said = {"type": "refusal", "refusal": words(rng)}
        done = {"status": "completed", "role": "assistant"}
        return {"id": f"msg_{index}", "type": "message", **done, "content": [said]}

    def _reasoning(self, rng: Random, index: int) -> dict[str, Any]:
        summary = [{"type": "summary_text", "text": words(rng)} for _ in range(rng.randint(0, 2))]
        return {"id": f"rs_{index}", "type": "reasoning", "summary": summary, "encrypted_content": "sealed"}

    def _call(self, rng: Random, index: int) -> dict[str, Any]:
        called = {"call_id": f"call_{index}", "name": rng.choice(_NAMES)}
        said = {"arguments": json.dumps(arguments(rng)), "status": "completed"}
        return {"id": f"fc_{index}", "type": "function_call", **called, **said}

    def _own(self, rng: Random, _: int) -> dict[str, Any]:
        """An item of a kind that only this API has."""
        return rng.choice(_response_items())


CODECS: tuple[Codec, ...] = (ClaudeCodec(), OpenAICodec(), ResponsesCodec())


def words(rng: Random) -> str:
    """Something a model might say."""
    return "".join(rng.choices(_WORDS, k=rng.choice((1, 2, 5))))


def arguments(rng: Random) -> dict[str, Any]:
    """Something a model might call a tool with."""
    return {name: rng.choice(_VALUES) for name in rng.sample(("a", "b", "path", "πäth"), k=rng.randint(0, 3))}
