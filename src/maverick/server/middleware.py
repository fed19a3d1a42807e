"""What every request goes through: a limit for its size, security headers, and metrics for Prometheus.

The metrics name no user, and nothing that a user has written.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from maverick.loop.result import AgentUsage
from maverick.server.errors import RequestRefusedError

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
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class BodyLimit:
    """Refuses a body that is too large, whatever its headers say.

    Some paths take more from a user who is signed in; ``verify`` refuses requests of others.
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
        try:
            body = await self._read(scope, receive)
        except RequestRefusedError as error:
            response = error.response()
            response.headers["Connection"] = "close"  # the rest of the body is not read
            return await response(scope, receive, send)
        return None if body is None else await self._app(scope, _replay(body, receive), send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body: they are small, and all of it proves its size before anything acts on it. ``None`` without a client."""
        path = scope["path"].removeprefix(scope.get("root_path", ""))  # it may be mounted in another app
        most = self._most_signed_in.get(path, self._most)
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or int(length[:20]) > most:
            raise _too_large(most)
        body, verified = bytearray(), False
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            body += message.get("body", b"")
            if len(body) > most:
                raise _too_large(most)
            if len(body) > self._most and not verified:
                await self._verify(Request(scope))
                verified = True
            if not message.get("more_body"):
                return bytes(body)


def _too_large(most: int) -> RequestRefusedError:
    return RequestRefusedError(413, "too_large", f"The body is too large. Send at most {most} bytes.")


def _replay(body: bytes, receive: Receive) -> Receive:
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return first.pop() if first else await receive()

    return replayed


class ServerMetrics:
    """The metrics of one server, in a registry of its own."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self.requests = Counter(
            "maverick_http_requests_total",
            "Requests by route and status.",
            ("method", "route", "status"),
            registry=registry,
        )
        self.seconds = Histogram(
            "maverick_http_request_seconds",
            "Time until a response began.",
            ("method", "route"),
            buckets=_BUCKETS,
            registry=registry,
        )
        self.answers = Counter("maverick_answers_total", "Answers by status.", ("status",), registry=registry)
        self.queued = Histogram(
            "maverick_answer_queue_seconds",
            "Time until a worker of the fleet began an answer.",
            buckets=_BUCKETS,
            registry=registry,
        )
        self.tokens = Counter(
            "maverick_tokens_total", "Tokens of the model.", ("direction",), registry=registry
        )
        self.cost = Counter("maverick_cost_usd_total", "Cost of the model, in US dollars.", registry=registry)

    def count_usage(self, usage: AgentUsage) -> None:
        """Count what the model has used for an answer."""
        self.tokens.labels("input").inc(usage.input_tokens)
        self.tokens.labels("output").inc(usage.output_tokens)
        self.cost.inc(usage.total_cost_usd or 0)

    def add_gauge(self, name: str, description: str, read: Callable[[], float]) -> None:
        """Add a figure that is read when the metrics are."""
        Gauge(name, description, registry=self._registry).set_function(read)

    def render(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry)


class Observer:
    """Counts and times requests, and adds security headers to responses."""

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
