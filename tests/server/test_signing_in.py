"""Signing in with a name and a password, and the tokens that come of it."""

from __future__ import annotations

import time
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

import jwt
import pytest
from sqlalchemy import text

from canary import CANARY
from maverick.exceptions import InvalidInputError
from maverick.server import ServerLimits, TokenSigner, accounts
from maverick.server.accounts import hash_password, is_password
from server.chat_server import SECRET, ChatServer, Person

CREDENTIALS = {"name": "ana", "password": CANARY}


def claims(**changes: Any) -> dict[str, Any]:
    at = int(time.time())
    good = {"iss": "maverick", "aud": "maverick-chat", "sub": "user_ana", "iat": at, "exp": at + 60}
    return {name: value for name, value in {**good, **changes}.items() if value is not None}


def signed(algorithm: str = "HS256", key: bytes = SECRET, **changes: Any) -> str:
    return jwt.encode(claims(**changes), key, algorithm)


def unsigned(**changes: Any) -> str:
    return jwt.encode(claims(**changes), "", "none")


@pytest.mark.requirement("SERVER-SIGN-IN")
async def test_a_new_user_signs_up_and_signs_in_again_later(server: ChatServer) -> None:
    nobody = server.person(None)

    signed_up = await nobody.post("/api/signup", CREDENTIALS)
    signed_in = await server.person(None).post("/api/login", {**CREDENTIALS, "name": "Ana"})
    me = await server.bearer(signed_in["token"]).get("/api/me")

    assert signed_up.status == 201
    assert me.body == {"name": "Ana"}


@pytest.mark.requirement("SERVER-SIGN-IN")
async def test_a_wrong_password_and_an_unknown_name_are_refused_alike(server: ChatServer) -> None:
    nobody = server.person(None)
    await nobody.post("/api/signup", CREDENTIALS)

    wrong = await nobody.post("/api/login", {**CREDENTIALS, "password": "incorrect horse"})
    unknown = await nobody.post("/api/login", {**CREDENTIALS, "name": "bob"})

    assert (wrong.status, wrong.body) == (unknown.status, unknown.body)
    assert wrong.status == 401


@pytest.mark.requirement("SERVER-SIGN-IN")
async def test_a_name_is_given_once(server: ChatServer) -> None:
    await server.person(None).post("/api/signup", CREDENTIALS)

    again = await server.person(None).post("/api/signup", {**CREDENTIALS, "name": "ANA"})

    assert (again.status, again.code) == (409, "name_taken")


@pytest.mark.requirement("SERVER-SIGN-IN")
async def test_passwords_are_kept_as_salted_hashes(server: ChatServer) -> None:
    await server.person(None).post("/api/signup", CREDENTIALS)

    with server.database.session() as session:
        kept = session.connection().execute(text("SELECT * FROM accounts")).all()

    assert CANARY not in str(kept)
    assert hash_password("correct horse") != hash_password("correct horse")
    assert is_password(CANARY, kept[0].password)


@pytest.mark.requirement("SERVER-SIGN-IN")
def test_a_password_costs_what_it_should_to_hash_and_a_name_that_no_one_has_as_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()  # the hashes that cost next to nothing, which the other tests have

    kept = hash_password("correct horse")

    assert kept.startswith("scrypt$16384,8,5$")
    assert accounts._NO_PASSWORD.startswith("scrypt$16384,8,5$")
    assert (is_password("correct horse", kept), is_password("incorrect horse", kept)) == (True, False)


@pytest.mark.requirement("SERVER-SIGN-IN")
async def test_guessing_is_slow(tmp_path: Path) -> None:
    async with ChatServer(tmp_path / "chat.db", limits=ServerLimits(sign_ins_per_minute=2)) as server:
        guesses = [
            await server.person(None).post("/api/login", {**CREDENTIALS, "password": f"guess {n:08}"})
            for n in range(3)
        ]

    assert [guess.status for guess in guesses] == [401, 401, 429]
    assert int(guesses[-1].headers["Retry-After"]) >= 1


@pytest.mark.requirement("SERVER-TOKENS")
@pytest.mark.parametrize(
    "token",
    [
        pytest.param("nonsense", id="no token at all"),
        pytest.param("a.b.c", id="three pieces of nothing"),
        pytest.param("é" * 20, id="letters that are not allowed"),
        pytest.param(signed(exp=int(time.time()) - 1), id="expired"),
        pytest.param(signed(exp=None), id="without an end"),
        pytest.param(signed(aud="another"), id="meant for somebody else"),
        pytest.param(signed(aud=None), id="meant for nobody"),
        pytest.param(signed(iss="another"), id="issued by somebody else"),
        pytest.param(signed(sub=None), id="of nobody"),
        pytest.param(signed(key=b"another secret of the same length!!"), id="signed with another secret"),
        pytest.param(signed("HS384", SECRET * 2), id="signed with another algorithm"),
        pytest.param(unsigned(), id="alg none"),
        pytest.param(signed()[:-4] + "AAAA", id="a changed signature"),
    ],
)
async def test_a_token_that_proves_nothing_is_refused(server: ChatServer, token: str) -> None:
    refused = await server.bearer(token).get("/api/tasks")

    assert (refused.status, refused.code) == (401, "unauthorized")
    assert refused.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.requirement("SERVER-TOKENS")
async def test_a_changed_subject_breaks_the_signature(server: ChatServer) -> None:
    header, payload, signature = signed().split(".")
    forged = urlsafe_b64encode(b'{"sub":"user_bob"}').decode().rstrip("=")

    refused = await server.bearer(f"{header}.{forged}.{signature}").get("/api/me")
    accepted = await server.bearer(f"{header}.{payload}.{signature}").get("/api/me")

    assert (refused.status, accepted.status) == (401, 200)


@pytest.mark.requirement("SERVER-TOKENS")
async def test_a_token_that_was_valid_ends_when_its_time_is_up(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = signed(exp=int(time.time()) + 100)
    before = await server.bearer(token).get("/api/me")

    now = time.time
    monkeypatch.setattr("maverick.server.tokens.time.time", lambda: now() + 101)
    after = await server.bearer(token).get("/api/me")

    assert (before.status, after.status) == (200, 401)


@pytest.mark.requirement("SERVER-TOKENS")
def test_a_short_secret_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="32 random bytes"):
        TokenSigner(b"short")


async def with_cookie(server: ChatServer) -> tuple[Person, str]:
    person = server.person(None)
    token = (await person.post("/api/signup", CREDENTIALS))["token"]
    return person, f"{server.cookie}={token}"


@pytest.mark.requirement("SERVER-SIGN-IN")
async def test_the_page_has_a_cookie_that_scripts_and_other_sites_can_not_use(server: ChatServer) -> None:
    answer = await server.person(None).post("/api/signup", CREDENTIALS)

    cookie = answer.headers["Set-Cookie"]

    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


@pytest.mark.requirement("SERVER-SIGN-IN")
@pytest.mark.parametrize(
    ("origin", "status"), [(None, 403), ("http://evil.example", 403), ("null", 403), ("own", 201)]
)
async def test_only_the_page_itself_changes_things_with_the_cookie(
    server: ChatServer, origin: str | None, status: int
) -> None:
    person, cookie = await with_cookie(server)
    headers = {"Cookie": cookie} | (
        {} if origin is None else {"Origin": server.url if origin == "own" else origin}
    )

    answer = await person.post("/api/tasks", {"title": "milk"}, headers=headers)

    assert answer.status == status


@pytest.mark.requirement("SERVER-SIGN-IN")
async def test_signing_out_takes_the_cookie_away(server: ChatServer) -> None:
    answer = await server.person(None).post("/api/logout")

    assert answer.status == 204
    assert "Max-Age=0" in answer.headers["Set-Cookie"]
