"""Reads the settings from where a person writes them: two files and the environment."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from maverick.config.model_settings import MODEL_SETTINGS
from maverick.config.own_files import persons_home, read_small_file
from maverick.config.settings import (
    ARGUMENT,
    MCP_SERVERS,
    SECTIONS,
    TIMEOUTS,
    MaverickConfig,
    Section,
    TemporalConfig,
)
from maverick.config.trust import ADVICE, SETTINGS_FILE, Trust
from maverick.exceptions import ConfigError

_logger = logging.getLogger(__name__)
_logger.addHandler(logging.NullHandler())

_HARMLESS = frozenset(
    f"agent.{name}" for name in ("model", *TIMEOUTS, *MODEL_SETTINGS) if name not in ("server_tools", "extra")
)
"""What a project may set without being trusted; all else decides where data goes or what runs: a provider's own tools
search the web or run code with what was said, and a field of a request can be anything."""

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
    sources = {field: source for field, (_, source) in merged.items()}
    values: dict[str, dict[str, Any]] = {section: {} for section in ("", *SECTIONS)}
    for field, (value, _) in merged.items():
        section, _, name = field.rpartition(".")
        values[section][name] = value
    for name, kind in SECTIONS.items():
        values[""][name] = kind(**values[name], sources=sources)
    return MaverickConfig(**values[""], sources=sources, ignored=ignored)


def own_choice(home: Path | None) -> Mapping[str, str]:
    """What the user's file and the environment say of the provider and the model that a project would replace."""
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
    """The settings of a project that decide where data goes or what runs, with their values, given :func:`own_choice`."""
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
    """What a file with this content sets, but for MCP servers; each setting has to exist."""
    tree = parse_settings(path, content)
    if isinstance(tree, Mapping):  # MCP servers are read when an agent names one
        tree = {name: value for name, value in tree.items() if name != MCP_SERVERS}
    return _flattened(tree, str(path))


def parse_settings(path: Path, content: bytes) -> object:
    """What a file of settings with this content says, as it is written; a ``ConfigError`` if it is not valid YAML."""
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


def _from_environment(environ: Mapping[str, str]) -> _Layer:
    fields = {
        "MAVERICK_" + section.dotted(name).upper().replace(".", "_"): section.dotted(name)
        for section in (*SECTIONS.values(), MaverickConfig)
        for name in section.settings()
        if name not in SECTIONS
    }
    fields["MAVERICK_TEMPORAL"] = fields.pop("MAVERICK_TEMPORAL_ADDRESS")
    prefix = "MAVERICK_AGENT_"
    for variable, value in environ.items():
        if variable.startswith("MAVERICK_") and variable not in fields and value.strip():
            from difflib import get_close_matches  # here, since most people have no such variable

            suffixes = [known.removeprefix(prefix) for known in fields if known.startswith(prefix)]
            name, nearness = variable.removeprefix(prefix), 0.7
            if name == variable:  # another program's, unless AGENT_ is all that is missing
                name, nearness = variable.removeprefix("MAVERICK_"), 1.0
                suffixes = ["MODEL", "PROVIDER", "API_KEY", "BASE_URL"]
            for nearest in get_close_matches(name, suffixes, n=1, cutoff=nearness):
                raise ConfigError(
                    f"{variable} sets nothing. Did you mean {prefix}{nearest}? Correct its name, or unset it.",
                    source=variable,
                )
    return {
        field: (environ[variable], variable)
        for variable, field in fields.items()
        if environ.get(variable, "").strip()
    }


def _flattened(tree: object, source: str, section: str = "") -> _Layer:
    known: type[Section] = SECTIONS[section] if section else MaverickConfig
    if known is TemporalConfig and isinstance(tree, str):
        tree = {"address": tree}
    if tree is None and section:
        return {}
    if not isinstance(tree, Mapping):
        start = f"{section}: expected" if section else "Expected"
        raise ConfigError(
            f"{start} settings, each as 'name: value' (from {source}). Look for a missing colon or space.",
            source=source,
            field=section or None,
        )
    layer: _Layer = {}
    for name, value in tree.items():
        if name not in known.settings():
            raise known.unknown(name, source)
        if name in SECTIONS and not section:
            layer |= _flattened(value, source, name)
        elif value is not None:
            layer[known.dotted(name)] = (value, source)
    return layer
