"""An answer as the UI message stream of Vercel's AI SDK."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from maverick.server.answer_records import AnswerStatus
from maverick.server.event_log import StreamEvent
from maverick.server.events import EventName
from maverick.server.told import Frame, Told


class AiSdkTeller(Told):
    """Tells the events of one answer, in order.

    A tool that waits for the user's approval is told as such, and its answer ("the user is asked") is not. What it
    answers once the user has agreed is told as the answer of that call.

    Args:
        decided_call: The call the user has decided on with this message, if they have.
        approved: Whether they agreed.
    """

    headers: Mapping[str, str] = {"x-vercel-ai-ui-message-stream": "v1"}

    def __init__(self, decided_call: str = "", *, approved: bool = False) -> None:
        super().__init__()
        self._approved_call = decided_call if approved else ""
        self._denied_call = "" if approved else decided_call
        self._begun = False
        self._asking: list[dict[str, Any]] = []
        self._tell: Mapping[EventName, Callable[[Mapping[str, Any]], list[dict[str, Any]]]] = {
            EventName.START: self._begin,
            EventName.TEXT: lambda data: self._say(data["text"]),
            EventName.TOOL_START: self._call,
            EventName.TOOL_END: self._called,
            EventName.APPROVAL: self._ask,
            EventName.DONE: self._end,
        }

    def feed(self, event: StreamEvent) -> list[Frame]:
        """What is sent for an event."""
        frames = [Frame(data=frame) for frame in self._tell[event.name](event.data)]
        return [*frames, Frame(data="[DONE]")] if event.name == EventName.DONE else frames

    def _begin(self, data: Mapping[str, Any]) -> list[dict[str, Any]]:
        self._begun = True
        self.scope = data["run_id"]
        metadata = {"conversationId": data["conversation_id"], "runId": data["run_id"]}
        start = {"type": "start", "messageId": data["run_id"], "messageMetadata": metadata}
        denied = {"type": "tool-output-denied", "toolCallId": self._denied_call}
        return [start, {"type": "start-step"}, *([denied] if self._denied_call else [])]

    def _say(self, text: str) -> list[dict[str, Any]]:
        if not text:
            return []
        begin = [] if self.block else [{"type": "text-start", "id": self.begin()}]
        self.text += text
        return [*begin, {"type": "text-delta", "id": self.block, "delta": text}]

    def _hush(self) -> list[dict[str, Any]]:
        block = self.end()
        return [{"type": "text-end", "id": block}] if block else []

    def _call(self, data: Mapping[str, Any]) -> list[dict[str, Any]]:
        hushed = self._hush()
        if self._approved_call:
            self.rename(data, self._approved_call)
            self._approved_call = ""
            return hushed
        call = {"toolCallId": self.call(data), "toolName": data["name"], "dynamic": True}
        return [
            *hushed,
            {"type": "tool-input-start", **call},
            {"type": "tool-input-available", **call, "input": data["arguments"]},
        ]

    def _called(self, data: Mapping[str, Any]) -> list[dict[str, Any]]:
        output = {
            "type": "tool-output-available",
            "toolCallId": self.call_id(data),
            "output": data["result"],
            "dynamic": True,
        }
        if _asks(data["result"]):
            self._asking.append(output)
            return []
        return [output]

    def _ask(self, data: Mapping[str, Any]) -> list[dict[str, Any]]:
        call_id = self.call_of(data["tool_name"])
        asked = {"type": "data-approval", "id": data["id"], "data": dict(data)}
        if call_id is None or not self._asking:
            return [asked]
        self._asking = [output for output in self._asking if output["toolCallId"] != call_id]
        return [asked, {"type": "tool-approval-request", "approvalId": data["id"], "toolCallId": call_id}]

    def _end(self, data: Mapping[str, Any]) -> list[dict[str, Any]]:
        frames = [] if self._begun else self._begin(data)
        if not self.text and data["status"] != AnswerStatus.FAILED:
            frames += self._say(data["response"])
        frames += [*self._hush(), *self._asking, {"type": "finish-step"}]
        match data["status"]:
            case AnswerStatus.FAILED:
                return [
                    *frames,
                    {"type": "error", "errorText": data.get("reason") or data["response"]},
                    {"type": "finish", "finishReason": "error"},
                ]
            case AnswerStatus.STOPPED:
                return [*frames, {"type": "abort"}]
        return [*frames, {"type": "finish", "finishReason": "stop"}]


def _asks(result: object) -> bool:
    error = result.get("error") if isinstance(result, dict) else None
    return isinstance(error, dict) and error.get("code") == "confirmation_required"
