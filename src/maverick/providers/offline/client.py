"""The client of the offline model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from maverick.exceptions import InvalidInputError
from maverick.model import (
    ModelInfo,
    Price,
    Request,
    Response,
    StopReason,
    StreamItem,
    ToolCall,
    Usage,
)
from maverick.providers.client import Client, deltas_of
from maverick.providers.offline.rules import DEFAULT_RULES, Answer, Rule
from maverick.providers.offline.scene import Scene

_INFO = ModelInfo(price=Price(0, 0), native_output=True)
_CHARACTERS_PER_TOKEN = 4


class OfflineClient(Client):
    """A model that needs no network: a few rules that talk a little and use the tools they are offered.

    The same request always gets the same answer.

    Args:
        rules: What it can do, in the order in which it tries.
        pace: Seconds between two words of a stream.
    """

    def __init__(self, rules: Sequence[Rule] = DEFAULT_RULES, *, pace: float = 0) -> None:
        if pace < 0:
            raise InvalidInputError(f"pace: expected 0 or more seconds, got {pace}.", field="pace")
        self.model = "offline:"
        self._rules = tuple(rules)
        self._pace = pace

    async def run(self, request: Request) -> Response:
        """Answer a request."""
        return self._respond(request)

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Answer a request word by word."""
        response = self._respond(request)
        for delta in deltas_of(response):
            yield delta
            if self._pace:
                await asyncio.sleep(self._pace)
        yield response

    def model_info(self, model: str) -> ModelInfo:  # noqa: ARG002 - there is only one
        """It costs nothing, reads conversations of any length and answers in the shape it is asked for."""
        return _INFO

    def _respond(self, request: Request) -> Response:
        scene = Scene.of(request)
        answers = (rule.answer(scene) for rule in self._rules)
        return _response(request, next((answer for answer in answers if answer is not None), ""))


def connect(model: str = "", *, pace: float = 0) -> OfflineClient:  # noqa: ARG001 - as every provider's
    """The offline model.

    Args:
        model: Nothing, since there is only one; a name is accepted and ignored.
        pace: Seconds between two words of a stream.
    """
    return OfflineClient(pace=pace)


def _response(request: Request, answer: Answer) -> Response:
    if isinstance(answer, str):
        text, stop_reason = _within(answer, request.config.max_tokens)
        return Response(text, usage=_usage(request, len(text)), stop_reason=stop_reason, model="offline")
    # Numbered by their place in the conversation: unique in it, and the same whenever it is the same.
    first = len(request.messages)
    calls = [ToolCall(f"call_{first + n}", wish.tool_name, wish.arguments) for n, wish in enumerate(answer)]
    return Response(
        (), calls, _usage(request, sum(len(str(call.arguments)) for call in calls)), model="offline"
    )


def _within(text: str, max_tokens: int) -> tuple[str, StopReason]:
    room = max_tokens * _CHARACTERS_PER_TOKEN
    if not max_tokens or len(text) <= room:
        return text, StopReason.COMPLETE
    return text[:room], StopReason.MAX_TOKENS


def _usage(request: Request, written: int) -> Usage:
    """Tokens by length, as a rule of thumb; the price is known: nothing."""
    read = len(request.system) + sum(len(message.content) for message in request.messages)
    return Usage(_tokens(read), _tokens(written), cost_usd=0.0)


def _tokens(characters: int) -> int:
    return -(-characters // _CHARACTERS_PER_TOKEN)
