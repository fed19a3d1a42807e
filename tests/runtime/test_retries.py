"""Model calls are retried here and only here: three times, ever more slowly, and in sight of the listener."""

from __future__ import annotations

import asyncio
import builtins
import socket
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from maverick import AgentExecutor, ModelConfig, TerminateReason, tool
from maverick.exceptions import (
    AgentError,
    AuthenticationError,
    ErrorKind,
    InvalidInputError,
    MalformedResponseError,
    NetworkError,
    ProviderError,
    RateLimitError,
    ServerError,
    StreamingError,
)
from maverick.exceptions import TimeoutError as OurTimeoutError
from maverick.loop.events import ContentChunk, ErrorEvent, RetryScheduled, TurnStart
from maverick.model import Request, Response, StreamItem, Usage
from maverick.providers.scripted import Script
from maverick.testing import ScriptedClient, call, fail, reply
from scenario import agent, run, watch

RETRYABLE: list[AgentError] = [
    NetworkError("Unreachable."),
    ServerError("Overloaded.", status=529),
    RateLimitError("Slow down.", status=429),
    OurTimeoutError("No answer."),
    StreamingError("The stream broke."),
    MalformedResponseError("Not JSON."),
]
FINAL: list[AgentError] = [
    AuthenticationError("The key is wrong. Set ANTHROPIC_API_KEY."),
    ProviderError("No such model.", status=404),
    InvalidInputError("max_tokens: expected 1 or more."),
    NetworkError("forbid_network() is in force.", retryable=False),
]


def named(error: object) -> str:
    return type(error).__name__


@pytest.mark.requirement("003-ERR-LLM", "003-NFR2-ERRORS", "002-R8-RETRY")
@pytest.mark.parametrize("error", RETRYABLE, ids=named)
async def test_a_failure_that_may_pass_is_tried_again(error: AgentError) -> None:
    watched = await watch([error, "Hello."], agent())

    assert (watched.result.success, watched.result.output) == (True, "Hello.")
    assert [event.error for event in watched.of(ErrorEvent)] == [error]
    assert watched.client.requests[0] == watched.client.requests[1]


@pytest.mark.requirement("003-ERR-LLM", "002-R4-ERROR", "003-NFR2-ERRORS")
async def test_after_three_retries_the_run_fails_with_the_last_error() -> None:
    errors = [NetworkError(f"Unreachable {n}.") for n in range(1, 5)]

    watched = await watch([*errors, "never"], agent())

    result = watched.result
    assert (result.success, result.terminate_reason) == (False, TerminateReason.ERROR)
    assert list(result.errors) == [errors[3]]
    assert len(watched.client.requests) == 4
    assert [event.error for event in watched.of(ErrorEvent)] == errors


@pytest.mark.requirement("003-ERR-LLM", "002-R8-RETRY")
@pytest.mark.parametrize("error", FINAL, ids=lambda error: f"{named(error)}-{error.kind}")
async def test_a_failure_that_will_not_pass_is_not_tried_again(error: AgentError) -> None:
    watched = await watch([error, "never"], agent())

    assert list(watched.result.errors) == [error]
    assert len(watched.client.requests) == 1
    assert watched.of(RetryScheduled) == []


@pytest.mark.requirement("003-NFR2-RETRY")
async def test_each_wait_is_twice_the_one_before() -> None:
    watched = await watch([NetworkError("Unreachable.")] * 4, agent(retry_delay=0.002))

    assert [(event.attempt, event.delay) for event in watched.of(RetryScheduled)] == [
        (2, 0.002),
        (3, 0.004),
        (4, 0.008),
    ]


@pytest.mark.requirement("003-NFR2-RETRY", "002-R8-RETRY")
@pytest.mark.parametrize("kind", [RateLimitError, ServerError])
async def test_the_wait_a_provider_asks_for_is_kept(kind: Any) -> None:
    loop = asyncio.get_running_loop()
    asked_at: list[float] = []

    def answer(request: Request) -> Any:
        asked_at.append(loop.time())
        return kind("Slow down.", retry_after=0.05) if len(asked_at) == 1 else "Hello."

    watched = await watch(answer, agent(retry_delay=0))

    assert [event.delay for event in watched.of(RetryScheduled)] == [0.05]
    assert asked_at[1] - asked_at[0] >= 0.05


@pytest.mark.requirement("003-ERR-LLM")
@pytest.mark.parametrize("retries", [0, 1])
async def test_the_number_of_retries_is_a_setting(retries: int) -> None:
    client = ScriptedClient(lambda _: NetworkError("Unreachable."))

    result = await run(client, agent(max_retries=retries))

    assert not result.success
    assert len(client.requests) == retries + 1


@pytest.mark.requirement("003-FR2-AC1")
async def test_retries_are_no_turns() -> None:
    @tool
    async def work() -> str:
        """Work."""
        return "done"

    script: Script = [NetworkError("Unreachable."), call("work"), NetworkError("Unreachable."), "Done."]
    watched = await watch(script, agent(work, max_turns=2))

    assert (watched.result.success, watched.result.turn_count) == (True, 2)
    assert [event.turn_number for event in watched.of(TurnStart)] == [1, 2]


@pytest.mark.requirement("003-FR3-AC4")
async def test_words_of_a_broken_answer_are_not_in_the_conversation() -> None:
    script: Script = [
        fail(StreamingError("The stream broke."), after="Half "),
        reply("Whole.", chunks=["Whole."]),
    ]

    watched = await watch(script, agent())

    assert [event.content for event in watched.of(ContentChunk)] == ["Half ", "Whole."]
    assert watched.types.index("retry_scheduled") < watched.types.index("usage_updated")
    assert [message.content for message in watched.result.messages] == ["Do it.", "Whole."]


@pytest.mark.requirement("002-R6", "003-ERR-LLM")
async def test_a_model_call_that_takes_too_long_is_given_up_and_tried_again() -> None:
    model = ModelConfig(model="scripted:", request_timeout=0.05)
    script: Script = [reply("late", delay=30), "Hello."]

    watched = await watch(script, agent(model=model))

    assert watched.result.output == "Hello."
    (error,) = [event.error for event in watched.of(ErrorEvent)]
    assert isinstance(error, OurTimeoutError)
    assert "0.05 s" in str(error)


@pytest.mark.requirement("P8", "003-NFR2-ERRORS")
@pytest.mark.parametrize("watching", [True, False], ids=["watched", "unwatched"])
@pytest.mark.parametrize(
    "raw",
    [ValueError("bad header"), KeyError("id"), FileNotFoundError(2, "No such file", "key.pem"), EOFError()],
    ids=named,
)
async def test_a_raw_error_of_a_client_is_wrapped_and_kept_as_the_cause(
    raw: Exception, watching: bool
) -> None:
    options = {"on_activity": lambda _: None} if watching else {}

    result = await AgentExecutor(ScriptedClient([raw, "never"])).execute(agent(), **options)  # type: ignore[arg-type]

    (error,) = result.errors
    assert isinstance(error, AgentError)
    assert error.kind is ErrorKind.AGENT
    assert error.cause is raw
    assert type(raw).__name__ in str(error)


@pytest.mark.requirement("P8", "003-ERR-LLM", "003-NFR2-ERRORS")
@pytest.mark.parametrize("watching", [True, False], ids=["watched", "unwatched"])
@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (ConnectionResetError(104, "Connection reset by peer"), ErrorKind.NETWORK),
        (ConnectionError(), ErrorKind.NETWORK),
        (OSError(101, "Network is unreachable"), ErrorKind.NETWORK),
        (socket.gaierror(-2, "Name or service not known"), ErrorKind.NETWORK),
        (builtins.TimeoutError("slow"), ErrorKind.TIMEOUT),
    ],
    ids=named,
)
async def test_a_clients_own_trouble_with_the_network_is_tried_again_like_ours(
    raw: Exception, kind: ErrorKind, watching: bool
) -> None:
    options = {"on_activity": lambda _: None} if watching else {}

    passing = await AgentExecutor(ScriptedClient([raw, raw, raw, "ok"])).execute(agent(), **options)  # type: ignore[arg-type]
    lasting = await AgentExecutor(ScriptedClient([raw] * 4)).execute(agent(), **options)  # type: ignore[arg-type]

    assert passing.output == "ok"
    (error,) = lasting.errors
    assert (error.kind, error.retryable, error.cause) == (kind, True, raw)


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("watching", [True, False], ids=["watched", "unwatched"])
async def test_a_client_that_cancels_itself_is_a_client_that_failed(watching: bool) -> None:
    options = {"on_activity": lambda _: None} if watching else {}

    result = await AgentExecutor(ScriptedClient([asyncio.CancelledError(), "never"])).execute(
        agent(),
        **options,  # type: ignore[arg-type]
    )

    assert (result.success, result.terminate_reason) == (False, TerminateReason.ERROR)


class Shapeless:
    """A client whose streams are what it was given."""

    def __init__(self, *items: StreamItem) -> None:
        self.items = items

    async def run(self, request: Request) -> Response:
        return Response("whole")

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        for item in self.items:
            yield item


@pytest.mark.requirement("P8")
async def test_a_stream_without_its_response_is_a_malformed_response() -> None:
    result = await AgentExecutor(Shapeless()).execute(agent(), on_activity=lambda _: None)

    assert isinstance(result.errors[0], MalformedResponseError)


class Careless(Shapeless):
    """A client that answers with what it was given, whatever that is."""

    async def run(self, request: Request) -> Response:
        return cast("Response", self.items[0])


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("watching", [True, False], ids=["watched", "unwatched"])
@pytest.mark.parametrize(
    "answer",
    ["a plain text", None, Response("x", usage=Usage(-5, -5))],
    ids=["text", "nothing", "negative usage"],
)
async def test_an_answer_that_is_none_is_a_failure_of_the_model_and_not_of_the_caller(
    answer: Any, watching: bool
) -> None:
    events: list[Any] = []

    result = await AgentExecutor(Careless(answer)).execute(
        agent(), on_activity=events.append if watching else None
    )

    assert (result.success, result.terminate_reason) == (False, TerminateReason.ERROR)
    assert not watching or events[-1].result == result


class Plain:
    """A stream that is an iterator and nothing more."""

    def __init__(self) -> None:
        self.left = [Response("whole")]

    def __aiter__(self) -> AsyncIterator[StreamItem]:
        return self

    async def __anext__(self) -> StreamItem:
        if not self.left:
            raise StopAsyncIteration
        return self.left.pop()


class PlainClient(Shapeless):
    """A client whose streams can not be closed."""

    def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        return Plain()


async def test_a_stream_need_be_no_more_than_an_async_iterator() -> None:
    result = await AgentExecutor(PlainClient()).execute(agent(), on_activity=lambda _: None)

    assert (result.error, result.output) == (None, "whole")
