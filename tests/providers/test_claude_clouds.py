"""The SDK's clients of the clouds behind ``claude-sdk:``, each over its own wire, held to ``claude:`` over the plain one."""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from importlib.util import find_spec
from typing import Any, TypeAlias

import anthropic
import pytest

from canary import CANARY
from maverick.exceptions import AgentError, ErrorKind, MalformedResponseError, RateLimitError, TimeoutError
from maverick.model import Message, OutputSchema, Request, TextDelta
from maverick.providers.claude import client as claude_api
from maverick.providers.claude import sdk as claude_sdk
from maverick.providers.claude.sdk import ClaudeSDKClient, SDKClient
from maverick.providers.client import Client, open_stream
from maverick.providers.http.transport import Timeouts
from wire.asking import HI, answered, both_ways, facts, outcome
from wire.claude_answers import REQUEST_ID
from wire.claude_clouds import AmazonEventStream
from wire.claude_server import ANSWERS, HELLO, SILENT, ClaudeServer

KEY = CANARY
PATIENT = Timeouts(connect=5, first_content=5, between_content=5)
BRIEF = Timeouts(connect=5, first_content=0.3, between_content=0.2)
TLS = ssl.SSLContext(
    ssl.PROTOCOL_TLS_CLIENT
)  # unused here, and the SDK would take long to make the usual one

Make: TypeAlias = Callable[..., SDKClient]
Over: TypeAlias = Callable[..., ClaudeSDKClient]


def vertex(**options: Any) -> SDKClient:
    return anthropic.AsyncAnthropicVertex(region="europe-west1", project_id="p1", access_token=KEY, **options)


def bedrock(**options: Any) -> SDKClient:
    return anthropic.AsyncAnthropicBedrock(api_key=KEY, aws_region="eu-west-1", **options)


def bedrock_mantle(**options: Any) -> SDKClient:
    return anthropic.AsyncAnthropicBedrockMantle(api_key=KEY, aws_region="eu-west-1", **options)


def aws(**options: Any) -> SDKClient:
    return anthropic.AsyncAnthropicAWS(api_key=KEY, aws_region="eu-west-1", workspace_id="w1", **options)


def foundry(**options: Any) -> SDKClient:
    return anthropic.AsyncAnthropicFoundry(api_key=KEY, **options)


def google_cloud(**options: Any) -> SDKClient:
    return anthropic.AsyncAnthropicGoogleCloud(
        project="p1", location="europe-west1", workspace_id="w1", skip_auth=True, **options
    )


CLOUDS: Mapping[str, Make] = {
    "vertex": vertex,
    "bedrock": bedrock,
    "bedrock mantle": bedrock_mantle,
    "aws": aws,
    "foundry": foundry,
    "google cloud": google_cloud,
}
NEEDS_BOTOCORE = pytest.mark.skipif(
    find_spec("botocore") is None,
    reason="needs the package botocore, with which the SDK reads Bedrock's streams",
)


def wires(*clouds: str) -> pytest.MarkDecorator:
    """Run a test for these clouds, in both ways."""
    return pytest.mark.parametrize(
        ("cloud", "stream"),
        [
            pytest.param(
                cloud,
                stream,
                id=f"{cloud}-{'streamed' if stream else 'whole'}",
                marks=NEEDS_BOTOCORE if stream and cloud == "bedrock" else (),
            )
            for cloud in clouds
            for stream in (False, True)
        ],
    )


@pytest.fixture
async def server() -> AsyncIterator[ClaudeServer]:
    async with ClaudeServer() as server:
        yield server


@pytest.fixture
async def over(server: ClaudeServer) -> AsyncIterator[Over]:
    """Makes clients on the SDK's clients of the clouds, which ask the server as they would ask the cloud."""
    made: list[SDKClient] = []

    def connect(cloud: str, scenario: str, timeouts: Timeouts = PATIENT) -> ClaudeSDKClient:
        http_client = anthropic.DefaultAsyncHttpxClient(verify=TLS, follow_redirects=False)
        made.append(CLOUDS[cloud](base_url=server.at(scenario), http_client=http_client, max_retries=5))
        return claude_sdk.connect("claude-test", client=made[-1], timeouts=timeouts)

    yield connect
    for sdk in made:
        await sdk.close()


def plain_client(server: ClaudeServer, scenario: str, timeouts: Timeouts = PATIENT) -> Client:
    return claude_api.connect("claude-test", base_url=server.at(scenario), api_key=KEY, timeouts=timeouts)


@pytest.mark.requirement("002-R5")
@wires(*CLOUDS)
async def test_a_client_of_every_cloud_is_accepted(over: Over, cloud: str, stream: bool) -> None:
    response = await answered(over(cloud, "text"), stream=stream)

    assert response.content == HELLO
    assert (response.model, response.request_id) == ("claude-test", REQUEST_ID)


@pytest.mark.requirement("002-R5")
@pytest.mark.parametrize(
    ("cloud", "whole", "streamed"),
    [
        (
            "vertex",
            "/projects/p1/locations/europe-west1/publishers/anthropic/models/claude-test:rawPredict",
            "/projects/p1/locations/europe-west1/publishers/anthropic/models/claude-test:streamRawPredict",
        ),
        pytest.param(
            "bedrock",
            "/model/claude-test/invoke",
            "/model/claude-test/invoke-with-response-stream",
            marks=NEEDS_BOTOCORE,
        ),
    ],
)
async def test_a_cloud_is_asked_under_its_own_path_for_the_same_as_the_plain_api(
    server: ClaudeServer, over: Over, cloud: str, whole: str, streamed: str
) -> None:
    for stream in (False, True):
        await answered(plain_client(server, "text"), stream=stream)
        await answered(over(cloud, "text"), stream=stream)

    plain, clouds = server.received[::2], server.received[1::2]
    assert [received.path for received in clouds] == [f"/text{whole}", f"/text{streamed}"]
    for sent, expected in zip(clouds, plain, strict=True):
        in_the_path = {"model", "stream", "anthropic_version"}
        assert {name: value for name, value in sent.body.items() if name not in in_the_path} == {
            name: value for name, value in expected.body.items() if name not in in_the_path
        }


@pytest.mark.requirement("002-R5")
@pytest.mark.parametrize("scenario", sorted(ANSWERS))
@wires("vertex", "bedrock")
async def test_an_answer_is_the_same_over_a_cloud(
    server: ClaudeServer, over: Over, cloud: str, stream: bool, scenario: str
) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    request = Request([Message.user("hi")], output=OutputSchema("place", schema))

    plain = await outcome(plain_client(server, scenario), request, stream=stream)
    over_the_cloud = await outcome(over(cloud, scenario), request, stream=stream)

    assert isinstance(plain, list)
    assert over_the_cloud == plain


@pytest.mark.requirement("002-R5", "002-R8", "P8")
@pytest.mark.parametrize("fault", ["wrong_key", "overloaded", "html", "cut", "no_stop", "hang", "stall"])
@wires("vertex", "bedrock")
async def test_a_fault_is_the_same_over_a_cloud(
    server: ClaudeServer, over: Over, cloud: str, stream: bool, fault: str
) -> None:
    timeouts = BRIEF if fault in SILENT else PATIENT
    plain = await outcome(plain_client(server, fault, timeouts), stream=stream)
    over_the_cloud = await outcome(over(cloud, fault, timeouts), stream=stream)

    assert facts(over_the_cloud) == facts(plain)
    if not isinstance(plain, TimeoutError):  # which of the two waits was too long is not always told apart
        assert str(over_the_cloud) == str(plain)


@NEEDS_BOTOCORE
@pytest.mark.requirement("P8")
async def test_an_exception_in_a_stream_of_bedrock_is_the_error_it_speaks_of(over: Over) -> None:
    error = await outcome(over("bedrock", "error_event"), stream=True)

    assert isinstance(error, RateLimitError)
    assert (error.status, error.retryable) == (429, True)
    assert "Overloaded" in str(error)


@NEEDS_BOTOCORE
@pytest.mark.requirement("P8")
async def test_a_frame_of_bedrock_with_a_wrong_checksum_is_malformed(
    over: Over, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AmazonEventStream, "delta", lambda self, data: b"\0" * 64)

    error = await outcome(over("bedrock", "bad_json"), stream=True)

    assert isinstance(error, MalformedResponseError)
    assert REQUEST_ID in str(error)


@wires("vertex", "bedrock")
@pytest.mark.requirement("P8", "P9")
async def test_no_token_of_a_cloud_is_in_an_error(over: Over, cloud: str, stream: bool) -> None:
    error = await outcome(over(cloud, "key_echoed"), stream=stream)

    assert isinstance(error, AgentError)
    assert KEY not in str(error) + repr(vars(error))


@wires("vertex", "bedrock")
@pytest.mark.requirement("002-R6", "P4")
async def test_cancelling_closes_the_connection_to_a_cloud_at_once(
    server: ClaudeServer, over: Over, cloud: str, stream: bool
) -> None:
    task = asyncio.create_task(outcome(over(cloud, "stall"), stream=stream))
    async with asyncio.timeout(30):
        await server.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.dropped.wait()


@pytest.mark.parametrize("cloud", ["vertex", pytest.param("bedrock", marks=NEEDS_BOTOCORE)])
@pytest.mark.requirement("002-R6")
async def test_a_stream_of_a_cloud_that_is_not_read_to_its_end_is_closed(
    server: ClaudeServer, over: Over, cloud: str
) -> None:
    async with over(cloud, "stall") as client, asyncio.timeout(30):
        async with open_stream(client, HI) as stream:
            assert isinstance(await anext(stream), TextDelta)
        await server.dropped.wait()


@both_ways
async def test_the_retries_of_a_clouds_client_are_not_used(
    server: ClaudeServer, over: Over, stream: bool
) -> None:
    await outcome(over("vertex", "overloaded"), stream=stream)

    assert len(server.received) == 1


@pytest.mark.requirement("P8")
async def test_a_package_that_a_cloud_needs_is_named_with_the_command_that_installs_it(
    over: Over, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "botocore"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "botocore", None)

    error = await outcome(over("bedrock", "text"), stream=True)

    assert isinstance(error, AgentError)
    assert error.kind is ErrorKind.INVALID
    assert "pip install botocore" in str(error)
