"""Which model answers, and how it is reached: the one place that combines command line, agent and settings.

The order is the same for every way to start a run: the command line, the agent's definition, the client, the
environment, the project's file, the user's file, the default. What is set for one provider is never used for another:
a key and an address are only for the provider they were set for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Self
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from maverick.config import ARGUMENT, DEFAULT, HIDDEN, AgentConfig, Secret, Setting
from maverick.config.model_settings import MODEL_SETTINGS
from maverick.config.provider_names import (
    BUILT_IN,
    NEED_A_MODEL,
    VENDORS,
    is_near_provider,
    model_name_problem,
    provider_names,
    unknown_provider,
)
from maverick.config.settings import TIMEOUTS, shown_setting
from maverick.exceptions import ConfigError, InvalidInputError
from maverick.model.client import ModelInfo, check_settings
from maverick.model.request import RequestConfig
from maverick.providers.http.transport import TIMES, Timeouts
from maverick.providers.network import is_loopback
from maverick.providers.prices import PriceTable, retirement_notice, vendor_at

OFFLINE = "offline:"
"""The model that needs no key and no network."""

COMMAND_LINE, DEFINITION = "command line", "agent"
"""The sources of what comes from neither a file nor a variable."""

_WHO = ("provider", "model", "api_key", "base_url")
"""The settings that choose a model: with none of them and no key, nothing is configured."""
_OPENAI_KEY = r"sk-(proj|svcacct|admin)-"


class ResolvedModel(Struct, frozen=True):
    """The model that will be used with its settings, and where each of them comes from."""

    provider: str
    name: str
    """The model, as the provider names it."""
    config: RequestConfig
    """How it is asked."""
    request_timeout: float
    timeouts: Timeouts
    """How long to wait for parts of an answer."""
    api_key: Secret | None
    base_url: str | None
    sources: Mapping[str, str] = {}
    """The source of each field: a file, a variable, ``command line``, ``agent``, ``argument`` or ``default``."""

    @property
    def model(self) -> str:
        """The model as ``provider:model``."""
        return f"{self.provider}:{self.name}"

    def check(self) -> Self:
        """Refuse a model without a name, and a key that is missing or another provider's; the error says what to do."""
        if not self.name.strip() and f"{self.provider}:" in NEED_A_MODEL:
            source = self.sources["model"]
            raise ConfigError(
                f"{self.model!r} (from {source}) names no model. Name it after the colon.",
                source=source,
                field="agent.model",
            )
        self.check_key_owner()
        # Other servers that speak OpenAI's protocol may need no key.
        needs = self.provider == "claude" or (_vendor(self.provider) == "openai" and self.base_url is None)
        if needs and self.api_key is None:
            raise ConfigError(
                f"There is no key for {VENDORS[_vendor(self.provider)].name}, which {self.model} needs. Set "
                f"{key_variable(self.provider)}, or use the offline model: {OFFLINE} (-m {OFFLINE} on the command line)",
                source=self.sources["provider"],
                field="agent.api_key",
            )
        return self

    def check_settings(self) -> Self:
        """Refuse settings that the model does not take, where no agent's definition replaces them."""
        check_settings(self.config, self.info, self.model)
        if self.provider in ("claude", "claude-sdk"):  # the CLI decides for itself
            from maverick.providers.claude.request import check_thinking  # here, since others need none of it

            check_thinking(self.config)
        return self

    def check_key_owner(self) -> None:
        """Refuse a key that is recognisably another provider's."""
        key = "" if self.api_key is None else self.api_key.get_secret_value()
        host = urlsplit(self.base_url or "").hostname or ""
        vendor, other, at = _vendor(self.provider), None, vendor_at(self.base_url or "")
        if key.startswith("sk-ant-") and not f".{host}".endswith(".anthropic.com"):
            # A proxy on this machine may take any key.
            other = "Claude" if (vendor == "openai" and not is_loopback(host)) or at else None
        elif re.match(_OPENAI_KEY, key) and (vendor == "claude" or at not in ("", "openai", "azure")):
            other = "OpenAI"
        if other is not None:
            source = self.sources["api_key"]
            owner = host if VENDORS[vendor].name == other else VENDORS[vendor].name
            variable = key_variable(vendor)
            fix = f"Set {variable} to a key for {owner}"
            if source != variable:
                place = f"agent.api_key in {source}" if "." in source else source
                place = "the argument api_key" if source == ARGUMENT else place
                fix = f"Correct {place}, remove it to use {variable}"
            raise ConfigError(
                f"The key from {source} is a key for {other}, and {self.model} needs another. {fix}, or choose another model.",
                source=source,
                field="agent.api_key",
            )

    def describe(self) -> list[Setting]:
        """Each setting with its source; the key is hidden."""
        shown = {
            "provider": self.provider,
            "model": self.name or None,
            **{name: shown_setting(getattr(self.config, name)) for name in MODEL_SETTINGS},
            "request_timeout": self.request_timeout,
            **{f"{name}_timeout": getattr(self.timeouts, name) for name in TIMES},
            "api_key": None if self.api_key is None else HIDDEN,
            "base_url": self.base_url,
        }
        return [Setting(f"agent.{name}", value, self.sources[name]) for name, value in shown.items()]

    def retirement(self) -> str:
        """What to say if the model is retired, or will be soon; empty if it is not."""
        return retirement_notice(self.model, self.info)

    @property
    def info(self) -> ModelInfo:
        """What is known of the model."""
        vendor = {"claude": "anthropic", "openai": "openai"}.get(_vendor(self.provider), "")
        if vendor == "openai" and self.base_url is not None:
            vendor = vendor_at(self.base_url)
        return PriceTable(vendor=vendor).find(self.name)

    @property
    def is_stand_in(self) -> bool:
        """Whether the offline model answers because nothing is configured and there is no key."""
        return self.sources.get("provider") in (_NO_KEY, _NO_MODEL)

    @property
    def stand_in_reason(self) -> str:
        """Why the offline model answers although it was not asked for, and what to do; empty if it was asked for."""
        why = self.sources["provider"].removeprefix(_SINCE)
        return f"{why}; {self.stand_in_fix}" if self.is_stand_in else ""

    @property
    def stand_in_fix(self) -> str:
        """What to do so that a real model answers; empty if the offline one was asked for."""
        if self.sources["provider"] == _NO_MODEL:
            return "choose one: maverick config set agent.model openai:…"
        return f"set {key_variable('claude')} for Claude" if self.is_stand_in else ""


_SINCE = f"{DEFAULT}, since "
_NO_KEY = f"{_SINCE}no key is set"
_NO_MODEL = f"{_SINCE}an OpenAI key is set but no model is"


def resolve(
    settings: AgentConfig,
    *,
    wanted: str | None = None,
    named: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> ResolvedModel:
    """The model for an agent: the one ``wanted`` by the command line, ``named`` by its definition, or configured.

    Raises:
        ConfigError: The settings name no known provider, or no model where one is needed.
        InvalidInputError: ``wanted`` or ``named`` is not a ``provider:model`` of a known provider.
    """
    environ = os.environ if environ is None else environ
    configured = _configured_provider(settings)
    model = wanted or named
    if model is not None:
        if problem := model_name_problem(model):
            raise InvalidInputError(problem, field="model")
        provider, _, name = model.partition(":")
        source = COMMAND_LINE if wanted else DEFINITION
        sources = {"provider": source, "model": source}
    elif _is_nothing_set(settings, environ):
        provider, name = "offline", ""
        source = _NO_MODEL if environ.get(VENDORS["openai"].key_variable, "").strip() else _NO_KEY
        sources = {"provider": source, "model": source}
    else:
        provider = configured
        name = _configured_name(settings, provider)
        sources = {"provider": settings.source_of("provider"), "model": settings.source_of("model")}
        if sources["provider"] == DEFAULT and settings.model.startswith(f"{provider}:"):
            sources["provider"] = sources["model"]
    check_provider(provider, settings if model is None else None)
    shares = _vendor(provider) == _vendor(configured)
    key, sources["api_key"] = _key(provider, settings, environ, shares=shares)
    base_url, sources["base_url"] = _address(provider, settings, environ, shares=shares)
    sources |= {name: settings.source_of(name) for name in (*MODEL_SETTINGS, *TIMEOUTS)}
    return ResolvedModel(
        provider,
        name,
        RequestConfig(**{name: getattr(settings, name) for name in MODEL_SETTINGS}),
        settings.request_timeout,
        _timeouts(settings),
        key,
        base_url,
        sources,
    )


def resolve_claude_code(settings: AgentConfig, named: str | None) -> ResolvedModel:
    """The model that will be used for an agent on the Claude CLI.

    Its ``name`` is empty if neither the agent (``named``) nor the settings name a model of Claude.
    """
    found = resolve(settings, named=f"claude-code:{named or ''}")
    if named is None and settings.source_of("model") != DEFAULT and is_for_claude(settings):
        return replace(found, name=_configured_name(settings, _configured_provider(settings)))
    return found


def is_for_claude(settings: AgentConfig) -> bool:
    """Whether the settings leave an agent that names no model to Claude, in whatever way it is reached."""
    return _vendor(_configured_provider(settings)) == "claude"


def check_provider(provider: str, settings: AgentConfig | None = None) -> None:
    """Refuse a provider that does not exist; the error names the settings, if they have named it."""
    if provider in BUILT_IN or provider in provider_names():
        return
    problem = unknown_provider(provider)
    if settings is None:
        raise InvalidInputError(problem, field="model")
    source = settings.source_of("provider")
    raise ConfigError(f"agent.provider: {problem} (from {source})", source=source, field="agent.provider")


def key_variable(provider: str) -> str | None:
    """The environment variable for the key of a provider's vendor, if there is one."""
    vendor = VENDORS.get(_vendor(provider))
    return None if vendor is None else vendor.key_variable


def _vendor(provider: str) -> str:
    """The company whose key and address a provider uses: the three ways to reach Claude share theirs, as do OpenAI's."""
    return (BUILT_IN[provider].vendor if provider in BUILT_IN else "") or provider


def _configured_provider(settings: AgentConfig) -> str:
    """The provider of the settings; ``model: openai:gpt-5`` names it too."""
    provider, colon, _ = settings.model.partition(":")
    if colon and settings.source_of("provider") == DEFAULT and provider in provider_names():
        return provider
    return settings.provider


def _configured_name(settings: AgentConfig, provider: str) -> str:
    if settings.source_of("model") != DEFAULT:
        _check_name(settings, provider)
        return settings.model.removeprefix(f"{provider}:")
    if _vendor(provider) == "claude":
        return settings.model
    if f"{provider}:" in NEED_A_MODEL:
        source = settings.source_of("provider")
        raise ConfigError(
            f"agent.model: the provider {provider!r} needs a model (from {source}). Set agent.model in the same file, "
            "or MAVERICK_AGENT_MODEL.",
            source=source,
            field="agent.model",
        )
    return ""


def _check_name(settings: AgentConfig, provider: str) -> None:
    """Refuse a model of the settings that names another provider than theirs, or one that does not exist.

    Not every colon ends a provider: fine-tuned models, and those of Ollama and Bedrock, have one in their names. A name
    that begins with its own provider is never refused.
    """
    prefix, colon, _ = settings.model.partition(":")
    model_source, provider_source = settings.source_of("model"), settings.source_of("provider")
    if not colon or prefix == provider:
        return
    if prefix in provider_names():
        problem = (
            f"{settings.model!r} (from {model_source}) is a model of {prefix!r}, but agent.provider is {provider!r} "
            f"(from {provider_source}). Change one of them."
        )
    elif is_near_provider(prefix) or (
        settings.base_url is None
        and not re.search(r"[./]", prefix)
        and (provider_source == DEFAULT or provider == "claude")
    ):
        problem = f"{unknown_provider(prefix)} (from {model_source})"
    else:
        return
    raise ConfigError(f"agent.model: {problem}", source=model_source, field="agent.model")


def _is_nothing_set(settings: AgentConfig, environ: Mapping[str, str]) -> bool:
    if any(settings.source_of(name) != DEFAULT for name in _WHO):
        return False
    _, *variables = VENDORS["claude"]
    return not any(environ.get(variable, "").strip() for variable in variables)


def _key(
    provider: str, settings: AgentConfig, environ: Mapping[str, str], *, shares: bool
) -> tuple[Secret | None, str]:
    """The key of a provider and its source: the one that is set for it, or else its vendor's own variable."""
    if shares and settings.api_key is not None:
        return settings.api_key, settings.source_of("api_key")
    variable = key_variable(provider)
    if variable is None or not environ.get(variable, "").strip():
        return None, DEFAULT
    checked = AgentConfig(api_key=Secret(environ[variable]), sources={"agent.api_key": variable})
    return checked.api_key, variable


def _timeouts(settings: AgentConfig) -> Timeouts:
    """How long parts of an answer may take: at most as long as the whole of it, if that is set."""
    total, is_set = settings.request_timeout, settings.source_of("request_timeout") != DEFAULT
    takes_all = settings.source_of("first_content_timeout") == DEFAULT
    is_cut = is_set and total < settings.between_content_timeout
    limited = {"first_content": is_set and takes_all, "between_content": is_cut}
    return Timeouts(
        settings.connect_timeout,
        total if takes_all else settings.first_content_timeout,
        total if is_cut else settings.between_content_timeout,
        tuple(name for name, by_request_timeout in limited.items() if by_request_timeout),
    )


def _address(
    provider: str, settings: AgentConfig, environ: Mapping[str, str], *, shares: bool
) -> tuple[str | None, str]:
    if shares and settings.base_url is not None:
        return settings.base_url, settings.source_of("base_url")
    vendor = VENDORS.get(_vendor(provider))
    value = "" if vendor is None else environ.get(vendor.address_variable, "").strip()
    return (value, vendor.address_variable) if vendor and value else (None, DEFAULT)
