"""Agents over HTTP: an API to chat with them, and its web page.

Each name is loaded when it is first used, since FastAPI and the database are heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from maverick.config.installation import extra_needed

if TYPE_CHECKING:
    from maverick.server.app import create_app
    from maverick.server.limits import ServerLimits
    from maverick.server.oidc import OidcVerifier
    from maverick.server.served_agent import ServedAgent
    from maverick.server.slow_clients import ConnectionLimits, client_protocol
    from maverick.server.tokens import Principal, TokenSigner, Verifier

_HOME_OF = {
    "ConnectionLimits": "maverick.server.slow_clients",
    "OidcVerifier": "maverick.server.oidc",
    "Principal": "maverick.server.tokens",
    "ServedAgent": "maverick.server.served_agent",
    "ServerLimits": "maverick.server.limits",
    "TokenSigner": "maverick.server.tokens",
    "Verifier": "maverick.server.tokens",
    "client_protocol": "maverick.server.slow_clients",
    "create_app": "maverick.server.app",
}

__all__ = [
    "ConnectionLimits",
    "OidcVerifier",
    "Principal",
    "ServedAgent",
    "ServerLimits",
    "TokenSigner",
    "Verifier",
    "client_protocol",
    "create_app",
]


if not TYPE_CHECKING:  # else any name would be one to a type checker

    def __getattr__(name: str) -> object:
        if name not in _HOME_OF:
            raise AttributeError(f"module 'maverick.server' has no attribute {name!r}")
        with extra_needed("server", "maverick.server"):
            value = getattr(import_module(_HOME_OF[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
