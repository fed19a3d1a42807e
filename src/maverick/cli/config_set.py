"""``maverick config set``: writes one setting into a settings file, and leaves the rest of the file as it is."""

from __future__ import annotations

import argparse
import getpass
import json
import re
import sys
from pathlib import Path

from maverick.cli.exit_codes import SUCCESS
from maverick.cli.new_file import write_new_file
from maverick.cli.screen import Screen
from maverick.config import MaverickConfig, load_config
from maverick.config.loading import own_folder, read_small_file, settings_in
from maverick.config.settings import SECTIONS, AgentConfig, Section
from maverick.config.trust import SETTINGS_FILE
from maverick.exceptions import ConfigError, InvalidInputError
from maverick.providers.resolve import resolve

_SECRETS = ("api_key",)


def set_setting(options: argparse.Namespace) -> int:
    """Write a setting to the user's file, or the project's.

    Raises:
        ConfigError: There is no such setting, the value does not fit, or the user has no home.
        InvalidInputError: The file cannot be changed, or no value is given.
    """
    field, section, name = _named(options.key)
    if options.project and name in _SECRETS:
        raise InvalidInputError(
            f"{field} is secret, and a project's file is shared. Leave out --project.", field=field
        )
    value = options.value if options.value is not None else _asked_for(field, is_secret=name in _SECRETS)
    checked = section(**{name: value}, sources={field: "the command line"})
    if isinstance(checked, AgentConfig) and name in ("model", "provider"):
        resolve(checked)  # which refuses a provider that does not exist
    path = Path(SETTINGS_FILE).absolute() if options.project else own_folder() / "config.yaml"
    write_setting(path, section.section, name, value)
    screen = Screen.of_process(interactive=False)
    screen.say(f"{field} is set in {path}\n")
    if remark := _unless_in_effect(field, path):
        screen.remark(f"({remark})")
    return SUCCESS


def write_setting(path: Path, section: str, name: str, value: str) -> None:
    """Write a setting to a settings file.

    Raises:
        InvalidInputError: The file cannot be changed.
        ConfigError: There is something wrong in it.
    """
    field = f"{section}.{name}" if section else name
    before = read_small_file(path)
    text = _with_setting(before.decode("utf-8", "surrogateescape"), section, name, _scalar(value))
    earlier = settings_in(path, before)
    try:
        now = settings_in(path, text.encode("utf-8", "surrogateescape"))
    except ConfigError:
        now = {}
    if {**earlier, field: (_read(_scalar(value)), str(path))}.items() != now.items():
        raise InvalidInputError(
            f"{path} is written in a way that cannot be changed here. Set {field} in it with an editor.",
            field=field,
        )
    write_new_file(path, text, force=True, private=not before)


def _named(key: str) -> tuple[str, type[Section], str]:
    """A setting by its dotted name; the section may be left out where only one has it."""
    section, _, name = key.rpartition(".")
    kinds: dict[str, type[Section]] = {"": MaverickConfig, **SECTIONS}
    if section in kinds and name in kinds[section].settings() and name not in SECTIONS:
        return key, kinds[section], name
    having = [kind for kind in SECTIONS.values() if not section and name in kind.settings()]
    if len(having) == 1:
        return having[0].dotted(name), having[0], name
    raise MaverickConfig.unknown(key, "the command line")


def _asked_for(field: str, *, is_secret: bool) -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().strip()
    if not is_secret:
        raise InvalidInputError(
            f"The value is missing. Write: maverick config set {field} VALUE", field="value"
        )
    return getpass.getpass(f"{field}: ").strip()


def _read(scalar: str) -> object:
    import yaml  # here, since few commands need it

    return yaml.safe_load(scalar)


def _scalar(value: str) -> str:
    """A value as YAML has it."""
    is_plain = re.fullmatch(r"[\w./~+-][\w./~+:@-]*", value) is not None
    if is_plain and not value.endswith(":") and isinstance(_read(value), str | int | float):
        return value
    return json.dumps(value, ensure_ascii=False)


def _with_setting(text: str, section: str, name: str, scalar: str) -> str:
    """The text of a settings file in which a setting has a value."""
    lines = text.splitlines()
    begin, indent, inside = 0, "", r"\s+" if section else ""
    if section:
        heading = next(
            (at for at, line in enumerate(lines) if re.match(rf"{section}:\s*(#.*)?$", line)), None
        )
        if heading is None and any(line.startswith(f"{section}:") for line in lines):
            return text  # it is written on one line
        if heading is None:
            return "\n".join([*lines, f"{section}:", f"  {name}: {scalar}"]) + "\n"
        begin, indent = heading + 1, "  "
    end = begin
    for at in range(begin, len(lines)):
        if section and re.match(r"[^\s#]", lines[at]):
            break
        if found := re.match(rf"({inside}){name}:", lines[at]):
            comment = re.search(r"\s#[^'\"]*$", lines[at])
            lines[at] = f"{found[1]}{name}: {scalar}{comment[0] if comment else ''}"
            return "\n".join(lines) + "\n"
        if found := re.match(r"(\s+)\w+:", lines[at]):
            indent = found[1] if section else indent
        end = at + 1
    where = begin if section else end
    return "\n".join([*lines[:where], f"{indent}{name}: {scalar}", *lines[where:]]) + "\n"


def _unless_in_effect(field: str, path: Path) -> str:
    """Why what was written does not count; empty if it does."""
    try:
        config = load_config()
    except ConfigError as error:
        return str(error)
    if field in config.ignored:
        return "it counts once you trust this folder: maverick trust"
    source = next(setting.source for setting in config.describe() if setting.field == field)
    return "" if Path(source).absolute() == path else f"{source} counts before it"
