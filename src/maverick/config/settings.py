"""Everything that can be set: its name, its default, and what it may be."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from pydantic import Field, PrivateAttr, SecretStr, field_validator

from maverick.config.duration import parse_duration
from maverick.config.section import ARGUMENT, HIDDEN, Section

DEFAULT = "default"
"""The source of a value that nobody set."""
DEFAULT_JOURNAL = "~/.maverick/runs.db"
"""Where runs are kept when nobody says otherwise."""
DEFAULT_DATABASE = "~/.maverick/chat.db"
"""Where conversations and tasks are kept when nobody says otherwise."""

_ADDRESS = r"^https?://([^\s/?#@:\[\]\\]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?(/\S*)?$"


class AgentConfig(Section):
    """Which model to use, how, and with which credentials."""

    section: ClassVar[str] = "agent"

    provider: str = Field(default="claude", min_length=1, description="a provider's name, such as 'claude'")
    """Whose model it is."""
    model: str = Field(default="claude-sonnet-4-5-20250929", min_length=1, description="a model's name")
    """The model, as its provider names it."""
    max_tokens: int = Field(
        default=0, ge=0, description="a positive whole number, or 0 for the provider's default"
    )
    """The most tokens an answer may have, unless a request says otherwise."""
    temperature: float = Field(default=-1, description="0 to 2, or -1 for the provider's default")
    """The sampling temperature, unless a request says otherwise."""
    request_timeout: float = Field(
        default=600, gt=0, description="more than 0 seconds, or a duration such as '30s' or '2m'"
    )
    """How many seconds one call of the model may take."""
    api_key: SecretStr | None = Field(default=None, description="printable ASCII characters without spaces")
    """The provider's key; when it is empty, :meth:`resolve_api_key` looks in the environment."""
    base_url: str | None = Field(
        default=None, pattern=_ADDRESS, description="an http(s):// address without a user name or password"
    )
    """Where the provider answers, when that is not its usual address."""

    @property
    def api_key_variables(self) -> tuple[str, ...]:
        """The environment variables a key is looked for in, in order, when ``api_key`` is empty."""
        if self.provider.startswith("claude"):
            return ("MAVERICK_AGENT_API_KEY", "ANTHROPIC_API_KEY")
        if self.provider == "openai":
            return ("MAVERICK_AGENT_API_KEY", "OPENAI_API_KEY")
        return ("MAVERICK_AGENT_API_KEY",)

    def api_key_variable(self, environ: Mapping[str, str] | None = None) -> str | None:
        """The first of ``api_key_variables`` that is set in the environment, by default the process's."""
        environ = os.environ if environ is None else environ
        return next((name for name in self.api_key_variables if environ.get(name, "").strip()), None)

    def resolve_api_key(self, environ: Mapping[str, str] | None = None) -> SecretStr | None:
        """The key to use: ``api_key``, else what ``api_key_variable`` holds, else ``None``.

        Raises:
            ConfigError: The variable holds something that cannot be a key.
        """
        environ = os.environ if environ is None else environ
        variable = self.api_key_variable(environ)
        if self.api_key is not None or variable is None:
            return self.api_key
        found = {"api_key": environ[variable]}
        return AgentConfig.model_validate(found, context={"agent.api_key": variable}).api_key

    @field_validator("max_tokens", "temperature", "request_timeout", mode="before")
    @classmethod
    def _is_not_a_boolean(cls, value: object) -> object:
        if isinstance(value, bool):  # Python counts it as a number, so `max_tokens: yes` would be 1
            raise ValueError  # noqa: TRY004 - the error pydantic understands
        return value

    @field_validator("temperature")
    @classmethod
    def _is_a_temperature(cls, value: float) -> float:
        if value != -1 and not 0 <= value <= 2:
            raise ValueError
        return value

    @field_validator("request_timeout", mode="before")
    @classmethod
    def _in_seconds(cls, value: object) -> object:
        duration = parse_duration(value) if isinstance(value, str) else None
        return value if duration is None else duration

    @field_validator("api_key", "base_url", mode="before")
    @classmethod
    def _empty_is_none(cls, value: object) -> object:
        text = value.get_secret_value() if isinstance(value, SecretStr) else value
        return (text.strip() or None) if isinstance(text, str) else text

    @field_validator("api_key")
    @classmethod
    def _fits_a_header(cls, value: SecretStr | None) -> SecretStr | None:
        key = "" if value is None else value.get_secret_value()
        if " " in key or not (key.isascii() and key.isprintable()):
            raise ValueError
        return value


class Setting(NamedTuple):
    """One setting, as it may be shown to anybody."""

    field: str
    """Its dotted name."""
    value: str | float | None
    """Its value, or ``***`` for a secret."""
    source: str
    """The file or variable it came from, or ``argument``, or ``default``."""


class MaverickConfig(Section):
    """Everything that can be set; :func:`load_config` makes one from what the person wrote."""

    agent: AgentConfig = Field(default=AgentConfig(), description="the settings of the agent")
    """The model and how to reach it."""
    journal: SecretStr = Field(
        default=SecretStr(DEFAULT_JOURNAL), min_length=1, description="a path or a postgresql:// address"
    )
    """Where runs are kept; hidden, because an address may have a password in it."""
    database: SecretStr = Field(
        default=SecretStr(DEFAULT_DATABASE), min_length=1, description="a path or a postgresql:// address"
    )
    """Where conversations and tasks are kept; hidden for the same reason."""
    agents: tuple[str, ...] = Field(
        default=(), description="names of Python modules, in a list or with commas between them"
    )
    """The Python modules that define agents, besides those in files and installed packages."""

    _sources: dict[str, str] = PrivateAttr(default_factory=dict)

    @classmethod
    def names(cls) -> list[str]:
        """The names an unknown one is compared with: what belongs into ``agent`` may have lost its section."""
        return [*cls.model_fields, *map(AgentConfig.dotted, AgentConfig.model_fields)]

    def model_post_init(self, sources: Mapping[str, str] | None, /) -> None:
        """Remember where the values came from, when :func:`load_config` says so."""
        self._sources.update(sources or {})

    def describe(self, environ: Mapping[str, str] | None = None) -> list[Setting]:
        """Every setting with where it came from, secrets hidden; a key may also be found in the environment."""
        key_variable = self.agent.api_key_variable(environ)
        settings = []
        for name, value in self.agent:
            shown = HIDDEN if isinstance(value, SecretStr) else value
            source = self._source(self.agent, name)
            if name == "api_key" and value is None and key_variable:
                shown, source = HIDDEN, key_variable
            settings.append(Setting(self.agent.dotted(name), shown, source))
        for name in ("journal", "database"):
            place = getattr(self, name).get_secret_value()
            settings.append(Setting(name, HIDDEN if "://" in place else place, self._source(self, name)))
        return [
            *settings,
            Setting("agents", ", ".join(self.agents) or None, self._source(self, "agents")),
        ]

    def _source(self, section: Section, name: str) -> str:
        made_here = ARGUMENT if name in section.model_fields_set else DEFAULT
        return self._sources.get(section.dotted(name), made_here)

    @field_validator("journal", "database", mode="before")
    @classmethod
    def _without_spaces_around(cls, value: object) -> object:
        return value.strip() if isinstance(value, str) else value

    @field_validator("agents", mode="before")
    @classmethod
    def _split_at_commas(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        return value

    @field_validator("agents")
    @classmethod
    def _are_modules(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(part.isidentifier() for name in value for part in name.split(".")):
            raise ValueError
        return value
