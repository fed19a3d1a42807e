"""The server's metrics, for Prometheus. They name no user, and nothing that a user has written."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from maverick.loop.result import AgentUsage

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


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
