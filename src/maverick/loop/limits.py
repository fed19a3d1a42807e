"""What a run may use, what it has used, and what is left for its subagents (promise P5)."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import astuple, replace

from maverick.loop.conversation import estimate_tokens
from maverick.loop.result import TerminateReason
from maverick.model import Price, Usage
from maverick.model.response import NO_USAGE


class Limits(Struct, frozen=True, omit_defaults=True):
    """The most a run and its subagents may use together; ``None`` is no limit."""

    turns: int | None = None
    """Model calls."""
    seconds: float | None = None
    """Time."""
    tokens: int | None = None
    """Input and output tokens together."""
    cost_usd: float | None = None
    """US dollars."""
    tool_calls: int | None = None
    """Tool calls."""

    def within(self, other: Limits) -> Limits:
        """The tighter of the two, limit by limit."""
        both = zip(astuple(self), astuple(other), strict=True)
        return Limits(*(min((one for one in pair if one is not None), default=None) for pair in both))


NO_LIMITS = Limits()


class Ledger:
    """The limits of one run and what has been spent of them, subagents included."""

    __slots__ = ("_least", "_price", "limits", "tool_calls", "turns", "usage")

    def __init__(self, limits: Limits = NO_LIMITS, price: Price | None = None, least_output: int = 1) -> None:
        self.limits = limits
        self._price = price
        self._least = least_output
        self.turns = 0
        self.tool_calls = 0
        self.usage = NO_USAGE

    def breach(self, elapsed: float) -> TerminateReason | None:
        """The limit that forbids another turn, if one does."""
        limits = self.limits
        if limits.seconds is not None and elapsed >= limits.seconds:
            return TerminateReason.TIMEOUT
        if limits.turns is not None and self.turns >= limits.turns:
            return TerminateReason.MAX_TURNS
        if limits.tokens is not None and self.usage.total_tokens >= limits.tokens:
            return TerminateReason.MAX_TOTAL_TOKENS
        if limits.cost_usd is not None and (self.usage.cost_usd or 0.0) >= limits.cost_usd:
            return TerminateReason.MAX_COST
        return None

    def answer_room(self, asked: int, input_tokens: int) -> int | TerminateReason:
        """How many tokens the next answer may have so that no limit is passed; 0 leaves it to the client."""
        room, price = asked, None if self._price is None else self._price.at(input_tokens)
        if self.limits.tokens is not None:
            left = self.limits.tokens - self.usage.total_tokens - input_tokens
            if left < self._least:
                return TerminateReason.MAX_TOTAL_TOKENS
            room = min(asked or left, left)
        if self.limits.cost_usd is not None and price is not None and price.output > 0:
            money = self.limits.cost_usd - (self.usage.cost_usd or 0.0) - input_tokens * price.input / 1e6
            affordable = int(money * 1e6 / price.output)
            if affordable < self._least:
                return TerminateReason.MAX_COST
            room = min(room or affordable, affordable)
        return room

    def estimated_usage(self, input_tokens: int, answer: str, max_tokens: int) -> Usage:
        """About what an answer used whose provider did not say; it may be cut short, and ``max_tokens`` is 0 if not known."""
        said = estimate_tokens(answer)
        usage = Usage(input_tokens, min(said, max_tokens or said))
        return usage if self._price is None else replace(usage, cost_usd=self._price.cost(usage))

    def tool_call_room(self) -> int | None:
        """How many more tool calls may be made."""
        return None if self.limits.tool_calls is None else max(self.limits.tool_calls - self.tool_calls, 0)

    def share(self, count: int, elapsed: float, reserve_tokens: int, own_calls: int) -> Limits:
        """What each of ``count`` subagents may use, so that together they leave enough for a final answer.

        What a subagent does not use stays with the parent, since only what it really used is charged. The parent keeps
        ``reserve_tokens`` for its next request and answer, and ``own_calls`` for the tool calls it makes in the same turn.
        """
        limits, used = self.limits, self.usage
        return Limits(
            _portion(limits.turns, self.turns + 1, count),
            None if limits.seconds is None else max(limits.seconds - elapsed, 0.0),
            _portion(limits.tokens, used.total_tokens + reserve_tokens, count),
            None
            if limits.cost_usd is None
            else max(limits.cost_usd - (used.cost_usd or 0.0), 0.0) / (count + 1),
            _portion(limits.tool_calls, self.tool_calls + own_calls, count),
        )

    def charge(self, usage: Usage, *, turns: int = 0, tool_calls: int = 0) -> None:
        """Note what was used."""
        self.usage += usage
        self.turns += turns
        self.tool_calls += tool_calls


def _portion(limit: int | None, taken: int, count: int) -> int | None:
    return None if limit is None else max(limit - taken, 0) // count
