"""What the tests of journals share."""

from __future__ import annotations

from postgres import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]
