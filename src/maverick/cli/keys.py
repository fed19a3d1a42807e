"""Which keys there are: where each comes from, and what answers without one. A key itself is never shown."""

from __future__ import annotations

import os
from collections.abc import Mapping

from maverick.cli.connecting import WITH_KEY
from maverick.config import AgentConfig

OFFLINE = "offline:"
"""The model that needs no key."""


def key_source(provider: str, settings: AgentConfig, environ: Mapping[str, str] | None = None) -> str | None:
    """Where the key of a provider is set: the variable, or ``settings``; nothing if it is not set.

    What is set for one provider is no key of another.
    """
    environ = os.environ if environ is None else environ
    if provider == settings.provider:
        return "settings" if settings.api_key is not None else settings.api_key_variable(environ)
    variable = key_variable(provider)
    return variable if environ.get(variable, "").strip() else None


def key_variable(provider: str) -> str:
    """The variable that a provider itself has its key in."""
    return AgentConfig(provider=provider).api_key_variables[-1]


def offline_instead(model: str, settings: AgentConfig, environ: Mapping[str, str] | None = None) -> bool:
    """Whether the offline model has to answer in place of one, since its key is not set.

    A server at an address of the person's own may want none.
    """
    environ = os.environ if environ is None else environ
    provider = model.partition(":")[0]
    if provider not in WITH_KEY or key_source(provider, settings, environ) is not None:
        return False
    address_variable = key_variable(provider).replace("_API_KEY", "_BASE_URL")
    own_address = provider == settings.provider and settings.base_url is not None
    return not own_address and not environ.get(address_variable, "").strip()
