"""What answers when no key is set: the offline model, and a line that says so."""

from __future__ import annotations

import os
from collections.abc import Mapping

from maverick.cli.connecting import WITH_KEY
from maverick.config import AgentConfig

OFFLINE = "offline:"


def model_without_key(
    model: str, settings: AgentConfig, environ: Mapping[str, str] | None = None
) -> str | None:
    """The model to use in place of one that wants a key which is not set, if so.

    Raises:
        ConfigError: The variable of the key holds something that cannot be a key.
    """
    environ = os.environ if environ is None else environ
    provider = model.partition(":")[0]
    if provider not in WITH_KEY:
        return None
    own = settings if provider == settings.provider else AgentConfig(provider=provider)
    elsewhere = (
        own.base_url is not None or f"{own.api_key_variables[-1].partition('_')[0]}_BASE_URL" in environ
    )
    return None if elsewhere or own.resolve_api_key(environ) is not None else OFFLINE


def remark_on(model: str) -> str:
    """Why the offline model answers."""
    provider = model.partition(":")[0]
    variable = AgentConfig(provider=provider).api_key_variables[-1]
    return f"(offline model: no key for {provider} is set; set {variable} for {model})"
