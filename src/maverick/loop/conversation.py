"""What makes a conversation one that a provider takes (promise P3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from maverick.exceptions import InvalidInputError
from maverick.model import Message, Role


def check_conversation(messages: Sequence[Message]) -> None:
    """Make sure that each tool call is followed by its result, and each result follows its call.

    Raises:
        InvalidInputError: It is not so, or something in it is no message.
    """
    open_calls: set[str] = set()
    for index, message in enumerate(messages):
        if not isinstance(message, Message):
            _refuse(index, f"is a {type(message).__name__}, not a Message")
        if message.role is Role.TOOL_RESULT:
            if message.tool_call_id not in open_calls:
                _refuse(
                    index, f"answers the tool call {message.tool_call_id!r}, which nobody made just before it"
                )
            open_calls.discard(message.tool_call_id)
        elif open_calls:
            _refuse(index, f"comes before the result of the tool call {min(open_calls)!r}")
        else:
            open_calls = {call.id for call in message.tool_calls}
    if open_calls:
        _refuse(len(messages) - 1, f"makes the tool call {min(open_calls)!r}, which has no result")


def _refuse(index: int, why: str) -> NoReturn:
    raise InvalidInputError(
        f"messages[{index}] {why}; no provider takes such a conversation.", field="messages"
    )
