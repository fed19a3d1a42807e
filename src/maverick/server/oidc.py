"""Bearer tokens of an OpenID Connect provider, verified with the keys it publishes."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import aiohttp
import jwt

from maverick.exceptions import InvalidInputError
from maverick.server.principal import Principal
from maverick.server.refusal import RequestRefusedError, unauthorized

ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
"""The algorithms that are accepted: all of them asymmetric, so that a public key is never taken for a secret."""

_FETCH_SECONDS = 10
_KEYS_LAST = 3600
_ASK_AGAIN = 30
"""Seconds between two questions for keys, when a token names one that is not known."""


class OidcVerifier:
    """Verifies access tokens of one issuer for one audience.

    Args:
        issuer: The issuer's address, exactly as its tokens have it in ``iss``.
        audience: What the tokens have to be meant for, as in ``aud``.
        jwks_url: Where its keys are; by default what its discovery document says.
        algorithms: The algorithms that are accepted.
        name_claim: The claim with the user's name.
    """

    def __init__(
        self,
        issuer: str,
        audience: str,
        *,
        jwks_url: str | None = None,
        algorithms: tuple[str, ...] = ALGORITHMS,
        name_claim: str = "name",
    ) -> None:
        if unfit := set(algorithms) - set(ALGORITHMS):
            raise InvalidInputError(
                f"algorithms: expected some of {', '.join(ALGORITHMS)}, got {min(unfit)!r}.",
                field="algorithms",
            )
        self._issuer = issuer
        self._audience = audience
        self._jwks_url = jwks_url
        self._algorithms = list(algorithms)
        self._name_claim = name_claim
        self._keys: dict[str, jwt.PyJWK] = {}
        self._asked_at = float("-inf")
        self._asking = asyncio.Lock()

    async def verify(self, token: str) -> Principal:
        """The user a token was issued to.

        Raises:
            RequestRefusedError: The token proves nothing, or the issuer's keys can not be fetched.
        """
        try:
            header = jwt.get_unverified_header(token)
            key = await self._key(str(header.get("kid", "")))
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=self._algorithms,
                issuer=self._issuer,
                audience=self._audience,
                options={"require": ["exp", "iss", "aud", "sub"]},
                leeway=30,
            )
        except (jwt.PyJWTError, ValueError) as error:
            raise unauthorized("The token is not valid or has expired. Sign in again.", error) from error
        # A user of another issuer, or an account of this server, may have the same subject.
        return Principal(f"{self._issuer}|{claims['sub']}", str(claims.get(self._name_claim, "")))

    async def _key(self, key_id: str) -> jwt.PyJWK:
        async with self._asking:
            age = time.monotonic() - self._asked_at
            if age > _KEYS_LAST or (key_id not in self._keys and age > _ASK_AGAIN):
                self._keys = await self._fetch_keys()
                self._asked_at = time.monotonic()
        if key_id not in self._keys:
            raise jwt.InvalidKeyError("no such key")
        return self._keys[key_id]

    async def _fetch_keys(self) -> dict[str, jwt.PyJWK]:
        timeout = aiohttp.ClientTimeout(total=_FETCH_SECONDS)
        try:
            async with aiohttp.ClientSession(timeout=timeout, raise_for_status=True) as http:
                if self._jwks_url is None:
                    url = f"{self._issuer.rstrip('/')}/.well-known/openid-configuration"
                    self._jwks_url = str((await _json(http, url))["jwks_uri"])
                found = jwt.PyJWKSet.from_dict(await _json(http, self._jwks_url))
        except (aiohttp.ClientError, TimeoutError, LookupError, ValueError, jwt.PyJWTError) as error:
            raise RequestRefusedError(
                503,
                "unavailable",
                "The sign-in service can not be reached right now. Try again in a moment.",
                {"Retry-After": "5"},
                cause=error,
            ) from error
        return {key.key_id or "": key for key in found.keys}


async def _json(http: aiohttp.ClientSession, url: str) -> dict[str, Any]:
    async with http.get(url) as response:
        found = await response.json(content_type=None)
    if not isinstance(found, dict):
        raise ValueError("expected a JSON object")  # noqa: TRY004 - one of the errors the caller explains
    return found
