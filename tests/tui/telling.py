"""Events as a run would tell them, for tests of what is made of them."""

from __future__ import annotations

from typing import Any

from maverick.exceptions import NetworkError
from maverick.loop import AgentResult, TerminateReason
from maverick.loop.events import (
    AgentActivityEvent,
    ApprovalGiven,
    ApprovalRequested,
    ContentChunk,
    ErrorEvent,
    PrefixChanged,
    RetryScheduled,
    RunEnd,
    RunStart,
    Thinking,
    ToolCallEnd,
    ToolCallStart,
    TurnStart,
    UsageUpdated,
)
from maverick.loop.limits import Limits
from maverick.loop.prefix import PrefixReason
from maverick.loop.result import AgentUsage, ToolOutcome
from maverick.model import Message, ToolCall, Usage
from maverick.tui.conversation import ConversationModel


class Teller:
    """Tells a conversation what happens in a run, or in a subagent's.

    Args:
        model: The conversation.
        run_id: The run.
        agent: The path of agent names.
    """

    def __init__(
        self, model: ConversationModel, run_id: str = "run_1", agent: tuple[str, ...] = ("editor",)
    ) -> None:
        self.model = model
        self._who: dict[str, Any] = {"run_id": run_id, "trace_id": "trace", "at": 0.0, "agent": agent}

    def subagent(self, name: str, run_id: str) -> Teller:
        return Teller(self.model, run_id, (*self._who["agent"], name))

    def begin(self, *said: str) -> None:
        self.model.begin("run_1", map(Message.user, said), Limits(turns=20), 8_000)
        self._tell(RunStart)

    def turn(self, number: int) -> None:
        self._tell(TurnStart, turn_number=number)

    def say(self, *pieces: str) -> None:
        for piece in pieces:
            self._tell(ContentChunk, content=piece)

    def think(self, *pieces: str) -> None:
        for piece in pieces:
            self._tell(Thinking, content=piece)

    def call(self, id_: str, name: str, **arguments: Any) -> None:
        self._tell(ToolCallStart, tool_call=ToolCall(id_, name, arguments))

    def result(self, id_: str, text: str, outcome: ToolOutcome = ToolOutcome.FINISHED) -> None:
        self._tell(ToolCallEnd, tool_call_id=id_, result=text, outcome=outcome, duration_ms=1_500)

    def ask(self, id_: str, name: str, reason: str = "", **arguments: Any) -> None:
        self._tell(ApprovalRequested, tool_call=ToolCall(id_, name, arguments), reason=reason)

    def decide(self, id_: str, *, approved: bool, by: str = "") -> None:
        self._tell(ApprovalGiven, tool_call_id=id_, approved=approved, by=by)

    def break_off(self) -> None:
        self._tell(ErrorEvent, error=NetworkError("The connection broke."))
        self._tell(RetryScheduled, attempt=2, delay=1.5)

    def use(self, tokens: int, context: int) -> None:
        usage = Usage(tokens, 0, cost_usd=0.01)
        self._tell(UsageUpdated, usage=usage, total=usage, context_tokens=context)

    def change_prefix(self, reason: PrefixReason, tokens: int) -> None:
        self._tell(PrefixChanged, reason=reason, tokens=tokens)

    def end(self, reason: TerminateReason = TerminateReason.COMPLETE, text: str = "", **options: Any) -> None:
        whole: dict[str, Any] = {
            "success": reason is TerminateReason.COMPLETE,
            "output": text,
            "raw_content": text,
            "terminate_reason": reason,
            "turn_count": 2,
            "usage": AgentUsage(1_000, 200, 0.01, 3_000),
            "errors": () if reason is TerminateReason.COMPLETE else (NetworkError("It broke."),),
        } | options
        self._tell(RunEnd, result=AgentResult(**whole))

    def _tell(self, kind: type[AgentActivityEvent], **fields: Any) -> None:
        self.model.tell(kind(**self._who, **fields))
