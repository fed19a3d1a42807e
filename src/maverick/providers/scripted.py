"""A client that answers from a script: for tests, demonstrations and benchmarks, with no model behind it.

A script is a list of turns, used up in order by one run, or a function of the request, which can serve any
number of runs at once::

    ScriptedClient([call("get_weather", city="Brest"), reply("Sunny in Brest.")])
    ScriptedClient(lambda request: reply(f"{len(request.messages)} messages so far"))

A turn is what :func:`turn`, :func:`reply`, :func:`calls` and :func:`fail` make. Shorter ways to write one are a
text, a :func:`call`, a list of texts and calls, a ``Response`` (used exactly as it is), and an exception or
exception class (raised).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from inspect import isawaitable
from itertools import count
from typing import Any, TypeAlias

from msgspec.structs import replace as replace_fields

from maverick.exceptions import InvalidInputError
from maverick.misuse import explained, refuse
from maverick.model.client import UNKNOWN_MODEL, ModelInfo
from maverick.model.message import Part, Text, Thought, ToolCall, describe_part
from maverick.model.request import Request
from maverick.model.response import Response, StopReason, StreamItem, TextDelta, ThinkingDelta
from maverick.model.usage import Usage
from maverick.providers.client import Client, deltas_of


@dataclass(frozen=True, slots=True)
class Turn:
    """One scripted turn, ready to be played."""

    response: Response
    """The whole answer; of a turn that fails, what had arrived by then."""
    deltas: tuple[TextDelta | ThinkingDelta, ...] = ()
    """What a stream yields before the response."""
    delay: float = 0
    """Seconds before the answer begins."""
    pace: float = 0
    """Seconds between two deltas of a stream."""
    error: BaseException | None = None
    """What is raised instead of returning the response."""


TurnLike: TypeAlias = (
    Turn | Response | str | ToolCall | Sequence[str | Part] | BaseException | type[BaseException]
)
"""A turn, or a shorter way to write one."""

Script: TypeAlias = Iterable[TurnLike] | Callable[[Request], TurnLike | Awaitable[TurnLike]]


def turn(
    *parts: str | Part,
    usage: Usage | None = None,
    stop_reason: StopReason | None = None,
    delay: float = 0,
    pace: float = 0,
    chunks: Sequence[str] | None = None,
) -> Turn:
    """Any turn: texts, thoughts and tool calls in the order given.

    Args:
        parts: What the model says, in order; a string is text.
        usage: The tokens it used; by default a small figure that depends only on the parts, and costs nothing.
        stop_reason: Why it ended; by default ``TOOL_USE`` when it asks for tools, else ``COMPLETE``.
        delay: Seconds before the answer begins.
        pace: Seconds between two deltas of a stream.
        chunks: The pieces a stream yields the text in; by default word by word.
    """
    typed = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    response = Response(
        typed, usage=_estimated_usage(typed) if usage is None else usage, stop_reason=stop_reason
    )
    return Turn(response, _deltas(response, chunks), delay, pace)


def reply(
    text: str,
    *,
    thinking: str = "",
    usage: Usage | None = None,
    stop_reason: StopReason | None = None,
    delay: float = 0,
    pace: float = 0,
    chunks: Sequence[str] | None = None,
) -> Turn:
    """A turn of text, perhaps with a thought before it; the settings are those of :func:`turn`."""
    parts = _spoken(thinking, text)
    return turn(*parts, usage=usage, stop_reason=stop_reason, delay=delay, pace=pace, chunks=chunks)


@explained()
def call(tool_name: str, /, **arguments: Any) -> ToolCall:
    """A tool call, numbered ``call_1``, ``call_2``, … by the client that plays it.

    Every keyword is an argument of the tool. For an id or malformed arguments of your own, write the
    ``ToolCall`` itself; for other settings of the turn, wrap it in :func:`calls`.
    """
    return ToolCall("", tool_name, arguments)


def calls(
    *tool_calls: ToolCall,
    text: str = "",
    thinking: str = "",
    usage: Usage | None = None,
    stop_reason: StopReason | None = None,
    delay: float = 0,
    pace: float = 0,
) -> Turn:
    """A turn that asks for several tools at once, perhaps after some text."""
    parts = (*_spoken(thinking, text), *tool_calls)
    return turn(*parts, usage=usage, stop_reason=stop_reason, delay=delay, pace=pace)


def fail(
    error: BaseException | type[BaseException], *, after: str = "", delay: float = 0, pace: float = 0
) -> Turn:
    """A turn that raises; ``after`` is the text a stream yields before it breaks."""
    raised = error if isinstance(error, BaseException) else error("The script fails here, as written.")
    return replace(reply(after, delay=delay, pace=pace), error=raised)


class ScriptedClient(Client):
    """Answers each request with the next turn of a script, or with what a function makes of the request.

    Calls of a list are numbered from ``call_1`` through the list. Calls of a function are numbered by their
    place in the conversation, so that runs which share the client get the same ids however they interleave.

    Args:
        script: Turns in order, or a function (sync or async) from a request to a turn.
        info: What :meth:`model_info` says of every model.

    Raises:
        InvalidInputError: Something in the script is not a turn; or, when running, the list has no more turns.
    """

    def __init__(self, script: Script, *, info: ModelInfo = UNKNOWN_MODEL) -> None:
        self.model = "scripted:"
        self.requests: list[Request] = []
        """Every request that was made, in order."""
        self._info = info
        if isinstance(script, str):
            refuse(
                "script", f"expected a list of turns, got a text. Write ScriptedClient([reply({script!r})])."
            )
        if isinstance(script, Turn | ToolCall):
            refuse("script", "expected a list of turns, got one turn. Write ScriptedClient([…]) around it.")
        self._function = script if callable(script) else None
        numbers = count(1)
        self._turns = () if callable(script) else tuple([_ready(item, numbers) for item in script])
        self._played = 0

    async def run(self, request: Request) -> Response:
        """Play the next turn and return its answer."""
        planned = await self._next(request)
        if planned.delay:
            await asyncio.sleep(planned.delay)
        if planned.error is not None:
            raise planned.error
        return planned.response

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Play the next turn piece by piece; the last item is its whole answer."""
        planned = await self._next(request)
        if planned.delay:
            await asyncio.sleep(planned.delay)
        for delta in planned.deltas:
            yield delta
            if planned.pace:
                await asyncio.sleep(planned.pace)
        if planned.error is not None:
            raise planned.error
        yield planned.response

    def model_info(self, model: str) -> ModelInfo:  # noqa: ARG002 - the same for every model
        """What the client was given as ``info``."""
        return self._info

    async def _next(self, request: Request) -> Turn:
        self.requests.append(request)
        if self._function is None:
            return self._next_of_list()
        answer = self._function(request)
        if not isinstance(answer, (Turn, Response)) and isawaitable(answer):
            answer = await answer
        # A turn's calls and results lengthen the conversation by more than the numbers it takes from here.
        return _ready(answer, count(len(request.messages)))

    def _next_of_list(self) -> Turn:
        if self._played == len(self._turns):
            raise InvalidInputError(
                f"The script has {self._played} turns, and one more was requested. Add the missing turn, or "
                "write the script as a function of the request.",
                field="script",
            )
        self._played += 1
        return self._turns[self._played - 1]


def _spoken(thinking: str, text: str) -> tuple[Part, ...]:
    thoughts = (Thought(thinking),) if thinking else ()
    return (*thoughts, Text(text)) if text else thoughts


def _ready(item: object, numbers: Iterator[int]) -> Turn:
    """The turn that an item of the script makes, with an id for each call that has none yet."""
    if isinstance(item, Response):
        return Turn(item, _deltas(item, None))
    planned = _as_turn(item)
    if not any(type(part) is ToolCall and not part.id for part in planned.response.parts):
        return planned
    parts = [
        replace_fields(part, id=f"call_{next(numbers)}") if type(part) is ToolCall and not part.id else part
        for part in planned.response.parts
    ]
    return replace(planned, response=planned.response.with_parts(parts))


def _as_turn(item: object) -> Turn:
    match item:
        case Turn():
            return item
        case str() | ToolCall() | Text() | Thought():
            return turn(item)
        case BaseException():
            return fail(item)
        case type() if issubclass(item, BaseException):
            return fail(item)
        case list() | tuple():
            return turn(*item)
    problem = f"A script is made of turns, not {item!r}. Use reply(), call(), calls(), turn() or fail()."
    raise InvalidInputError(problem, field="script")


def _deltas(response: Response, chunks: Sequence[str] | None) -> tuple[TextDelta | ThinkingDelta, ...]:
    if chunks is None:
        return tuple(deltas_of(response))
    if "".join(chunks) != response.content:
        refuse("chunks", f"expected pieces that add up to the text {response.content!r}.")
    thoughts = (delta for delta in deltas_of(response) if isinstance(delta, ThinkingDelta))
    return (*thoughts, *map(TextDelta, chunks))


def _estimated_usage(parts: Sequence[Part]) -> Usage:
    """A figure that depends only on the parts: a turn is made before the request it will answer is known."""
    length = sum(len(describe_part(part)) for part in parts)
    return Usage(input_tokens=10, output_tokens=1 + length // 4, cost_usd=0.0)
