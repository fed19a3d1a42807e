"""Agents over HTTP: an API to chat with them, and its web page.

Each name is loaded when it is first used, since FastAPI and the database are heavy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from maverick.config.installation import extra_needed
from maverick.misuse import load_on_use

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
    "ConnectionLimits", "OidcVerifier", "Principal", "ServedAgent", "ServerLimits", "TokenSigner", "Verifier",
    "client_protocol", "create_app",
]  # fmt: skip


if not TYPE_CHECKING:  # else any name would be one to a type checker
    __getattr__ = load_on_use(__name__, _HOME_OF, lambda: extra_needed("server", __name__))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
