from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from maverick import AgentExecutor, tool
from maverick.exceptions import (
    AgentError,
    AuthenticationError,
    ErrorKind,
    InvalidInputError,
    NetworkError,
    RateLimitError,
    ServerError,
    StreamingError,
)
from maverick.model import (
    Message,
    ModelInfo,
    Opaque,
    Request,
    RequestConfig,
    Response,
    StreamItem,
    Text,
    TextDelta,
    Thought,
)
from maverick.model.client import RunScope
from maverick.providers import Client
from maverick.providers.scripted import TurnLike
from maverick.providers.wrappers.fallback import FallbackClient
from maverick.testing import ScriptedClient, call, fail, reply
from scenario import agent

HELLO = Request(messages=[Message.user("hello")])


def named(model: str, turns: list[TurnLike]) -> ScriptedClient:
    client = ScriptedClient(turns)
    client.model = model
    return client


class Closable(ScriptedClient):
    def __init__(self, closing: Exception | None = None) -> None:
        super().__init__([])
        self.closed = False
        self._closing = closing

    async def aclose(self) -> None:
        self.closed = True
        if self._closing is not None:
            raise self._closing


class Scoped(ScriptedClient):
    """A client that keeps something open for a run, and notes what it is told."""

    def __init__(self, name: str, notes: list[str], *turns: TurnLike) -> None:
        super().__init__(turns)
        self.name = name
        self.notes = notes

    @asynccontextmanager
    async def for_run(self) -> AsyncIterator[RunScope]:
        self.notes.append(f"{self.name} opened")
        try:
            yield self
        finally:
            self.notes.append(f"{self.name} closed")

    def tool_finished(self, call_id: str, content: str, *, failed: bool) -> None:
        self.notes.append(f"{self.name} told {content!r}{' as a failure' if failed else ''}")


class Bare:
    """An LLMClient with nothing but what the protocol asks."""

    async def run(self, request: Request) -> Response:
        return Response("bare")

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        yield Response("bare")


async def collect(client: Client, seen: list[StreamItem] | None = None) -> list[StreamItem]:
    seen = [] if seen is None else seen
    async for item in client.stream(HELLO):
        seen.append(item)
    return seen


async def answer(client: Client, way: str) -> Response:
    if way == "run":
        return await client.run(HELLO)
    last = (await collect(client))[-1]
    assert isinstance(last, Response)
    return last


both_ways = pytest.mark.parametrize("way", ["run", "stream"])


@both_ways
async def test_the_first_client_answers_alone_when_it_can(way: str) -> None:
    second = ScriptedClient(["never asked"])
    client = FallbackClient([ScriptedClient(["first"]), second])

    assert (await answer(client, way)).content == "first"
    assert second.requests == []


@both_ways
@pytest.mark.parametrize(
    "error", [RateLimitError("slow down"), NetworkError("gone"), ServerError("overloaded")]
)
async def test_the_next_client_gets_the_same_request_when_one_fails(way: str, error: AgentError) -> None:
    second = ScriptedClient(["second"])
    client = FallbackClient([ScriptedClient([fail(error)]), second])

    assert (await answer(client, way)).content == "second"
    assert second.requests == [HELLO]


@both_ways
async def test_each_request_starts_with_the_first_client_again(way: str) -> None:
    client = FallbackClient([ScriptedClient([NetworkError("gone"), "back"]), ScriptedClient(["second"])])

    assert [(await answer(client, way)).content for _ in range(2)] == ["second", "back"]


@both_ways
async def test_an_error_of_another_kind_is_raised_at_once(way: str) -> None:
    second = ScriptedClient(["never asked"])
    client = FallbackClient([ScriptedClient([InvalidInputError("too hot")]), second])

    with pytest.raises(InvalidInputError, match="too hot"):
        await answer(client, way)
    assert second.requests == []


@both_ways
async def test_the_kinds_can_be_chosen(way: str) -> None:
    script = [NetworkError("gone"), RateLimitError("slow down")]
    client = FallbackClient([ScriptedClient(script), ScriptedClient(["second"])], on={"rate_limit"})

    with pytest.raises(NetworkError):
        await answer(client, way)
    assert (await answer(client, way)).content == "second"


@both_ways
async def test_when_all_fail_the_last_error_is_raised_and_notes_the_others(way: str) -> None:
    client = FallbackClient(
        [
            ScriptedClient([RateLimitError("slow down")]),
            ScriptedClient([NetworkError("gone")]),
            ScriptedClient([AuthenticationError("wrong key")]),
        ]
    )
    with pytest.raises(AuthenticationError, match="wrong key") as caught:
        await answer(client, way)

    assert caught.value.__notes__ == [
        "Client 1 failed before: RateLimitError: slow down",
        "Client 2 failed before: NetworkError: gone",
    ]


@both_ways
async def test_an_error_that_ends_the_search_notes_the_earlier_ones_too(way: str) -> None:
    client = FallbackClient(
        [ScriptedClient([NetworkError("gone")]), ScriptedClient([InvalidInputError("too hot")]), Bare()]
    )
    with pytest.raises(InvalidInputError) as caught:
        await answer(client, way)
    assert caught.value.__notes__ == ["Client 1 failed before: NetworkError: gone"]


async def test_a_stream_that_has_begun_is_never_begun_again() -> None:
    second = ScriptedClient(["never asked"])
    client = FallbackClient([ScriptedClient([fail(StreamingError("cut"), after="Once upon")]), second])

    seen: list[StreamItem] = []
    with pytest.raises(StreamingError, match="cut"):
        await collect(client, seen)

    assert "".join(item.text for item in seen if isinstance(item, TextDelta)) == "Once upon"
    assert second.requests == []


async def test_a_stream_passes_the_deltas_on_as_they_are() -> None:
    story = reply("Once upon a time", chunks=["Once ", "upon a", " time"])
    plain = await collect(ScriptedClient([story]))
    assert (
        await collect(FallbackClient([ScriptedClient([NetworkError("gone")]), ScriptedClient([story])]))
        == plain
    )


async def test_a_stream_given_up_by_its_reader_closes_the_one_below() -> None:
    closed = asyncio.Event()

    class Endless(Bare):
        async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
            try:
                while True:
                    yield TextDelta("again ")
            finally:
                closed.set()

    stream = FallbackClient([Endless()]).stream(HELLO)
    await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]
    assert closed.is_set()


async def test_cancellation_is_not_an_error_to_fall_back_from() -> None:
    second = ScriptedClient(["never asked"])
    asked = asyncio.Event()

    async def never(request: Request) -> str:
        asked.set()
        await asyncio.Event().wait()
        return "never"

    asking = asyncio.create_task(FallbackClient([ScriptedClient(never), second]).run(HELLO))
    await asked.wait()
    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asking
    assert second.requests == []


def test_it_knows_of_models_what_holds_for_each_of_its_clients() -> None:
    large = ScriptedClient([], info=ModelInfo(context_window=2000, native_output=True))
    small = ScriptedClient([], info=ModelInfo(context_window=1000))

    assert FallbackClient([large, small]).model_info("any") == ModelInfo(context_window=1000)
    assert FallbackClient([large, large]).model_info("any").native_output
    assert FallbackClient([Bare(), large]).model_info("any") == ModelInfo(context_window=2000)


@tool
async def act() -> str:
    """Act."""
    return "acted"


async def test_each_client_that_keeps_something_for_a_run_is_given_the_run() -> None:
    notes: list[str] = []
    first = Scoped("first", notes, call("act"), NetworkError("gone"))
    client = FallbackClient([first, Bare(), Scoped("last", notes)])

    result = await AgentExecutor(client).execute(agent(act))

    assert result.output == "bare"
    assert notes == [
        "last opened",
        "first opened",
        "last told 'acted'",
        "first told 'acted'",
        "first closed",
        "last closed",
    ]


async def test_a_client_whose_run_ends_badly_does_not_keep_the_others_open() -> None:
    notes: list[str] = []

    class Stuck(Bare):
        @asynccontextmanager
        async def for_run(self) -> AsyncIterator[None]:
            yield
            raise NetworkError("cannot say goodbye")

    with pytest.raises(NetworkError):
        async with FallbackClient([Stuck(), Scoped("other", notes)]).for_run():
            pass

    assert notes == ["other opened", "other closed"]


async def test_closing_it_closes_every_client_that_can_be_closed() -> None:
    first, last = Closable(), Closable()
    async with FallbackClient([first, Bare(), last]):
        pass
    assert first.closed
    assert last.closed


async def test_a_client_that_fails_to_close_does_not_keep_the_others_open() -> None:
    first, last = Closable(), Closable(NetworkError("cannot say goodbye"))
    with pytest.raises(NetworkError):
        await FallbackClient([first, last]).aclose()
    assert first.closed


def test_it_needs_a_client_and_kinds_that_exist() -> None:
    with pytest.raises(InvalidInputError, match="at least one client"):
        FallbackClient([])
    with pytest.raises(InvalidInputError, match="'sunny'") as caught:
        FallbackClient([Bare()], on=["sunny"])
    assert ErrorKind.RATE_LIMIT.value in str(caught.value)


async def test_openais_reasoning_goes_to_no_other_model_and_that_of_a_fallback_is_not_kept() -> None:
    thought = Thought("hm", block=Opaque("openai", {"type": "reasoning", "id": "rs_1"}))
    signed = Thought("so", signature="claude's")
    said = Text("Hello.", block=Opaque("openai", {"type": "message", "id": "msg_1"}))
    first = named("openai:one", [fail(ServerError("Overloaded.", status=529))] * 2)
    second = named("openai:two", [Response([thought, said])] * 2)
    client = FallbackClient([first, second])
    request = Request([Message.user("hello"), Message.assistant([signed, thought, said])])

    answer = await client.run(request)
    *_, streamed = [item async for item in client.stream(request)]

    assert first.requests[0].messages == request.messages
    assert second.requests[0].messages[1].parts == (signed, Text("Hello."))
    assert isinstance(streamed, Response)
    assert answer.parts == streamed.parts == (Text("Hello."),)


async def test_the_only_openai_client_keeps_its_reasoning() -> None:
    thought = Thought("hm", block=Opaque("openai", {"type": "reasoning", "id": "rs_1"}))
    first = named("claude:one", [fail(ServerError("Overloaded.", status=529))])
    client = FallbackClient([first, named("openai:two", [Response([thought, "Hello."])])])

    answer = await client.run(HELLO)

    assert answer.parts == (thought, Text("Hello."))


async def test_a_client_of_the_model_that_is_named_is_asked_first() -> None:
    first, second = named("claude:one", [reply("claude")]), named("openai:two", [reply("openai")] * 2)
    client = FallbackClient([first, second])
    wanted = Request(HELLO.messages, config=RequestConfig(model="openai:two"))

    assert [(await client.run(wanted)).content, (await client.run(HELLO)).content] == ["openai", "claude"]
