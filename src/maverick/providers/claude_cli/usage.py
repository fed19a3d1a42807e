"""The usage of a conversation with the CLI, also when it breaks off.

Only the last message has the totals, and after a failure or an interruption they are zero or missing. So the meter also
adds up what the API reports at the beginning and at the end of each answer, and takes the higher figures. A figure that is
missing or not a number counts as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import msgspec

from maverick.loop.result import AgentUsage
from maverick.model import Usage
from maverick.providers.claude_cli.options import sdk
from maverick.providers.prices import PriceTable

if TYPE_CHECKING:
    from claude_agent_sdk import Message, ResultMessage

_FIGURES = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_OF_A_RESPONSE = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_OF_A_MODEL = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
"""What the figures are called here, where a response reports them, and where a run reports them by model."""


class _Meter:
    """Adds up the usage of one conversation from its messages."""

    def __init__(self) -> None:
        self._answers: dict[str, Usage] = {}
        self._current = ""
        self._model = ""
        self._reported = Usage()
        self._cost: float | None = None
        self._duration = 0

    def see(self, message: Message) -> None:
        """Take a message into account."""
        module = sdk()
        if isinstance(message, module.StreamEvent):
            self._see_event(message.event)
        elif isinstance(message, module.AssistantMessage):
            if message.error is None and message.message_id:
                self._note(message.message_id, message.usage)
                self._model = message.model
        elif isinstance(message, module.ResultMessage):
            self._see_result(message)

    def read(self) -> AgentUsage:
        """The usage so far, and the duration that the conversation reports."""
        counted = sum(self._answers.values(), Usage())
        usage = _each(max, counted, self._reported)
        cost = self._cost or self._estimate(usage)
        return AgentUsage.of(msgspec.structs.replace(usage, cost_usd=cost), self._duration)

    def _see_event(self, event: Mapping[str, Any]) -> None:
        if event.get("type") == "message_start":
            message = _mapping(event.get("message"))
            self._current, self._model = str(message.get("id") or "?"), str(message.get("model") or "")
            self._note(self._current, message.get("usage"))
        elif event.get("type") == "message_delta" and self._current:
            self._note(self._current, event.get("usage"))

    def _see_result(self, result: Any) -> None:  # noqa: ANN401 - the SDK's ResultMessage, loaded on use
        self._duration = _count(result.duration_ms)
        self._cost = _number(result.total_cost_usd)
        reported = _by_model(result)
        self._reported = reported if reported.total_tokens else _usage(result.usage, _OF_A_RESPONSE)

    def _note(self, answer: str, said: object) -> None:
        """Keep the highest figures of an answer: it is reported more than once, and not always in full."""
        self._answers[answer] = _each(max, self._answers.get(answer, Usage()), _usage(said, _OF_A_RESPONSE))

    def _estimate(self, usage: Usage) -> float | None:
        """What the tokens cost at list prices, for a run that ended before it could say so itself."""
        price = PriceTable().find(self._model).price if self._model else None
        return self._cost if price is None else price.cost(usage)


def extract_usage(messages: Iterable[Message] | None) -> AgentUsage:
    """The usage that a list of messages reports, if there is one; the duration is the one in its ``ResultMessage``."""
    meter = _Meter()
    for message in messages or ():
        meter.see(message)
    return meter.read()


def hidden_usage(result: ResultMessage, charged: Usage) -> Usage:
    """What the CLI says it has used since it was started, less what its turns, and this, have found before."""
    hidden = _each(lambda used, known: max(used - known, 0), _by_model(result), charged)
    if not hidden.total_tokens or result.total_cost_usd is None or charged.cost_usd is None:
        return hidden
    return msgspec.structs.replace(hidden, cost_usd=max(result.total_cost_usd - charged.cost_usd, 0.0))


def _by_model(result: ResultMessage) -> Usage:
    """What the models of a conversation have used together."""
    return sum((_usage(figures, _OF_A_MODEL) for figures in _mapping(result.model_usage).values()), Usage())


def _each(combine: Callable[[int, int], int], one: Usage, other: Usage) -> Usage:
    """Two usages, combined figure by figure."""
    return Usage(*(combine(getattr(one, name), getattr(other, name)) for name in _FIGURES))


def _usage(figures: object, names: Sequence[str]) -> Usage:
    """Our figures from the API's, whose input tokens leave out the cached ones."""
    known = _mapping(figures)
    plain, output, cache_read, cache_write = (_count(known.get(name)) for name in names)
    return Usage(plain + cache_read + cache_write, output, cache_read, cache_write)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(value: object) -> int:
    return int(_number(value) or 0)


def _number(value: object) -> float | None:
    """The value, if it is a number that an amount can be."""
    return value if isinstance(value, int | float) and isfinite(value) and value >= 0 else None
