"""The messages of a query as the events of a run."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from maverick.loop import ToolOutcome
from maverick.loop.events import AgentActivityEvent, ContentChunk, Thinking, ToolCallEnd, ToolCallStart
from maverick.model import ToolCall

if TYPE_CHECKING:
    from claude_agent_sdk import Message, ToolResultBlock


class QueryEvents:
    """Makes events of the messages of queries, which are no runs."""

    def __init__(self, agent: str, run_id: str) -> None:
        self._ids: dict[str, Any] = {"run_id": run_id, "trace_id": os.urandom(16).hex(), "agent": (agent,)}
        self._begun: dict[str, float] = {}

    def of(self, message: Message) -> Iterator[AgentActivityEvent]:
        """The events that a message stands for; of subagents, what they do but not what they say."""
        from claude_agent_sdk import (
            AssistantMessage,
            StreamEvent,
            ToolResultBlock,
            ToolUseBlock,
            UserMessage,
        )

        about = {**self._ids, "at": time.time()}
        if isinstance(message, StreamEvent):
            delta = message.event.get("delta", {}) if message.parent_tool_use_id is None else {}
            if text := delta.get("text"):
                yield ContentChunk(content=text, **about)
            elif thought := delta.get("thinking"):
                yield Thinking(content=thought, **about)
        elif isinstance(message, AssistantMessage | UserMessage) and not isinstance(message.content, str):
            for block in message.content:
                if isinstance(block, ToolUseBlock):
                    self._begun[block.id] = time.monotonic()
                    call = ToolCall(id=block.id, tool_name=block.name, arguments=dict(block.input))
                    yield ToolCallStart(tool_call=call, **about)
                elif isinstance(block, ToolResultBlock):
                    yield self._ended(block, about)

    def _ended(self, block: ToolResultBlock, about: dict[str, Any]) -> ToolCallEnd:
        began = self._begun.pop(block.tool_use_id, time.monotonic())
        content = block.content or ""
        if not isinstance(content, str):
            content = "\n".join(str(part.get("text", f"[{part.get('type')}]")) for part in content)
        return ToolCallEnd(
            tool_call_id=block.tool_use_id,
            result=content,
            outcome=ToolOutcome.FAILED if block.is_error else ToolOutcome.FINISHED,
            duration_ms=round((time.monotonic() - began) * 1000),
            **about,
        )
