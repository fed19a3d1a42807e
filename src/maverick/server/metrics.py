"""Counters of the server, in the text format Prometheus reads. No user and no word of theirs is in any of them."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Sequence

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

Labels = tuple[str, ...]


class Counter:
    """A figure that only grows, one for each combination of its labels.

    Args:
        name: Its name.
        about: What it counts.
        labels: The names of its labels.
    """

    def __init__(self, name: str, about: str, *labels: str) -> None:
        self._head = (name, about, "counter")
        self._labels = labels
        self._values: dict[Labels, float] = {}
        self._lock = threading.Lock()

    def add(self, *values: str, by: float = 1) -> None:
        """Count."""
        with self._lock:
            self._values[values] = self._values.get(values, 0) + by

    def lines(self) -> list[str]:
        """Its lines in the text format."""
        name = self._head[0]
        with self._lock:
            counted = sorted(self._values.items())
        return [
            *_head(*self._head),
            *(f"{name}{_braces(self._labels, key)} {value:g}" for key, value in counted),
        ]


class Gauge:
    """A figure that is asked for when it is read.

    Args:
        name: Its name.
        about: What it is.
        read: Tells it.
    """

    def __init__(self, name: str, about: str, read: Callable[[], float]) -> None:
        self._head = (name, about, "gauge")
        self._read = read

    def lines(self) -> list[str]:
        """Its lines in the text format."""
        return [*_head(*self._head), f"{self._head[0]} {self._read():g}"]


class Histogram:
    """How long something took, one for each combination of its labels.

    Args:
        name: Its name.
        about: What took that long.
        labels: The names of its labels.
    """

    def __init__(self, name: str, about: str, *labels: str) -> None:
        self._head = (name, about, "histogram")
        self._labels = labels
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}
        self._lock = threading.Lock()

    def observe(self, seconds: float, *values: str) -> None:
        """It took so many seconds."""
        with self._lock:
            counts = self._counts.setdefault(values, [0] * (len(_BUCKETS) + 1))
            counts[bisect_left(_BUCKETS, seconds)] += 1
            self._sums[values] = self._sums.get(values, 0) + seconds

    def lines(self) -> list[str]:
        """Its lines in the text format."""
        lines = _head(*self._head)
        with self._lock:
            observed = [(key, list(counts), self._sums[key]) for key, counts in sorted(self._counts.items())]
        for key, counts, total in observed:
            lines += self._series(key, counts, total)
        return lines

    def _series(self, key: Labels, counts: Sequence[int], total: float) -> list[str]:
        name, so_far, lines = self._head[0], 0, []
        for bound, count in zip((*map(str, _BUCKETS), "+Inf"), counts, strict=True):
            so_far += count
            lines.append(f"{name}_bucket{_braces((*self._labels, 'le'), (*key, bound))} {so_far}")
        braces = _braces(self._labels, key)
        return [*lines, f"{name}_sum{braces} {total:.6f}", f"{name}_count{braces} {so_far}"]


class ServerMetrics:
    """What the server counts."""

    def __init__(self) -> None:
        self.requests = Counter(
            "maverick_http_requests_total", "Requests by route and status.", "method", "route", "status"
        )
        self.seconds = Histogram(
            "maverick_http_request_seconds", "Time until a response began.", "method", "route"
        )
        self.answers = Counter("maverick_answers_total", "Answers by what became of them.", "status")
        self.tokens = Counter("maverick_tokens_total", "Tokens of the model.", "direction")
        self.cost = Counter("maverick_cost_usd_total", "What the model has cost, in US dollars.")
        self.gauges: list[Gauge] = []

    def render(self) -> str:
        """All of it in the text format."""
        metrics: list[Counter | Gauge | Histogram] = [
            self.requests,
            self.seconds,
            self.answers,
            self.tokens,
            self.cost,
            *self.gauges,
        ]
        return "\n".join([line for metric in metrics for line in metric.lines()]) + "\n"


def _head(name: str, about: str, kind: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]


def _braces(labels: Labels, values: Labels) -> str:
    pairs = ",".join(f'{label}="{_escaped(value)}"' for label, value in zip(labels, values, strict=True))
    return f"{{{pairs}}}" if pairs else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
