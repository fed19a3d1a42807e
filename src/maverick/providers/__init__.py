"""Clients of models, one file per wire; nothing heavy loads on import."""

from maverick.providers.base import Client
from maverick.providers.catalog import connect

__all__ = ["Client", "connect"]
