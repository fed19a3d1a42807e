"""Asking a client in either of the two ways there are."""

from __future__ import annotations

import pytest

from maverick.exceptions import AgentError
from maverick.model import Message, Request, Response, StreamItem
from maverick.providers.client import Client, open_stream

HI = Request([Message.user("hi")])

both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


async def collected(client: Client, request: Request = HI) -> list[StreamItem]:
    """Everything that a stream yields; the client is closed afterwards."""
    async with client, open_stream(client, request) as stream:
        return [item async for item in stream]


async def answered(client: Client, request: Request = HI, *, stream: bool = False) -> Response:
    """The whole answer, asked for in either way; the client is closed afterwards."""
    if not stream:
        async with client:
            return await client.run(request)
    response = (await collected(client, request))[-1]
    assert isinstance(response, Response)
    return response


async def outcome(client: Client, request: Request = HI, *, stream: bool) -> list[StreamItem] | AgentError:
    """What came of a request: the items of the answer, or the error in their place; the client is closed afterwards."""
    try:
        return await collected(client, request) if stream else [await answered(client, request)]
    except AgentError as error:
        return error


def facts(result: list[StreamItem] | AgentError) -> object:
    """What a caller can see of an outcome, apart from the words of an error."""
    if not isinstance(result, AgentError):
        return result
    details = {name: value for name, value in vars(result).items() if name != "message"}
    return type(result), details
