"""The offline model: it needs no network, no key and no download, and it is no language model.

It calls the tool whose name or words a request has, with the values in the request, and answers with what the tool
returned (:mod:`~maverick.providers.offline_reading`). Asked for structured output, it answers in that shape. Anything
else it declines, and says what it is.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct

from maverick.misuse import refuse
from maverick.model.client import ModelInfo
from maverick.model.message import Message, Role, ToolCall
from maverick.model.request import OutputSchema, Request
from maverick.model.response import Response, StopReason, StreamItem
from maverick.model.tool import Tool
from maverick.model.untrusted import unmarked
from maverick.model.usage import Price, Usage
from maverick.providers.client import Client, check_is_request, deltas_of, requested_model
from maverick.providers.offline_reading import (
    LONGEST_REQUEST,
    RequestedCall,
    Schema,
    choose_tool,
    fields_of,
    fill,
    resolve,
    words_of,
)

__all__ = ["FinishedCall", "OfflineClient", "RequestedCall", "Turn", "connect"]

_INFO = ModelInfo(price=Price(0, 0), native_output=True)
_CHARACTERS_PER_TOKEN = 4
_DEEPEST = 8
"""How far nested objects are followed: a schema may contain itself."""
_CONDENSE = r"(?s)Condense this record:(.+)"
_COMPACTED_LINES, _COMPACTED_WIDTH = 20, 120
_INTRODUCTION = (
    "This is Maverick's offline model, which is no language model: it only calls tools. "
    "Name a tool and give its values, for example in quotation marks."
)
_WITH_A_REAL_MODEL = "For a real model, set ANTHROPIC_API_KEY and start again."


class FinishedCall(Struct, frozen=True):
    """A tool call of the conversation, with its result."""

    call: ToolCall
    text: str
    is_error: bool


class Turn(Struct, frozen=True):
    """A request, taken apart: what the next answer depends on."""

    said: str
    """The user's last message."""
    said_before: tuple[str, ...]
    """The user's earlier messages, oldest first."""
    answered: str
    """The model's words just before the user's last message."""
    finished: tuple[FinishedCall, ...]
    """The tool calls since the user's last message."""
    finished_before: tuple[FinishedCall, ...]
    """The tool calls before it, oldest first."""
    tools: Sequence[Tool]
    output: OutputSchema | None
    system: str = ""

    @classmethod
    def of(cls, request: Request) -> Turn:
        """Take a request apart."""
        messages = request.messages
        at = max((index for index, message in enumerate(messages) if message.role is Role.USER), default=-1)
        before, since = messages[: max(at, 0)], messages[at + 1 :]
        spoken = [message.content for message in before if message.role is Role.ASSISTANT]
        return cls(
            said=messages[at].content.strip() if at >= 0 else "",
            said_before=tuple(message.content for message in before if message.role is Role.USER),
            answered=spoken[-1] if spoken else "",
            finished=_finished_calls(since),
            finished_before=_finished_calls(before),
            tools=request.tools,
            output=request.output,
            system=request.system,
        )


class OfflineClient(Client):
    """A model that needs no network: it calls tools by their names and words, and reports what they return.

    The same request always gets the same answer. ``pace`` is the seconds between two words of a stream.
    """

    def __init__(self, *, pace: float = 0) -> None:
        if pace < 0:
            refuse("pace", f"expected 0 or more seconds, got {pace}.")
        self.model = "offline:"
        self._pace = pace

    async def run(self, request: Request) -> Response:
        """Answer a request."""
        self.check(request)
        turn = Turn.of(request)
        answer = self.answer(turn)
        if isinstance(answer, str):
            text, stop_reason = _within(answer, request.config.max_tokens or 0)
            return Response(text, usage=_usage(request, len(text)), stop_reason=stop_reason, model="offline")
        # Numbered by their place in the conversation: unique in it, and the same whenever it is the same.
        first = len(request.messages)
        calls = [
            ToolCall(f"call_{first + n}", call.tool_name, call.arguments) for n, call in enumerate(answer)
        ]
        written = sum(len(str(call.arguments)) for call in calls)
        return Response((), calls, _usage(request, written), model="offline")

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Answer a request word by word."""
        response = await self.run(request)
        for delta in deltas_of(response):
            yield delta
            if self._pace:
                await asyncio.sleep(self._pace)
        yield response

    def model_info(self, model: str) -> ModelInfo:  # noqa: ARG002 - there is only one
        """It costs nothing, reads conversations of any length and answers in the shape it is asked for."""
        return _INFO

    def check(self, request: Request) -> None:
        """Refuse a request that names another provider's model."""
        check_is_request(request)
        requested_model(request, self.model)

    def answer(self, turn: Turn) -> str | Sequence[RequestedCall]:
        """The answer to a turn: words, or tools to call."""
        # No tool is called twice for one request, nor when structured output is to be repaired.
        may_call = not turn.finished and not (turn.output is not None and turn.answered)
        call = choose_tool(turn.said, turn.tools) if may_call else None
        if call is not None and not call.missing:
            return [call]
        if turn.output is not None:
            return _structured_output(turn.output.schema, turn)
        if turn.finished:
            return _report(turn.finished)
        if call is not None:
            return (
                f"{call.tool_name} needs a value for {', '.join(call.missing)}. Say it again with all values."
            )
        return _compacted(turn.said) or self.decline(turn)

    def decline(self, turn: Turn) -> str:
        """What it says when no tool fits."""
        told = [
            (tool.name, tool.description.strip().split("\n", 1)[0].split(". ", 1)[0]) for tool in turn.tools
        ]
        tools = "\n".join(f"- {name}: {sentence.rstrip('.')}" for name, sentence in told)
        too_long = (
            f" I read at most {LONGEST_REQUEST} characters." if len(turn.said) > LONGEST_REQUEST else ""
        )
        offer = f"The tools here:\n{tools}" if tools else "There are no tools here."
        return f"{_INTRODUCTION}{too_long}\n{offer}\n{_WITH_A_REAL_MODEL}"


def connect(model: str = "", *, pace: float = 0) -> OfflineClient:  # noqa: ARG001 - as every provider's
    """The offline model.

    Args:
        model: Nothing, since there is only one; a name is accepted and ignored.
        pace: Seconds between two words of a stream.
    """
    return OfflineClient(pace=pace)


def _finished_calls(messages: Sequence[Message]) -> tuple[FinishedCall, ...]:
    calls = {call.id: call for message in messages for call in message.tool_calls}
    return tuple(
        FinishedCall(calls[message.tool_call_id], message.content, message.is_error)
        for message in messages
        if message.tool_call_id is not None and message.tool_call_id in calls
    )


def _report(finished: Sequence[FinishedCall]) -> str:
    """What the tools returned, in words."""
    return "\n".join(_sentence(each.call.tool_name, unmarked(each.text).strip(), each) for each in finished)


def _sentence(name: str, text: str, finished: FinishedCall) -> str:
    ended = text if text.endswith((".", "!", "?")) else f"{text}."
    if finished.is_error:
        return f"{name} failed: {ended if text else 'it gave no reason.'}"
    if "\n" in text or (" " in text and ended == text):
        return text
    return f"According to {name}: {ended}" if text else f"{name} is done and returned nothing."


def _compacted(said: str) -> str:
    """The beginning of each of the last lines of a record that is to be compacted."""
    record = re.fullmatch(_CONDENSE, said)
    lines = [line.strip() for line in record[1].splitlines() if line.strip()] if record else []
    return "\n".join(line[:_COMPACTED_WIDTH] for line in lines[-_COMPACTED_LINES:])


def _structured_output(schema: Schema, turn: Turn) -> str:
    """JSON of the schema's shape, from what was said and what tools returned."""
    finished = (*turn.finished_before, *turn.finished)
    asked = next(iter((*turn.said_before, turn.said)))
    source = _Source(schema, asked[:LONGEST_REQUEST], _report(finished) or asked, list(_facts(finished)))
    return json.dumps(source.value("", resolve(schema, schema)), ensure_ascii=False)


class _Source(Struct, frozen=True):
    """Where the values of structured output come from."""

    root: Schema
    asked: str
    """What the user asked for."""
    words: str
    """The answer in words."""
    facts: Sequence[tuple[str, Any]]
    """The arguments of tool calls and the fields of their results, by name."""

    def value(self, name: str, schema: Schema, depth: int = 0) -> Any:  # noqa: ANN401 - whatever the schema says
        """A value of the schema's type: a fact of that name, else one in the request, else a blank one."""
        kind = schema.get("type", "string")
        if kind == "object":
            fields = fields_of(schema, self.root) if depth < _DEEPEST else ()
            return {field: self.value(field, each, depth + 1) for field, each, required in fields if required}
        if kind == "array":
            items = resolve(schema.get("items", {}), self.root)
            found = list(dict.fromkeys(self._facts_of(name, items)))
            lacking = range(int(schema.get("minItems", 0)) - len(found))
            return found + [self.value(name, items, depth + 1) for _ in lacking]
        for fact in self._facts_of(name, schema):
            return fact
        read, _ = fill({"properties": {name: schema}, "required": [name]}, self.asked)
        blank = {"integer": 0, "number": 0, "boolean": False, "string": self.words}.get(kind)
        default = schema.get("default", schema.get("minimum", next(iter(schema.get("enum", ())), blank)))
        return read.get(name, default)

    def _facts_of(self, name: str, schema: Schema) -> Iterator[str | float]:
        """The facts of this name, in the singular or plural, that have the schema's type; the latest first."""
        types = {"integer": (int,), "number": (int, float), "string": (str,), "boolean": (bool,)}
        for fact_name, fact in reversed(self.facts):
            for value in fact if isinstance(fact, list) else [fact]:
                fits = type(value) in types.get(schema.get("type", "string"), ())
                if words_of(fact_name) == words_of(name) and fits and value in schema.get("enum", (value,)):
                    yield value


def _facts(finished: Sequence[FinishedCall]) -> Iterator[tuple[str, Any]]:
    for each in finished:
        yield from each.call.arguments.items()
        with suppress(ValueError):  # a result in plain words has no named fields
            result = json.loads(each.text)
            yield from result.items() if isinstance(result, dict) else ()


def _within(text: str, max_tokens: int) -> tuple[str, StopReason]:
    room = max_tokens * _CHARACTERS_PER_TOKEN
    if not max_tokens or len(text) <= room:
        return text, StopReason.COMPLETE
    return text[:room], StopReason.MAX_TOKENS


def _usage(request: Request, written: int) -> Usage:
    """Tokens by length, as a rule of thumb; the price is known: nothing."""
    read = len(request.system) + sum(len(message.content) for message in request.messages)
    return Usage(-(-read // _CHARACTERS_PER_TOKEN), -(-written // _CHARACTERS_PER_TOKEN), cost_usd=0.0)
