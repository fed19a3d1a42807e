"""Everything that can be set: its name, its default, and what it may be.

A setting's type and limits are in its annotation, and ``msgspec`` checks them. The description there says what is
expected, in words for an error.
"""

# Annotations are values here and not texts, since settings are read from them: a text would be compiled at each start.
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, ClassVar, NamedTuple, cast

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import force_setattr, replace

from maverick.config.model_settings import (
    MODEL_SETTINGS,
    Cache,
    EffortSetting,
    Extra,
    MaxTokens,
    ServerTools,
    StopSequences,
    Temperature,
    Thinking,
    ToolChoice,
    TopP,
    annotated_settings,
    is_set,
    normalized,
    parse_duration,
)
from maverick.exceptions import ConfigError, describe_unknown

ARGUMENT = "argument"
"""The source of a value that the program passed."""
DEFAULT = "default"
"""The source of a value that was not set."""
DEFAULT_JOURNAL = "~/.maverick/runs.db"
"""Where runs are kept by default."""
DEFAULT_DATABASE = "~/.maverick/chat.db"
"""Where conversations and tasks are kept by default."""
MCP_SERVERS = "mcp"
"""The part of a settings file that names MCP servers; ``mcp_servers`` reads it."""
HIDDEN = "***"
"""What is shown in place of a secret."""

_ADDRESS = r"https?://([^\s/?#@:\[\]\\]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?(/\S*)?"
_KEY = r"[!-~]+"
_LONGEST_QUOTE = 30  # characters; keys are longer, and get pasted where they do not belong
_MOST_SECONDS = 1e9


class Secret:
    """A text that is shown as ``***`` wherever it is printed; only :meth:`get_secret_value` returns it."""

    # Not a struct, because encoding one would tell the text.
    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def get_secret_value(self) -> str:
        """The text itself."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"Secret({HIDDEN!r})"

    def __str__(self) -> str:
        return HIDDEN


def _converted(name: str, written: Any, kind: Any) -> object:  # noqa: ANN401 - whatever a person wrote
    """The value of a setting as it was written: numbers may be texts, and texts have spaces around them."""
    if name in SECTIONS:
        if not isinstance(written, SECTIONS[name]):
            raise ValueError
        return written
    if hasattr(written, "get_secret_value"):  # a secret of Pydantic's is as good as ours
        written = written.get_secret_value()
    if isinstance(written, str):
        written = written.strip() or (None if type(None) in _parts(kind) else "")
        if name.endswith("_timeout"):
            written = parse_duration(written) or written
        elif name in ("agents", "server_tools", "stop_sequences"):
            written = [part.strip() for part in written.split(",") if part.strip()]
        elif name in ("extra", "rate_limits"):
            written = msgspec.json.decode(written)
    value = msgspec.convert(written, kind, strict=False, dec_hook=_secret)
    wrong_key = name == "api_key" and value is not None and not re.fullmatch(_KEY, value.get_secret_value())
    if wrong_key or value != value:  # noqa: PLR0124 - not a number
        raise ValueError
    return value


def _secret(kind: type, written: object) -> object:
    if isinstance(written, kind):
        return written
    if kind is not Secret or not isinstance(written, str) or not written:
        raise ValueError
    return Secret(written)


def _parts(kind: Any) -> tuple[object, ...]:  # noqa: ANN401 - a type, or an annotation of one
    inner = kind.__origin__
    return getattr(inner, "__args__", (inner,))


def _quoted(value: object) -> str:
    """A value for an error to show, unless it may hold a key or a password, or is no plain value."""
    if isinstance(value, str):
        safe = len(value) <= _LONGEST_QUOTE and "@" not in value
        return repr(value) if safe else f"{len(value)} characters that are not shown"
    if isinstance(value, float) or (isinstance(value, int) and value.bit_length() <= 64):
        return repr(value)
    return f"a value of type {type(value).__name__}"


class Section(Struct, frozen=True, kw_only=True, eq=False):
    """Settings that belong together; a value that does not fit raises a ``ConfigError`` that names it."""

    section: ClassVar[str] = ""
    """What the dotted names of the fields start with."""

    sources: Mapping[str, str] = {}
    """The file or variable that each setting came from, by its dotted name."""

    def __post_init__(self) -> None:
        for name, (kind, expected) in self.settings().items():
            written = normalized(name, getattr(self, name))
            if written is self._default(name) or (name in MODEL_SETTINGS and not is_set(written)):
                force_setattr(self, name, self._default(name))
                continue
            with suppress(ValueError, OverflowError):
                force_setattr(self, name, _converted(name, written, kind))
                continue
            # Raised out here, because inside the block the new error would keep the old one and the value in it.
            field, found = self.dotted(name), _quoted(written)
            if Secret in _parts(kind):
                found = "something else, not shown"
            source = self.sources.get(field, ARGUMENT)
            problem = f"{field}: expected {expected}, got {found} (from {source})."
            advice = "Correct it there, or remove it to use the default."
            raise ConfigError(f"{problem} {advice}", source=source, field=field)

    @classmethod
    def settings(cls) -> Mapping[str, tuple[Any, str]]:
        """What can be set: by name, the type and what is expected, in words."""
        return annotated_settings(cls)

    @classmethod
    def dotted(cls, name: str) -> str:
        """A field's name as an error or a list of all settings writes it."""
        return f"{cls.section}.{name}" if cls.section else name

    @classmethod
    def unknown(cls, name: object, source: str) -> ConfigError:
        """The error for a setting that does not exist."""
        shown = name if isinstance(name, str) and len(name) <= _LONGEST_QUOTE else HIDDEN
        known = [*cls.settings()]
        if not cls.section:  # what belongs in a section may have lost it
            known += [MCP_SERVERS]
            known += [part.dotted(name) for part in SECTIONS.values() for name in part.settings()]
        problem = describe_unknown(f"{cls.section} setting".strip(), shown, known)
        advice = f"Correct or remove it (from {source})."
        return ConfigError(f"{problem} {advice}", source=source, field=cls.dotted(shown))

    def source_of(self, name: str) -> str:
        """Where the value of a setting came from: a file, a variable, the program, or the default."""
        made_here = DEFAULT if getattr(self, name) == self._default(name) else ARGUMENT
        return self.sources.get(self.dotted(name), made_here)

    def _default(self, name: str) -> object:
        return self.__struct_defaults__[self.__struct_fields__.index(name)]

    def _values(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.settings()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(tuple(self._values().values()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self._values().items())
        return f"{type(self).__name__}({shown})"


_Seconds = Annotated[
    float,
    Meta(gt=0, le=_MOST_SECONDS, description="more than 0 seconds, or a duration such as '30s' or '2m'"),
]
TIMEOUTS = ("request_timeout", "connect_timeout", "first_content_timeout", "between_content_timeout")
"""The settings that say how long to wait."""


class AgentConfig(Section, frozen=True, kw_only=True, eq=False):
    """Which model to use, how, and with which credentials."""

    section: ClassVar[str] = "agent"

    provider: Annotated[str, Meta(pattern=r"\S", description="a provider's name, such as 'claude'")] = (
        "claude"
    )
    """Whose model it is."""
    model: Annotated[str, Meta(pattern=r"\S", description="a model's name")] = "claude-sonnet-5-5"
    """The model, as its provider names it; the default is for the providers of Claude."""
    max_tokens: MaxTokens = None
    """The most tokens an answer may have, unless a request says otherwise; 0 is the provider's default, too."""
    temperature: Temperature = None
    """The sampling temperature, unless a request says otherwise; -1 is the provider's default, too."""
    effort: EffortSetting = None
    """How much work the model puts into an answer."""
    thinking: Thinking = None
    """When the model thinks, or for how many tokens at most."""
    stop_sequences: StopSequences = ()
    """Texts that end an answer."""
    tool_choice: ToolChoice = None
    """Whether the model has to call a tool in the first turn."""
    top_p: TopP = None
    """How much of the probability mass the model samples from."""
    cache: Cache = None
    """How long the provider is to keep prompts in its cache."""
    server_tools: ServerTools = ()
    """Tools that the provider runs itself."""
    extra: Annotated[Extra | None, Meta(description="fields of a request by name")] = None
    """Fields for each request, as the provider names them."""
    request_timeout: _Seconds = 600
    """How many seconds one call of the model may take; by default, a streamed answer may continue while content comes."""
    connect_timeout: _Seconds = 10
    """How many seconds a connection may take."""
    first_content_timeout: _Seconds = 600
    """How many seconds the first content of an answer may take; by default as long as the whole call."""
    between_content_timeout: _Seconds = 300
    """How many seconds a streamed answer may take for more content."""
    api_key: Annotated[Secret | None, Meta(description="printable ASCII characters without spaces")] = None
    """The provider's key; when it is empty, :meth:`resolve_api_key` looks in the environment."""
    base_url: Annotated[
        Annotated[str, Meta(pattern=f"^{_ADDRESS}$")] | None,
        Meta(description="an http(s):// address without a user name or password"),
    ] = None
    """Where the provider answers, when that is not its usual address."""

    @property
    def api_key_variables(self) -> tuple[str, ...]:
        """The environment variables a key is looked for in, in order, when ``api_key`` is empty."""
        owners = {"claude": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
        usual = (name for family, name in owners.items() if self.provider.startswith(family))
        return ("MAVERICK_AGENT_API_KEY", *usual)

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
    """One setting, as it may be shown to anyone."""

    field: str
    """Its dotted name."""
    value: str | float | None
    """Its value, or ``***`` for a secret."""
    source: str
    """The file or variable it came from, or ``argument``, or ``default``."""


def shown_setting(value: Any) -> str | float | None:  # noqa: ANN401 - whatever a setting may be
    """A setting's value as it may be shown to anyone: a secret is hidden, and so are the values of fields."""
    if isinstance(value, Secret):
        return HIDDEN
    if isinstance(value, tuple | dict):
        names = (str(item.get("type", HIDDEN)) if isinstance(item, dict) else item for item in value)
        return ", ".join(names) or None
    return cast("str | float | None", value)


_HOST = r"([A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?"
_Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,200}$")]
_File = Annotated[str | None, Meta(description="the path of a PEM file")]


class TemporalConfig(Section, frozen=True, kw_only=True, eq=False):
    """The Temporal server of a fleet, and how to reach it."""

    section: ClassVar[str] = "temporal"

    address: Annotated[
        Annotated[str, Meta(pattern=rf"^{_HOST}$|^temporal://{_HOST}(/[A-Za-z0-9._-]{{1,200}})?/?$")] | None,
        Meta(description="host:port, or temporal://host:port/namespace"),
    ] = None
    """Where it is; without one there is no fleet."""
    namespace: Annotated[_Name | None, Meta(description="letters, digits, '-', '_' and '.'")] = None
    """The namespace there, unless the address has one; ``default`` if neither does."""
    api_key: Annotated[Secret | None, Meta(description="printable ASCII characters without spaces")] = None
    """The key of a server that asks for one; it is sent over TLS only."""
    tls: Annotated[bool, Meta(description="true or false")] = False
    """Whether the connection is encrypted; a key or one of the files below implies it."""
    tls_ca: _File = None
    """The certificates that the server's is checked with, in place of the usual ones."""
    tls_cert: _File = None
    """The client's certificate, for a server that asks for one."""
    tls_key: _File = None
    """The private key of the client's certificate."""
    queue: Annotated[_Name, Meta(description="letters, digits, '-', '_' and '.'")] = "maverick"
    """How the names of the task queues begin, for several fleets in one namespace."""


SECTIONS: Mapping[str, type[AgentConfig | TemporalConfig]] = {
    part.section: part for part in (AgentConfig, TemporalConfig)
}
"""The settings that are grouped, by the name of the group."""

_Count = Annotated[int, Meta(ge=1, le=10**12)]


class RateLimit(Struct, frozen=True, forbid_unknown_fields=True):
    """What all workers of a fleet together may use of a provider in any minute."""

    requests_per_minute: _Count | None = None
    """Model calls in a minute."""
    tokens_per_minute: _Count | None = None
    """Tokens in a minute."""


_Place = Annotated[Secret, Meta(description="a path or a postgresql:// address")]


class MaverickConfig(Section, frozen=True, kw_only=True, eq=False):
    """Everything that can be set; :func:`load_config` makes one from what the user wrote."""

    agent: Annotated[AgentConfig, Meta(description="an AgentConfig")] = AgentConfig()
    """The model and how to reach it."""
    temporal: Annotated[TemporalConfig, Meta(description="a TemporalConfig")] = TemporalConfig()
    """The Temporal server of a fleet."""
    journal: _Place = Secret(DEFAULT_JOURNAL)
    """Where runs are kept; hidden, because an address may have a password in it."""
    database: _Place = Secret(DEFAULT_DATABASE)
    """Where conversations and tasks are kept; hidden for the same reason."""
    agents: Annotated[
        tuple[Annotated[str, Meta(pattern=r"^[^\W\d]\w*(\.[^\W\d]\w*)*$")], ...],
        Meta(description="names of Python modules, in a list or with commas between them"),
    ] = ()
    """The Python modules that define agents, besides those in files and installed packages."""
    rate_limits: Annotated[
        dict[str, RateLimit] | None,
        Meta(description="requests_per_minute and tokens_per_minute, from 1, by provider"),
    ] = None
    """What all workers of a fleet together may use of a provider."""
    max_runs_per_user: Annotated[int, Meta(ge=1, le=10**9, description="a whole number from 1")] = 100
    """How many runs of a user are in progress in a fleet at once; more wait."""

    ignored: tuple[str, ...] = ()
    """What the project's file would set, and does not because the user has not trusted it, by dotted name."""

    def describe(self, environ: Mapping[str, str] | None = None) -> list[Setting]:
        """Every setting with where it came from, secrets hidden; a key may also be found in the environment."""
        agent = self.agent
        if agent.api_key is None and (variable := agent.api_key_variable(environ)):
            agent = replace(
                agent, api_key=Secret(HIDDEN), sources={**agent.sources, "agent.api_key": variable}
            )
        values = {
            section.dotted(name): (shown_setting(getattr(section, name)), section.source_of(name))
            for section in (agent, self.temporal, self)
            for name in section.settings()
            if name not in SECTIONS
        }
        for name in ("journal", "database"):  # a path has no password in it, as an address may
            place = getattr(self, name).get_secret_value()
            values[name] = (HIDDEN if "://" in place else place, values[name][1])
        return [Setting(name, *found) for name, found in values.items()]


def is_address(text: str) -> bool:
    """Whether a text is a web address without a user name or password."""
    return re.fullmatch(_ADDRESS, text) is not None
