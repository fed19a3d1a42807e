"""What has come of an answer that is not complete, so that it is not lost when the answer breaks off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from claude_agent_sdk import AssistantMessage, Message


class PartialAnswer:
    """Follows the messages of a query: which are complete, and which text is still open."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        """What was said and done so far: the assistant's messages, and the results of its tools."""
        self._model = ""
        self._open: list[str] = []

    def see(self, message: Message) -> list[Message]:
        """Take a message into account, and return what to tell of it.

        The CLI reports a failure of the API as if the assistant had said it, and once more as the end of the run.
        Only the end is told, and before it what there was of the answer.
        """
        from claude_agent_sdk import AssistantMessage, ResultMessage, StreamEvent, UserMessage

        match message:
            case AssistantMessage(error=str()):
                return []
            case ResultMessage(is_error=True):
                rest = self.broken_off()
                return [message] if rest is None else [rest, message]
            case AssistantMessage() | UserMessage():
                self.messages.append(message)
                self._open.clear()
            case StreamEvent(parent_tool_use_id=None):  # a subagent's words are not part of the answer
                self._see_event(message.event)
        return [message]

    def broken_off(self) -> AssistantMessage | None:
        """The text that came after the last complete message, as a message; it is handed out once."""
        from claude_agent_sdk import AssistantMessage, TextBlock

        text = "".join(self._open)
        self._open.clear()
        if not text:
            return None
        message = AssistantMessage(content=[TextBlock(text)], model=self._model)
        self.messages.append(message)
        return message

    def _see_event(self, event: Mapping[str, Any]) -> None:
        if event["type"] == "message_start":  # also when the same answer is streamed a second time
            self._model = event["message"]["model"]
            self._open.clear()
        elif event["type"] == "content_block_delta":
            self._open.append(event["delta"].get("text", ""))
