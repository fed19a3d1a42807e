"""Connecting to a Temporal server: over TLS with certificates, and what is said when it cannot be reached."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trustme
from temporalio.service import TLSConfig

from canary import CANARY
from maverick.exceptions import ConfigError, InvalidInputError, MaverickError, NetworkError
from maverick.fleet.connection import connect_to_temporal
from wire.tcp_server import tcp_server

SERVERS, CLIENTS = trustme.CA(), trustme.CA()


@asynccontextmanager
async def tls_before(server: str) -> AsyncIterator[str]:
    """A proxy that speaks TLS, and asks for a certificate of the client's."""
    host, _, port = server.rpartition(":")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    SERVERS.issue_cert("localhost").configure_cert(context)
    CLIENTS.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["h2"])

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection(host, int(port))
        try:
            ways = [pass_on(reader, to_server), pass_on(from_server, writer)]
            await asyncio.gather(*ways, return_exceptions=True)
        finally:
            to_server.transport.abort()

    async with tcp_server(serve, host="localhost", tls=context) as address:
        yield address


def certificates(servers: trustme.CA, clients: trustme.CA) -> TLSConfig:
    own = clients.issue_cert("worker")
    return TLSConfig(
        server_root_ca_cert=servers.cert_pem.bytes(),
        client_cert=own.cert_chain_pems[0].bytes(),
        client_private_key=own.private_key_pem.bytes(),
    )


async def test_a_server_is_reached_over_tls_with_certificates_and_a_key(temporal_server: str) -> None:
    async with tls_before(temporal_server) as address:
        client = await connect_to_temporal(
            f"temporal://{address}/default", "ignored", tls=certificates(SERVERS, CLIENTS), api_key=CANARY
        )
        assert client.namespace == "default"
        for wrong in (certificates(CLIENTS, CLIENTS), certificates(SERVERS, SERVERS), True):
            with pytest.raises(NetworkError, match="whether it uses TLS"):
                await connect_to_temporal(address, tls=wrong)


@pytest.mark.parametrize(
    ("address", "error", "problem"),
    [
        ("127.0.0.1:1", NetworkError, "cannot be reached at 127.0.0.1:1"),
        ("nowhere.invalid", NetworkError, "cannot be reached at nowhere.invalid:7233"),
        ("127.0.0.1:99999", InvalidInputError, "the port or a certificate is invalid"),
        ("https://temporal.example", InvalidInputError, "expected host:port, or temporal://"),
        ("temporal://SERVER/nowhere", ConfigError, "has no namespace 'nowhere'"),
    ],
)
async def test_a_server_that_cannot_be_used_is_named(
    temporal_server: str, address: str, error: type[MaverickError], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        await connect_to_temporal(address.replace("SERVER", temporal_server))
