"""What a model call used: tokens and money, per call and added up."""

from __future__ import annotations

from msgspec import Struct


class Usage(Struct, frozen=True, omit_defaults=True):
    """The tokens of one response, as its provider counted them.

    ``input_tokens`` is the whole request; ``cache_read_tokens`` and ``cache_write_tokens`` say how much of it
    was read from, or written to, the provider's prompt cache. ``cache_write_1h_tokens`` are those of the latter that are
    kept for an hour, which costs more.
    """

    input_tokens: int = 0
    """Tokens that were sent, cached ones included."""
    output_tokens: int = 0
    """Tokens that were received, thinking included."""
    cache_read_tokens: int = 0
    """Input tokens that came from the provider's cache."""
    cache_write_tokens: int = 0
    """Input tokens that were written to the provider's cache."""
    cost_usd: float | None = None
    """What it cost, or ``None`` when the price is not known; never a guess."""
    cache_write_1h_tokens: int = 0
    """Those of them that are kept for an hour."""

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.cost_usd if other.cost_usd is None else (self.cost_usd or 0.0) + other.cost_usd,
            self.cache_write_1h_tokens + other.cache_write_1h_tokens,
        )


class Price(Struct, frozen=True, omit_defaults=True):
    """What a model costs, in US dollars per million tokens."""

    input: float
    """For input that is not cached."""
    output: float
    """For output, thinking included."""
    cache_read: float | None = None
    """For input from the cache; by default as much as any other."""
    cache_write: float | None = None
    """For input that is written to the cache; by default as much as any other."""
    cache_write_1h: float | None = None
    """To write what is kept for an hour; by default as much as any other write."""
    long: Price | None = None
    """What a long request costs, its answer included; by default as much as any other."""
    long_from: int = 0
    """A request is long if it has more input tokens than this."""

    def at(self, input_tokens: int) -> Price:
        """The price that applies to a request with so many input tokens."""
        return self if self.long is None or input_tokens <= self.long_from else self.long

    def cost(self, usage: Usage) -> float:
        """What this usage costs; cached tokens at their own price where there is one."""
        price = self.at(usage.input_tokens)
        cache_read = price.input if price.cache_read is None else price.cache_read
        cache_write = price.input if price.cache_write is None else price.cache_write
        for_an_hour = cache_write if price.cache_write_1h is None else price.cache_write_1h
        plain = usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens
        return (
            plain * price.input
            + usage.cache_read_tokens * cache_read
            + (usage.cache_write_tokens - usage.cache_write_1h_tokens) * cache_write
            + usage.cache_write_1h_tokens * for_an_hour
            + usage.output_tokens * price.output
        ) / 1_000_000


class ExecutionMetrics(Struct):
    """Token use added up over every model call of an executor."""

    total_input_tokens: int = 0
    """Tokens that were sent."""
    total_output_tokens: int = 0
    """Tokens that were received."""
    invocations: int = 0
    """How many model calls were made."""

    def record(self, usage: Usage) -> None:
        """Add one invocation."""
        self.total_input_tokens += usage.input_tokens
        self.total_output_tokens += usage.output_tokens
        self.invocations += 1
