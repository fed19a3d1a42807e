"""The transport on real sockets: what it carries, how long it waits, and what it says when something breaks."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import socket
import ssl
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Iterator

import pytest
import trustme

from canary import CANARY
from maverick.exceptions import (
    AgentError,
    ErrorKind,
    InvalidInputError,
    MalformedResponseError,
    NetworkError,
    TimeoutError,
)
from maverick.providers.http.aiohttp_transport import AiohttpTransport
from maverick.providers.http.transport import Timeouts, Transport
from wire.claude_server import ClaudeServer
from wire.tcp_server import Serve, tcp_server

BODY = b'{"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}'
STREAM_BODY = BODY[:-1] + b', "stream": true}'
HEADERS = {"content-type": "application/json", "x-api-key": CANARY}
PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
async def server() -> AsyncIterator[ClaudeServer]:
    async with ClaudeServer() as server:
        yield server


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    transport = AiohttpTransport(timeouts=Timeouts(connect=5, first_content=5, between_content=5))
    yield transport
    await transport.aclose()


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
async def tls_server(authority: trustme.CA) -> AsyncIterator[ClaudeServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    async with ClaudeServer(tls=context) as server:
        yield server


@pytest.fixture
def unused_port() -> Iterator[int]:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound and not listening: the port stays free, and connecting is refused
        yield held.getsockname()[1]


def url(server: ClaudeServer, scenario: str) -> str:
    return server.at(scenario) + "/v1/messages"


async def post(transport: Transport, address: str, body: bytes = BODY) -> tuple[int, bytes]:
    with await transport.request("POST", address, headers=HEADERS, body=[body]) as reply:
        return reply.status, await reply.read()


async def failure(transport: Transport, address: str, body: bytes = BODY) -> AgentError:
    with pytest.raises(AgentError) as caught:
        await post(transport, address, body)
    assert CANARY not in repr(caught.value) + str(caught.value) + repr(caught.value.__cause__)
    assert caught.value.__context__ is None or caught.value.__cause__ is not None
    return caught.value


async def test_a_request_and_its_answer_are_carried_as_they_are(
    server: ClaudeServer, transport: Transport
) -> None:
    with await transport.request("POST", url(server, "text"), headers=HEADERS, body=[BODY]) as reply:
        assert reply.status == 200
        assert reply.headers["Request-ID"] == "req_test_1"
        assert b"Hello from the server" in await reply.read()
    assert server.received[0].raw == BODY
    assert server.received[0].headers["x-api-key"] == CANARY


async def test_a_body_can_be_read_piece_by_piece(server: ClaudeServer, transport: Transport) -> None:
    address = url(server, "text")
    with await transport.request("POST", address, headers=HEADERS, body=[STREAM_BODY]) as reply:
        pieces = []
        while piece := await reply.read_some():
            pieces.append(piece)
        assert await reply.read_some() == b""
    assert b"".join(pieces).endswith(b'data: {"type": "message_stop"}\n\n')


async def test_a_connection_is_reused_once_its_body_was_read(
    server: ClaudeServer, transport: Transport
) -> None:
    for body in (BODY, STREAM_BODY, BODY):
        await post(transport, url(server, "text"), body)
    assert len(server.connections) == 1


async def test_a_connection_is_reused_after_a_stream_whose_content_was_complete(
    server: ClaudeServer, transport: Transport
) -> None:
    for _ in range(3):
        address = url(server, "text")
        with await transport.request("POST", address, headers=HEADERS, body=[STREAM_BODY]) as reply:
            read = b""
            while b"message_stop" not in read:
                read += await reply.read_some()
            await reply.finish()
    assert len(server.connections) == 1


async def test_a_server_that_does_not_end_a_complete_stream_is_not_waited_for(
    server: ClaudeServer, transport: Transport
) -> None:
    address = url(server, "never_ends")
    async with asyncio.timeout(30):
        with await transport.request("POST", address, headers=HEADERS, body=[STREAM_BODY]) as reply:
            read = b""
            while b"message_stop" not in read:
                read += await reply.read_some()
            await reply.finish()
        await server.dropped.wait()


@pytest.mark.requirement("002-R6")
async def test_leaving_a_reply_unread_closes_the_connection_at_once(
    server: ClaudeServer, transport: Transport
) -> None:
    address = url(server, "stall")
    with await transport.request("POST", address, headers=HEADERS, body=[STREAM_BODY]) as reply:
        assert await reply.read_some()
        assert not server.dropped.is_set()
    await asyncio.wait_for(server.dropped.wait(), 3)


@pytest.mark.requirement("002-R6")
@pytest.mark.parametrize("scenario", ["hang", "stall"])
async def test_cancelling_closes_the_connection_at_once(
    server: ClaudeServer, transport: Transport, scenario: str
) -> None:
    asking = asyncio.create_task(post(transport, url(server, scenario), STREAM_BODY))
    await server.asked.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.wait_for(server.dropped.wait(), 3)


async def test_it_closes_and_opens_again(server: ClaudeServer, transport: Transport) -> None:
    await post(transport, url(server, "text"))
    await transport.aclose()
    await transport.aclose()
    assert (await post(transport, url(server, "text")))[0] == 200
    assert len(server.connections) == 2


def test_one_transport_serves_several_event_loops_one_after_another() -> None:
    transport = AiohttpTransport()

    async def use() -> int:
        async with ClaudeServer() as server:
            status, _ = await post(transport, url(server, "text"))
            await transport.aclose()
            return status

    assert [asyncio.run(use()) for _ in range(3)] == [200, 200, 200]


def test_a_loop_that_ended_without_closing_does_no_harm_to_the_next() -> None:
    transport = AiohttpTransport()

    async def refused(port: int) -> None:
        await failure(transport, f"http://127.0.0.1:{port}/v1/messages")

    async def use() -> int:
        async with ClaudeServer() as server:
            status, _ = await post(transport, url(server, "text"))
            await transport.aclose()
            return status

    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        asyncio.run(refused(held.getsockname()[1]))
    assert asyncio.run(use()) == 200


async def test_it_carries_hundreds_of_requests_at_once(server: ClaudeServer, transport: Transport) -> None:
    answers = await asyncio.gather(*(post(transport, url(server, "text")) for _ in range(300)))
    assert {status for status, _ in answers} == {200}
    assert len(server.connections) > 100


async def test_large_bodies_go_both_ways(server: ClaudeServer, transport: Transport) -> None:
    words = b"word " * 600_000
    status, answer = await post(transport, url(server, "echo"), BODY.replace(b'"hi"', b'"' + words + b'"'))
    assert status == 200
    assert words in answer


@pytest.mark.requirement("P8")
async def test_a_redirect_is_not_followed(server: ClaudeServer, transport: Transport) -> None:
    with await transport.request("POST", url(server, "redirect"), headers=HEADERS, body=[BODY]) as reply:
        assert reply.status == 307


@pytest.mark.requirement("P8", "002-R8")
async def test_a_refused_connection_is_a_network_error(transport: Transport, unused_port: int) -> None:
    error = await failure(transport, f"http://127.0.0.1:{unused_port}/v1/messages")
    assert type(error) is NetworkError
    assert (error.kind, error.retryable) == (ErrorKind.NETWORK, True)
    assert f"127.0.0.1:{unused_port} could not be reached" in str(error)
    assert isinstance(error.__cause__, OSError)


@pytest.mark.requirement("P8", "002-R8")
async def test_a_name_that_does_not_resolve_is_a_network_error(transport: Transport) -> None:
    error = await failure(transport, "https://no-such-host.invalid/v1/messages")
    assert type(error) is NetworkError
    assert "no-such-host.invalid could not be resolved" in str(error)


@pytest.mark.requirement("P8", "002-R8")
@pytest.mark.parametrize(
    "scenario", ["hang", "stall"], ids=["before the answer begins", "in the middle of the answer"]
)
async def test_silence_is_a_timeout_error(server: ClaudeServer, scenario: str) -> None:
    transport = AiohttpTransport(timeouts=Timeouts(first_content=0.2, between_content=0.1))
    error = await failure(transport, url(server, scenario))
    assert type(error) is TimeoutError
    assert (error.kind, error.retryable) == (ErrorKind.TIMEOUT, True)
    assert server.url.removeprefix("http://") in str(error)
    await asyncio.wait_for(server.dropped.wait(), 3)
    await transport.aclose()


@pytest.mark.requirement("P8", "002-R8")
async def test_a_host_that_accepts_and_does_not_shake_hands_is_a_timeout_error() -> None:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    transport = AiohttpTransport(timeouts=Timeouts(connect=0.2))
    async with tcp_server(accept) as address:
        error = await failure(transport, f"https://{address}/v1/messages")
        await transport.aclose()
    assert type(error) is TimeoutError
    assert f"Connecting to {address} took too long" in str(error)


@pytest.mark.requirement("P8")
async def test_a_server_that_does_not_read_a_large_request_is_a_timeout_error() -> None:
    enough = asyncio.Event()

    async def ignore(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await enough.wait()

    transport = AiohttpTransport(timeouts=Timeouts(first_content=0.3))
    async with tcp_server(ignore) as address:
        error = await failure(transport, f"http://{address}/v1/messages", b"x" * 30_000_000)
        await transport.aclose()
        enough.set()
    assert type(error) is TimeoutError


@pytest.mark.requirement("P8", "002-R8")
async def test_a_connection_that_breaks_is_a_network_error(
    server: ClaudeServer, transport: Transport
) -> None:
    error = await failure(transport, url(server, "cut"))
    assert type(error) is NetworkError
    assert error.retryable
    assert "broke before the answer was complete" in str(error)


@pytest.mark.requirement("P8")
async def test_closing_under_a_reader_is_a_network_error(server: ClaudeServer, transport: Transport) -> None:
    asking = asyncio.create_task(failure(transport, url(server, "stall")))
    await server.asked.wait()
    await transport.aclose()
    assert type(await asyncio.wait_for(asking, 30)) is NetworkError


@pytest.mark.requirement("P8")
async def test_something_that_is_not_http_is_a_malformed_response(
    server: ClaudeServer, transport: Transport
) -> None:
    error = await failure(transport, url(server, "not_http"))
    assert type(error) is MalformedResponseError
    assert "not HTTP" in str(error)


@pytest.mark.requirement("P8")
async def test_an_endless_body_is_an_error_and_not_a_full_memory(server: ClaudeServer) -> None:
    transport = AiohttpTransport(max_answer_bytes=16_000_000)
    error = await failure(transport, url(server, "endless_event"))
    await transport.aclose()
    assert type(error) is MalformedResponseError
    assert "1,000,000 bytes" in str(error)
    assert not error.retryable


@pytest.mark.requirement("P8")
@pytest.mark.parametrize(
    "address",
    ["", "api.example.test/v1", "ftp://example.test", "http://", "http://host:port/", "http://[::1/"],
)
async def test_an_invalid_address_is_an_invalid_input(transport: Transport, address: str) -> None:
    error = await failure(transport, address)
    assert type(error) is InvalidInputError
    assert error.field == "base_url"


@pytest.mark.requirement("P8")
async def test_a_header_that_cannot_be_sent_is_an_invalid_input(
    server: ClaudeServer, transport: Transport
) -> None:
    with pytest.raises(InvalidInputError, match="not allowed there") as caught:
        await transport.request(
            "POST", url(server, "text"), headers={"x-api-key": "sk-secret\r\nx: y"}, body=[BODY]
        )
    assert "sk-secret" not in str(caught.value) + repr(caught.value.__cause__) + repr(
        caught.value.__context__
    )


async def test_tls_works_with_the_authority_it_was_given(
    tls_server: ClaudeServer, authority: trustme.CA
) -> None:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    transport = AiohttpTransport(tls=context)
    assert (await post(transport, url(tls_server, "text")))[0] == 200
    await transport.aclose()


@pytest.mark.requirement("P8", "002-R8")
async def test_an_untrusted_certificate_is_a_network_error_that_is_not_retried(
    tls_server: ClaudeServer, transport: Transport
) -> None:
    error = await failure(transport, url(tls_server, "text"))
    assert type(error) is NetworkError
    assert not error.retryable
    assert "TLS with localhost" in str(error)
    assert "SSL_CERT_FILE" in str(error)


@pytest.mark.requirement("P8")
async def test_tls_to_a_port_without_it_is_a_network_error(
    server: ClaudeServer, transport: Transport
) -> None:
    error = await failure(transport, url(server, "text").replace("http:", "https:"))
    assert type(error) is NetworkError
    assert "TLS with 127.0.0.1" in str(error)


PROXIED = b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\nconnection: close\r\n\r\nproxied"
DENIED = b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n"


def proxy(answer: bytes, asked: list[bytes]) -> Serve:
    """A proxy that remembers what it was asked, and always gives the same answer."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        await writer.drain()
        await reader.read()

    return serve


@pytest.mark.parametrize("variable", ["http_proxy", "all_proxy"])
async def test_a_proxy_of_the_environment_is_used_with_its_name_and_password(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    asked: list[bytes] = []
    async with tcp_server(proxy(PROXIED, asked)) as address:
        monkeypatch.setenv(variable, f"http://ana:s3cret@{address}")
        assert await post(transport, "http://example.test/v1/messages") == (200, b"proxied")
    assert asked[0].startswith(b"POST http://example.test/v1/messages")
    assert b"Basic " + base64.b64encode(b"ana:s3cret") in asked[0]


async def test_hosts_of_no_proxy_are_asked_directly(
    server: ClaudeServer, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert (await post(transport, url(server, "text")))[0] == 200


@pytest.mark.requirement("P8")
async def test_a_proxy_that_refuses_is_a_network_error(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bytes] = []
    async with tcp_server(proxy(DENIED, asked)) as address:
        monkeypatch.setenv("https_proxy", f"http://ana:s3cret@{address}")
        error = await failure(transport, "https://example.test/v1/messages")
    assert asked[0].startswith(b"CONNECT example.test:443")
    assert type(error) is NetworkError
    assert "407" in str(error)
    assert not error.retryable
    assert "s3cret" not in str(error) + repr(error.__cause__)


@pytest.mark.requirement("P8")
async def test_a_proxy_that_is_not_there_is_a_network_error(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, unused_port: int
) -> None:
    monkeypatch.setenv("https_proxy", f"127.0.0.1:{unused_port}")
    error = await failure(transport, "https://example.test/v1/messages")
    assert type(error) is NetworkError
    assert "proxy for example.test could not be reached" in str(error)


@pytest.mark.requirement("P8")
async def test_a_kind_of_proxy_it_does_not_know_is_an_invalid_input(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("all_proxy", "socks5://ana:s3cret@127.0.0.1:1080")
    error = await failure(transport, "https://example.test/v1/messages")
    assert type(error) is InvalidInputError
    assert "HTTPS_PROXY" in str(error)
    assert "s3cret" not in str(error)


@pytest.mark.requirement("ERR-SESSIONS")
@pytest.mark.parametrize("scenario", ["text", "hang"])
async def test_an_executor_that_is_never_closed_leaves_no_session_open(
    server: ClaudeServer, scenario: str
) -> None:
    """In development mode, Python and aiohttp complain about everything that is left open; here on Ctrl-C, too."""
    program = """
        import asyncio
        from maverick import AgentDefinition, AgentExecutor, ModelConfig

        greeter = AgentDefinition(name="greeter", description="Greets.", model_config=ModelConfig(model="claude:m"))
        try:
            result = asyncio.run(AgentExecutor().execute(greeter, inputs={"prompt": "Hi!"}))
            print(result.terminate_reason)
        except KeyboardInterrupt:
            print("interrupted")
    """
    environment = os.environ | {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": server.at(scenario)}
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-X", "dev", "-c", textwrap.dedent(program)],
        env=environment | {"PYTHONWARNINGS": "ignore::DeprecationWarning"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        if scenario == "hang":
            await server.asked.wait()
            process.send_signal(signal.SIGINT)
        said, complaints = await process.communicate()

    assert said.decode().strip() == ("complete" if scenario == "text" else "interrupted")
    assert b"nclosed" not in complaints
