"""The strict OpenAI service refuses what OpenAI's refuses, and takes what OpenAI documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from strict.openai_ledger import ResponsesLedger
from strict.openai_rules import Body, RefusedError, check_chat, check_headers, check_responses

SOL = "gpt-5.6-sol"
ADD = {
    "type": "function",
    "name": "add",
    "strict": True,
    "parameters": {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
}
CHAT_ADD = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
RED_DOT = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"


def user(content: str | list[Body] = "hi") -> Body:
    return {"role": "user", "content": content}


def body(*items: Body, **fields: Any) -> Body:
    return {"model": SOL, "store": False, "input": list(items) or [user()], **fields}


def chat(*messages: Body, **fields: Any) -> Body:
    return {"model": SOL, "messages": list(messages) or [user()], **fields}


def image(url: str) -> Body:
    return user([{"type": "input_image", "detail": "auto", "image_url": url}])


REASONED = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "sealed"}
CALLED = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "add", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "5"}
FOUND = {
    "id": "ws_1",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "x"},
}
SAID = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Five.", "annotations": []}],
}

ALLOWED: Mapping[str, Body] = {
    "text": body(),
    "settings": body(reasoning={"effort": "max", "summary": "auto"}, max_output_tokens=100),
    "temperature without reasoning": body(reasoning={"effort": "none"}, temperature=0.5),
    "tools of both kinds": body(tools=[ADD, {"type": "web_search"}], tool_choice="auto"),
    "an image": body(image(RED_DOT)),
    "encrypted reasoning": body(include=["reasoning.encrypted_content"]),
}
REFUSED: Mapping[str, tuple[Body, str]] = {
    "a field that does not exist": (body(stop=["END"]), "Unknown parameter: 'stop'."),
    "a field in an item": (body({**OUTPUT, "said": "x"}), "Unknown parameter: 'input[0].said'."),
    "an unknown model": (body(model="gpt-99"), "does not exist"),
    "an effort that a model lacks": (
        body(model="gpt-6.1-sol", reasoning={"effort": "none"}),
        "Unsupported value: 'none'",
    ),
    "an effort without reasoning": (
        body(model="gpt-4.1", reasoning={"effort": "low"}),
        "Unsupported parameter",
    ),
    "temperature with reasoning": (body(temperature=0.5), "Unsupported parameter: 'temperature'"),
    "too few tokens": (body(max_output_tokens=1), "below minimum value"),
    "an open strict schema": (
        body(tools=[{**ADD, "parameters": {"type": "object", "properties": {}}}]),
        "additionalProperties",
    ),
    "a strict schema with an option": (
        body(tools=[{**ADD, "parameters": {**ADD["parameters"], "properties": {"a": {"type": "string"}}}}]),  # type: ignore[dict-item]  # the dict is one
        "every key in properties",
    ),
    "a choice without tools": (body(tool_choice="required"), "only allowed when 'tools'"),
    "an unknown thing to include": (body(include=["everything"]), "Invalid value: 'include[0]'"),
    "no input": (body(input=[]), "must be provided"),
    "an image that is none": (body(image("data:image/png;base64,aGVsbG8=")), "Could not process image"),
    "a file without a name": (
        body(user([{"type": "input_file", "file_data": "data:application/pdf;base64,JVBERi0="}])),
        "filename",
    ),
    "reasoning that was not sealed": (
        body({"id": "rs_9", "type": "reasoning", "summary": []}, user()),
        "Items are not persisted",
    ),
    "reasoning of someone else": (body(REASONED, user()), "could not be verified"),
    "a reference": (body({"type": "item_reference", "id": "msg_1"}), "Items are not persisted"),
    "a call without its output": (
        body(user(), {"type": "function_call", "call_id": "c", "name": "add", "arguments": "{}"}),
        "No tool output found for function call c",
    ),
    "an output without its call": (body(user(), OUTPUT), "No tool call found"),
}
REFUSED_BY_CHAT: Mapping[str, tuple[Body, str]] = {
    "tools with reasoning": (chat(tools=[CHAT_ADD]), "use /v1/responses or set reasoning_effort to 'none'"),
    "the old limit": (chat(max_tokens=5), "Use 'max_completion_tokens' instead"),
    "a call without its result": (
        chat(
            user(),
            {
                "role": "assistant",
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "a", "arguments": "{}"}}],
            },
            user(),
        ),
        "must be followed by tool messages",
    ),
    "a result without its call": (
        chat({"role": "tool", "tool_call_id": "c", "content": "5"}),
        "must be a response to a preceeding message",
    ),
    "an empty answer": (chat(user(), {"role": "assistant"}, user()), "expected a string, got null"),
    "a field that does not exist": (chat(thinking={}), "Unknown parameter: 'thinking'."),
}


def take(request: Body, ledger: ResponsesLedger | None = None) -> None:
    check_responses(request)
    (ledger or ResponsesLedger()).check(request)


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_documented_is_taken(name: str) -> None:
    take(ALLOWED[name])


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_vendor_refuses_is_refused(name: str) -> None:
    request, why = REFUSED[name]

    with pytest.raises(RefusedError) as refusal:
        take(request)

    assert why in refusal.value.message


@pytest.mark.parametrize("name", REFUSED_BY_CHAT)
def test_what_chat_completions_refuses_is_refused(name: str) -> None:
    request, why = REFUSED_BY_CHAT[name]

    with pytest.raises(RefusedError) as refusal:
        check_chat(request)

    assert why in refusal.value.message


def test_chat_completions_takes_tools_without_reasoning() -> None:
    check_chat(chat(tools=[CHAT_ADD], reasoning_effort="none"))
    check_chat(chat(tools=[CHAT_ADD], model="gpt-4.1", max_tokens=5, temperature=0.1))


def test_a_request_needs_a_key() -> None:
    with pytest.raises(RefusedError):
        check_headers({"content-type": "application/json"}, 10)


class TestItems:
    """They come back whole, in order and unchanged, reasoning with what it led to."""

    def ledger(self) -> ResponsesLedger:
        ledger = ResponsesLedger()
        ledger.issue([REASONED, FOUND, CALLED])
        ledger.issue([SAID])
        return ledger

    def test_a_conversation_comes_back_whole(self) -> None:
        take(body(user(), REASONED, FOUND, CALLED, OUTPUT, SAID, user()), self.ledger())

    @pytest.mark.parametrize(
        ("items", "why"),
        [
            ([REASONED, CALLED, FOUND], "without its required following item"),
            ([REASONED], "without its required following item"),
            ([FOUND, CALLED], "without its required 'reasoning' item: 'rs_1'"),
            ([REASONED, FOUND], "lost or changed"),
            ([REASONED, FOUND, {**CALLED, "arguments": '{"a": 1}'}], "was changed since"),
            ([{**REASONED, "encrypted_content": "broken"}, FOUND, CALLED], "could not be verified"),
        ],
        ids=["order", "alone", "no reasoning", "a lost call", "a changed call", "changed reasoning"],
    )
    def test_a_lost_or_changed_item_is_refused(self, items: list[Body], why: str) -> None:
        outputs = [OUTPUT] if CALLED in items else []

        with pytest.raises(RefusedError, match=why):
            take(body(user(), *items, *outputs, user()), self.ledger())

    def test_reasoning_may_be_left_out_where_ids_are_left_out_too(self) -> None:
        ledger = self.ledger()
        ledger.issue([{**REASONED, "id": "rs_2"}, {**CALLED, "id": "fc_2", "call_id": "call_2"}])
        plain = {"type": "function_call", "call_id": "call_2", "name": "add", "arguments": "{}"}

        take(body(user(), plain, {**OUTPUT, "call_id": "call_2"}, user()), ledger)

        assert ledger.left_out == 1
