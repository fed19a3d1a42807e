"""Everything that can be set: its name, its default, and what it may be."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, NamedTuple

from maverick.config import readers
from maverick.config.secret import HIDDEN, Secret
from maverick.config.section import Rule, Section

DEFAULT_JOURNAL = "~/.maverick/runs.db"
"""Where runs are kept when nobody says otherwise."""
DEFAULT_DATABASE = "~/.maverick/chat.db"
"""Where conversations and tasks are kept when nobody says otherwise."""
MCP_SERVERS = "mcp"
"""The part of a settings file that names MCP servers; ``mcp_servers`` reads it."""

_PLACE = Rule("a path or a postgresql:// address", readers.place, secret=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig(Section):
    """Which model to use, how, and with which credentials."""

    section: ClassVar[str] = "agent"

    provider: Annotated[str, Rule("a provider's name, such as 'claude'", readers.text)] = "claude"
    """Whose model it is."""
    model: Annotated[str, Rule("a model's name", readers.text)] = "claude-sonnet-5-5"
    """The model, as its provider names it; the default is for the providers of Claude."""
    max_tokens: Annotated[
        int, Rule("a positive whole number, or 0 for the provider's default", readers.count)
    ] = 0
    """The most tokens an answer may have, unless a request says otherwise."""
    temperature: Annotated[float, Rule("0 to 2, or -1 for the provider's default", readers.temperature)] = -1
    """The sampling temperature, unless a request says otherwise."""
    request_timeout: Annotated[
        float, Rule("more than 0 seconds, or a duration such as '30s' or '2m'", readers.seconds)
    ] = 600
    """How many seconds one call of the model may take."""
    api_key: Annotated[
        Secret | None, Rule("printable ASCII characters without spaces", readers.key, secret=True)
    ] = None
    """The provider's key; when it is empty, :meth:`resolve_api_key` looks in the environment."""
    base_url: Annotated[
        str | None, Rule("an http(s):// address without a user name or password", readers.address)
    ] = None
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

    def resolve_api_key(self, environ: Mapping[str, str] | None = None) -> Secret | None:
        """The key to use: ``api_key``, else what ``api_key_variable`` holds, else ``None``.

        Raises:
            ConfigError: The variable holds something that cannot be a key.
        """
        environ = os.environ if environ is None else environ
        variable = self.api_key_variable(environ)
        if self.api_key is not None or variable is None:
            return self.api_key
        found = Secret(environ[variable])
        return AgentConfig(api_key=found, sources={"agent.api_key": variable}).api_key


class Setting(NamedTuple):
    """One setting, as it may be shown to anybody."""

    field: str
    """Its dotted name."""
    value: str | float | None
    """Its value, or ``***`` for a secret."""
    source: str
    """The file or variable it came from, or ``argument``, or ``default``."""


def _agent(value: object) -> AgentConfig:
    if not isinstance(value, AgentConfig):
        raise ValueError  # noqa: TRY004 - the one error of readers
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class MaverickConfig(Section):
    """Everything that can be set; :func:`load_config` makes one from what the person wrote."""

    agent: Annotated[AgentConfig, Rule("an AgentConfig", _agent)] = AgentConfig()
    """The model and how to reach it."""
    journal: Annotated[Secret, _PLACE] = field(default=Secret(DEFAULT_JOURNAL))
    """Where runs are kept; hidden, because an address may have a password in it."""
    database: Annotated[Secret, _PLACE] = field(default=Secret(DEFAULT_DATABASE))
    """Where conversations and tasks are kept; hidden for the same reason."""
    agents: Annotated[
        tuple[str, ...],
        Rule("names of Python modules, in a list or with commas between them", readers.modules),
    ] = ()
    """The Python modules that define agents, besides those in files and installed packages."""

    ignored: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """What the project's file would set, and does not since the user has not trusted it, by dotted name."""

    @classmethod
    def names(cls) -> list[str]:
        """The names an unknown one is compared with: what belongs into ``agent`` may have lost its section."""
        return [*cls.rules(), MCP_SERVERS, *map(AgentConfig.dotted, AgentConfig.rules())]

    def describe(self, environ: Mapping[str, str] | None = None) -> list[Setting]:
        """Every setting with where it came from, secrets hidden; a key may also be found in the environment."""
        key_variable = self.agent.api_key_variable(environ)
        settings = []
        for name in AgentConfig.rules():
            value = getattr(self.agent, name)
            shown, source = HIDDEN if isinstance(value, Secret) else value, self.agent.source_of(name)
            if name == "api_key" and value is None and key_variable:
                shown, source = HIDDEN, key_variable
            settings.append(Setting(AgentConfig.dotted(name), shown, source))
        for name in ("journal", "database"):
            place = getattr(self, name).get_secret_value()
            settings.append(Setting(name, HIDDEN if "://" in place else place, self.source_of(name)))
        return [
            *settings,
            Setting("agents", ", ".join(self.agents) or None, self.source_of("agents")),
        ]
