"""Bearer tokens of an OpenID Connect provider, verified with the keys it publishes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

import aiohttp
import jwt

from maverick.misuse import refuse
from maverick.runtime.event_log import log_failure
from maverick.server.errors import unauthorized, unavailable
from maverick.server.tokens import Principal

ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
"""The algorithms that are accepted: all asymmetric, so that a public key is never taken for a secret."""

_FETCH_SECONDS = 10
_KEYS_LAST = 3600
"""Seconds after which the keys are fetched again."""
_KEYS_LAST_AT_MOST = 24 * 3600
"""Seconds for which they are used while the issuer cannot be reached."""
_FETCH_AGAIN = 30
"""Seconds between two fetches, when a token names an unknown key."""
_RETRY = 5
"""Seconds between two fetches, when the issuer cannot be reached."""


class OidcVerifier:
    """Verifies access tokens of one issuer for one audience.

    Args:
        issuer: The issuer's address, exactly as its tokens have it in ``iss``.
        audience: The audience of the tokens, as in ``aud``.
        jwks_url: Where its keys are; by default, as in its discovery document.
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
            refuse("algorithms", f"expected some of {', '.join(ALGORITHMS)}, got {min(unfit)!r}.")
        self._issuer = issuer
        self._audience = audience
        self._jwks_url = jwks_url
        self._algorithms = list(algorithms)
        self._name_claim = name_claim
        self._clock = clock
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at = float("-inf")
        self._tried_at = float("-inf")
        self._failure: Exception | None = None
        """Why the last fetch failed, if it did."""
        self._fetching = asyncio.Lock()

    async def verify(self, token: str) -> Principal:
        """The user a token was issued to.

        Raises:
            RequestRefusedError: The token is not valid, or the issuer's keys cannot be fetched.
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
            raise unauthorized("The token is not valid or has expired. Sign in again.") from error
        # Users of another issuer, and accounts of this server, may have the same subject.
        return Principal(f"{self._issuer}|{claims['sub']}", str(claims.get(self._name_claim, "")))

    async def _key(self, key_id: str) -> jwt.PyJWK:
        # A token with a known key does not wait for a fetch in progress.
        if not self._knows(key_id) or not self._fetching.locked():
            async with self._fetching:
                if self._should_fetch(key_id):
                    await self._fetch()
        if self._knows(key_id):
            return self._keys[key_id]
        if self._failure is None:
            raise jwt.InvalidKeyError("no such key")
        message = "The sign-in service cannot be reached. Try again in a moment."
        raise unavailable(message, _RETRY) from self._failure

    def _knows(self, key_id: str) -> bool:
        return key_id in self._keys and self._clock() - self._fetched_at <= _KEYS_LAST_AT_MOST

    def _should_fetch(self, key_id: str) -> bool:
        at, pause = self._clock(), _FETCH_AGAIN if self._failure is None else _RETRY
        is_due = at - self._fetched_at > _KEYS_LAST or not self._knows(key_id)
        return is_due and at - self._tried_at > pause

    async def _fetch(self) -> None:
        """Fetch the issuer's keys; if that fails, the old ones stay."""
        try:
            self._keys = await self._fetch_keys()
        except (aiohttp.ClientError, TimeoutError, LookupError, ValueError, jwt.PyJWTError) as error:
            self._failure = error
            log_failure(logging.WARNING, "sign_in_keys_not_fetched", error, {"issuer": self._issuer})
        else:
            self._failure = None
            self._fetched_at = self._clock()
        self._tried_at = self._clock()

    async def _fetch_keys(self) -> dict[str, jwt.PyJWK]:
        timeout = aiohttp.ClientTimeout(total=_FETCH_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout, raise_for_status=True) as http:
            if self._jwks_url is None:
                url = f"{self._issuer.rstrip('/')}/.well-known/openid-configuration"
                self._jwks_url = str((await _json(http, url))["jwks_uri"])
            published = await _json(http, self._jwks_url)
        keys = published["keys"]
        if not isinstance(keys, list):
            raise ValueError("expected a list of keys")  # noqa: TRY004 - one of the errors the caller handles
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
        raise ValueError("expected a JSON object")  # noqa: TRY004 - one of the errors the caller handles
    return found
