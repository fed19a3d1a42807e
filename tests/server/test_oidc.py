"""Tokens of a sign-in service, verified with the keys it publishes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from maverick.exceptions import InvalidInputError
from maverick.server import OidcVerifier
from maverick.server.errors import RequestRefusedError
from server.chat_server import PATIENCE, ChatServer

AUDIENCE = "maverick"


class SignInService:
    """An issuer with its discovery document and its keys."""

    def __init__(self) -> None:
        self.keys: dict[str, rsa.RSAPrivateKey] = {}
        self.said_of_keys: dict[str, Any] = {}
        """What it says of each key besides the key itself."""
        self.asked = 0
        self.down = False
        self.open = asyncio.Event()
        self.open.set()
        self.knocked = asyncio.Event()
        self.add_key("first")

    def add_key(self, key_id: str) -> None:
        self.keys[key_id] = rsa.generate_private_key(65537, 2048)

    async def start(self) -> web.AppRunner:
        app = web.Application()
        app.router.add_get("/.well-known/openid-configuration", self._discovery)
        app.router.add_get("/keys", self._keys)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        return runner

    def token(self, key_id: str = "first", **changes: Any) -> str:
        claims = {"iss": self.url, "aud": AUDIENCE, "sub": "ana", "exp": int(time.time()) + 60, "name": "Ana"}
        return jwt.encode({**claims, **changes}, self.keys[key_id], "RS256", headers={"kid": key_id})

    async def _discovery(self, _: web.Request) -> web.Response:
        return web.json_response({"issuer": self.url, "jwks_uri": f"{self.url}/keys"})

    async def _keys(self, _: web.Request) -> web.Response:
        self.asked += 1
        if not self.open.is_set():
            self.knocked.set()
            await self.open.wait()
        if self.down:
            raise web.HTTPServiceUnavailable
        keys = [
            {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key())), "kid": key_id}
            | self.said_of_keys
            for key_id, key in self.keys.items()
        ]
        return web.json_response({"keys": keys})


@pytest.fixture
async def service() -> AsyncIterator[SignInService]:
    service = SignInService()
    runner = await service.start()
    yield service
    await runner.cleanup()


@pytest.mark.requirement("SERVER-OIDC")
async def test_a_user_of_the_sign_in_service_is_served(service: SignInService, tmp_path: Path) -> None:
    verifier = OidcVerifier(service.url, AUDIENCE)
    async with ChatServer(tmp_path / "chat.db", verifier=verifier) as server:
        ana = server.bearer(service.token())

        me = await ana.get("/api/me")
        answer = await ana.say("add task buy milk")
        signup = await ana.post("/api/signup", {"name": "ana", "password": "correct horse"})

    assert me.body == {"name": "Ana"}
    assert answer["status"] == "complete"
    assert signup.status == 404


@pytest.mark.requirement("SERVER-OIDC")
async def test_users_of_two_issuers_with_the_same_subject_are_two_users(service: SignInService) -> None:
    principal = await OidcVerifier(service.url, AUDIENCE).verify(service.token())

    assert principal.user_id == f"{service.url}|ana"


@pytest.mark.requirement("SERVER-OIDC")
async def test_keys_are_fetched_once(service: SignInService) -> None:
    verifier = OidcVerifier(service.url, AUDIENCE)

    for _ in range(5):
        await verifier.verify(service.token())

    assert service.asked == 1


@pytest.mark.requirement("SERVER-OIDC")
@pytest.mark.parametrize(
    "changes",
    [{"exp": 1}, {"aud": "another"}, {"iss": "http://evil.example"}],
    ids=["expired", "for another audience", "of another issuer"],
)
async def test_a_token_that_proves_nothing_is_refused(
    service: SignInService, changes: dict[str, Any]
) -> None:
    with pytest.raises(RequestRefusedError) as refused:
        await OidcVerifier(service.url, AUDIENCE).verify(service.token(**changes))

    assert refused.value.status == 401


@pytest.mark.requirement("SERVER-OIDC")
@pytest.mark.parametrize(
    ("said", "is_good"),
    [
        ({"use": "enc"}, False),
        ({"key_ops": ["encrypt", "wrapKey"]}, False),
        ({"key_ops": "verify"}, False),
        ({"alg": "RSA-OAEP"}, False),
        ({"alg": "RS512"}, False),
        ({"use": "sig", "key_ops": ["verify"], "alg": "RS256"}, True),
    ],
    ids=str,
)
async def test_a_key_that_is_not_for_signatures_verifies_none(
    service: SignInService, said: dict[str, Any], is_good: bool
) -> None:
    service.said_of_keys = {"key_ops": ["verify"]} | said

    try:
        verified = (await OidcVerifier(service.url, AUDIENCE).verify(service.token())).name
    except RequestRefusedError as error:
        verified = str(error.status)

    assert verified == ("Ana" if is_good else "401")


@pytest.mark.requirement("SERVER-OIDC")
async def test_the_public_key_is_never_taken_for_a_secret(service: SignInService) -> None:
    public = service.keys["first"].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    claims = {"iss": service.url, "aud": AUDIENCE, "sub": "ana", "exp": int(time.time()) + 60}
    signing = jwt.get_algorithm_by_name("HS256")
    head = jwt.encode(claims, "x" * 32, "HS256", headers={"kid": "first"}).rpartition(".")[0]
    forged = f"{head}.{jwt.utils.base64url_encode(signing.sign(head.encode(), public)).decode()}"

    with pytest.raises(RequestRefusedError) as refused:
        await OidcVerifier(service.url, AUDIENCE).verify(forged)

    assert refused.value.status == 401


@pytest.mark.requirement("SERVER-OIDC")
async def test_an_unknown_key_is_refused(service: SignInService) -> None:
    verifier = OidcVerifier(service.url, AUDIENCE)
    stranger = SignInService()
    stranger.url = service.url
    stranger.add_key("other")

    with pytest.raises(RequestRefusedError) as refused:
        await verifier.verify(stranger.token("other"))

    assert refused.value.status == 401


@pytest.mark.requirement("SERVER-OIDC")
async def test_a_sign_in_service_that_is_down_is_no_fault_of_the_user() -> None:
    service = SignInService()
    service.url = "http://127.0.0.1:9"

    with pytest.raises(RequestRefusedError) as refused:
        await OidcVerifier(service.url, AUDIENCE).verify(service.token())

    assert (refused.value.status, refused.value.headers) == (503, {"Retry-After": "5"})


class Clock:
    """A clock that a test sets."""

    at = 0.0

    def __call__(self) -> float:
        return self.at


HOUR = 3600


@pytest.mark.requirement("SERVER-OIDC")
async def test_keys_are_used_for_a_day_while_the_sign_in_service_is_down(
    service: SignInService, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    verifier = OidcVerifier(service.url, AUDIENCE, clock=clock)
    await verifier.verify(service.token())
    service.down = True

    clock.at = 23 * HOUR
    late = await verifier.verify(service.token())
    warned = [record.levelname for record in caplog.records]
    clock.at = 25 * HOUR
    with pytest.raises(RequestRefusedError) as refused:
        await verifier.verify(service.token())
    service.down = False
    clock.at += HOUR
    back = await verifier.verify(service.token())

    assert late.user_id == back.user_id == f"{service.url}|ana"
    assert warned == ["WARNING"]
    assert refused.value.status == 503


@pytest.mark.requirement("SERVER-OIDC")
async def test_a_sign_in_service_that_is_down_is_not_asked_with_every_request(service: SignInService) -> None:
    clock, statuses = Clock(), []
    verifier = OidcVerifier(service.url, AUDIENCE, clock=clock)
    service.down = True
    for _ in range(3):
        with pytest.raises(RequestRefusedError) as refused:
            await verifier.verify(service.token())
        statuses.append(refused.value.status)
    asked = service.asked
    service.down = False
    clock.at = 10
    await verifier.verify(service.token())
    service.down = True
    clock.at = 2 * HOUR
    for _ in range(3):
        await verifier.verify(service.token())

    assert (statuses, asked) == ([503] * 3, 1)
    assert service.asked == 3


@pytest.mark.requirement("SERVER-OIDC")
async def test_nobody_waits_for_keys_that_another_request_asks_for_if_theirs_is_known(
    service: SignInService,
) -> None:
    clock = Clock()
    verifier = OidcVerifier(service.url, AUDIENCE, clock=clock)
    await verifier.verify(service.token())
    clock.at = 2 * HOUR
    service.open.clear()
    asking = asyncio.create_task(verifier.verify(service.token()))
    async with asyncio.timeout(PATIENCE):
        await service.knocked.wait()

        served = await verifier.verify(service.token())
        service.open.set()
        await asking

    assert served.user_id == f"{service.url}|ana"


@pytest.mark.requirement("SERVER-OIDC")
def test_a_symmetric_algorithm_can_not_be_allowed() -> None:
    with pytest.raises(InvalidInputError, match="HS256"):
        OidcVerifier("https://login.example", AUDIENCE, algorithms=("HS256",))
