"""How the suite asks a client: for a whole answer or for a stream, which has to keep the rules of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias, get_args

from maverick import tool
from maverick.model import LLMClient, Message, Request, Response, TextDelta, ThinkingDelta
from maverick.providers.client import open_stream

Way: TypeAlias = Literal["whole", "streamed"]
WAYS: tuple[Way, ...] = get_args(Way)

HI = Request([Message.user("hi")])
ADD_ONCE = "Add 2 to 3."
ADD_TWICE_AND_TELL_THE_TIME = "Add 1 to 2. Then add 3 to 4. What time is it?"


@tool(effect="pure")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(effect="pure")
async def now() -> str:
    """What time it is."""
    return "noon"


async def ask(client: LLMClient, request: Request, way: Way) -> Response:
    """The client's answer."""
    if way == "whole":
        return await client.run(request)
    return await listen(client, request)


async def listen(client: LLMClient, request: Request) -> Response:
    """The answer at the end of a stream, whose deltas have to add up to it."""
    said: list[str] = []
    thought: list[str] = []
    responses: list[Response] = []
    async with open_stream(client, request) as items:
        async for item in items:
            assert not responses, "something came after the response"
            match item:
                case TextDelta():
                    said.append(item.text)
                case ThinkingDelta():
                    thought.append(item.text)
                case Response():
                    responses.append(item)
    (response,) = responses
    assert "" not in said + thought, "an empty delta"
    assert "".join(said) == response.content
    assert "".join(thought) == response.message.thinking
    return response


def everything_of(error: BaseException) -> Iterator[BaseException]:
    """The error and all that a traceback would show beneath it."""
    shown: BaseException | None = error
    while shown is not None:
        yield shown
        shown = shown.__cause__ or (None if shown.__suppress_context__ else shown.__context__)
