"""What has come of an answer that is not complete, so that it is not lost when the answer breaks off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from maverick.exceptions import AbortedError, AgentError, StreamingError, StreamTimeoutError, TimeoutError

if TYPE_CHECKING:
    from claude_agent_sdk import AssistantMessage, Message


class PartialAnswer:
    """Follows the messages of a query: which are complete, and which text is still open."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        """What was said and done so far: the assistant's messages, and the results of its tools."""
        self._model = ""
        self._open: list[str] = []
        self._at_a_limit = False

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
                self._at_a_limit = str(message.subtype).startswith("error_max_")
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

    def broken_off_by(self, failure: AgentError) -> AgentError:
        """The error for a query that failed: the failure itself, or why it broke off with what had come of it."""
        if not self.messages or self._at_a_limit:
            return failure
        match failure:
            case AbortedError():
                failure.partial_messages = list(self.messages)
                return failure
            case TimeoutError():
                kind: type[StreamingError] = StreamTimeoutError
            case _:
                kind = StreamingError
        return kind(
            f"The answer broke off. {failure}",
            partial_messages=self.messages,
            kind=failure.kind,
            retryable=failure.retryable,
            cause=failure,
        )

    def _see_event(self, event: Mapping[str, Any]) -> None:
        match event:
            case {"type": "message_start", **rest}:  # also when the same answer is streamed a second time
                self._open.clear()
                match rest:
                    case {"message": {"model": str(model)}}:
                        self._model = model
            case {"type": "content_block_delta", "delta": {"text": str(text)}}:
                self._open.append(text)
