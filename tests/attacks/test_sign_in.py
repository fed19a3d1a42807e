"""Attacks on who users are: guessing, locking others out, and tokens that outlive their session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from starlette.requests import Request

from canary import CANARY
from maverick.server import Principal, ServerLimits
from maverick.server.authentication import LocalSignIn
from maverick.server.errors import RequestRefusedError
from maverick.server.limits import LoginThrottle, network_of
from server.chat_server import PATIENCE, ChatServer, Person, cheap_passwords

__all__ = ["cheap_passwords"]

ANA = {"name": "ana", "password": CANARY}
WRONG = {"name": "ana", "password": "not the password"}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ChatServer]:
    async with ChatServer(tmp_path / "chat.db", limits=ServerLimits(sign_ins_per_minute=3)) as server:
        yield server


@asynccontextmanager
async def at(server: ChatServer, address: str) -> AsyncIterator[Person]:
    """Somebody at another address: all of 127.0.0.0/8 is this machine."""
    connector = aiohttp.TCPConnector(local_addr=(address, 0))
    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    async with aiohttp.ClientSession(server.url, connector=connector, timeout=timeout) as http:
        yield Person(http)


@pytest.mark.requirement("SERVER-GUESSING")
async def test_one_address_locks_nobody_out(server: ChatServer) -> None:
    await server.person(None).post("/api/signup", ANA)
    async with at(server, "127.0.0.2") as attacker, at(server, "127.0.0.3") as ana:
        guesses = [await attacker.post("/api/login", WRONG) for _ in range(5)]

        signed_in = await ana.post("/api/login", ANA)

    assert [guess.status for guess in guesses] == [401] * 3 + [429] * 2
    assert signed_in.status == 200


@pytest.mark.requirement("SERVER-GUESSING")
async def test_an_address_that_has_used_up_its_attempts_leaves_those_of_a_name_alone(
    server: ChatServer,
) -> None:
    await server.person(None).post("/api/signup", ANA)
    async with at(server, "127.0.0.2") as attacker, at(server, "127.0.0.3") as ana:
        for number in range(3):
            await attacker.post("/api/login", {**WRONG, "name": f"somebody{number}"})
        for _ in range(50):
            assert (await attacker.post("/api/login", WRONG)).status == 429

        waits = server.app.state.service.logins.wait("ana")

        assert (waits, (await ana.post("/api/login", ANA)).status) == (0, 200)


@pytest.mark.requirement("SERVER-GUESSING")
async def test_each_wrong_password_makes_the_next_attempt_at_the_name_wait_longer() -> None:
    now = [0.0]
    guesses = LoginThrottle(10, clock=lambda: now[0])

    for _ in range(11):
        with pytest.raises(LookupError):
            async with guesses.attempt("Ana"):
                raise LookupError
    after_wrong = guesses.wait("ana")
    async with guesses.attempt("ana"):
        pass

    assert (guesses.wait("bob"), after_wrong, guesses.wait("ana")) == (0, 0.5, 0.5)
    now[0] = 901.0
    assert guesses.wait("ana") == 0


@pytest.mark.requirement("SERVER-GUESSING")
def test_the_addresses_of_an_ipv6_network_are_one() -> None:
    assert network_of("2001:db8:1:2:aaaa::1") == network_of("2001:db8:1:2:bbbb::2")
    assert network_of("2001:db8:1:3::1") != network_of("2001:db8:1:2::1")
    assert network_of("::ffff:192.0.2.1") == network_of("192.0.2.1") != network_of("192.0.2.2")


async def signed_up(server: ChatServer) -> str:
    token: str = (await server.person(None).post("/api/signup", ANA))["token"]
    return token


@pytest.mark.requirement("SERVER-SIGN-OUT")
@pytest.mark.parametrize("way", ["bearer", "cookie"])
async def test_a_token_is_worth_nothing_after_signing_out(server: ChatServer, way: str) -> None:
    token = await signed_up(server)
    other = (await server.person(None).post("/api/login", ANA))["token"]
    headers = {
        "bearer": {"Authorization": f"Bearer {token}"},
        "cookie": {"Cookie": f"{server.cookie}={token}", "Origin": server.url},
    }[way]

    signed_out = await server.person(None).post("/api/logout", headers=headers)
    refused = await server.bearer(token).get("/api/tasks")

    assert (signed_out.status, refused.status, refused.code) == (204, 401, "unauthorized")
    assert (await server.bearer(other).get("/api/tasks")).status == 200


@pytest.mark.requirement("SERVER-SIGN-OUT")
async def test_another_server_on_the_database_learns_of_a_sign_out(tmp_path: Path) -> None:
    async with ChatServer(tmp_path / "chat.db") as one, ChatServer(tmp_path / "chat.db") as other:
        token = await signed_up(one)
        elsewhere = other.bearer(token)
        assert (await elsewhere.get("/api/me")).status == 200

        await one.bearer(token).post("/api/logout")

        async with asyncio.timeout(PATIENCE):
            while (await elsewhere.get("/api/me")).status == 200:  # noqa: ASYNC110 - another process is what it waits for
                await asyncio.sleep(0.1)


@pytest.mark.requirement("SERVER-SIGN-OUT")
async def test_the_stream_of_a_session_ends_with_it(server: ChatServer) -> None:
    token = await signed_up(server)
    async with asyncio.timeout(PATIENCE):
        events = server.bearer(token).events("GET", "/api/updates")
        assert (await anext(events)).name == "ready"

        await server.bearer(token).post("/api/logout")

        assert [event async for event in events] == []


@pytest.mark.requirement("SERVER-OTHER-SITES")
@pytest.mark.parametrize("path", ["/api/logout", "/api/login", "/api/signup"])
async def test_another_site_signs_nobody_in_or_out(server: ChatServer, path: str) -> None:
    ana = server.person("ana")
    token = ana.http.headers["Authorization"].removeprefix("Bearer ")
    body = None if path == "/api/logout" else ANA
    told_apart = [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ]

    refused = [
        await server.person(None).post(path, body, headers={"Cookie": f"{server.cookie}={token}", **headers})
        for headers in told_apart
    ]

    assert [(answer.status, answer.code) for answer in refused] == [(403, "other_site")] * len(told_apart)
    assert not any("Set-Cookie" in answer.headers for answer in refused)
    assert (await ana.get("/api/me")).status == 200


@pytest.mark.requirement("SERVER-LOCAL")
@pytest.mark.parametrize(
    ("headers", "token", "status"),
    [
        ({}, "guess", 401),
        ({"Host": "10.0.0.7"}, None, 401),
        ({"X-Forwarded-For": "10.0.0.7"}, None, 401),
        ({"Host": "maverick.localhost"}, None, 200),
        ({"Host": "evil.example"}, None, 421),
        ({"Origin": "https://evil.example"}, None, 403),
        ({}, None, 200),
    ],
)
async def test_the_printed_address_signs_in_from_this_machine_alone(
    server: ChatServer, headers: dict[str, str], token: str | None, status: int
) -> None:
    local = LocalSignIn(Principal("ana", "ana"))
    server.app.state.service.local = local
    right = local.address("").removeprefix("#token=")

    got = await server.person(None).post("/api/local-session", {"token": token or right}, headers=headers)

    assert got.status == status
    assert (local.address("") == f"#token={right}") == (status != 200), "a token is used up by its use alone"


@pytest.mark.requirement("SERVER-LOCAL")
async def test_the_printed_address_is_worth_nothing_elsewhere() -> None:
    local = LocalSignIn(Principal("ana", "ana"))
    scope = {"type": "http", "client": ("10.0.0.7", 1), "headers": [(b"host", b"127.0.0.1")]}

    with pytest.raises(RequestRefusedError):
        local.use(Request(scope), local.address("").removeprefix("#token="))
