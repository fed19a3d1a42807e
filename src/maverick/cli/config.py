"""``maverick config``: what is set and where it was set, a file to set it in, and setting one thing in it."""

from __future__ import annotations

import argparse
import getpass
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from maverick.cli.formatting import columns_of, json_text, table
from maverick.cli.new_file import write_new_file
from maverick.cli.screen import Screen
from maverick.cli.settings import load_settings
from maverick.config import DEFAULT, AgentConfig, MaverickConfig, Secret, Setting, load_config
from maverick.config.loading import settings_in
from maverick.config.mcp_servers import MCPServers, load_mcp_servers
from maverick.config.own_files import own_folder, persons_home, read_small_file
from maverick.config.provider_names import model_name_problem
from maverick.config.settings import MCP_SERVERS, SECTIONS, Section
from maverick.config.trust import SETTINGS_FILE
from maverick.exceptions import ConfigError, InvalidInputError, MaverickError, describe_unknown
from maverick.providers.resolve import resolve

_COLUMNS = columns_of("SETTING", "VALUE…", "FROM…")


def show_settings(options: argparse.Namespace) -> None:
    """Show what will be used, and the MCP servers with the program or host of each; secrets are hidden."""
    screen = Screen.of_process()
    settings, problems = _in_use()
    if options.as_json:
        screen.say(f"{json_text([setting._asdict() for setting in settings])}\n")
        return
    shown = ((field, "" if value is None else str(value), source) for field, value, source in settings)
    screen.say(table(_COLUMNS, list(shown)))
    for problem in problems:
        screen.complain(str(problem))


def get_setting(options: argparse.Namespace) -> None:
    """Show what will be used for one setting."""
    settings = {setting.field: setting for setting in _in_use()[0]}
    if (found := settings.get(options.key)) is None:
        raise InvalidInputError(describe_unknown("setting", options.key, list(settings)), field="key")
    screen = Screen.of_process()
    if found.value is None and not options.as_json:
        screen.complain(f"{found.field} is not set ({found.source}).")
    value = "" if found.value is None else str(found.value)
    screen.say(f"{json_text(found._asdict()) if options.as_json else value}\n")


def _in_use() -> tuple[list[Setting], list[MaverickError]]:
    """All settings and MCP servers as they will be used, and what is wrong with them."""
    config, known = load_settings(), load_mcp_servers()
    problems: list[MaverickError] = list(known.problems.values())
    settings = config.describe()
    try:
        answering = resolve(config.agent)
        settings = [*answering.describe(), *settings[len(AgentConfig.settings()) :]]
        answering.check().check_settings()
    except MaverickError as error:
        problems.append(error)
    return settings + _servers(known), problems


def _servers(known: MCPServers) -> list[Setting]:
    """The servers by name; for one that cannot be used, only its source."""
    shown = {name: (server.summary, server.source) for name, server in known.servers.items()}
    wrong = {name: (None, problem.source or "") for name, problem in known.problems.items()}
    return [Setting(f"{MCP_SERVERS}.{name}", *found) for name, found in sorted((shown | wrong).items())]


_OWN_FILE, _PROJECT_FILE = "config.yaml", SETTINGS_FILE
_PERSONS_OWN = ("api_key", "agents")
"""What a project's file may not set, or had better not: it is shared."""


def settings_files() -> list[Path]:
    """The files settings are read from, the later over the earlier; a person without a home has none of their own."""
    own = [] if persons_home() is None else [own_folder() / _OWN_FILE]
    return [*own, Path(_PROJECT_FILE).absolute()]


def show_files(options: argparse.Namespace) -> None:
    """Show the files, and whether they exist."""
    found = [{"path": str(path), "exists": path.is_file()} for path in settings_files()]
    lines = [f"{file['path']}{'' if file['exists'] else '  (not there)'}\n" for file in found]
    Screen.of_process().say(f"{json_text(found)}\n" if options.as_json else "".join(lines))


def write_file(options: argparse.Namespace) -> None:
    """Write a file that has every setting in a comment, for its owner only."""
    path = _file_to_write(project=options.project)
    write_new_file(path, "\n".join(_lines(project=options.project)) + "\n", force=options.force, private=True)
    Screen.of_process().say(f"{path}\n")


def _file_to_write(*, project: bool) -> Path:
    """The user's file, or the project's, which may be no link: a stranger's could lead to any file of the user."""
    if not project:
        return own_folder() / _OWN_FILE
    path = Path(_PROJECT_FILE).absolute()
    if path.is_symlink():
        raise InvalidInputError(
            f"{path} is a link to {path.readlink()}. Change that file with an editor, or replace the link by a file.",
            field="path",
        )
    return path


def _lines(*, project: bool) -> Iterator[str]:
    yield "# Settings of Maverick. Take away the # before a line to set it; `maverick config show` shows what is set."
    yield ""
    for section in SECTIONS.values():
        yield f"# {section.section}:"
        yield from _settings(section(), "#   ", project=project)
    yield from _settings(MaverickConfig(), "# ", project=project)


def _settings(section: Section, indent: str, *, project: bool) -> Iterator[str]:
    for name, (_, expected) in section.settings().items():
        if name in SECTIONS or (project and name in _PERSONS_OWN):
            continue
        default = getattr(section, name)
        if isinstance(default, Secret):
            default = default.get_secret_value()
        shown = "" if default in (None, ()) else f" {str(default).lower() if default is False else default}"
        yield f"{indent}{name}:{shown}  # {expected}"


_SECRETS = ("api_key",)


def set_setting(options: argparse.Namespace) -> None:
    """Write a setting to the user's file, or the project's."""
    field, section, name = _named(options.key)
    if options.project and name in _SECRETS:
        problem = f"{field} is secret, and a project's file is shared. Leave out --project."
        raise InvalidInputError(problem, field=field)
    value = options.value if options.value is not None else _asked_for(field, is_secret=name in _SECRETS)
    checked = section(**{name: value}, sources={field: "the command line"})
    if isinstance(checked, AgentConfig) and name in ("model", "provider"):
        _check_model(checked)
    path = _file_to_write(project=options.project)
    write_setting(path, section.section, name, value)
    screen = Screen.of_process()
    screen.say(f"{field} is set in {path}\n")
    if remark := _unless_in_effect(field, path):
        screen.remark(f"({remark})")


def unset_setting(options: argparse.Namespace) -> None:
    """Remove a setting from the user's file, or the project's."""
    field, _, name = _named(options.key)
    path = _file_to_write(project=options.project)
    before = read_small_file(path)
    kept = settings_in(path, before)
    if kept.pop(field, None) is None:
        raise InvalidInputError(f"{path} does not set {field}.", field=field)
    lines = before.decode("utf-8", "surrogateescape").splitlines(keepends=True)
    for at, line in enumerate(lines):
        text = "".join([*lines[:at], *lines[at + 1 :]])
        if re.match(rf"\s*{name}:", line) and _read_settings(path, text) == kept:
            write_new_file(path, text, force=True, private=path.name == _OWN_FILE)
            Screen.of_process().say(f"{field} is no longer set in {path}\n")
            return
    raise InvalidInputError(
        f"{path} is written in a way that cannot be changed here. Remove {field} from it with an editor.",
        field=field,
    )


def _read_settings(path: Path, text: str) -> dict[str, Any] | None:
    """The settings that a file with this text would have; ``None`` if it were wrong."""
    try:
        return settings_in(path, text.encode("utf-8", "surrogateescape"))
    except ConfigError:
        return None


def _check_model(checked: AgentConfig) -> None:
    """Refuse a provider that does not exist, and a model that is not of its provider or, as with ``-m``, names none."""
    if checked.source_of("model") == DEFAULT:
        resolve(checked)
        return
    now = load_config().agent
    if now.source_of("provider") != DEFAULT:
        sources = {**checked.sources, "agent.provider": now.source_of("provider")}
        resolve(AgentConfig(model=checked.model, provider=now.provider, sources=sources))
    elif (":" in checked.model or not checked.model.startswith("claude-")) and (
        problem := model_name_problem(checked.model)
    ):
        raise InvalidInputError(problem, field="agent.model")


def write_setting(path: Path, section: str, name: str, value: str) -> None:
    """Write a setting to a settings file."""
    field = f"{section}.{name}" if section else name
    before = read_small_file(path)
    text = _with_setting(before.decode("utf-8", "surrogateescape"), section, name, _scalar(value))
    earlier = settings_in(path, before)
    if {**earlier, field: (_read(_scalar(value)), str(path))} != _read_settings(path, text):
        problem = f"{path} is written in a way that cannot be changed here. Set {field} in it with an editor."
        raise InvalidInputError(problem, field=field)
    write_new_file(path, text, force=True, private=not before or path.name == _OWN_FILE)


def _named(key: str) -> tuple[str, type[Section], str]:
    """A setting by its dotted name; the section may be left out where only one has it."""
    section, _, name = key.rpartition(".")
    if section.startswith("mcp."):
        server = section.removeprefix("mcp.")
        with_file = f"Set {name} of the MCP server {server!r} in its file, which `maverick mcp list {server} --json` names."
        raise InvalidInputError(with_file, field=key)
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
        problem = f"The value is missing. Write: maverick config set {field} VALUE"
        raise InvalidInputError(problem, field="value")
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
