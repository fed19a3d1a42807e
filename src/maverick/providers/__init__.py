"""Clients of models, one file per wire; nothing heavy loads on import."""

from maverick.providers.catalog import connect
from maverick.providers.client import Client
from maverick.providers.http.transport import Timeouts

__all__ = ["Client", "Timeouts", "connect"]
