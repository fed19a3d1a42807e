"""What the Responses service issued, and what it asks of it when it comes back.

Nothing is stored, so every item has to come back itself: unchanged, in its order, reasoning with the encrypted content
that it was issued with and with the item that it led to. An item that names its id is the item of that id.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from strict.openai_rules import Body, RefusedError

_REASONING = re.compile(r'"type": "reasoning"')
_BOUND = re.compile(r'"type": "(reasoning|[a-z_]+_search_call)"')


@dataclass
class ResponsesLedger:
    """Everything issued so far."""

    answers: list[list[str]] = field(default_factory=list)
    """The items of each answer."""
    returned: set[str] = field(default_factory=set)
    """The items that came back."""
    left_out: int = 0
    """How many times an answer came back without some of its reasoning."""
    with_tools: list[bool] = field(default_factory=list)
    """Whether each answer could call tools: a run goes on from such an answer."""
    _by_id: dict[str, str] = field(default_factory=dict)
    _answer_of: dict[str, int] = field(default_factory=dict)

    def check(self, body: Body) -> None:
        """Check the conversation of a request.

        Raises:
            RefusedError: The service would refuse it.
        """
        given = body.get("input") or []
        items: list[Body] = [{"role": "user", "content": given}] if isinstance(given, str) else list(given)
        if not items:
            raise RefusedError(
                "One of 'input' or 'previous_response_id' or 'prompt' must be provided.", "input"
            )
        for number, item in enumerate(items):
            self._check_item(number, item)
        self._check_pairs(items)
        self._check_answers(items)
        _check_calls(items)

    def issue(self, output: list[Body], *, with_tools: bool = False) -> None:
        """Note the items of an answer, in order."""
        self.with_tools.append(with_tools)
        number = len(self.answers)
        self.answers.append([canonical(item) for item in output])
        for item in output:
            self._by_id[item["id"]] = canonical(item)
            self._answer_of[canonical(item)] = number

    def _check_item(self, number: int, item: Body) -> None:
        kind, name = item.get("type", "message"), item.get("id")
        if kind == "item_reference" or (kind == "reasoning" and not item.get("encrypted_content")):
            raise RefusedError(
                f"Item with id '{name}' not found. Items are not persisted when `store` is set to false. Try again "
                "with `store` set to true, or remove this item from your input.",
                "input",
                status=404,
            )
        if name is not None and self._by_id.get(name) != canonical(item):
            if kind in ("reasoning", "compaction"):
                raise RefusedError(
                    f"The encrypted content for item {name} could not be verified.",
                    f"input[{number}]",
                    "invalid_encrypted_content",
                )
            raise RefusedError(f"Item '{name}' was changed since it was issued.", f"input[{number}]")

    def _check_pairs(self, items: list[Body]) -> None:
        """Reasoning comes back with the item it led to, and an item with an id with the reasoning that led to it."""
        sent = [canonical(item) for item in items]
        for number, text in enumerate(sent):
            answer = self.answers[self._answer_of[text]] if text in self._answer_of else []
            place = answer.index(text) if answer else 0
            following = sent[number + 1] if number + 1 < len(sent) else ""
            if items[number].get("type") == "reasoning" and answer[place + 1 : place + 2] != [following]:
                raise RefusedError(
                    f"Item '{items[number]['id']}' of type 'reasoning' was provided without its required following "
                    "item.",
                    "input",
                )
            before = json.loads(answer[place - 1]) if place else {}
            if before.get("type") == "reasoning" and sent[number - 1 : number] != [answer[place - 1]]:
                raise RefusedError(
                    f"Item '{items[number]['id']}' of type '{items[number]['type']}' was provided without its "
                    f"required 'reasoning' item: '{before['id']}'.",
                    "input",
                )

    def _check_answers(self, items: list[Body]) -> None:
        """Of an answer, all comes back or nothing does, in order.

        Reasoning may be left out, and then what only refers to it by its id, too.
        """
        exact = {canonical(item) for item in items}
        sent = [_known_as(canonical(item)) for item in items]
        plain = {_known_as(text): number for text, number in self._answer_of.items()}
        known = [(text, plain[text]) for text in sent if text in plain]
        for number in dict.fromkeys(number for _, number in known):
            self.returned.update(self.answers[number])
            came = [text for text, its in known if its == number]
            whole = [_known_as(text) for text in self.answers[number]]
            reasoned = any(map(_REASONING.search, whole)) and not any(map(_REASONING.search, came))
            may_go = _BOUND if reasoned else _REASONING
            kept = [text for text in whole if text in came or not may_go.search(text)]
            if came != kept:
                lost = next((text for text in kept if text not in came), "their order")
                raise RefusedError(f"Items of a response were lost or changed: {lost[:200]}", "input")
            if not reasoned and not exact.issuperset(self.answers[number]):
                raise RefusedError("Items of a response came back without their own form.", "input")
            self.left_out += kept != whole


def canonical(item: Any) -> str:
    """JSON in one form, without fields that say nothing."""
    return json.dumps(_stripped(item), sort_keys=True)


def _stripped(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _stripped(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_stripped(item) for item in value]
    return value


def _known_as(text: str) -> str:
    """An item by what it says, so that it is known without its id and status, too."""
    item: Body = json.loads(text)
    kind = item.get("type", "message")
    if kind == "function_call":
        said = {name: item.get(name) for name in ("type", "call_id", "name")}
        return canonical({**said, "arguments": _arguments(item["arguments"])})
    if kind == "message" and item.get("role") == "assistant":
        content = item.get("content")
        words = (
            content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])
        )
        return canonical({"type": "message", "role": "assistant", "text": words})
    return text


def _arguments(text: str) -> Any:
    """What a call says; one that was cut off is taken back as the text that it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _check_calls(items: list[Body]) -> None:
    """Every call has its output, after it, once."""
    called: list[str] = []
    for item in items:
        match item.get("type"):
            case "function_call":
                if item["call_id"] in called:
                    raise RefusedError(f"Duplicate call_id {item['call_id']}.", "input")
                called.append(item["call_id"])
            case "function_call_output" if item.get("call_id") not in called:
                raise RefusedError(
                    f"No tool call found for function call output with call_id {item.get('call_id')}.",
                    "input",
                )
    answered = [item.get("call_id") for item in items if item.get("type") == "function_call_output"]
    for call in called:
        if answered.count(call) != 1:
            raise RefusedError(f"No tool output found for function call {call}.", "input")
