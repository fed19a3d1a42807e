"""What a conversation with the CLI has used so far, also when it breaks off.

Only the last message of a run has its figures, and after a failure or an interruption they are zero or missing. So
the meter also adds up what the API says at the beginning and at the end of each answer, and believes whichever
figures are higher.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from maverick.loop.result import AgentUsage
from maverick.model import Usage
from maverick.providers.claude_cli.options import sdk
from maverick.providers.prices import PriceTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from claude_agent_sdk import Message


class UsageMeter:
    """Adds up the usage of one conversation from its messages; the clock runs from when it is made."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._answers: dict[str, Usage] = {}
        self._current = ""
        self._model = ""
        self._reported = Usage()
        self._cost: float | None = None
        self.turns = 0
        """How many turns the conversation had, once it is over."""

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
        """What was used so far, and how long it took."""
        counted = sum(self._answers.values(), Usage())
        usage = _higher(counted, self._reported)
        cost = self._cost or self._estimate(usage)
        milliseconds = round((time.monotonic() - self._began) * 1000)
        return AgentUsage.of(msgspec.structs.replace(usage, cost_usd=cost), milliseconds)

    def _see_event(self, event: Mapping[str, Any]) -> None:
        if event.get("type") == "message_start":
            message = event["message"]
            self._current, self._model = message["id"], message["model"]
            self._note(self._current, message.get("usage"))
        elif event.get("type") == "message_delta" and self._current:
            self._note(self._current, event.get("usage"))

    def _see_result(self, result: Any) -> None:  # noqa: ANN401 - the SDK's ResultMessage, loaded on use
        self.turns = result.num_turns
        self._cost = result.total_cost_usd
        self._reported = sum(
            (
                _usage(
                    entry["inputTokens"],
                    entry["outputTokens"],
                    entry["cacheReadInputTokens"],
                    entry["cacheCreationInputTokens"],
                )
                for entry in (result.model_usage or {}).values()
            ),
            Usage(),
        )

    def _note(self, answer: str, said: Mapping[str, Any] | None) -> None:
        """Keep the highest figures of an answer: it is reported more than once, and not always in full."""
        said = said or {}
        names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        new = _usage(*(said.get(name) or 0 for name in names))
        self._answers[answer] = _higher(self._answers.get(answer, Usage()), new)

    def _estimate(self, usage: Usage) -> float | None:
        """What the tokens cost at list prices, for a run that ended before it could say so itself."""
        price = PriceTable().find(self._model).price if self._model else None
        return self._cost if price is None else price.cost(usage)


def extract_usage(messages: Iterable[Message]) -> AgentUsage:
    """What a list of messages says was used; the duration is the one in its ``ResultMessage``."""
    meter = UsageMeter()
    duration = 0
    for message in messages:
        meter.see(message)
        if isinstance(message, sdk().ResultMessage):
            duration = message.duration_ms
    return replace(meter.read(), duration_ms=duration)


def _higher(one: Usage, other: Usage) -> Usage:
    """The higher of two figures, each."""
    return Usage(
        max(one.input_tokens, other.input_tokens),
        max(one.output_tokens, other.output_tokens),
        max(one.cache_read_tokens, other.cache_read_tokens),
        max(one.cache_write_tokens, other.cache_write_tokens),
    )


def _usage(plain: int, output: int, cache_read: int, cache_write: int) -> Usage:
    """Our figures from the API's, whose input tokens leave out the cached ones."""
    return Usage(plain + cache_read + cache_write, output, cache_read, cache_write)
