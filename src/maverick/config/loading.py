"""Reads the settings from where a person writes them: two files and the environment."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from maverick.config.model_settings import MODEL_SETTINGS
from maverick.config.settings import (
    ARGUMENT,
    MCP_SERVERS,
    SECTIONS,
    TIMEOUTS,
    AgentConfig,
    MaverickConfig,
    TemporalConfig,
)
from maverick.config.trust import ADVICE, SETTINGS_FILE, Trust
from maverick.exceptions import ConfigError

_logger = logging.getLogger(__name__)
_logger.addHandler(logging.NullHandler())

_LARGEST_FILE = 64 * 1024  # bytes; PyYAML is slow, and no settings are this long
_HARMLESS = frozenset(
    f"agent.{name}" for name in ("model", *TIMEOUTS, *MODEL_SETTINGS) if name not in ("server_tools", "extra")
)
"""What a project may set without being trusted; all else decides where data goes or what runs: a provider's own tools
search the web or run code with what was said, and a field of a request can be anything."""

_ADDRESS = "address"
"""What is set of Temporal where nothing but a text is given."""
_FILES_FOR_MODELS = ("cassette", "local")
"""The providers whose models are files: a project's own would answer in place of the user's."""

_Layer: TypeAlias = dict[str, tuple[object, str]]
"""What one source sets: the dotted name, the value, and the file or variable to name in an error."""


def load_config(
    cwd: Path | None = None,
    home: Path | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
) -> MaverickConfig:
    """Read the settings: the two files over the defaults, the environment over them, the overrides over all.

    What the project's file says of where data goes and what runs holds only if the user has trusted it; else it is left
    out, and named in ``MaverickConfig.ignored``. A missing or empty file, an empty variable and a ``null`` set nothing. An unknown setting in a file is an error.
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
    home_folder = home or persons_home()
    own = _from_home(home_folder)
    said = {
        **_from_environment(os.environ if environ is None else environ),
        **_flattened(overrides or {}, ARGUMENT),
    }
    project_layer, ignored = _from_project(cwd or Path(), home_folder, environ, _who(own, said))
    merged: _Layer = {**own, **project_layer, **said}
    values: dict[str, dict[str, Any]] = {"": {}, **{section: {} for section in SECTIONS}}
    for field, (value, _) in merged.items():
        section, _, name = field.rpartition(".")
        values[section][name] = value
    sources = {field: source for field, (_, source) in merged.items()}
    own_values = values.pop("")
    sections: dict[str, Any] = {
        section: SECTIONS[section](**given, sources=sources) for section, given in values.items()
    }
    return MaverickConfig(**sections, **own_values, sources=sources, ignored=ignored)


def own_choice(home: Path | None) -> Mapping[str, str]:
    """What the user's file and the environment say of the provider and the model that a project would replace.

    Raises:
        ConfigError: The file cannot be read, or a setting in it is unknown.
    """
    return _who(_from_home(home), _from_environment(os.environ))


def _from_home(home: Path | None) -> _Layer:
    if home is None:
        return {}
    path = home / ".maverick" / "config.yaml"
    return settings_in(path, read_small_file(path))


def _who(own: _Layer, said: _Layer) -> Mapping[str, str]:
    chosen = {"model": own.get("agent.model"), "provider": (own | said).get("agent.provider")}
    return {name: str(found[0]) for name, found in chosen.items() if found is not None}


def _from_project(
    folder: Path, home: Path | None, environ: Mapping[str, str] | None, own: Mapping[str, str]
) -> tuple[_Layer, tuple[str, ...]]:
    """What the project sets, and the names of what it would set and does not, because the user has not trusted it."""
    path = folder / SETTINGS_FILE
    content = read_small_file(path)
    layer = settings_in(path, content)
    deciding = deciding_settings(layer, own)
    if not deciding or Trust(home, environ).covers(folder, SETTINGS_FILE, content):
        return layer, ()
    _logger.warning("%s sets %s, which you have not trusted. %s", path, ", ".join(deciding), ADVICE)
    return {name: value for name, value in layer.items() if name not in deciding}, tuple(deciding)


def deciding_settings(layer: _Layer, own: Mapping[str, str]) -> dict[str, object]:
    """The settings of a project that decide where data goes or what runs, with their values.

    Args:
        layer: What the project sets.
        own: The provider and the model that the user has chosen, from :func:`own_choice`.
    """
    return {
        name: value
        for name, (value, _) in layer.items()
        if name not in _HARMLESS or (name == "agent.model" and _chooses_more(str(value), own))
    }


def _chooses_more(model: str, own: Mapping[str, str]) -> bool:
    """Whether the name of a model is not only that: it may name a provider, hide the one in the user's own, or be a file."""
    provider = own.get("provider", "")
    replaces_provider = not provider and ":" in own.get("model", "")
    return ":" in model or replaces_provider or provider in _FILES_FOR_MODELS


def settings_in(path: Path, content: bytes) -> _Layer:
    """What a file with this content sets, but for MCP servers.

    Raises:
        ConfigError: It is not valid YAML, or has a setting that does not exist.
    """
    tree = parse_settings(path, content)
    if isinstance(tree, Mapping):  # MCP servers are read when an agent names one
        tree = {name: value for name, value in tree.items() if name != MCP_SERVERS}
    return _flattened(tree, str(path))


def parse_settings(path: Path, content: bytes) -> object:
    """What a file of settings with this content says, as it is written.

    Raises:
        ConfigError: It is not valid YAML.
    """
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
        return {} if tree is None else tree
    problem = f"{path} is not valid YAML{where}. Check its indentation, quotes and colons."
    raise ConfigError(problem, source=str(path))


def read_small_file(path: Path) -> bytes:
    """The content of a file; empty if there is none.

    Raises:
        ConfigError: It is not a file, cannot be read, or is too large for settings.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for a writer
            raise ConfigError(f"{path} is not a file. Move it away, or make it one.", source=str(path))
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        problem = f"{path} could not be read: {error.strerror}. Check its permissions."
        raise ConfigError(problem, source=str(path)) from error
    if len(content) > _LARGEST_FILE:
        problem = f"{path} is larger than {_LARGEST_FILE // 1024} KiB. Keep only settings in it."
        raise ConfigError(problem, source=str(path))
    return content


def _from_environment(environ: Mapping[str, str]) -> _Layer:
    prefix = "MAVERICK_AGENT_"
    fields = {prefix + name.upper(): AgentConfig.dotted(name) for name in AgentConfig.settings()}
    for variable in environ:
        if variable.startswith(prefix) and variable not in fields:
            from difflib import get_close_matches  # here, since most people have no such variable

            suffixes = [known.removeprefix(prefix) for known in fields]
            for nearest in get_close_matches(variable.removeprefix(prefix), suffixes, n=1, cutoff=0.7):
                raise ConfigError(
                    f"{variable} sets nothing. Did you mean {prefix}{nearest}? Correct its name, or unset it.",
                    source=variable,
                )
    fields |= {
        f"MAVERICK_{name.upper()}": name
        for name in ("journal", "database", "agents", "rate_limits", "max_runs_per_user")
    }
    for name in TemporalConfig.settings():
        suffix = "" if name == _ADDRESS else f"_{name.upper()}"
        fields[f"MAVERICK_TEMPORAL{suffix}"] = TemporalConfig.dotted(name)
    return {
        field: (environ[variable], variable)
        for variable, field in fields.items()
        if environ.get(variable, "").strip()
    }


def _flattened(tree: object, source: str) -> _Layer:
    if not isinstance(tree, Mapping):
        raise _not_settings("", source)
    layer: _Layer = {}
    for name, value in tree.items():
        if name not in MaverickConfig.settings():
            raise MaverickConfig.unknown(name, source)
        if name in SECTIONS:
            layer |= _flattened_section(name, value, source)
        elif value is not None:
            layer[name] = (value, source)
    return layer


def _flattened_section(section: str, settings: object, source: str) -> _Layer:
    known = SECTIONS[section]
    if known is TemporalConfig and isinstance(settings, str):
        settings = {_ADDRESS: settings}
    if not isinstance(settings, Mapping | None):
        raise _not_settings(section, source)
    layer: _Layer = {}
    for name, value in (settings or {}).items():
        if name not in known.settings():
            raise known.unknown(name, source)
        if value is not None:
            layer[known.dotted(name)] = (value, source)
    return layer


def _not_settings(section: str, source: str) -> ConfigError:
    """The error for something that is no list of settings at all."""
    start = f"{section}: expected" if section else "Expected"
    problem = f"{start} settings, each as 'name: value' (from {source}). Look for a missing colon or space."
    return ConfigError(problem, source=source, field=section or None)


def persons_home() -> Path | None:
    """The person's home, if they have one."""
    try:
        return Path.home()
    except RuntimeError:  # the user of a container may have none
        return None


def own_folder() -> Path:
    """Where the person's own files are kept: ``.maverick`` in their home.

    Raises:
        ConfigError: They have no home.
    """
    home = persons_home()
    if home is None:
        raise ConfigError(
            "You have no home folder to keep this in. Set the variable HOME to a folder of yours."
        )
    return home / ".maverick"
