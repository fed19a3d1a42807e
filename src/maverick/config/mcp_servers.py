"""MCP servers that agents can be given by name: what the person and the project have written down about them.

They are looked for in four files; of two servers with one name, the one that is found first counts::

    ~/.maverick/config.yaml     mcp: {files: {command: npx, args: [-y, some-server]}}
    ~/.maverick/mcp.json        {"mcpServers": {"files": {"command": "npx", "args": ["-y", "some-server"]}}}
    ./maverick.yaml             as the first
    ./.mcp.json                 as the second; other programs use it too

A project may have been written by a stranger. So a server that a project defines is used only when the person has
trusted its file (:mod:`maverick.config.trust`), and what a project says about a server of the person's can only take
away from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from maverick.config.loading import parse_settings
from maverick.config.mcp_server import SETTINGS, MCPServer, server_problem
from maverick.config.own_files import persons_home, read_small_file
from maverick.config.settings import MCP_SERVERS
from maverick.config.trust import ADVICE, MCP_FILE, SETTINGS_FILE, Trust
from maverick.exceptions import ConfigError, describe_unknown

_NAME = re.compile(r"[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*")
OF_OTHER_PROGRAMS = "mcpServers"
"""The key of the servers in a JSON file, as other programs write it."""


@dataclass(frozen=True, slots=True)
class MCPServers:
    """The servers there are, by name."""

    servers: dict[str, MCPServer] = field(default_factory=dict)
    problems: dict[str, ConfigError] = field(default_factory=dict)
    """What is wrong with those that cannot be used, by name."""
    untrusted: set[str] = field(default_factory=set)
    """Those among them that only want the project to be trusted."""

    def find(self, name: str) -> MCPServer:
        """The server of a name; a ``ConfigError`` if it is unknown or its settings are wrong."""
        if name in self.problems:
            raise self.problems[name]
        if name not in self.servers:
            advice = "" if self.servers else " Name one in ~/.maverick/config.yaml, under mcp."
            raise ConfigError(
                f"{describe_unknown('MCP server', name, list(self.servers))}{advice}", field=name
            )
        return self.servers[name]


def load_mcp_servers(
    cwd: Path | None = None, home: Path | None = None, environ: Mapping[str, str] | None = None
) -> MCPServers:
    """Read the files of the project and the person, by default those of the current folder and user."""
    project, own = cwd or Path(), home or persons_home()
    found = MCPServers()
    if own is not None:
        folder = own / ".maverick"
        for name in ("config.yaml", "mcp.json"):
            _take(found, folder / name, servers_in(folder / name, read_small_file(folder / name)))
    contents = {name: read_small_file(project / name) for name in (SETTINGS_FILE, MCP_FILE)}
    trust = Trust(own, environ) if any(contents.values()) else None
    for name, content in contents.items():
        trusted = trust is not None and trust.covers(project, name, content)
        written = servers_in(project / name, content)
        _take(found, project / name, written, str(project.absolute()), trusted=trusted)
    return found


def servers_in(file: Path, content: bytes) -> Mapping[str, object]:
    """What a file with this content says about servers, by name; a ``ConfigError`` if it does not hold servers."""
    return _in_json(file, content) if file.suffix == ".json" else _in_settings(file, content)


def defines_server(settings: object) -> bool:
    """Whether it says where a server is, and not only what agents may do with one of another file."""
    return isinstance(settings, Mapping) and bool({"command", "url"} & settings.keys())


def read_server(file: Path, name: str, settings: object, project: str = "") -> MCPServer:
    """A server that the person's own file, or a project's, defines; a ``ConfigError`` says what is wrong with it."""
    return MCPServer.read(name, _checked(file, name, settings), str(file), project)


def _take(
    found: MCPServers, file: Path, written: Mapping[str, object], project: str = "", *, trusted: bool = True
) -> None:
    for name, settings in written.items():
        defines = defines_server(settings)
        if name in found.problems or (defines and name in found.servers):
            continue  # the one that was found first counts
        try:
            checked = _checked(file, name, settings)
            if defines and not trusted:
                found.untrusted.add(name)
                problem = f"this file is the project's, and you have not trusted it. {ADVICE}"
                raise server_problem(str(file), name, problem)
            if defines or not project:
                found.servers[name] = MCPServer.read(name, checked, str(file), project)
            elif name in found.servers:
                found.servers[name] = found.servers[name].narrowed_by(checked, str(file))
            else:
                problem = "expected a command or a url; no server of yours has this name."
                raise server_problem(str(file), name, problem)
        except ConfigError as error:
            found.problems[name] = error


def _checked(file: Path, name: str, settings: object) -> Mapping[str, object]:
    if not _NAME.fullmatch(name):
        problem = "a server's name is letters, digits and '-', with single '_' between them."
        raise server_problem(str(file), name, problem)
    if not isinstance(settings, Mapping) or not all(isinstance(key, str) for key in settings):
        raise server_problem(str(file), name, "expected settings: a command, or a url.")
    if file.suffix == ".json":  # other programs have settings of their own in it
        return {key: value for key, value in settings.items() if key in SETTINGS}
    for key in settings:
        if key not in SETTINGS:
            raise server_problem(str(file), name, describe_unknown("setting", key, SETTINGS))
    return {key: value for key, value in settings.items() if value is not None}


def _in_settings(file: Path, content: bytes) -> Mapping[str, object]:
    tree = parse_settings(file, content)
    servers = tree.get(MCP_SERVERS) if isinstance(tree, Mapping) else None
    return _named(file, {} if servers is None else servers, f"{MCP_SERVERS}: {{name: {{command: …}}}}")


def _in_json(file: Path, content: bytes) -> Mapping[str, object]:
    if not content.strip():
        return {}
    expected = f'{{"{OF_OTHER_PROGRAMS}": {{"name": {{"command": "…"}}}}}}'
    try:
        tree = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        tree = None
    if not isinstance(tree, Mapping):
        raise ConfigError(f"{file} is not a JSON object. Expected {expected}.", source=str(file))
    return _named(file, tree.get(OF_OTHER_PROGRAMS, {}), expected)


def _named(file: Path, servers: object, expected: str) -> Mapping[str, object]:
    if not isinstance(servers, Mapping) or not all(isinstance(name, str) for name in servers):
        raise ConfigError(f"{file}: expected {expected}.", source=str(file), field=MCP_SERVERS)
    return servers
