"""The tool calls of one turn: which are run, and the one result each of them gets (promise P3)."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from maverick.exceptions import InvalidInputError, describe_unknown
from maverick.loop.conversation import truncate
from maverick.loop.entries import ToolFinished
from maverick.loop.limits import Ledger, Limits
from maverick.loop.result import ToolOutcome, ToolRecord
from maverick.loop.run_settings import ToolOffer
from maverick.model import Message, StopReason, ToolCall

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
_NO_CALLS_LEFT = "Not run: the limit of {limit} tool calls is reached."


class PlannedCall(Struct, frozen=True):
    """A tool call of a turn, and what is to be done with it."""

    index: int
    call: ToolCall
    refusal: str = ""
    """Why it is not run, in words for the model; such a call gets this as its result."""
    grant: Limits | None = None
    """What it may use, when it is a subagent."""
    question: str | None = None
    """Why a person is asked about it, which may be left unsaid; ``None`` when nobody is."""
    begun: bool = False
    """Whether it was refused only after it had begun, in a process that stopped: it may have taken effect."""


class ToolRound:
    """The calls of one turn and what became of them.

    Ruling on a call, asking about it and settling it each cost the same however many calls there are.
    """

    __slots__ = (
        "_calls",
        "_planned",
        "_results",
        "over_limit",
        "reopened",
        "started",
        "turn",
        "waiting",
    )

    def __init__(self, turn: int = 0, calls: Iterable[PlannedCall] = ()) -> None:
        self.turn = turn
        self._planned = list(calls)
        self._calls: tuple[PlannedCall, ...] | None = None
        self.waiting: list[int] = []
        """The calls that a person is still to decide on, in order."""
        self.over_limit = False
        """Whether a call was refused because the run may make no more of them."""
        self.started = False
        self.reopened = False
        """Whether the run was left while the calls ran, and goes on: they may be ruled on once more."""
        self._results: dict[int, ToolFinished] = {}

    def __repr__(self) -> str:
        return f"ToolRound({self.turn}, {self.calls}, waiting={self.waiting}, started={self.started})"

    @property
    def calls(self) -> tuple[PlannedCall, ...]:
        """All calls, in the order they were asked for."""
        if self._calls is None:
            self._calls = tuple(self._planned)
        return self._calls

    @property
    def open(self) -> bool:
        """Whether a call still has no result."""
        return len(self._results) < len(self._planned)

    @property
    def unsettled(self) -> tuple[PlannedCall, ...]:
        """The calls that have no result yet."""
        if not self._results:
            return self.calls
        return tuple(planned for planned in self._planned if planned.index not in self._results)

    def planned(self, index: int) -> PlannedCall:
        """One of the calls."""
        return self._planned[index]

    def may_rule(self, index: int) -> bool:
        """Whether a policy may still say something of a call: nobody has refused it, and it does not run."""
        if not 0 <= index < len(self._planned) or self._planned[index].refusal:
            return False
        return not self.started or (self.reopened and index not in self._results)

    def settled(self) -> Iterator[tuple[PlannedCall, ToolFinished]]:
        """The calls with their results, once all have one."""
        return ((planned, self._results[planned.index]) for planned in self._planned)

    def replan(self, calls: Iterable[PlannedCall]) -> None:
        """Replace the plans for the calls; what a person has agreed to stays so."""
        asked = {planned.index for planned in self._planned if planned.question is not None}
        agreed = asked.difference(self.waiting)
        self._planned = list(calls)
        self._calls = None
        self.waiting = [
            planned.index
            for planned in self._planned
            if planned.question is not None and not planned.refusal and planned.index not in agreed
        ]

    def settle(self, result: ToolFinished) -> None:
        """Take the result of a call.

        Raises:
            InvalidInputError: There is no such call, or it has its result already.
        """
        if not 0 <= result.index < len(self._planned) or result.index in self._results:
            raise InvalidInputError(
                f"Turn {self.turn} has no open tool call {result.index}; each call gets exactly one result.",
                field="index",
            )
        self._results[result.index] = result

    def refuse(self, index: int, why: str) -> None:
        """Decide that a call is not to be run, or not to be run again."""
        refusal = f"Not run again: {why} {_MAY_HAVE_ACTED}" if self.started else f"Not run: {why}"
        self._change(replace(self._planned[index], refusal=refusal, begun=self.started))
        self.agree(index)

    def ask(self, index: int, question: str) -> None:
        """Decide that a person is to be asked about a call, and why."""
        self._change(replace(self._planned[index], question=question))
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

    def _change(self, planned: PlannedCall) -> None:
        self._planned[planned.index] = planned
        self._calls = None

    def cancel_open(self, at: float) -> None:
        """Give each call that has no result the one that tells it was not finished."""
        if not self.open:
            return
        for planned in self.unsettled:
            self._results[planned.index] = ToolFinished(
                at=at,
                index=planned.index,
                outcome=ToolOutcome.CANCELLED,
                content=_CUT_SHORT if self.started else _NOT_STARTED,
            )

    def messages(self, result_tokens: int | None) -> list[Message]:
        """The results in the order of the calls, none larger than so many tokens."""
        messages = []
        for planned, result in self.settled():
            content = result.content if result_tokens is None else truncate(result.content, result_tokens)
            failed = result.outcome is not ToolOutcome.FINISHED
            messages.append(Message.tool_result(planned.call.id, content, is_error=failed))
        return messages

    def records(self) -> list[ToolRecord]:
        """The calls with their results, for the run's result."""
        return [
            ToolRecord(
                planned.call.id,
                planned.call.tool_name,
                planned.call.arguments,
                result.content,
                result.outcome,
                result.duration_ms,
                self.turn,
                result.data,
            )
            for planned, result in self.settled()
        ]


NO_TOOLS = ToolRound()
"""The round of a turn without tool calls; nothing ever happens in it."""


class RoundPlanner:
    """Decides for each call a model makes whether it is run."""

    __slots__ = ("_depth", "_ledger", "_max_depth", "asking", "calls_per_turn", "offer")

    def __init__(self, ledger: Ledger, depth: int, max_depth: int) -> None:
        self.offer = ToolOffer()
        """The tools there are."""
        self.asking: Mapping[str, str] = {}
        """The tools that want a person asked about each call, and why if they say so."""
        self.calls_per_turn: int | None = None
        """How many calls of one turn are run at the most."""
        self._ledger = ledger
        self._depth = depth
        self._max_depth = max_depth

    def plan(
        self,
        turn: int,
        calls: Sequence[ToolCall],
        stop_reason: StopReason,
        elapsed: float,
        reserve_tokens: int,
    ) -> ToolRound:
        """Plan the calls of a response.

        Args:
            turn: The turn they belong to.
            calls: The calls.
            stop_reason: Why the response ended; the calls of one that was cut off are not run.
            elapsed: Seconds since the run began.
            reserve_tokens: What the turn after this one is expected to need; kept from subagents.
        """
        cut_off = stop_reason is StopReason.MAX_TOKENS or stop_reason is StopReason.CONTEXT_OVERFLOW
        refusal = _CUT_OFF if cut_off else ""
        tools = ToolRound(turn, (PlannedCall(index, call, refusal) for index, call in enumerate(calls)))
        self.replan(tools, elapsed, reserve_tokens)
        return tools

    def replan(self, tools: ToolRound, elapsed: float, reserve_tokens: int) -> None:
        """Plan a round that has not begun by what is in force now; what was refused or asked stays so."""
        room = self._ledger.tool_call_room()
        planned: list[PlannedCall] = []
        for each in tools.calls:
            call = each.call
            refusal = each.refusal or self._surplus(each) or self._objection(call)
            if not refusal and room is not None:
                if room == 0:
                    tools.over_limit = True
                    refusal = _NO_CALLS_LEFT.format(limit=self._ledger.limits.tool_calls)
                else:
                    room -= 1
            question = self.asking.get(call.tool_name) if each.question is None else each.question
            planned.append(PlannedCall(each.index, call, refusal, None, question))
        tools.replan(self._with_grants(planned, elapsed, reserve_tokens))

    def _surplus(self, planned: PlannedCall) -> str:
        """Why a call is one too many for its turn, if it is."""
        most = self.calls_per_turn
        return "" if most is None or planned.index < most else _TOO_MANY_CALLS.format(most=most)

    def _objection(self, call: ToolCall) -> str:
        if call.tool_name not in self.offer.names:
            return f"Not run: {describe_unknown('tool', call.tool_name, self.offer.names)}"
        if call.malformed:
            return f"Not run: the arguments were not a JSON object but {call.malformed[:200]!r}. Send a JSON object."
        if call.tool_name in self.offer.agents and self._depth >= self._max_depth:
            return _TOO_DEEP.format(depth=self._depth)
        return ""

    def _with_grants(
        self, planned: Sequence[PlannedCall], elapsed: float, reserve_tokens: int
    ) -> Iterable[PlannedCall]:
        agents = {p.index for p in planned if not p.refusal and p.call.tool_name in self.offer.agents}
        if not agents:
            return planned
        running = sum(not p.refusal for p in planned)
        grant = self._ledger.share(len(agents), elapsed, reserve_tokens, running)
        return (
            (replace(p, grant=grant) if _enough(grant) else replace(p, refusal=_NO_BUDGET))
            if p.index in agents
            else p
            for p in planned
        )


def _enough(grant: Limits) -> bool:
    return grant.turns != 0 and grant.tokens != 0 and grant.seconds != 0 and grant.cost_usd != 0
