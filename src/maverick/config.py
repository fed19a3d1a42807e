"""What a person can set, and where each setting came from.

Settings are layered, later over earlier: the defaults, ``~/.maverick/config.yaml``, ``./maverick.yaml``, the
environment (``MAVERICK_AGENT_MODEL`` is ``agent.model``), and what the program passes. :func:`load_config` reads
them all and is the one way in; ``MaverickConfig()`` reads nothing and is the defaults.

A key is in no ``repr``, dump or error. Errors are worded from what is known about a setting, never from the text
of a file, because any line of a file may hold a key. For the same reason they have no cause: the errors of the
parser and the validator quote what they were given.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import ClassVar, NamedTuple, Self, TypeAlias, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from maverick.exceptions import ConfigError, describe_unknown

DEFAULT = "default"
"""The source of a value that nobody set."""
ARGUMENT = "argument"
"""The source of a value that the program passed."""
HIDDEN = "***"
"""What is shown in place of a secret."""

_LARGEST_FILE = 64 * 1024  # bytes; PyYAML is slow, and no settings are this long
_LONGEST_QUOTE = 30  # characters; keys are longer, and get pasted where they do not belong
_ADDRESS = r"^https?://([^\s/?#@:\[\]\\]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?(/\S*)?$"
_ON_THIS_MACHINE = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?(/|$)")
_UNIT_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_DURATION = re.compile(f"(?:{_DURATION_PART.pattern})+")


class _Section(BaseModel):
    """Settings that belong together; a value that does not fit raises a ``ConfigError`` that names it.

    A field's ``description`` is what a value has to be: the error says it.
    """

    model_config = ConfigDict(
        allow_inf_nan=False, extra="forbid", frozen=True, hide_input_in_errors=True, str_strip_whitespace=True
    )

    section: ClassVar[str] = ""
    """What the dotted names of the fields start with."""

    @model_validator(mode="wrap")
    @classmethod
    def _name_what_is_wrong(
        cls, values: object, validate: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        try:
            return validate(values)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
        # Raised out here, because inside the clause the new error would keep the old one and the value in it.
        if not first["loc"]:
            raise _not_settings(cls.section, ARGUMENT)
        name = str(first["loc"][0])
        source = (info.context or {}).get(_dotted(cls.section, name), ARGUMENT)
        if name not in cls.model_fields:
            raise _unknown(cls.section, name, source)
        raise cls._does_not_fit(name, first["input"], source)

    @classmethod
    def _does_not_fit(cls, name: str, value: object, source: str) -> ConfigError:
        field = cls.model_fields[name]
        found = "something else, not shown" if SecretStr in get_args(field.annotation) else _quoted(value)
        return ConfigError(
            f"{_dotted(cls.section, name)}: expected {field.description}, got {found} (from {source}). "
            "Correct it there, or remove it to use the default.",
            source=source,
            field=_dotted(cls.section, name),
        )


class AgentConfig(_Section):
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
        if isinstance(value, str) and _DURATION.fullmatch(value.strip()):
            return sum(float(amount) * _UNIT_SECONDS[unit] for amount, unit in _DURATION_PART.findall(value))
        return value

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


class MaverickConfig(_Section):
    """Everything that can be set; :func:`load_config` makes one from what the person wrote."""

    agent: AgentConfig = Field(default=AgentConfig(), description="the settings of the agent")
    """The model and how to reach it."""

    _sources: dict[str, str] = PrivateAttr(default_factory=dict)

    def model_post_init(self, sources: Mapping[str, str] | None, /) -> None:
        """Remember where the values came from, when :func:`load_config` says so."""
        self._sources.update(sources or {})

    def describe(self, environ: Mapping[str, str] | None = None) -> list[Setting]:
        """Every setting with where it came from, secrets hidden; a key may also be found in the environment."""
        key_variable = self.agent.api_key_variable(environ)
        settings = []
        for section, values in self:
            for name, value in values:
                field = _dotted(section, name)
                shown = HIDDEN if isinstance(value, SecretStr) else value
                source = self._sources.get(field, ARGUMENT if name in values.model_fields_set else DEFAULT)
                if field == "agent.api_key" and value is None and key_variable:
                    shown, source = HIDDEN, key_variable
                settings.append(Setting(field, shown, source))
        return settings


_Layer: TypeAlias = dict[str, tuple[object, str]]
"""What one source sets: the dotted name, the value, and the file or variable to name in an error."""


def load_config(
    cwd: Path | None = None,
    home: Path | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Mapping[str, object]] | None = None,
) -> MaverickConfig:
    """Read the settings: the two files over the defaults, the environment over them, the overrides over all.

    A missing or empty file, an empty variable and a ``null`` set nothing. An unknown setting in a file is an error.
    An unknown variable is one only if it looks misspelt, since others may use the prefix too: Kubernetes sets
    ``MAVERICK_AGENT_PORT`` when a service is named ``maverick-agent``.

    Args:
        cwd: The folder of ``maverick.yaml``; by default, the current one.
        home: The folder of ``.maverick/config.yaml``; by default, the user's home.
        environ: The environment; by default, the process's.
        overrides: What the program itself sets, nested as in a file: ``{"agent": {"model": "…"}}``.

    Raises:
        ConfigError: A file cannot be read, or a setting is unknown or has a value that does not fit.
    """
    project_file = (cwd or Path()) / "maverick.yaml"
    home_folder = home or _home()
    merged: _Layer = {
        **({} if home_folder is None else _from_file(home_folder / ".maverick" / "config.yaml")),
        **_from_file(project_file),
        **_from_environment(os.environ if environ is None else environ),
        **_flattened(overrides or {}, ARGUMENT),
    }
    values: dict[str, dict[str, object]] = {}
    for field, (value, _) in merged.items():
        section, _, name = field.partition(".")
        values.setdefault(section, {})[name] = value
    sources = {field: source for field, (_, source) in merged.items()}
    config = MaverickConfig.model_validate(values, context=sources)
    _check_destination(config.agent, sources, str(project_file))
    return config


def _from_file(path: Path) -> _Layer:
    content = _read(path)
    if not content:
        return {}
    import yaml  # here, because most people have no such file

    where = ""
    try:
        tree = yaml.safe_load(content)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = "" if mark is None else f" at line {mark.line + 1}, column {mark.column + 1}"
    except Exception:  # noqa: BLE001, S110 - PyYAML lets ValueError, KeyError, RecursionError and more through
        pass
    else:
        return {} if tree is None else _flattened(tree, str(path))
    problem = f"{path} is not valid YAML{where}. Check its indentation, quotes and colons."
    raise ConfigError(problem, source=str(path))


def _read(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for a writer
            raise ConfigError(f"{path} is not a file. Move it away, or make it one.", source=str(path))
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        problem = f"{path} could not be read: {error.strerror}. Check who may read it."
        raise ConfigError(problem, source=str(path)) from error
    if len(content) > _LARGEST_FILE:
        problem = f"{path} is larger than {_LARGEST_FILE // 1024} KiB. Keep only settings in it."
        raise ConfigError(problem, source=str(path))
    return content


def _from_environment(environ: Mapping[str, str]) -> _Layer:
    prefix = "MAVERICK_AGENT_"
    fields = {prefix + name.upper(): _dotted("agent", name) for name in AgentConfig.model_fields}
    for variable in environ:
        if variable.startswith(prefix) and variable not in fields:
            suffixes = [known.removeprefix(prefix) for known in fields]
            for nearest in get_close_matches(variable.removeprefix(prefix), suffixes, n=1):
                raise ConfigError(
                    f"{variable} sets nothing. Did you mean {prefix}{nearest}? Correct its name, or unset it.",
                    source=variable,
                )
    return {
        field: (environ[variable], variable)
        for variable, field in fields.items()
        if environ.get(variable, "").strip()
    }


def _flattened(tree: object, source: str) -> _Layer:
    if not isinstance(tree, Mapping):
        raise _not_settings("", source)
    layer: _Layer = {}
    for section, settings in tree.items():
        if section not in MaverickConfig.model_fields:
            raise _unknown("", section, source)
        if not isinstance(settings, Mapping | None):
            raise _not_settings(section, source)
        for name, value in (settings or {}).items():
            if name not in AgentConfig.model_fields:
                raise _unknown(section, name, source)
            if value is not None:
                layer[_dotted(section, name)] = (value, source)
    return layer


def _check_destination(agent: AgentConfig, sources: Mapping[str, str], project_file: str) -> None:
    """Refuse to send a person's key where a project says: a stranger may have written the project.

    A project's address may get the project's own key, and an address on this machine any key.
    """
    if sources.get("agent.base_url") != project_file or sources.get("agent.api_key") == project_file:
        return
    if agent.base_url is None or _ON_THIS_MACHINE.match(agent.base_url):
        return
    raise ConfigError(
        f"agent.base_url: {project_file} would have your key sent to {agent.base_url}. If you trust that address, "
        "set MAVERICK_AGENT_BASE_URL to it, or put it in ~/.maverick/config.yaml.",
        source=project_file,
        field="agent.base_url",
    )


def _not_settings(section: str, source: str) -> ConfigError:
    start = f"{section}: expected" if section else "Expected"
    problem = f"{start} settings, each as 'name: value' (from {source}). Look for a missing colon or space."
    return ConfigError(problem, source=source, field=section or None)


def _unknown(section: str, name: object, source: str) -> ConfigError:
    shown = name if isinstance(name, str) and len(name) <= _LONGEST_QUOTE else HIDDEN
    known = list(AgentConfig.model_fields)
    if not section:
        known = ["agent", *(_dotted("agent", name) for name in known)]
    problem = describe_unknown(f"{section} setting".strip(), shown, known)
    return ConfigError(
        f"{problem} Correct or remove it (from {source}).", source=source, field=_dotted(section, shown)
    )


def _quoted(value: object) -> str:
    """A value for an error to show, unless it may hold a key or a password, or is no plain value."""
    if isinstance(value, str):
        safe = len(value) <= _LONGEST_QUOTE and "@" not in value
        return repr(value) if safe else f"{len(value)} characters that are not shown"
    if isinstance(value, float) or (isinstance(value, int) and value.bit_length() <= 64):
        return repr(value)
    return f"a value of type {type(value).__name__}"


def _dotted(section: str, name: str) -> str:
    return f"{section}.{name}" if section else name


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # the user of a container may have none
        return None
