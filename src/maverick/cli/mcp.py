"""``maverick mcp``: the MCP servers whose tools agents can be given.

MCP itself is loaded by the commands that talk to a server: adding one needs no more than its file.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from maverick.cli.exit_codes import FAILURE, SUCCESS
from maverick.cli.formatting import columns_of, json_text, table
from maverick.cli.screen import Screen
from maverick.config.mcp_servers import (
    OF_OTHER_PROGRAMS,
    MCPServers,
    load_mcp_servers,
    read_server,
    servers_in,
)
from maverick.config.own_files import own_folder, read_small_file, replace_file
from maverick.exceptions import ConfigError, InvalidInputError, MaverickError, describe_unknown
from maverick.tui.plain_text import one_line

if TYPE_CHECKING:
    from maverick.tools.mcp import ConfiguredServer

_FAILED = "failed"
_COLUMNS = columns_of("SERVER", "TRANSPORT", "STATE", "TOOL…", "EFFECT", "ASKS")


async def list_servers(options: argparse.Namespace) -> int:
    """List servers, and connect to each to see its tools; one of a project that is not trusted is not started.

    Returns the exit code of a failure if a server that was to be connected to could not be.
    """
    names = options.servers
    known = load_mcp_servers()
    for name in names:
        if name not in known.untrusted:
            known.find(name)
    screen = Screen.of_process()
    names = names or sorted({*known.servers, *known.problems})
    found = await asyncio.gather(*(_fields(known, name) for name in names))
    exit_code = FAILURE if any(server["state"] == _FAILED for server in found) else SUCCESS
    if options.as_json:
        screen.say(f"{json_text(found)}\n")
        return exit_code
    if not found:
        screen.remark("There are no MCP servers. Add one with: maverick mcp add")
        return exit_code
    rows = [row for server in found for row in _rows(server)]
    screen.say(table(_COLUMNS, rows))
    for server in found:
        for tool in server["tools"]:
            if tool["quarantined"]:
                screen.remark(f"{server['name']}: {tool['name']} says now: {one_line(tool['description'])}")
        for prompt in server["prompts"]:
            screen.remark(one_line(f"{prompt['usage']}  {prompt['description']}"))
        if server["problem"]:
            screen.complain(server["problem"])
    return exit_code


async def _fields(known: MCPServers, name: str) -> dict[str, Any]:
    """A server, as JSON tells it; nothing of its definition that could be a secret."""
    fields: dict[str, Any] = {"name": name, "transport": None, "source": None, "state": _FAILED}
    fields |= {"tools": [], "prompts": [], "problem": None}
    if name in known.untrusted:
        problem = known.problems[name]
        return fields | {"source": problem.source, "state": "not trusted", "problem": str(problem)}
    from maverick.tools.mcp import ConfiguredServer, prompts_of

    try:
        server = known.find(name)
        fields |= {"transport": server.transport, "source": server.source}
        connected = ConfiguredServer(server)
        try:
            await connected.connect()
            prompts = [
                {"command": prompt.command, "usage": prompt.usage, "description": prompt.description}
                for prompt in await prompts_of(connected)
            ]
            return fields | {"state": "reached", "tools": [*_tools(connected)], "prompts": prompts}
        finally:
            await connected.aclose()
    except MaverickError as error:
        return fields | {"problem": str(error)}


def _tools(connected: ConfiguredServer) -> Iterator[dict[str, Any]]:
    for tool in connected.tools:
        known = {"effect": tool.effect.value, "approval": tool.approval, "quarantined": False}
        yield {"name": tool.name, "description": tool.description, **known}
    unknown = {"effect": None, "approval": None, "quarantined": True}
    for name, description in connected.quarantined.items():
        yield {"name": name, "description": description, **unknown}


def _rows(server: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    begins = (server["name"], server["transport"] or "", server["state"])
    for tool in server["tools"]:
        effect = "quarantined" if tool["quarantined"] else tool["effect"]
        yield (*begins, tool["name"], effect, "yes" if tool["approval"] else "")
        begins = ("", "", "")
    if not server["tools"]:
        yield (*begins, "", "", "")


async def accept(options: argparse.Namespace) -> None:
    """Accept the tools of a server as they are now."""
    server = load_mcp_servers().find(options.server)
    from maverick.tools.mcp import connected_servers

    async with connected_servers([server]) as (connected,):
        accepted = await connected.accept(options.tool)
    Screen.of_process().say(
        "".join(f"accepted the tool {changed}\n" for changed in accepted) or "no tool has changed\n"
    )


def add_server(options: argparse.Namespace) -> None:
    """Write a server down; in place of one of the same name in the same file only if that is asked for."""
    command, url = options.server_command, options.url
    if command and command[0].startswith(("http://", "https://")):
        if len(command) > 1 or url:
            words = shlex.join([options.name, "--url", *command])
            raise InvalidInputError(
                f"{command[0]} is an address, not a command. Write: maverick mcp add {words}", field="command"
            )
        command, url = [], command[0]
    if bool(command) == bool(url):
        raise InvalidInputError(
            "A server needs either a command or --url. Write, for example: maverick mcp add files npx -y some-server",
            field="command",
        )
    where = {"url": url} if url else {"command": command[0], "args": command[1:]}
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
        problem = f"{file} has a server {options.name!r} already. Choose another name, or add --replace."
        raise ConfigError(problem, field=options.name)
    _write(file, {**known, options.name: settings})
    Screen.of_process().remark(
        f"{options.name} is in {file}. See what it offers: maverick mcp list {options.name}. Give it to an agent: "
        f'maverick run --mcp {options.name} -p "…"'
    )


def remove_server(options: argparse.Namespace) -> None:
    """Remove a server from the person's own file."""
    file = own_folder() / "mcp.json"
    servers = dict(servers_in(file, read_small_file(file)))
    if options.name not in servers:
        raise ConfigError(
            f"{describe_unknown('MCP server', options.name, list(servers))} ({file})", field=options.name
        )
    del servers[options.name]
    _write(file, servers)
    Screen.of_process().remark(f"{options.name} is no longer in {file}.")


def _write(file: Path, servers: dict[str, Any]) -> None:
    """Write the servers; a file of another program's form keeps what else is in it. Only its owner may read it."""
    kept: dict[str, Any] = msgspec.json.decode(read_small_file(file) or b"{}")
    content = msgspec.json.format(msgspec.json.encode({**kept, OF_OTHER_PROGRAMS: servers}))
    # A link, such as one into a folder of settings that is shared, stays one.
    replace_file(file.resolve(), content)


async def login(options: argparse.Namespace) -> None:
    """Sign in to a server in the browser."""
    from maverick.tools.mcp.oauth import sign_in

    url, headers = _address(options.server)
    if any(name.lower() == "authorization" for name in headers):
        raise InvalidInputError(
            f"The MCP server {options.server!r} has an Authorization header in its settings. Remove it to sign in.",
            field="headers",
        )
    screen = Screen.of_process()

    async def show(address: str) -> None:
        screen.remark(f"Sign in to {options.server} at {urlsplit(address).netloc}:\n{address}")
        if not options.no_browser:
            await asyncio.to_thread(webbrowser.open, address)

    wanted = await sign_in(url, show, headers=headers, client_id=options.client_id, port=options.port)
    screen.say(
        f"signed in to {options.server}\n" if wanted else f"{options.server} does not require signing in\n"
    )


def logout(options: argparse.Namespace) -> int:
    """Forget the tokens of a sign-in."""
    from maverick.tools.mcp.stored_tokens import TokenStore

    url, _ = _address(options.server)
    removed = TokenStore(url).remove()
    said = "signed out of" if removed else "was not signed in to"
    Screen.of_process().say(f"{said} {options.server}\n")
    return SUCCESS if removed else FAILURE


def _address(name: str) -> tuple[str, dict[str, str]]:
    server = load_mcp_servers().find(name)
    if not server.url:
        raise InvalidInputError(
            f"The MCP server {name!r} is a program. Only a server with a url has a sign-in.", field="server"
        )
    address = server.address()
    return address["url"], address["headers"]
