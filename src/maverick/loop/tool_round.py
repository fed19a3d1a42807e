"""The tool calls of one turn: which are run, and the one result each of them gets (promise P3)."""

from __future__ import annotations

import json
from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from maverick.exceptions import InvalidInputError, describe_unknown
from maverick.loop.conversation import Conversation, fit, truncate
from maverick.loop.entries import RunStarted, ToolFinished
from maverick.loop.limits import Ledger, Limits
from maverick.loop.result import ToolOutcome, ToolRecord
from maverick.loop.run_settings import RequestBuilder
from maverick.model import Message, Part, StopReason, Text, ToolCall

_INCOMPLETE = (StopReason.MAX_TOKENS, StopReason.CONTEXT_OVERFLOW)
_CUT_OFF = (
    "Not run: your reply was cut off at its token limit, so the call may be incomplete. "
    "Ask again with a shorter call."
)
_NOT_STARTED = "Not run: the run ended first."
_CUT_SHORT = "Cut short: the run ended before the tool did. It may or may not have taken effect."
_TOO_DEEP = (
    "Not run: agents are already nested {depth} deep, which is as deep as they may be. Do it yourself."
)
_NO_BUDGET = "Not run: not enough of the budget is left for another agent. Finish with what you have."
_TOO_MANY_CALLS = "Not run: at most {most} calls of one answer are run. Ask again for what is still needed."
_MAY_HAVE_ACTED = "It was under way when the process stopped, and may or may not have taken effect."
_EDITED = "{by} approved this call with other arguments than yours: {arguments}\n\n{result}"
_EDITED_TOKENS = 500
_objects = msgspec.json.Decoder(dict[str, Any])
_NO_CALLS_LEFT = "Not run: the limit of {limit} tool calls is reached."
_MOST_NEAR = 5

CALL_TOOL = "call_tool"
"""The tool that deferred tools are called through."""


def unwrapped(call: ToolCall) -> ToolCall:
    """The call of the tool that one through :data:`CALL_TOOL` is meant for; any other call as it is."""
    if call.tool_name != CALL_TOOL or not isinstance(name := call.arguments.get("name"), str):
        return call
    arguments = call.arguments.get("arguments", {})
    if isinstance(arguments, str):  # some models write an object in an object as text
        try:
            arguments = _objects.decode(arguments)
        except (msgspec.DecodeError, RecursionError):
            return ToolCall(call.id, name, malformed=arguments or "nothing")
    if not isinstance(arguments, dict):
        return ToolCall(call.id, name, malformed=msgspec.json.encode(arguments).decode())
    return ToolCall(call.id, name, arguments)


class PlannedCall(Struct, frozen=True):
    """A tool call of a turn, and what is to be done with it."""

    turn: int
    index: int
    call: ToolCall
    refusal: str = ""
    """Why it is not run, worded for the model: the call gets this as its result."""
    grant: Limits | None = None
    """What it may use, when it is a subagent."""
    question: str | None = None
    """Why a person is asked about it, which may be left unsaid; ``None`` when no one is."""
    begun: bool = False
    """Whether it was refused only after it had begun, in a process that stopped: it may have taken effect."""
    edited_by: str | None = None
    """Who approved it with arguments other than the model's, if someone did; the call has theirs."""

    def told(self, result: str) -> str:
        """What the model is told as the result: for edited arguments, with which ones the call was made."""
        if self.edited_by is None:
            return result
        made_with = truncate(json.dumps(self.call.arguments, ensure_ascii=False), _EDITED_TOKENS)
        return _EDITED.format(by=self.edited_by or "The user", arguments=made_with, result=result)


class ToolRound(Struct, eq=False):
    """The calls of one turn and what became of them.

    Ruling on a call, asking about it and settling it each cost the same however many calls there are.
    """

    turn: int = 0
    calls: list[PlannedCall] = []
    """All calls, in the order they were asked for."""
    waiting: list[int] = []
    """The calls that a person is still to decide on, in order."""
    over_limit: bool = False
    """Whether a call was refused because the limit of tool calls is reached."""
    in_review: bool = False
    """Whether hooks are still to be asked about the calls."""
    started: bool = False
    reopened: bool = False
    """Whether the run was left while the calls ran, and is resumed: they may be ruled on once more."""
    _results: dict[int, ToolFinished] = {}

    def __repr__(self) -> str:
        return f"ToolRound({self.turn}, {self.calls}, waiting={self.waiting}, started={self.started})"

    @property
    def open(self) -> bool:
        """Whether a call still has no result."""
        return len(self._results) < len(self.calls)

    @property
    def unsettled(self) -> Sequence[PlannedCall]:
        """The calls that have no result yet."""
        if not self._results:
            return self.calls
        return [planned for planned in self.calls if planned.index not in self._results]

    def may_rule(self, index: int) -> bool:
        """Whether a policy may still rule on a call: it was not refused, and does not run."""
        if not 0 <= index < len(self.calls) or self.calls[index].refusal:
            return False
        return not self.started or (self.reopened and index not in self._results)

    def settled(self) -> list[tuple[PlannedCall, ToolFinished]]:
        """The calls with their results, once all have one."""
        return [(planned, self._results[planned.index]) for planned in self.calls]

    def replan(self, calls: list[PlannedCall]) -> None:
        """Replace the plans for the calls; what a person has agreed to stays so."""
        waiting = [p.index for p in calls if p.question is not None and not p.refusal]
        if waiting:
            asked = {planned.index for planned in self.calls if planned.question is not None}
            agreed = asked.difference(self.waiting)
            waiting = [index for index in waiting if index not in agreed]
        self.calls, self.waiting = calls, waiting

    def settle(self, result: ToolFinished) -> None:
        """Take the result of a call, or refuse it with an error if there is no such call or it has one."""
        if not 0 <= result.index < len(self.calls) or result.index in self._results:
            raise InvalidInputError(
                f"Turn {self.turn} has no open tool call {result.index}; each call gets exactly one result.",
                field="index",
            )
        self._results[result.index] = result

    def refuse(self, index: int, why: str) -> None:
        """Decide that a call is not to be run, or not to be run again."""
        refusal = f"Not run again: {why} {_MAY_HAVE_ACTED}" if self.started else f"Not run: {why}"
        self.calls[index] = replace(self.calls[index], refusal=refusal, begun=self.started)
        self.agree(index)

    def change(self, index: int, call: ToolCall) -> None:
        """Decide that another call is made than the model asked for; its arguments differ."""
        self.calls[index] = replace(self.calls[index], call=call)

    def ask(self, index: int, question: str) -> None:
        """Decide that a person is to be asked about a call, and why."""
        self.calls[index] = replace(self.calls[index], question=question)
        if not self.waits(index):
            insort(self.waiting, index)

    def waits(self, index: int) -> bool:
        """Whether a person is still to decide on a call."""
        place = bisect_left(self.waiting, index)
        return place < len(self.waiting) and self.waiting[place] == index

    def agree(self, index: int) -> None:
        """Wait no longer for a decision on a call."""
        if self.waits(index):
            del self.waiting[bisect_left(self.waiting, index)]

    def edit(self, index: int, arguments: dict[str, Any], by: str) -> None:
        """Have a call made with arguments that a person has approved in place of the model's."""
        planned = self.calls[index]
        call = replace(planned.call, arguments=arguments)
        self.calls[index] = replace(planned, call=call, edited_by=by)

    def close(self, at: float, result_tokens: int | None) -> list[tuple[Message, ToolRecord]]:
        """What the conversation and the run's result get of each call; one that has no result is cancelled."""
        for planned in self.unsettled if self.open else ():
            content = _CUT_SHORT if self.started else _NOT_STARTED
            cancelled = ToolFinished(
                at=at, index=planned.index, outcome=ToolOutcome.CANCELLED, content=content
            )
            self._results[planned.index] = cancelled
        closed: list[tuple[Message, ToolRecord]] = []
        for planned in self.calls:
            result = self._results[planned.index]
            call, content = planned.call, result.content
            said: str | Sequence[Part] = result.parts or content
            if result_tokens is not None:
                said = fit(result.parts, result_tokens) if result.parts else truncate(content, result_tokens)
            if planned.edited_by is not None:
                said = planned.told(said) if isinstance(said, str) else (Text(planned.told("")), *said)
            outcome, took = result.outcome, result.duration_ms
            message = Message.tool_result(call.id, said, is_error=outcome is not ToolOutcome.FINISHED)
            name, args, turn = call.tool_name, call.arguments, self.turn
            record = ToolRecord(call.id, name, args, content, outcome, took, turn, result.data, result.parts)
            closed.append((message, record))
        return closed


NO_TOOLS = ToolRound()
"""The round of a turn without tool calls; nothing ever happens in it."""


class RoundPlanner:
    """Decides for each call a model makes whether it is run."""

    __slots__ = ("_conversation", "_depth", "_ledger", "_max_depth", "_requests")

    def __init__(
        self,
        ledger: Ledger,
        conversation: Conversation,
        requests: RequestBuilder,
        start: RunStarted,
        max_depth: int,
    ) -> None:
        self._ledger = ledger
        self._conversation = conversation
        self._requests = requests
        self._depth = len(start.agent)
        self._max_depth = max_depth

    def plan(
        self, turn: int, calls: Sequence[ToolCall], stop_reason: StopReason, elapsed: float
    ) -> ToolRound:
        """Plan the calls of a response, which may be cut off."""
        refusal = _CUT_OFF if stop_reason in _INCOMPLETE else ""
        if self._requests.offer.shown:
            calls = [unwrapped(call) for call in calls]
        tools = ToolRound(turn, [PlannedCall(turn, index, call, refusal) for index, call in enumerate(calls)])
        self.replan(tools, elapsed)
        return tools

    def replan(self, tools: ToolRound, elapsed: float) -> None:
        """Plan a round that has not begun with today's settings; what was refused or asked stays so."""
        asking, room = self._requests.settings.asking, self._ledger.tool_call_room()
        calls: list[PlannedCall] = []
        for planned in tools.calls:
            name = planned.call.tool_name
            refusal = planned.refusal or self._objection(planned)
            if not refusal and room is not None:
                if room == 0:
                    tools.over_limit = True
                    refusal = _NO_CALLS_LEFT.format(limit=self._ledger.limits.tool_calls)
                else:
                    room -= 1
            question = asking.get(name) if planned.question is None else planned.question
            changed = refusal or question is not None or planned.grant is not None
            calls.append(
                replace(planned, refusal=refusal, question=question, grant=None) if changed else planned
            )
        tools.replan(self._with_grants(calls, elapsed) if self._requests.offer.agents else calls)

    def _objection(self, planned: PlannedCall) -> str:
        """Why a call is not run, if it is not."""
        call, most = planned.call, self._requests.settings.max_calls_per_turn
        if most is not None and planned.index >= most:
            return _TOO_MANY_CALLS.format(most=most)
        if call.tool_name not in self._requests.offer.names:
            return f"Not run: {self._unknown(call.tool_name)}"
        if call.malformed:
            return f"Not run: the arguments were not a JSON object but {call.malformed[:200]!r}. Send a JSON object."
        if call.tool_name in self._requests.offer.agents and self._depth >= self._max_depth:
            return _TOO_DEEP.format(depth=self._depth)
        return ""

    def _unknown(self, name: str) -> str:
        if not self._requests.offer.shown:
            return describe_unknown("tool", name, self._requests.offer.names)
        from difflib import get_close_matches  # here, since few models ask for what is not there

        near = get_close_matches(name, self._requests.offer.names, n=_MOST_NEAR)
        known = f" The nearest names are {', '.join(near)}." if near else ""
        return f"There is no tool named {name!r}.{known} Find one with search_tools."

    def _with_grants(self, calls: list[PlannedCall], elapsed: float) -> list[PlannedCall]:
        """The calls with the share of what is left that each subagent among them may use."""
        agents = {p.index for p in calls if not p.refusal and p.call.tool_name in self._requests.offer.agents}
        if not agents:
            return calls
        running = sum(not p.refusal for p in calls)
        reserve = self._conversation.next_turn_tokens(self._requests.settings.max_tokens)
        grant = self._ledger.share(len(agents), elapsed, reserve, running)
        return [
            (replace(p, grant=grant) if _enough(grant) else replace(p, refusal=_NO_BUDGET))
            if p.index in agents
            else p
            for p in calls
        ]


def _enough(grant: Limits) -> bool:
    return grant.turns != 0 and grant.tokens != 0 and grant.seconds != 0 and grant.cost_usd != 0
