"""An answer as the events of the AG-UI protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from maverick.server.answer_records import AnswerStatus
from maverick.server.event_log import StreamEvent
from maverick.server.events import EventName
from maverick.server.told import Frame, Told


class AgUiTeller(Told):
    """Tells the events of one answer, in order.

    Args:
        run_id: The id the client gave the run; by default ours.
    """

    def __init__(self, run_id: str = "") -> None:
        super().__init__()
        self._run_id = run_id
        self._thread_id = ""
        self._interrupts: list[dict[str, Any]] = []
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
        return [Frame(data=frame) for frame in self._tell[event.name](event.data)]

    def _begin(self, data: Mapping[str, Any]) -> list[dict[str, Any]]:
        self._run_id = self._run_id or data["run_id"]
        self.scope, self._thread_id = data["run_id"], data["conversation_id"]
        return [{"type": "RUN_STARTED", "threadId": self._thread_id, "runId": self._run_id}]

    def _say(self, text: str) -> list[dict[str, Any]]:
        if not text:
            return []
        begin = (
            []
            if self.block
            else [{"type": "TEXT_MESSAGE_START", "messageId": self.begin(), "role": "assistant"}]
        )
        self.text += text
        return [*begin, {"type": "TEXT_MESSAGE_CONTENT", "messageId": self.block, "delta": text}]

    def _hush(self) -> list[dict[str, Any]]:
        block = self.end()
        return [{"type": "TEXT_MESSAGE_END", "messageId": block}] if block else []

    def _call(self, data: Mapping[str, Any]) -> list[dict[str, Any]]:
        call = {"toolCallId": self.call(data)}
        return [
            *self._hush(),
            {"type": "TOOL_CALL_START", **call, "toolCallName": data["name"]},
            {"type": "TOOL_CALL_ARGS", **call, "delta": msgspec.json.encode(data["arguments"]).decode()},
            {"type": "TOOL_CALL_END", **call},
        ]

    def _called(self, data: Mapping[str, Any]) -> list[dict[str, Any]]:
        result = {
            "type": "TOOL_CALL_RESULT",
            "messageId": f"{self.call_id(data)}_result",
            "toolCallId": self.call_id(data),
            "content": msgspec.json.encode(data["result"]).decode(),
            "role": "tool",
        }
        return [result]

    def _ask(self, data: Mapping[str, Any]) -> list[dict[str, Any]]:
        interrupt = {
            "id": data["id"],
            "reason": "approval",
            "message": data["question"],
            "expiresAt": data["expires_at"],
        }
        call_id = self.call_of(data["tool_name"])
        self._interrupts.append(interrupt if call_id is None else {**interrupt, "toolCallId": call_id})
        return []

    def _end(self, data: Mapping[str, Any]) -> list[dict[str, Any]]:
        frames = [] if self._thread_id else self._begin(data)
        if data["status"] == AnswerStatus.FAILED:
            return [
                *frames,
                *self._hush(),
                {"type": "RUN_ERROR", "message": data.get("reason") or data["response"]},
            ]
        if not self.text:
            frames += self._say(data["response"])
        outcome: dict[str, Any] = {"type": "success"}
        if data["status"] == AnswerStatus.STOPPED:
            outcome = {"type": "cancelled"}
        elif self._interrupts:
            outcome = {"type": "interrupt", "interrupts": self._interrupts}
        finished = {"type": "RUN_FINISHED", "threadId": self._thread_id, "runId": self._run_id}
        return [*frames, *self._hush(), {**finished, "outcome": outcome, "result": data["response"]}]
