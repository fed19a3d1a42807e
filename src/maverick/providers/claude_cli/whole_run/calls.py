"""The tool calls that a CLI waits with, until the loop has decided on them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from claude_agent_sdk import ToolPermissionContext, ToolResultBlock

_CUT_OFF = "The CLI ended before this call had a result. It may or may not have taken effect."


class Answer(Struct, frozen=True):
    """The result of a call, in the words the model reads."""

    content: str
    is_error: bool = False


class Leave(Struct, frozen=True):
    """The CLI may run the call itself."""

    approved: bool
    """Whether a person had to agree to it, and has."""


Decision: TypeAlias = Answer | Leave
"""What the loop makes of a call: a result that is there already, or leave to go and get one."""


class WaitingCall:
    """One call: what the loop says to it, and what the CLI says came of it."""

    __slots__ = ("decision", "result")

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.decision: asyncio.Future[Decision] = loop.create_future()
        self.result: asyncio.Future[Answer] = loop.create_future()


class WaitingCalls:
    """The calls of a conversation by their ids, whichever side speaks of one first."""

    def __init__(self) -> None:
        self._calls: dict[str, WaitingCall] = {}

    def __getitem__(self, call_id: str) -> WaitingCall:
        call = self._calls.get(call_id)
        if call is None:
            call = self._calls[call_id] = WaitingCall()
        return call

    def decide(self, call_id: str, decision: Decision) -> None:
        """Say what is to be done with a call; the first word stands."""
        call = self[call_id]
        if not call.decision.done():
            call.decision.set_result(decision)

    def finish(self, call_id: str, result: Answer) -> None:
        """Note what came of a call."""
        call = self[call_id]
        if not call.result.done():
            call.result.set_result(result)

    def cut_off(self) -> None:
        """Give each call that the CLI was running the result that nobody knows of one."""
        for call_id in self._calls:
            self.finish(call_id, Answer(_CUT_OFF, is_error=True))


def answer_of(block: ToolResultBlock) -> Answer:
    """What a tool of the CLI answered, in words."""
    content = block.content
    if isinstance(content, list):
        content = "\n".join(str(piece.get("text") or f"[{piece.get('type')}]") for piece in content)
    return Answer(content or "", is_error=bool(block.is_error))


def dangerous(context: ToolPermissionContext) -> str:
    """What is said to a call that the loop lets through, and that the CLI itself would ask a person about."""
    reason = (context.decision_reason or "it gives no reason").rstrip(". ")
    return (
        f"Not run: the CLI takes this call for dangerous ({reason}), and nobody had to agree to it. "
        "Do it in another way, or have the tool declared with approval=True."
    )
