"""The text in messages of the Claude Agent SDK."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claude_agent_sdk import Message


def extract_text(message: Message) -> str:
    """The text of an ``AssistantMessage``: its text blocks, joined by newlines.

    Thinking, tool calls and their results are left out. Any other kind of message has no text.
    """
    return "\n".join(_texts(message))


def extract_all_text(messages: Iterable[Message]) -> str:
    """The text of every ``AssistantMessage`` among the messages, joined by newlines; empty ones leave no gap."""
    return "\n".join(text for message in messages for text in _texts(message))


def _texts(message: Message) -> Iterator[str]:
    from claude_agent_sdk import AssistantMessage, TextBlock

    if isinstance(message, AssistantMessage):
        yield from (block.text for block in message.content if isinstance(block, TextBlock) and block.text)
