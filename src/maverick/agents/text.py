"""The text in messages of the Claude Agent SDK."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claude_agent_sdk import Message


def extract_text(message: Message) -> str:
    """The text of an ``AssistantMessage``: its text blocks, joined by newlines.

    Thinking, tool calls and their results are left out. Any other kind of message has no text.
    """
    from claude_agent_sdk import AssistantMessage, TextBlock

    if not isinstance(message, AssistantMessage):
        return ""
    return "\n".join(block.text for block in message.content if isinstance(block, TextBlock) and block.text)


def extract_all_text(messages: Iterable[Message]) -> str:
    """The text of every ``AssistantMessage`` among the messages, with an empty line between two messages.

    Messages without text leave no gap.
    """
    return "\n\n".join(filter(None, map(extract_text, messages)))
