from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from maverick.model import LLMClient, Message, ModelInfo, Price, Request, Response, StreamItem, model_info
from maverick.testing import ScriptedClient, reply


class Echo:
    """The smallest client there can be."""

    async def run(self, request: Request) -> Response:
        return Response(request.messages[-1].content)

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        yield await self.run(request)


@pytest.mark.requirement("002-R1", "002-AC1")
async def test_anything_with_run_and_stream_is_a_client() -> None:
    client: LLMClient = Echo()

    assert isinstance(client, LLMClient)
    assert (await client.run(Request([Message.user("hi")]))).content == "hi"
    assert not isinstance(object(), LLMClient)


@pytest.mark.requirement("002-R1")
async def test_a_client_keeps_no_conversation_between_calls() -> None:
    client = ScriptedClient(lambda request: reply(f"{len(request.messages)} messages"))

    answers = [(await client.run(Request([Message.user("hi")]))).content for _ in range(3)]

    assert answers == ["1 messages"] * 3


def test_what_a_client_does_not_tell_of_a_model_is_not_known() -> None:
    assert model_info(Echo(), "echo:") == ModelInfo(context_window=None, price=None, native_output=False)


def test_a_client_may_tell_what_it_knows_of_a_model() -> None:
    info = ModelInfo(context_window=8_000, price=Price(1, 2), native_output=True)

    assert model_info(ScriptedClient([], info=info), "any:model") == info
