"""A provider as strict as the strictest there is: it refuses what does not come back as it was sent.

A thought is valid only behind the system prompt, tools and messages that it was made for, and after the thought before
it. Every call has its result. An answer comes back as it was given, block by block. A block that condenses stands
first, and for exactly the messages it was made of.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from maverick.model import Message, Opaque, Part, Request, Role, Text, Thought, ToolCall

_LEFT_OUT = "[Thoughts, left out]"


class RefusedError(AssertionError):
    """A request that the provider does not accept."""


class StrictProvider:
    """Checks every request it gets, and signs what it answers."""

    def __init__(self) -> None:
        self.blocks = 0
        """How many blocks it has given out."""
        self._thoughts: dict[str, tuple[int, str, str]] = {}
        """By signature: what stood before it, the thought before it, and the model."""
        self._answers: set[int] = set()
        """What it has answered, without thoughts and the ids of calls."""
        self._condensed: dict[str, int] = {}
        """By signature, what a block that condenses stands for."""
        self._told: dict[int, tuple[Message, int]] = {}
        """What was worked out of each message, which never changes."""
        self._place = 0
        self._last = self._model = ""

    def receive(self, request: Request, model: str) -> None:
        """Take a request for a model.

        Raises:
            RefusedError: The provider would not accept it.
        """
        messages = request.messages
        place = hash((request.system, tuple((tool.name, tool.description) for tool in request.tools)))
        last = ""
        for index, message in enumerate(messages):
            if message.role is Role.ASSISTANT:
                condensed = _condensing(message)
                if condensed is not None:
                    self._refuse_unless(index == 0, "a condensing block is not the first")
                    place = self._condensed[condensed]
                    continue
                self._refuse_unless(_plain(message.parts) in self._answers, "an answer was changed")
                last = self._check_thoughts(message, place, last, model)
                if use := _open_block(message.parts):
                    after = [later for later in messages[index + 1 :] if later.role is not Role.TOOL_RESULT]
                    self._refuse_unless(
                        _brings(after[0], use) if after else not request.compact,
                        "a server tool is cut off from its result",
                    )
            place = hash((place, self._hash(message)))
        if request.compact:
            self._refuse_unless(messages[-1].role is not Role.ASSISTANT, "the turn is not finished")
        self._place, self._last, self._model = place, last, model

    def answer(self, parts: Sequence[Part]) -> None:
        """Note what it answers, so that it is known when it comes back: whole, or without a call that it had begun."""
        begun = _open_block(parts)
        done = [part for part in parts if not isinstance(part, Opaque) or part.data.get("id") != begun]
        self._answers |= {_plain(parts), _plain(done)}

    def thought(self, before: Sequence[Part] = ()) -> Thought:
        """A signed thought, for the request that came last."""
        signature = f"signed {len(self._thoughts)}"
        self._thoughts[signature] = (hash((self._place, _plain(before))), self._last, self._model)
        self._last = signature
        return Thought("hm", signature)

    def server_tool(self, messages: Sequence[Message], rng: random.Random) -> list[Part]:
        """What a tool of its own did; the result may come with the next answer only."""
        last = next(message for message in reversed(messages) if message.role is not Role.TOOL_RESULT)
        if last.role is Role.ASSISTANT and (use_id := _open_block(last.parts)):
            return [self._result(use_id)]
        if rng.random() > 0.15:
            return []
        self.blocks += 1
        use = Opaque(
            "claude", {"type": "server_tool_use", "id": f"srvtoolu_{self.blocks}", "input": {"q": 1}}
        )
        return [use] if rng.random() < 0.3 else [use, self._result(use.data["id"])]

    def condense(self) -> Opaque:
        """The block that stands for the messages of the last request."""
        signature = f"condensed {len(self._condensed)}"
        self._condensed[signature] = self._place
        return Opaque("claude", {"type": "compaction", "content": "A lot was said.", "signature": signature})

    def _result(self, use_id: str) -> Opaque:
        self.blocks += 1
        data = {"type": "web_search_tool_result", "tool_use_id": use_id, "content": [{"n": self.blocks}]}
        return Opaque("claude", data)

    def _check_thoughts(self, message: Message, place: int, last: str, model: str) -> str:
        """Check the thoughts of a message; returns the last one that this model can read."""
        for number, part in enumerate(message.parts):
            if not isinstance(part, Thought):
                continue
            behind, previous, author = self._thoughts[part.signature]
            valid = behind == hash((place, _plain(message.parts[:number])))
            self._refuse_unless(valid, "the prefix of a thought has changed")
            if author != model:
                continue  # it drops what the model may not read
            # Those at the beginning may be left out, but none between two.
            self._refuse_unless(not last or previous == last, "a thought before this one is missing")
            last = part.signature
        return last

    def _hash(self, message: Message) -> int:
        known = self._told.get(id(message))
        if known is None:
            told = hash((message.role, _plain(message.parts), message.tool_call_id, message.is_error))
            known = self._told[id(message)] = (message, told)
        return known[1]

    def _refuse_unless(self, fits: bool, why: str) -> None:
        if not fits:
            raise RefusedError(f"the provider refuses the request: {why}")


def _plain(parts: Sequence[Part]) -> int:
    """What parts say, without thoughts and without the ids of calls, which the loop may have to tell apart."""
    told: list[Any] = []
    for part in parts:
        match part:
            case Thought():
                pass
            case ToolCall():
                told.append((part.tool_name, repr(part.arguments), part.malformed))
            case Text(text=text):
                if text != _LEFT_OUT:
                    told.append(text)
            case _:
                told.append(repr(part))
    return hash(tuple(told))


def _condensing(message: Message) -> str | None:
    """The signature of the block that condenses, if the message is one."""
    first = message.parts[0]
    block = first.block if isinstance(first, Text) else first
    condenses = isinstance(block, Opaque) and block.type == "compaction"
    return block.data["signature"] if condenses and isinstance(block, Opaque) else None


def _open_block(parts: Sequence[Part]) -> str:
    """The id of a server tool's use whose result is not there yet."""
    blocks = [part.data for part in parts if isinstance(part, Opaque)]
    done = [data.get("tool_use_id") for data in blocks]
    uses = [data["id"] for data in blocks if data["type"] == "server_tool_use"]
    return next((use_id for use_id in uses if use_id not in done), "")


def _brings(message: Message, use_id: str) -> bool:
    first = message.parts[0]
    return isinstance(first, Opaque) and first.data.get("tool_use_id") == use_id
