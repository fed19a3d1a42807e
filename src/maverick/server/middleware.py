"""The middleware of every request: a limit for its size, its metrics, and security headers."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from maverick.server.errors import RequestRefusedError
from maverick.server.metrics import ServerMetrics

_CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)
_METHODS = frozenset(("GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"))
_UNKNOWN_ROUTE = "(none)"
"""The label of requests to no route: clients choose their paths, and each would be another series."""


class BodyLimit:
    """Refuses a body that is too large, whatever its headers say.

    Args:
        app: The application.
        most: The largest body, in bytes.
        most_signed_in: The largest body at paths that take more from a user who is signed in.
        verify: Makes sure that a request is of such a user, or raises ``RequestRefusedError``.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        most: int,
        most_signed_in: Mapping[str, int],
        verify: Callable[[Request], Awaitable[object]],
    ) -> None:
        self._app = app
        self._most = most
        self._most_signed_in = most_signed_in
        self._verify = verify

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        path = scope["path"].removeprefix(scope.get("root_path", ""))  # it may be mounted in another app
        most = self._most_signed_in.get(path, self._most)
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or int(length[:20]) > most:
            return await _too_large(most)(scope, receive, send)
        body, verified = bytearray(), False
        while True:  # bodies are small: reading all of it first proves its size before anything acts on it
            message = await receive()
            if message["type"] != "http.request":
                return None  # the client has disconnected
            body += message.get("body", b"")
            if len(body) > most:
                return await _too_large(most)(scope, receive, send)
            if len(body) > self._most and not verified:
                try:
                    await self._verify(Request(scope))
                except RequestRefusedError as error:
                    return await _refusal(error)(scope, receive, send)
                verified = True
            if not message.get("more_body"):
                break
        return await self._app(scope, _replay(bytes(body), receive), send)


def _refusal(error: RequestRefusedError) -> ASGIApp:
    response = error.response()
    response.headers["Connection"] = "close"  # the rest of the body is not read
    return response


def _too_large(most: int) -> ASGIApp:
    return _refusal(
        RequestRefusedError(413, "too_large", f"The body is too large. Send at most {most} bytes.")
    )


def _replay(body: bytes, receive: Receive) -> Receive:
    read = False

    async def replayed() -> Message:
        nonlocal read
        if read:
            return await receive()
        read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


class Observer:
    """Counts and times requests, and adds security headers to responses.

    Args:
        app: The application.
        metrics: The metrics of the server.
    """

    def __init__(self, app: ASGIApp, *, metrics: ServerMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        began = time.perf_counter()

        async def observed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
                route = getattr(scope.get("route"), "path", _UNKNOWN_ROUTE)
                method = scope["method"] if scope["method"] in _METHODS else "other"
                self._metrics.requests.labels(method, route, str(message["status"])).inc()
                self._metrics.seconds.labels(method, route).observe(time.perf_counter() - began)
            await send(message)

        return await self._app(scope, receive, observed)
