"""Permissions from files: the user's own decides, the project's may only take away."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

from maverick.config.loading import persons_home
from maverick.exceptions import ConfigError, InvalidInputError
from maverick.loop.ruling import Policy
from maverick.tools.permissions.mode import Mode
from maverick.tools.permissions.policy import Permissions

_FILE = Path(".maverick") / "permissions.yaml"
_LARGEST_FILE = 64 * 1024
_LISTS = ("allow", "ask", "deny")


def load_permissions(
    mode: Mode | str | None = None,
    *,
    project: Path | None = None,
    home: Path | None = None,
    usual: Mode | str = Mode.ASK,
) -> Policy:
    """The permissions of ``~/.maverick/permissions.yaml``, narrowed by the project's file of the same name.

    A project may have been written by a stranger, so its file can not allow anything, and what it says counts only
    where it is stricter. A file that is not there says nothing. ``yolo`` is not read from files.

    Args:
        mode: The mode, in place of the one in the user's file.
        project: The project's folder; by default, the current one.
        home: The user's home; by default, the user's.
        usual: The mode if neither says one.

    Raises:
        ConfigError: A file can not be read, or has something in it that does not belong there.
        InvalidInputError: There is no such mode.
    """
    home = home or persons_home()
    own_file = None if home is None else home / _FILE
    project_file = (project or Path()) / _FILE
    own = {} if own_file is None else _read(own_file)
    own_mode = own.pop("mode", Mode.named(usual))
    permissions = _made(own_file, own_mode if mode is None else Mode.named(mode), own)
    narrowing = _read(project_file)
    if not narrowing or _same_file(own_file, project_file):
        return permissions
    if narrowing.get("allow"):
        raise ConfigError(
            f"allow: {project_file} is the project's, which can only narrow what you allow. Put the rules you agree "
            f"with into ~/{_FILE}.",
            source=str(project_file),
            field="allow",
        )
    return permissions.narrowed_by(_made(project_file, narrowing.pop("mode", Mode.YOLO), narrowing))


def _made(path: Path | None, mode: Mode | str, rules: dict[str, Any]) -> Permissions:
    try:
        return Permissions(mode, **rules)
    except InvalidInputError as error:
        raise ConfigError(f"{path}: {error}", source=str(path), field=error.field) from error


def _read(path: Path) -> dict[str, Any]:
    """What a file says, checked; nothing if there is no file."""
    content = _content(path)
    if not content.strip():
        return {}
    import yaml  # here, because most people have no such file

    try:
        said = yaml.safe_load(content)
    except Exception as error:  # PyYAML lets ValueError, KeyError, RecursionError and more through
        raise ConfigError(
            f"{path} is not valid YAML. Check its indentation and quotes.", source=str(path)
        ) from error
    if not isinstance(said, dict) or not all(isinstance(key, str) for key in said):
        raise ConfigError(f"{path}: expected mode, allow, ask and deny.", source=str(path))
    for field, value in said.items():
        _check(path, field, value)
    return {field: value for field, value in said.items() if value is not None}


def _check(path: Path, field: str, value: object) -> None:
    if field == "mode":
        if value == Mode.YOLO:
            raise ConfigError(
                f"mode: {path} asks for yolo, which has to be asked for each time. Choose another mode there.",
                source=str(path),
                field=field,
            )
    elif field not in _LISTS:
        raise ConfigError(
            f"{field}: {path} has no such setting; there are mode, allow, ask and deny.",
            source=str(path),
            field=field,
        )
    elif value is not None and not (isinstance(value, list) and all(isinstance(rule, str) for rule in value)):
        raise ConfigError(
            f"{field}: {path} has to have a list of rules here, each a text.", source=str(path), field=field
        )


def _content(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for a writer
            raise ConfigError(f"{path} is not a file. Move it away, or make it one.", source=str(path))
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        raise ConfigError(f"{path} could not be read. Check who may read it.", source=str(path)) from error
    if len(content) > _LARGEST_FILE:
        raise ConfigError(f"{path} is larger than {_LARGEST_FILE // 1024} KiB.", source=str(path))
    return content


def _same_file(one: Path | None, other: Path) -> bool:
    try:
        return one is not None and one.samefile(other)
    except OSError:
        return False
