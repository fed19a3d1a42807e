"""The forms in which an answer is streamed: our own events, the AG-UI protocol, and Vercel's AI SDK."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from maverick.chat.sentences import split
from maverick.server.answer import AnswerStatus
from maverick.server.events import EventName, StreamEvent
from maverick.server.markdown import MarkdownStream, render_markdown

Json: TypeAlias = dict[str, Any]
_LONG = 4_000
"""Characters that take longer to render than a thread takes to begin: some milliseconds."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message of an event stream."""

    data: Mapping[str, Any] | str
    event: str = ""


class StreamEncoder:
    """Encodes the events of one answer, in order; as they are, unless a subclass says otherwise."""

    headers: Mapping[str, str] = {}
    """What a response in this form says about itself."""

    def encode(self, event: StreamEvent) -> list[Frame]:
        """The messages that are sent for the next event."""
        return [Frame(event.data, event.name)]

    def skip(self, event: StreamEvent) -> None:
        """Take in an event that the client has."""
        self.encode(event)

    def takes_long(self, event: StreamEvent) -> bool:  # noqa: ARG002 - for subclasses
        """Whether an event is better encoded in a thread."""
        return False


class PageEncoder(StreamEncoder):
    """The events for the page: with HTML in place of Markdown."""

    def __init__(self) -> None:
        self._words = MarkdownStream()
        self._is_behind = False

    def skip(self, event: StreamEvent) -> None:
        """Take in an event that the client has; which blocks its words were sent in is not known."""
        self.encode(event)
        self._is_behind = True

    def encode(self, event: StreamEvent) -> list[Frame]:
        """The messages that are sent for the next event."""
        name = EventName.TOOL_START if "said" in event.data else event.name  # other words come after both
        match name:
            case EventName.TEXT:
                return self._html(self._words.feed(event.data["text"]))
            case EventName.START | EventName.TOOL_START:
                ended = self._html(self._words.flush())
                self._words = MarkdownStream()
                return [*ended, *super().encode(event)]
            case EventName.DONE:
                html = render_markdown(event.data["response"])
                return [*self._html(self._words.flush()), Frame({**event.data, "html": html}, event.name)]
        return super().encode(event)

    def takes_long(self, event: StreamEvent) -> bool:
        """Whether there is much text to render."""
        return self._words.unsettled + len(event.data.get("response", "")) > _LONG

    def _html(self, changed: tuple[int, list[str]] | None) -> list[Frame]:
        if changed is None:
            return []
        first, blocks = self._words.whole() if self._is_behind else changed
        self._is_behind = False
        return [Frame({"from": first, "html": blocks}, "html")]


class _ProtocolEncoder(StreamEncoder, ABC):
    """For protocols in which every piece of text has a start and an end, and calls have ids of their own."""

    _text_types: tuple[str, str, str]
    """The types of the messages that start, continue and end a text."""
    _text_key: str
    """What the id of a text is called in them."""
    _text_start: Mapping[str, str] = {}
    """What else the first one holds."""

    def __init__(self) -> None:
        self._scope = ""
        """The answer's id: ids of texts and calls begin with it, so that none appears twice in a conversation."""
        self._text_id = ""
        """The id of the text that is being streamed, if one is."""
        self._has_text = False
        """Whether there was text since the last tool call."""
        self._text_count = 0
        self._calls: list[Mapping[str, Any]] = []
        self._shown = ""
        """All text so far."""
        self._void = ""
        """What was shown of an attempt that another process repeats: these protocols cannot take it back."""
        self._reported: set[tuple[EventName, str]] = set()
        """The start, the calls and the results that were reported."""

        self._rules: Mapping[EventName, Callable[[Mapping[str, Any]], list[Json]]] = {
            EventName.START: self._start,
            EventName.TEXT: lambda data: self._text(data["text"]),
            EventName.THINKING: lambda _: [],
            EventName.TOOL_START: lambda data: [*self._end_text(), *self._tool_start(data)],
            EventName.TOOL_END: self._tool_end,
            EventName.APPROVAL: self._approval,
            EventName.DONE: self._end,
        }
        """How each event is encoded; the others are notes."""

    def encode(self, event: StreamEvent) -> list[Frame]:
        """The messages that are sent for the next event."""
        name, once = event.name, (event.name, event.data.get("id", ""))
        if once in self._reported:
            made = self._begin_again() if name is EventName.START else []
        else:
            if name in (EventName.START, EventName.TOOL_START, EventName.TOOL_END):
                self._reported.add(once)
            rule = self._rules.get(name)
            made = self._note(name, event.data) if rule is None else rule(event.data)
        return [Frame(data) for data in made]

    def _begin_again(self) -> list[Json]:
        self._void = self._shown
        return self._end_text()

    def _end(self, data: Mapping[str, Any]) -> list[Json]:
        frames = [] if self._scope else self._start(data)
        if not self._has_text and data["status"] != AnswerStatus.FAILED:
            frames += self._text(data["response"])
        return [*frames, *self._end_text(), *self._done(data)]

    def _text(self, text: str) -> list[Json]:
        if self._void:
            text = "".join(said for said in split(text) if said.strip() not in self._void)
        if not text:
            return []
        self._shown += text
        frames: list[Json] = []
        if not self._text_id:
            self._text_count += 1
            self._text_id = f"{self._scope}_text_{self._text_count}"
            frames.append({"type": self._text_types[0], self._text_key: self._text_id, **self._text_start})
        self._has_text = True
        return [*frames, {"type": self._text_types[1], self._text_key: self._text_id, "delta": text}]

    def _end_text(self) -> list[Json]:
        ended, self._text_id, self._has_text = self._text_id, "", False
        return [{"type": self._text_types[2], self._text_key: ended}] if ended else []

    def _asked_about(self, approval: Mapping[str, Any]) -> str | None:
        """The call that a person is asked about: of several calls of one tool, the one with the same arguments."""
        for call in reversed(self._calls):
            is_same = approval.get("arguments") in (None, call.get("arguments"))
            if is_same and call["name"] == approval["tool_name"]:
                return self._call_id(call)
        return None

    def _call_id(self, data: Mapping[str, Any]) -> str:
        return f"{self._scope}_{data['id']}"

    @abstractmethod
    def _start(self, data: Mapping[str, Any]) -> list[Json]: ...

    @abstractmethod
    def _tool_start(self, data: Mapping[str, Any]) -> list[Json]: ...

    @abstractmethod
    def _tool_end(self, data: Mapping[str, Any]) -> list[Json]: ...

    @abstractmethod
    def _approval(self, data: Mapping[str, Any]) -> list[Json]: ...

    @abstractmethod
    def _note(self, name: EventName, data: Mapping[str, Any]) -> list[Json]: ...

    @abstractmethod
    def _done(self, data: Mapping[str, Any]) -> list[Json]: ...


class AgUiEncoder(_ProtocolEncoder):
    """The events of the AG-UI protocol, with the id the client gave the run, or by default ours."""

    _text_types = ("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END")
    _text_key = "messageId"
    _text_start: Mapping[str, str] = {"role": "assistant"}

    def __init__(self, run_id: str = "") -> None:
        super().__init__()
        self._run_id = run_id
        self._thread_id = ""
        self._interrupts: list[Json] = []

    def _start(self, data: Mapping[str, Any]) -> list[Json]:
        self._run_id = self._run_id or data["run_id"]
        self._scope, self._thread_id = data["run_id"], data["conversation_id"]
        return [{"type": "RUN_STARTED", "threadId": self._thread_id, "runId": self._run_id}]

    def _tool_start(self, data: Mapping[str, Any]) -> list[Json]:
        call_id = self._call_id(data)
        self._calls.append(data)
        return [
            {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": data["name"]},
            {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": _json(data["arguments"])},
            {"type": "TOOL_CALL_END", "toolCallId": call_id},
        ]

    def _tool_end(self, data: Mapping[str, Any]) -> list[Json]:
        ids = {"messageId": f"{self._call_id(data)}_result", "toolCallId": self._call_id(data)}
        return [{"type": "TOOL_CALL_RESULT", **ids, "content": _json(data["result"]), "role": "tool"}]

    def _approval(self, data: Mapping[str, Any]) -> list[Json]:
        interrupt = {"id": data["id"], "reason": "approval", "message": data["question"]}
        if data["expires_at"] is not None:
            interrupt["expiresAt"] = data["expires_at"]
        if (call_id := self._asked_about(data)) is not None:
            interrupt["toolCallId"] = call_id
        self._interrupts.append(interrupt)
        return []

    def _note(self, name: EventName, data: Mapping[str, Any]) -> list[Json]:
        return [{"type": "CUSTOM", "name": name.value, "value": dict(data)}]

    def _done(self, data: Mapping[str, Any]) -> list[Json]:
        if data["status"] == AnswerStatus.FAILED:
            return [{"type": "RUN_ERROR", "message": data.get("reason") or data["response"]}]
        outcome: Json = {"type": "success"}
        if data["status"] == AnswerStatus.STOPPED:
            outcome = {"type": "cancelled"}
        elif self._interrupts:
            outcome = {"type": "interrupt", "interrupts": self._interrupts}
        finished = {"type": "RUN_FINISHED", "threadId": self._thread_id, "runId": self._run_id}
        return [{**finished, "outcome": outcome, "result": data["response"]}]


class AiSdkEncoder(_ProtocolEncoder):
    """The UI message stream of Vercel's AI SDK.

    A tool that waits for the user's approval is reported as such, in place of its result ("the user is asked"). Its
    result once the user has agreed is reported as the result of that same call. ``decided_call`` is the call the user
    has decided on with this message, if they have.
    """

    headers: Mapping[str, str] = {"x-vercel-ai-ui-message-stream": "v1"}
    _text_types = ("text-start", "text-delta", "text-end")
    _text_key = "id"

    def __init__(self, decided_call: str = "", *, approved: bool = False) -> None:
        super().__init__()
        self._approved_call = decided_call if approved else ""
        self._denied_call = "" if approved else decided_call
        self._resumed_calls: dict[str, str] = {}
        """Calls that are reported under the id of the call they were approved as."""
        self._asking: list[Json] = []

    def encode(self, event: StreamEvent) -> list[Frame]:
        """The messages that are sent for the next event."""
        frames = super().encode(event)
        return [*frames, Frame("[DONE]")] if event.name == EventName.DONE else frames

    def _call_id(self, data: Mapping[str, Any]) -> str:
        return self._resumed_calls.get(data["id"]) or super()._call_id(data)

    def _start(self, data: Mapping[str, Any]) -> list[Json]:
        self._scope = data["run_id"]
        metadata = {"conversationId": data["conversation_id"], "runId": data["run_id"]}
        start = {"type": "start", "messageId": data["run_id"], "messageMetadata": metadata}
        denied = {"type": "tool-output-denied", "toolCallId": self._denied_call}
        return [start, {"type": "start-step"}, *([denied] if self._denied_call else [])]

    def _tool_start(self, data: Mapping[str, Any]) -> list[Json]:
        is_own = self._approved_call.startswith(f"{self._scope}_")  # the same answer continues it
        if self._approved_call and (not is_own or self._approved_call == self._call_id(data)):
            self._resumed_calls[data["id"]], self._approved_call = self._approved_call, ""
            return []
        self._calls.append(data)
        call = {"toolCallId": self._call_id(data), "toolName": data["name"], "dynamic": True}
        return [
            {"type": "tool-input-start", **call},
            {"type": "tool-input-available", **call, "input": data["arguments"]},
        ]

    def _tool_end(self, data: Mapping[str, Any]) -> list[Json]:
        call = {"toolCallId": self._call_id(data), "dynamic": True}
        output = {"type": "tool-output-available", **call, "output": data["result"]}
        if _asks(data["result"]):
            self._asking.append(output)
            return []
        return [output]

    def _approval(self, data: Mapping[str, Any]) -> list[Json]:
        call_id = self._asked_about(data)
        asked = {"type": "data-approval", "id": data["id"], "data": dict(data)}
        if call_id is None or not (self._asking or data.get("run_id")):
            return [asked]
        self._asking = [output for output in self._asking if output["toolCallId"] != call_id]
        return [asked, {"type": "tool-approval-request", "approvalId": data["id"], "toolCallId": call_id}]

    def _note(self, name: EventName, data: Mapping[str, Any]) -> list[Json]:
        if name is not EventName.SOURCES:
            return [{"type": f"data-{name.value.replace('_', '-')}", "data": dict(data)}]
        return [
            {"type": "source-url", "sourceId": source["url"], **source}
            for source in data["sources"]
            if source["url"]
        ]

    def _done(self, data: Mapping[str, Any]) -> list[Json]:
        frames = [*self._asking, {"type": "finish-step"}]
        match data["status"]:
            case AnswerStatus.FAILED:
                error = {"type": "error", "errorText": data.get("reason") or data["response"]}
                return [*frames, error, {"type": "finish", "finishReason": "error"}]
            case AnswerStatus.STOPPED:
                return [*frames, {"type": "abort"}]
        return [*frames, {"type": "finish", "finishReason": "stop"}]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _asks(result: object) -> bool:
    error = result.get("error") if isinstance(result, dict) else None
    return isinstance(error, dict) and error.get("code") == "confirmation_required"
