"""Bearer tokens: whom they belong to, those that this server signs, and those that are no longer valid."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import secrets
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import jwt
from sqlalchemy import Connection, text

from maverick.chat.database import SessionFactory, owned_session
from maverick.config.own_files import own_folder
from maverick.exceptions import ConfigError
from maverick.misuse import refuse
from maverick.server.errors import unauthorized
from maverick.tools.threads import run_in_thread


@dataclass(frozen=True, slots=True)
class Principal:
    """A verified user. Only a verifier makes one."""

    user_id: str
    """The owner of everything the user has."""
    name: str
    """The user's name, to be shown to them."""


class Verifier(Protocol):
    """Verifies bearer tokens."""

    async def verify(self, token: str) -> Principal:
        """The user the token was issued to.

        Raises:
            RequestRefusedError: The token is forged, expired, or meant for another audience.
        """
        ...


_ALGORITHM = "HS256"
_ISSUER = "maverick"
_AUDIENCE = "maverick-chat"
LIFETIME = 12 * 3600
"""Seconds for which a token is valid."""
_MOST_KEPT = 4096
"""Tokens whose signature was checked and is remembered, at most."""


class TokenSigner:
    """Issues tokens and verifies them.

    The algorithm is pinned, whatever a token says.

    Args:
        secret: Signs the tokens, at least 32 bytes; whoever has it can be any user.
        lifetime: Seconds for which a token is valid.
    """

    def __init__(self, secret: bytes, *, lifetime: float = LIFETIME) -> None:
        if len(secret) < 32:
            refuse("secret", "expected at least 32 random bytes.")
        self._secret = secret
        self._claims = lru_cache(_MOST_KEPT)(self._decode)  # a signature need not be checked again
        self.lifetime = lifetime

    def issue(self, principal: Principal) -> str:
        """A token for a user."""
        at = time.time()
        claims = {
            "iss": _ISSUER,
            "aud": _AUDIENCE,
            "sub": principal.user_id,
            "name": principal.name,
            "jti": secrets.token_hex(8),  # tells two sessions apart that begin in the same second
            "iat": int(at),
            "exp": int(at + self.lifetime),
        }
        return jwt.encode(claims, self._secret, _ALGORITHM)

    async def verify(self, token: str) -> Principal:
        """The user a token was issued to.

        Raises:
            RequestRefusedError: It is not one of ours, or has expired.
        """
        try:
            principal, expires = self._claims(token)
            if expires <= time.time():
                raise jwt.ExpiredSignatureError
        except (jwt.PyJWTError, ValueError) as error:  # ValueError: text that cannot be encoded
            raise unauthorized("The token is not valid or has expired. Sign in again.") from error
        return principal

    def _decode(self, token: str) -> tuple[Principal, float]:
        claims: dict[str, Any] = jwt.decode(
            token,
            self._secret,
            algorithms=[_ALGORITHM],
            issuer=_ISSUER,
            audience=_AUDIENCE,
            options={"require": ["exp", "iat", "iss", "aud", "sub"]},
        )
        return Principal(claims["sub"], str(claims.get("name", ""))), float(claims["exp"])


_SECRET_VARIABLE = "MAVERICK_SERVER_SECRET"  # noqa: S105 - the name of a variable, and no secret
_SECRET_FILE = "server.key"  # noqa: S105 - the name of a file


def own_secret() -> bytes:
    """What tokens are signed with: as set, or made once and kept where only its owner can read it."""
    given = os.environ.get(_SECRET_VARIABLE, "")
    if given:
        return given.encode()
    path = own_folder() / _SECRET_FILE
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):  # made by an earlier start
            opened = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(opened, "wb") as file:
                file.write(secrets.token_bytes(48))
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"The key that signs tokens cannot be kept in ~/.maverick/{_SECRET_FILE}: {error.strerror}. "
            f"Make the file accessible, or set {_SECRET_VARIABLE} to at least 32 random characters."
        ) from error


_READ_AGAIN = 2.0
"""Seconds after which this process reads the sign-outs of other servers from the database."""
_UNKNOWN_LIFETIME = 30 * 24 * 3600
"""Seconds for which a token without an expiry is remembered."""


class SignOuts:
    """Tokens that are no longer valid, though they have not expired: of sessions that ended, and of deleted users.

    They are few and kept in memory; processes share them through the database.
    """

    def __init__(self, session_factory: SessionFactory) -> None:
        self._session_factory = session_factory
        self._ended: frozenset[str] = frozenset()
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()

    async def check(self, principal: Principal, token: str) -> None:
        """Refuse a verified token whose session has ended, or whose user was deleted."""
        if self._is_due():
            async with self._reading:
                if self._is_due():
                    await self._read()
        if self.has(principal, token):
            raise unauthorized("You have signed out. Sign in again.")

    def has(self, principal: Principal, token: str) -> bool:
        """Whether a token was ended, as far as this process knows."""
        return _session_key(token) in self._ended or user_key(principal.user_id) in self._ended

    async def add(self, token: str) -> None:
        """End a session: its token becomes invalid, here at once and at other servers within seconds."""
        await run_in_thread(self._write, token)
        await self._read()

    def _is_due(self) -> bool:
        return time.monotonic() - self._read_at > _READ_AGAIN

    async def _read(self) -> None:
        at = time.monotonic()
        self._ended = await run_in_thread(self._find)
        self._read_at = at

    def _find(self) -> frozenset[str]:
        query = text("SELECT what FROM sign_outs WHERE until > :now")
        with owned_session(self._session_factory, "") as session:
            return frozenset(session.connection().execute(query, {"now": int(time.time())}).scalars())

    def _write(self, token: str) -> None:
        with owned_session(self._session_factory, "", writes=True) as session:
            end(session.connection(), _session_key(token), _expiry(token))


def end(connection: Connection, what: str, until: int) -> None:
    """Record that something has ended, and forget what has expired."""
    connection.execute(text("DELETE FROM sign_outs WHERE until <= :now"), {"now": int(time.time())})
    insert = text("INSERT INTO sign_outs (what, until) VALUES (:what, :until) ON CONFLICT (what) DO NOTHING")
    connection.execute(insert, {"what": what, "until": until})


def _session_key(token: str) -> str:
    """The key of a token: its signed part, since a signature can be encoded in several ways."""
    return f"session {_hash(token.rpartition('.')[0] or token)}"


def user_key(user_id: str) -> str:
    """The key of all tokens of a user."""
    return f"user {_hash(user_id)}"


def _hash(words: str) -> str:
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()


def _expiry(token: str) -> int:
    """When a token that was verified expires."""
    try:
        claims: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
        return int(claims["exp"]) + 60  # verifiers allow for clocks that differ
    except (jwt.PyJWTError, LookupError, TypeError, ValueError):
        return int(time.time()) + _UNKNOWN_LIFETIME
