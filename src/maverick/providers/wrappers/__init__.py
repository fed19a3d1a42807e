"""Clients that wrap other clients: a fallback when one fails, and a rate limit for those that share an account."""

from maverick.providers.wrappers.fallback import FallbackClient
from maverick.providers.wrappers.limiter import LimitedClient, RateLimiter

__all__ = ["FallbackClient", "LimitedClient", "RateLimiter"]
