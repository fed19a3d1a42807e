"""Bearer tokens of an OpenID Connect provider, verified with the keys it publishes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

import aiohttp
import jwt

from maverick.exceptions import InvalidInputError
from maverick.runtime.event_log import log_failure
from maverick.server.errors import RequestRefusedError, unauthorized
from maverick.server.tokens import Principal

ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
"""The algorithms that are accepted: all of them asymmetric, so that a public key is never taken for a secret."""

_FETCH_SECONDS = 10
_KEYS_LAST = 3600
"""Seconds after which the keys are asked for anew."""
_KEYS_LAST_AT_MOST = 24 * 3600
"""Seconds for which they are used while the issuer can not be asked."""
_ASK_AGAIN = 30
"""Seconds between two questions for keys, when a token names one that is not known."""
_TRY_AGAIN = 5
"""Seconds between two questions for keys, when the issuer can not be asked."""


class OidcVerifier:
    """Verifies access tokens of one issuer for one audience.

    Args:
        issuer: The issuer's address, exactly as its tokens have it in ``iss``.
        audience: What the tokens have to be meant for, as in ``aud``.
        jwks_url: Where its keys are; by default what its discovery document says.
        algorithms: The algorithms that are accepted.
        name_claim: The claim with the user's name.
        clock: Tells the time in seconds.
    """

    def __init__(
        self,
        issuer: str,
        audience: str,
        *,
        jwks_url: str | None = None,
        algorithms: tuple[str, ...] = ALGORITHMS,
        name_claim: str = "name",
        clock: Callable[[], float] = time.monotonic,
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
        self._clock = clock
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at = float("-inf")
        self._asked_at = float("-inf")
        self._failure: Exception | None = None
        """Why the issuer could not be asked the last time, if it could not."""
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
        # Whose key is known does not wait for a question that somebody else has asked.
        if not self._knows(key_id) or not self._asking.locked():
            async with self._asking:
                if self._should_ask(key_id):
                    await self._ask()
        if self._knows(key_id):
            return self._keys[key_id]
        if self._failure is None:
            raise jwt.InvalidKeyError("no such key")
        raise RequestRefusedError(
            503,
            "unavailable",
            "The sign-in service can not be reached right now. Try again in a moment.",
            {"Retry-After": str(_TRY_AGAIN)},
            cause=self._failure,
        )

    def _knows(self, key_id: str) -> bool:
        return key_id in self._keys and self._clock() - self._fetched_at <= _KEYS_LAST_AT_MOST

    def _should_ask(self, key_id: str) -> bool:
        at, pause = self._clock(), _ASK_AGAIN if self._failure is None else _TRY_AGAIN
        is_due = at - self._fetched_at > _KEYS_LAST or not self._knows(key_id)
        return is_due and at - self._asked_at > pause

    async def _ask(self) -> None:
        """Ask the issuer for its keys; those it gave before stay if it can not be asked."""
        try:
            self._keys = await self._fetch_keys()
        except (aiohttp.ClientError, TimeoutError, LookupError, ValueError, jwt.PyJWTError) as error:
            self._failure = error
            log_failure(logging.WARNING, "sign_in_keys_not_fetched", error, {"issuer": self._issuer})
        else:
            self._failure = None
            self._fetched_at = self._clock()
        self._asked_at = self._clock()

    async def _fetch_keys(self) -> dict[str, jwt.PyJWK]:
        timeout = aiohttp.ClientTimeout(total=_FETCH_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout, raise_for_status=True) as http:
            if self._jwks_url is None:
                url = f"{self._issuer.rstrip('/')}/.well-known/openid-configuration"
                self._jwks_url = str((await _json(http, url))["jwks_uri"])
            published = await _json(http, self._jwks_url)
        keys = published["keys"]
        if not isinstance(keys, list):
            raise ValueError("expected a list of keys")  # noqa: TRY004 - one of the errors the caller explains
        fit = [key for key in keys if isinstance(key, dict) and self._is_for_signing(key)]
        found = jwt.PyJWKSet(fit).keys if fit else []
        return {key.key_id or "": key for key in found if key.algorithm_name in self._algorithms}

    def _is_for_signing(self, key: dict[str, Any]) -> bool:
        """Whether a key is published for signatures we take; one for encryption proves nothing (RFC 7517, 4.2 to 4.4)."""
        operations, algorithm = key.get("key_ops", ["verify"]), key.get("alg", self._algorithms[0])
        is_meant = isinstance(operations, list) and "verify" in operations
        return is_meant and key.get("use", "sig") == "sig" and algorithm in self._algorithms


async def _json(http: aiohttp.ClientSession, url: str) -> dict[str, Any]:
    async with http.get(url) as response:
        found = await response.json(content_type=None)
    if not isinstance(found, dict):
        raise ValueError("expected a JSON object")  # noqa: TRY004 - one of the errors the caller explains
    return found
