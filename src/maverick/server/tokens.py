"""Bearer tokens of this server's own accounts: JSON Web Tokens it signs and nobody else can."""

from __future__ import annotations

import secrets
import time
from typing import Any

import jwt

from maverick.exceptions import InvalidInputError
from maverick.server.principal import Principal
from maverick.server.refusal import unauthorized

ALGORITHM = "HS256"
ISSUER = "maverick"
AUDIENCE = "maverick-chat"
LIFETIME = 12 * 3600
"""Seconds a token is good for."""


class TokenSigner:
    """Issues tokens and verifies them.

    The algorithm is pinned: what a token says about it decides nothing.

    Args:
        secret: What tokens are signed with, at least 32 bytes; whoever has it can be anybody.
        lifetime: Seconds a token is good for.
    """

    def __init__(self, secret: bytes, *, lifetime: float = LIFETIME) -> None:
        if len(secret) < 32:
            raise InvalidInputError("secret: expected at least 32 random bytes.", field="secret")
        self._secret = secret
        self.lifetime = lifetime

    def issue(self, principal: Principal) -> str:
        """A token that proves to be this user, for a while."""
        at = time.time()
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": principal.user_id,
            "name": principal.name,
            "jti": secrets.token_hex(8),  # two sessions that begin in the same second end one by one
            "iat": int(at),
            "exp": int(at + self.lifetime),
        }
        return jwt.encode(claims, self._secret, ALGORITHM)

    async def verify(self, token: str) -> Principal:
        """The user a token was issued to.

        Raises:
            RequestRefusedError: It is not one of ours, or is over.
        """
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                self._secret,
                algorithms=[ALGORITHM],
                issuer=ISSUER,
                audience=AUDIENCE,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except (jwt.PyJWTError, ValueError) as error:  # ValueError: text that can not be encoded
            raise unauthorized("The token is not valid or has expired. Sign in again.", error) from error
        return Principal(claims["sub"], str(claims.get("name", "")))
