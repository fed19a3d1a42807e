"""MCP servers that agents can be given by name: what the person and the project have written down about them.

They are looked for in four files; of two servers with one name, the one that is found first counts::

    ~/.maverick/config.yaml     mcp: {files: {command: npx, args: [-y, some-server]}}
    ~/.maverick/mcp.json        {"mcpServers": {"files": {"command": "npx", "args": ["-y", "some-server"]}}}
    ./maverick.yaml             as the first
    ./.mcp.json                 as the second; other programs use it too

A project may have been written by a stranger. So a server that a project defines is used only when the person has
agreed to it, and what a project says about a server of the person's can only take away from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from maverick.config.loading import persons_home, read_settings, read_small_file
from maverick.config.mcp_server import SETTINGS, MCPServer
from maverick.config.settings import MCP_SERVERS
from maverick.exceptions import ConfigError, describe_unknown

_NAME = re.compile(r"[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*")
_OF_OTHER_PROGRAMS = "mcpServers"


@dataclass(frozen=True, slots=True)
class MCPServers:
    """The servers there are, by name."""

    servers: dict[str, MCPServer] = field(default_factory=dict)
    problems: dict[str, ConfigError] = field(default_factory=dict)
    """What is wrong with those that can not be used, by name."""

    def find(self, name: str) -> MCPServer:
        """The server of a name.

        Raises:
            ConfigError: There is none, and the message has the nearest; or something is wrong with it.
        """
        if name in self.problems:
            raise self.problems[name]
        if name not in self.servers:
            advice = "" if self.servers else " Name one in ~/.maverick/config.yaml, under mcp."
            raise ConfigError(
                f"{describe_unknown('MCP server', name, list(self.servers))}{advice}", field=name
            )
        return self.servers[name]


def load_mcp_servers(cwd: Path | None = None, home: Path | None = None) -> MCPServers:
    """Read the files.

    Args:
        cwd: The project's folder; by default, the current one.
        home: The person's home; by default, theirs.

    Raises:
        ConfigError: A file can not be read, or does not hold servers.
    """
    project, own = cwd or Path(), home or persons_home()
    found = MCPServers()
    if own is not None:
        folder = own / ".maverick"
        _take(found, folder / "config.yaml", _in_settings(folder / "config.yaml"))
        _take(found, folder / "mcp.json", _in_json(folder / "mcp.json"))
    for file, written in (
        (project / "maverick.yaml", _in_settings(project / "maverick.yaml")),
        (project / ".mcp.json", _in_json(project / ".mcp.json")),
    ):
        _take(found, file, written, str(project.absolute()))
    return found


def _take(found: MCPServers, file: Path, written: Mapping[str, object], project: str = "") -> None:
    for name, settings in written.items():
        defines = isinstance(settings, Mapping) and bool({"command", "url"} & settings.keys())
        if name in found.problems or (defines and name in found.servers):
            continue  # the one that was found first counts
        try:
            checked = _checked(file, name, settings)
            if defines or not project:
                found.servers[name] = MCPServer.read(name, checked, str(file), project)
            else:
                found.servers[name] = _narrowed(found, name, checked, str(file))
        except ConfigError as problem:
            found.problems[name] = problem


def _narrowed(found: MCPServers, name: str, settings: Mapping[str, object], source: str) -> MCPServer:
    if name not in found.servers:
        raise _problem(source, name, "expected a command or a url; no server of yours has this name.")
    return found.servers[name].narrowed_by(settings, source)


def _checked(file: Path, name: str, settings: object) -> Mapping[str, object]:
    if not _NAME.fullmatch(name):
        raise _problem(
            str(file), name, "a server's name is letters, digits and '-', with single '_' between them."
        )
    if not isinstance(settings, Mapping) or not all(isinstance(key, str) for key in settings):
        raise _problem(str(file), name, "expected settings: a command, or a url.")
    if file.suffix == ".json":  # other programs have settings of their own in it
        return {key: value for key, value in settings.items() if key in SETTINGS}
    for key in settings:
        if key not in SETTINGS:
            raise _problem(str(file), name, describe_unknown("setting", key, SETTINGS))
    return {key: value for key, value in settings.items() if value is not None}


def _in_settings(file: Path) -> Mapping[str, object]:
    tree = read_settings(file)
    servers = tree.get(MCP_SERVERS) if isinstance(tree, Mapping) else None
    return _named(file, {} if servers is None else servers, f"{MCP_SERVERS}: {{name: {{command: …}}}}")


def _in_json(file: Path) -> Mapping[str, object]:
    content = read_small_file(file)
    if not content.strip():
        return {}
    expected = f'{{"{_OF_OTHER_PROGRAMS}": {{"name": {{"command": "…"}}}}}}'
    try:
        tree = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        tree = None
    if not isinstance(tree, Mapping):
        raise ConfigError(f"{file} is not valid JSON, or no object. Expected {expected}.", source=str(file))
    return _named(file, tree.get(_OF_OTHER_PROGRAMS, {}), expected)


def _named(file: Path, servers: object, expected: str) -> Mapping[str, object]:
    if not isinstance(servers, Mapping) or not all(isinstance(name, str) for name in servers):
        raise ConfigError(f"{file}: expected {expected}.", source=str(file), field=MCP_SERVERS)
    return servers


def _problem(source: str, name: str, problem: str) -> ConfigError:
    return ConfigError(f"{source}: MCP server {name!r}: {problem}", source=source, field=name)
