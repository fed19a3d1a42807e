"""The metrics of a worker, for Prometheus. They name no user and no run."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_QUEUE_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
_WAIT_BUCKETS = (0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 15.0, 30.0, 60.0, 120.0)
_ENDS = ("ended", "waiting", "unfit", "handed_over", "lease_lost", "failed")


class WorkerMetrics:
    """The metrics of one worker, in a registry of its own."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._drives = Counter(
            "maverick_fleet_drives_total",
            "Times a run was driven, by how that ended.",
            ("end",),
            registry=registry,
        )
        for end in _ENDS:
            self._drives.labels(end)  # so that a rate can be computed from the first one on
        self.taken_over = Counter(
            "maverick_fleet_takeovers_total",
            "Runs of workers that were gone, which this worker has had driven elsewhere.",
            registry=registry,
        )
        self.queue_seconds = Histogram(
            "maverick_fleet_queue_seconds",
            "Time from when Temporal had a run to be driven until a worker drove it.",
            buckets=_QUEUE_BUCKETS,
            registry=registry,
        )
        self._rate_limit_seconds = Histogram(
            "maverick_fleet_rate_limit_wait_seconds",
            "Time that model calls waited for the rate limit of their provider.",
            ("provider",),
            buckets=_WAIT_BUCKETS,
            registry=registry,
        )

    def add_gauge(self, name: str, description: str, read: Callable[[], float]) -> None:
        """Add a figure that is read when the metrics are."""
        Gauge(name, description, registry=self._registry).set_function(read)

    def count_drive(self, end: str) -> None:
        """Count one attempt at driving a run; an end that has no name of its own is a failure."""
        self._drives.labels(end if end in _ENDS else "failed").inc()

    def waited(self, provider: str, seconds: float) -> None:
        """Note how long a model call waited for the rate limit."""
        self._rate_limit_seconds.labels(provider).observe(seconds)

    def render(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry)
