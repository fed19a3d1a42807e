"""What the Claude service issued, and what it asks of it when it comes back.

Thinking is signed. On models with preserved thinking, a signature holds only behind the very conversation that it was
made in: the instructions, the tools and every block before it, whatever their cache marks. A compaction block stands
for the messages that it was made of, so thinking behind those stays valid behind the block. All other blocks have to
come back as they were issued, in order, and all of an answer or none of it; only thinking may be left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from strict.claude_rules import MODELS, Body, ModelRules, RefusedError, content_of

THINKING = frozenset({"thinking", "redacted_thinking"})
_READ_BY_ALL = frozenset({"claude-haiku-5-5"})
_UNCHECKED = frozenset({"cache_control"})
_SAYING_NOTHING: Sequence[tuple[str, Any]] = [("citations", []), ("caller", {"type": "direct"})]

_CHANGED = (
    "`thinking` blocks cannot be used because the conversation before them has changed since they were created. "
    "Send the conversation unchanged, leave the blocks out, or set thinking.block_binding.prefix_mismatch_behavior "
    "to drop_block."
)

State = frozenset[str]
"""Hashes that each stand for a conversation up to a place; after compaction there are two ways to see it."""


@dataclass(frozen=True)
class Conversation:
    """A request that was checked: the state behind each of its places, and what was dropped from it."""

    start: State
    end: State
    last_role: str
    dropped: tuple[str, ...] = ()
    """The paths of thinking blocks that the model is not shown."""


@dataclass(frozen=True)
class _Thinking:
    block: str
    behind: State
    model: str


@dataclass(frozen=True)
class _Compaction:
    block: str
    of: Conversation
    bound: bool
    """Whether the model that wrote it has preserved thinking."""


@dataclass
class ClaudeLedger:
    """Everything issued so far."""

    answers: list[list[str]] = field(default_factory=list)
    """The blocks of each answer."""
    returned: set[str] = field(default_factory=set)
    """The blocks that came back."""
    left_out: int = 0
    """How many times an answer came back without some of its thinking."""
    with_tools: list[bool] = field(default_factory=list)
    """Whether each answer could call tools: a run goes on from such an answer."""
    _thinking: dict[str, _Thinking] = field(default_factory=dict)
    _compactions: dict[str, _Compaction] = field(default_factory=dict)
    _answer_of: dict[str, int] = field(default_factory=dict)
    _paused: set[int] = field(default_factory=set)

    def check(self, rules: ModelRules, body: Body) -> Conversation:
        """Check the conversation of a request.

        Raises:
            RefusedError: The service would refuse it.
        """
        turns = _turns(body)
        _check_order(rules, body, turns, paused=bool(turns) and self._is_paused(turns[-1][1]))
        self._check_answers(turns)
        return self._check_bindings(rules, body)

    def issue(self, conversation: Conversation, body: Body, content: Iterable[Body], reason: str) -> None:
        """Note the blocks of an answer, in order, so that they are known when they come back."""
        state, rules = conversation.end, MODELS[body["model"]]
        number = len(self.answers)
        self.answers.append([])
        self.with_tools.append(bool(body.get("tools")))
        for block in content:
            text = canonical(block)
            if block["type"] in THINKING:
                self._thinking[_mark(block)] = _Thinking(text, state, body["model"])
            elif block["type"] == "compaction":
                self._compactions[block["signature"]] = _Compaction(text, conversation, rules.preserved)
            self._answer_of[text] = number
            self.answers[-1].append(text)
            state = _extended(state, "assistant", text)
        if reason == "pause_turn":
            self._paused.add(number)

    def _is_paused(self, content: list[Body]) -> bool:
        """Whether a turn ends with an answer that asked to go on."""
        return self._answer_of.get(canonical(content[-1])) in self._paused

    def _check_answers(self, turns: list[tuple[str, list[Body]]]) -> None:
        """Of an answer, all comes back or nothing does, in order and unchanged, thinking aside."""
        sent = [canonical(block) for role, content in turns if role == "assistant" for block in content]
        self.returned.update(sent)
        known = [(text, self._answer_of[text]) for text in sent if text in self._answer_of]
        for number in dict.fromkeys(number for _, number in known):
            came = [text for text, its in known if its == number]
            whole = self.answers[number]
            kept = [text for text in whole if text in came or not _is_thinking(text)]
            if came != kept:
                lost = next((text for text in kept if text not in came), "their order")
                raise RefusedError(f"messages: blocks of an answer were lost or changed: {lost[:200]}")
            self.left_out += kept != whole

    def _check_bindings(self, rules: ModelRules, body: Body) -> Conversation:
        start = state = frozenset({_hash(canonical(_prompt_of(body)))})
        dropping = _drops(body)
        dropped: list[str] = []
        failed = False
        last_role = "user"
        places = [
            (f"messages.{number}.content.{index}", message["role"], block)
            for number, message in enumerate(body["messages"])
            for index, block in enumerate(content_of(message))
        ]
        for number, (path, role, block) in enumerate(places):
            text, last_role = canonical(block), role
            if block["type"] in THINKING:
                issued = self._issued(path, block, text)
                if not _reads(body["model"], issued.model):
                    dropped.append(path)
                elif rules.preserved and (failed or not issued.behind & state):
                    failed = True
                    if not dropping:
                        raise RefusedError(f"{path}: {_CHANGED}")
                    dropped.append(path)
            following = places[number + 1][1] if number + 1 < len(places) else ""
            state = self._behind(block, text, state, role, following, first=number == 0)
        return Conversation(start, state, last_role, tuple(dropped))

    def _behind(
        self, block: Body, text: str, state: State, role: str, following: str, *, first: bool
    ) -> State:
        extended = _extended(state, role, text)
        if block["type"] != "compaction":
            return extended
        issued = self._compactions.get(block.get("signature") or "")
        if issued is None or issued.block != text:
            raise RefusedError("messages.0.content.0: Invalid `signature` in `compaction` block")
        if not first or role != "assistant":
            raise RefusedError("messages: a `compaction` block must be the first block of the first message")
        if issued.bound and issued.of.start == state and following != issued.of.last_role:
            return extended | issued.of.end
        return extended

    def _issued(self, path: str, block: Body, text: str) -> _Thinking:
        issued = self._thinking.get(_mark(block))
        if issued is None:
            raise RefusedError(f"{path}: Invalid `signature` in `thinking` block")
        if issued.block != text:
            raise RefusedError(
                f"{path}: `thinking` or `redacted_thinking` blocks in the response cannot be modified"
            )
        return issued


def canonical(value: Any) -> str:
    """JSON in one form, without cache marks and fields that say nothing."""
    return json.dumps(_without_marks(value), sort_keys=True, ensure_ascii=True)


def _without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _without_marks(item)
            for name, item in value.items()
            if name not in _UNCHECKED and item is not None and (name, item) not in _SAYING_NOTHING
        }
    if isinstance(value, list):
        return [_without_marks(item) for item in value]
    return value


def _prompt_of(body: Body) -> list[Any]:
    system = body.get("system", [])
    texts = [{"type": "text", "text": system}] if isinstance(system, str) and system else list(system)
    return [texts, [tool for tool in body.get("tools", []) if not tool.get("defer_loading")]]


def _drops(body: Body) -> bool:
    binding: Mapping[str, Any] = body.get("thinking", {}).get("block_binding") or {}
    return binding.get("prefix_mismatch_behavior") == "drop_block"


def _mark(block: Body) -> str:
    return str(block.get("signature") or block.get("data") or "")


def _is_thinking(text: str) -> bool:
    return json.loads(text)["type"] in THINKING


def _reads(model: str, maker: str) -> bool:
    return model == maker or maker in _READ_BY_ALL or not MODELS[model].preserved


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _extended(state: State, role: str, text: str) -> State:
    return frozenset(_hash(f"{before} {role} {text}") for before in state)


def _turns(body: Body) -> list[tuple[str, list[Body]]]:
    """The messages with those of the same role in a row made one, as the service reads them."""
    turns: list[tuple[str, list[Body]]] = []
    for number, message in enumerate(body["messages"]):
        content = content_of(message)
        if not content:
            raise RefusedError(f"messages.{number}: all messages must have non-empty content")
        if turns and turns[-1][0] == message["role"]:
            turns[-1][1].extend(content)
        else:
            turns.append((message["role"], content))
    return turns


def _check_order(rules: ModelRules, body: Body, turns: list[tuple[str, list[Body]]], *, paused: bool) -> None:
    if not turns:
        raise RefusedError("messages: at least one message is required")
    if turns[0][0] != "user" and turns[0][1][0]["type"] != "compaction":
        raise RefusedError('messages: first message must use the "user" role')
    calls = [block["id"] for _, content in turns for block in content if block["type"] == "tool_use"]
    if len(calls) != len(set(calls)):
        raise RefusedError("messages: `tool_use` ids must be unique")
    for number, ((_, before), (role, content)) in enumerate(pairwise([("", []), *turns])):
        _check_results(number, before, content, role)
    role, content = turns[-1]
    if waiting := [block["id"] for block in content if block["type"] == "tool_use"]:
        raise RefusedError(
            f"`tool_use` ids were found without `tool_result` blocks immediately after: {waiting}"
        )
    for number, (_, before) in enumerate(turns[:-1]):
        if unfinished := _open_server_tools(before):
            raise RefusedError(
                f"messages.{number}: server tool use with id {unfinished[0]} was found without its result block"
            )
    if role == "assistant" and not (rules.sampling or paused or body.get("compaction")):
        raise RefusedError(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )


def _check_results(number: int, before: list[Body], content: list[Body], role: str) -> None:
    asked = [block["id"] for block in before if block["type"] == "tool_use"]
    answered = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
    if len(answered) != len(set(answered)):
        raise RefusedError(f"messages.{number}: each tool_use must have a single result")
    if missing := [call for call in asked if call not in answered]:
        raise RefusedError(
            f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: {missing}"
        )
    if unknown := [call for call in answered if call not in asked]:
        raise RefusedError(
            f"messages.{number}: unexpected `tool_use_id` found in `tool_result` blocks: {unknown}"
        )
    kinds = [block["type"] for block in content]
    if "tool_result" in kinds[len(answered) :]:
        raise RefusedError(f"messages.{number}: `tool_result` blocks must come first in the message")
    if role == "user" and {"tool_use", "server_tool_use", "compaction", *THINKING} & set(kinds):
        raise RefusedError(f"messages.{number}: blocks of an answer can only be in `assistant` messages")
    if role == "assistant" and "tool_result" in kinds:
        raise RefusedError(f"messages.{number}: `tool_result` blocks can only be in `user` messages")


def _open_server_tools(content: list[Body]) -> list[str]:
    done = {block.get("tool_use_id") for block in content}
    return [
        block["id"] for block in content if block["type"] == "server_tool_use" and block["id"] not in done
    ]
