"""``maverick mcp add`` and ``remove``: the servers in ``~/.maverick/mcp.json``, the person's own file of them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import msgspec

from maverick.cli.exit_codes import SUCCESS
from maverick.cli.screen import Screen
from maverick.config.mcp_servers import OF_OTHER_PROGRAMS, read_server, servers_in
from maverick.config.own_files import own_folder, read_small_file, replace_file
from maverick.exceptions import ConfigError, InvalidInputError, describe_unknown


def add_server(options: argparse.Namespace) -> int:
    """Write a server down; in place of one of the same name in the same file only if that is asked for.

    Raises:
        InvalidInputError: It has neither a command nor an address, or both.
        ConfigError: The name or an option cannot be used, or the person has a server of that name.
    """
    command = options.server_command
    if bool(command) == bool(options.url):
        raise InvalidInputError(
            "A server needs either a command or --url. Write, for example: maverick mcp add files npx -y some-server",
            field="command",
        )
    where = {"url": options.url} if options.url else {"command": command[0], "args": command[1:]}
    more = {"headers": dict(options.headers), "env": dict(options.environment)}
    settings = {**where, **{name: value for name, value in more.items() if value}}
    file = own_folder() / "mcp.json"
    read_server(file, options.name, settings)  # whatever is wrong with it is better said now
    settings_file = file.with_name("config.yaml")  # of the person's own, too; a project's files are not asked
    if options.name in servers_in(settings_file, read_small_file(settings_file)):
        raise ConfigError(
            f"{settings_file} has a server {options.name!r} already. Edit it there.", field=options.name
        )
    known = servers_in(file, read_small_file(file))
    if options.name in known and not options.replace:
        raise ConfigError(
            f"{file} has a server {options.name!r} already. Choose another name, or add --replace.",
            field=options.name,
        )
    _write(file, {**known, options.name: settings})
    screen = Screen.of_process(interactive=False)
    screen.remark(
        f"{options.name} is in {file}. See what it offers: maverick mcp list {options.name}. Give it to an agent: "
        f'maverick run --mcp {options.name} -p "…"'
    )
    return SUCCESS


def remove_server(options: argparse.Namespace) -> int:
    """Remove a server.

    Raises:
        ConfigError: The file has no such server.
    """
    file = own_folder() / "mcp.json"
    servers = dict(servers_in(file, read_small_file(file)))
    if options.name not in servers:
        raise ConfigError(
            f"{describe_unknown('MCP server', options.name, list(servers))} ({file})", field=options.name
        )
    del servers[options.name]
    _write(file, servers)
    Screen.of_process(interactive=False).remark(f"{options.name} is no longer in {file}.")
    return SUCCESS


def _write(file: Path, servers: dict[str, Any]) -> None:
    """Write the servers; a file of another program's form keeps what else is in it. Only its owner may read it."""
    kept: dict[str, Any] = msgspec.json.decode(read_small_file(file) or b"{}")
    content = msgspec.json.format(msgspec.json.encode({**kept, OF_OTHER_PROGRAMS: servers}))
    replace_file(
        file.resolve(), content
    )  # a link, such as one into a folder of settings that is shared, stays one
