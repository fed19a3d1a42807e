"""The strict Claude service refuses what Anthropic's refuses, and takes what Anthropic documents."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest

import media_files
from strict.claude_ledger import ClaudeLedger
from strict.claude_rules import COMPACT_BETA, Body, RefusedError, check_request

HEADERS = {"x-api-key": "key", "anthropic-version": "2023-06-01", "content-type": "application/json"}
OPUS = "claude-opus-5-5"
WEB = {"type": "web_search_20260318", "name": "web_search"}
ADD = {"name": "add", "input_schema": {"type": "object", "properties": {}}}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "5"}
THOUGHT = {"type": "thinking", "thinking": "", "signature": "signed"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "e"}],
}
SUMMARY = {"type": "compaction", "content": "Summary.", "signature": "sealed"}


def said(text: str) -> Body:
    return {"type": "text", "text": text}


def user(*content: Body | str) -> Body:
    return {"role": "user", "content": [said(part) if isinstance(part, str) else part for part in content]}


def assistant(*content: Body | str) -> Body:
    return {**user(*content), "role": "assistant"}


def body(*messages: Body, **fields: Any) -> Body:
    return {"model": OPUS, "max_tokens": 1000, "messages": list(messages) or [user("hi")], **fields}


def png(width: int = 1, height: int = 1, media_type: str = "image/png") -> Body:
    data = media_files.png(1, 1, says=(width, height))
    source = {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode()}
    return {"type": "image", "source": source}


class Service:
    """The rules and a ledger, without a network."""

    def __init__(self) -> None:
        self.ledger = ClaudeLedger()

    def take(
        self, request: Body, *answer: Body, reason: str = "end_turn", betas: str = ""
    ) -> tuple[str, ...]:
        """Check a request and issue an answer to it; what was dropped from the request."""
        headers = {**HEADERS, "anthropic-beta": betas} if betas else HEADERS
        conversation = self.ledger.check(check_request(headers, 1000, request), request)
        self.ledger.issue(conversation, request, answer, reason)
        return conversation.dropped


MARK: Mapping[str, Any] = {"cache_control": {"type": "ephemeral"}}
ALLOWED: Mapping[str, Body] = {
    "text": body(),
    "settings": body(output_config={"effort": "high"}, thinking={"type": "adaptive"}, stop_sequences=["END"]),
    "thinking off on Haiku": body(model="claude-haiku-5-5", thinking={"type": "disabled"}),
    "temperature on an old model": body(model="claude-sonnet-4-5", temperature=0.2),
    "tools of both kinds": body(user("hi"), tools=[ADD, {**WEB, **MARK}], tool_choice={"type": "auto"}),
    "results first": body(
        user("hi"), assistant(CALL), user({**RESULT, "content": [png()]}, "Go on."), tools=[ADD]
    ),
    "an image by its address": body(
        user({"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}})
    ),
}
REFUSED: Mapping[str, tuple[Body, str]] = {
    "a field that does not exist": (body(temprature=1), "temprature: Extra inputs"),
    "a field in a block": (body(user({**said("x"), "name": "y"})), "messages.0.content.0.name: Extra inputs"),
    "an unknown block": (body(user({"type": "hologram"})), "Input tag 'hologram'"),
    "no max_tokens": ({"model": OPUS, "messages": [user("hi")]}, "max_tokens: Field required"),
    "too many tokens": (body(max_tokens=500_000), "max_tokens: 500000 > 128000"),
    "an unknown model": (body(model="claude-nine"), "model: claude-nine"),
    "thinking off on Opus": (
        body(thinking={"type": "disabled"}),
        '"thinking.type.disabled" is not supported',
    ),
    "a budget on Sonnet": (
        body(model="claude-sonnet-5-5", thinking={"type": "enabled", "budget_tokens": 2000}, max_tokens=4000),
        '"thinking.type.enabled" is not supported',
    ),
    "temperature on Opus": (body(temperature=0.5), "temperature: Extra inputs"),
    "a forced tool on Opus": (body(tools=[ADD], tool_choice={"type": "any"}), "forced tool use"),
    "an effort that does not exist": (body(output_config={"effort": "maximum"}), "output_config.effort"),
    "a tool that is not there": (
        body(model="claude-sonnet-4-5", tools=[ADD], tool_choice={"type": "tool", "name": "sub"}),
        "Tool 'sub' not found",
    ),
    "two tools of a name": (body(tools=[ADD, ADD]), "Tool names must be unique"),
    "a schema that is no object": (body(tools=[{**ADD, "input_schema": {}}]), "input_schema.type"),
    "an open schema of an answer": (
        body(output_config={"format": {"type": "json_schema", "schema": {"type": "object"}}}),
        "additionalProperties",
    ),
    "five cache marks": (body(user(*[{**said(str(n)), **MARK} for n in range(5)])), "maximum of 4 blocks"),
    "a cache mark on thinking": (body(user("x"), assistant({**THOUGHT, **MARK})), "cache_control: Extra"),
    "an empty text": (body(user("")), "must be non-empty"),
    "a blank text": (body(user(" \n")), "non-whitespace"),
    "an empty message": (body(user("x"), assistant(), user("y")), "non-empty content"),
    "an answer first": (body(assistant("x")), "first message must use"),
    "a prefilled answer": (body(user("x"), assistant("y")), "prefill"),
    "a call without its result": (
        body(user("x"), assistant(CALL), user("y"), tools=[ADD]),
        "without `tool_re",
    ),
    "a result without its call": (body(user(RESULT)), "unexpected `tool_use_id`"),
    "a result after words": (body(user("x"), assistant(CALL), user("y", RESULT)), "must come first"),
    "an error with an image": (
        body(user("x"), assistant(CALL), user({**RESULT, "is_error": True, "content": [png()]})),
        "is_error",
    ),
    "a search without what was found": (body(user("x"), assistant(SEARCH), user("y")), "without its result"),
    "thinking of someone else": (body(user("x"), assistant(THOUGHT, "y"), user("z")), "Invalid `signature`"),
    "compaction without its beta": (body(compaction={"type": "summarize"}), "compaction: Extra inputs"),
    "an image of another type": (body(user(png(media_type="image/jpeg"))), "appears to be image/png"),
    "an image that is too large": (body(user(png(9000, 10))), "dimensions exceed"),
    "many images that are too large": (body(user(*[png(3000, 10)] * 21)), "dimensions exceed"),
    "a blank stop sequence": (body(stop_sequences=[" "]), "non-whitespace"),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_documented_is_taken(name: str) -> None:
    Service().take(ALLOWED[name])


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_vendor_refuses_is_refused(name: str) -> None:
    request, why = REFUSED[name]

    with pytest.raises(RefusedError) as refusal:
        Service().take(request)

    assert why in refusal.value.message


@pytest.mark.parametrize("headers", [{**HEADERS, "anthropic-version": ""}, {**HEADERS, "x-api-key": ""}])
def test_a_request_needs_its_headers(headers: dict[str, str]) -> None:
    with pytest.raises(RefusedError):
        check_request(headers, 10, body())


class TestThinking:
    """It is valid behind an unchanged conversation only."""

    ASKED = body(user("x"), system="Be brief.", tools=[ADD])

    def follow_up(self, **fields: Any) -> Body:
        messages = [user("x"), assistant(THOUGHT, "y"), user("z")]
        return {**self.ASKED, "messages": messages, **fields}

    def service(self) -> Service:
        service = Service()
        service.take(self.ASKED, THOUGHT, said("y"))
        return service

    def test_it_comes_back_with_the_conversation_it_was_made_in(self) -> None:
        marked = [{**said("Be brief."), **MARK}]

        assert self.service().take(self.follow_up(system=marked)) == ()

    @pytest.mark.parametrize(
        "change",
        [
            {"system": "Be long."},
            {"tools": [ADD, WEB]},
            {"messages": [user("w"), assistant(THOUGHT, "y"), user("z")]},
        ],
        ids=["system", "tools", "messages"],
    )
    def test_a_change_before_it_is_refused_or_drops_it(self, change: Body) -> None:
        changed = self.follow_up(**change)

        with pytest.raises(RefusedError, match="conversation before them has changed"):
            self.service().take(changed)
        binding = {"prefix_mismatch_behavior": "drop_block"}
        dropping = {**changed, "thinking": {"type": "adaptive", "block_binding": binding}}
        betas = "thinking-binding-controls-2026-08-01"
        assert self.service().take(dropping, betas=betas) == ("messages.1.content.0",)

    def test_another_model_is_not_shown_it(self) -> None:
        assert self.service().take(self.follow_up(model="claude-fable-5-2")) == ("messages.1.content.0",)

    def test_it_may_be_left_out_and_may_not_be_changed(self) -> None:
        service = self.service()
        service.take(self.follow_up(messages=[user("x"), assistant("y"), user("z")]))

        assert service.ledger.left_out == 1
        altered = [user("x"), assistant({**THOUGHT, "thinking": "other"}, "y"), user("z")]
        with pytest.raises(RefusedError, match="cannot be modified"):
            service.take(self.follow_up(messages=altered))

    def test_behind_a_compaction_block_it_stays_valid(self) -> None:
        service = self.service()
        asked = self.follow_up()
        service.take({**asked, "compaction": {"type": "summarize"}}, SUMMARY, betas=COMPACT_BETA)
        later = {**THOUGHT, "signature": "later"}
        service.take(asked, later, said("w"))

        kept = [assistant(SUMMARY), assistant(later, "w"), user("go on")]
        assert service.take({**asked, "messages": kept}, betas=COMPACT_BETA) == ()
        skipped = [assistant(SUMMARY), user("go on"), assistant(later, "w"), user("go on")]
        with pytest.raises(RefusedError, match="has changed"):
            service.take({**asked, "messages": skipped}, betas=COMPACT_BETA)


class TestOtherBlocks:
    """They come back whole, in order and unchanged."""

    CITED: Mapping[str, Any] = {
        "type": "text",
        "text": "It is so.",
        "citations": [
            {
                "type": "web_search_result_location",
                "cited_text": "so",
                "encrypted_index": "i",
                "title": "t",
                "url": "u",
            }
        ],
    }

    def service(self, reason: str = "end_turn") -> Service:
        service = Service()
        service.take(body(tools=[WEB]), SEARCH, FOUND, dict(self.CITED), reason=reason)
        return service

    def test_an_answer_comes_back_whole(self) -> None:
        answer = assistant(SEARCH, FOUND, dict(self.CITED))

        self.service().take(body(user("hi"), answer, user("and?"), tools=[WEB]))

    @pytest.mark.parametrize("damage", ["citations", "result", "order"])
    def test_a_lost_or_changed_block_is_refused(self, damage: str) -> None:
        content: list[Body] = [deepcopy(SEARCH), deepcopy(FOUND), deepcopy(dict(self.CITED))]
        match damage:
            case "citations":
                del content[2]["citations"]
            case "result":
                content[1]["content"] = []
            case "order":
                content = [content[2], *content[:2]]

        with pytest.raises(RefusedError, match="lost or changed"):
            self.service().take(body(user("hi"), assistant(*content), user("and?"), tools=[WEB]))

    def test_a_paused_answer_goes_on_from_where_it_is(self) -> None:
        answer = assistant(SEARCH, FOUND, dict(self.CITED))

        self.service("pause_turn").take(body(user("hi"), answer, tools=[WEB]))
        with pytest.raises(RefusedError, match="prefill"):
            self.service().take(body(user("hi"), answer, tools=[WEB]))
