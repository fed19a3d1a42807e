"""Prompts and resources of MCP servers, as a person uses them: as commands with a slash.

``/mcp__wiki__summary tides`` is the prompt ``summary`` of the server ``wiki``. What it returns is said in the person's name,
since they have asked for it by name. ``/mcp__wiki__resource wiki://tides When is low tide?`` attaches a resource to a question.
It is somebody else's text, and marked as untrusted content unless the server is trusted. Neither is ever offered to a model.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

import mcp_types as types
from msgspec import Struct

from maverick.config.mcp_server import MCPServer, prefix_of, server_of
from maverick.config.mcp_servers import load_mcp_servers
from maverick.exceptions import InvalidInputError, ToolError, describe_unknown
from maverick.model.message import describe_part
from maverick.model.untrusted import mark_untrusted
from maverick.tools.mcp.servers import ConfiguredServer, connected_servers
from maverick.tools.mcp.toolset import piece_of

LONGEST_TEXT = 200_000
"""The characters of a prompt or a resource that are used."""
_MOST = 200
"""How many prompts, and how many resources, of a server are listed."""
_RESOURCE = "resource"
_NAMED = 5
"""How many resources the description of their command names."""


class ServerPrompt(Struct, frozen=True):
    """A prompt of a server."""

    server: str
    """The server's name."""
    name: str
    """What the server calls it."""
    description: str = ""
    """What it is for, in the server's words."""
    arguments: tuple[str, ...] = ()
    """The names of its arguments, in order."""
    required: tuple[str, ...] = ()
    """Those of them that have to be given."""
    reads_resource: bool = False
    """Whether it is not the server's: it attaches a resource to what is said."""

    @property
    def command(self) -> str:
        """What a person writes for it."""
        return f"/{prefix_of(self.server)}{self.name}"

    @property
    def usage(self) -> str:
        """The command with its arguments."""
        shown = (name if name in self.required else f"[{name}]" for name in self.arguments)
        return " ".join((self.command, *shown))


class ServerResource(Struct, frozen=True):
    """A resource of a server."""

    server: str
    """The server's name."""
    uri: str
    """Its address, which :func:`read_resource` takes."""
    name: str = ""
    """What the server calls it."""
    description: str = ""
    """What it is, in the server's words."""


async def list_prompts(
    servers: Iterable[str], folder: Path | None = None, *, handed: Iterable[MCPServer] = ()
) -> list[ServerPrompt]:
    """The prompts of configured servers, which are connected to for that.

    Args:
        servers: The names of the servers.
        folder: The project's folder; by default the current one.
        handed: Servers that are in no file; one that cannot be connected has no prompts.

    Raises:
        MaverickError: A server is not configured, its project is not trusted, or it cannot be connected.
    """
    async with connected_servers(map(load_mcp_servers(folder).find, servers), handed) as connected:
        return [prompt for server in connected for prompt in await prompts_of(server)]


async def list_resources(servers: Iterable[str], folder: Path | None = None) -> list[ServerResource]:
    """The resources of configured servers; the arguments and errors are those of :func:`list_prompts`."""
    async with connected_servers(map(load_mcp_servers(folder).find, servers)) as connected:
        return [resource for server in connected for resource in await _resources(server)]


async def expand_prompt(text: str, folder: Path | None = None, *, handed: Iterable[MCPServer] = ()) -> str:
    """What a person says with the command of a prompt; the server it names is connected to for that.

    Args:
        text: The command, with arguments in order or as ``name=value``.
        folder: The project's folder; by default the current one.
        handed: Servers that are in no file, one of which may be meant.

    Raises:
        InvalidInputError: There is no such prompt, or an argument is missing or unknown.
        MaverickError: A server cannot be used, or refuses.
    """
    command = "".join(text.split(maxsplit=1)[:1])
    name = server_of(command.removeprefix("/")) or command
    settings = next((one for one in handed if one.name == name), None)
    settings = settings or load_mcp_servers(folder).find(name)
    async with connected_servers([settings]) as (server,):
        known = {prompt.command: prompt for prompt in await prompts_of(server)}
        if command not in known:
            raise InvalidInputError(describe_unknown("prompt", command, list(known)), field="prompt")
        prompt = known[command]
        arguments = _arguments(prompt, _words(prompt, text))
        if prompt.reads_resource:
            read = await _read(server, arguments["uri"])
            return f"{arguments['words']}\n\n{read}" if "words" in arguments else read
        got = await server.connection.ask(lambda client: client.get_prompt(prompt.name, arguments))
    pieces = (piece_of(message.content) for message in got.messages)
    texts = (piece if isinstance(piece, str) else describe_part(piece) for piece in pieces)
    return "\n\n".join(filter(None, texts))[:LONGEST_TEXT]


async def read_resource(server: str, uri: str, folder: Path | None = None) -> str:
    """The text of a resource, marked as untrusted content unless the server is trusted.

    Raises:
        MaverickError: The server cannot be used, or refuses.
    """
    settings = load_mcp_servers(folder).find(server)
    async with connected_servers([settings]) as (connected,):
        return await _read(connected, uri)


async def _read(server: ConfiguredServer, uri: str) -> str:
    got = await server.connection.ask(lambda client: client.read_resource(uri))
    texts = [part.text for part in got.contents if isinstance(part, types.TextResourceContents)]
    text = "\n".join(texts)[:LONGEST_TEXT]
    return text if server.server.trusted else mark_untrusted(uri, text)


async def prompts_of(server: ConfiguredServer) -> list[ServerPrompt]:
    """The prompts of a server that is connected, and the command for its resources if it has any."""
    prompts, resources = await _prompts(server), await _resources(server)
    if resources:
        prompts = [prompt for prompt in prompts if prompt.name != _RESOURCE]  # not what a person means by it
        named = ", ".join(resource.uri for resource in resources[:_NAMED])
        more = f" and {len(resources) - _NAMED} more" if len(resources) > _NAMED else ""
        about = f"Attaches a resource: {named}{more}"
        prompts.append(
            ServerPrompt(
                server.server.name, _RESOURCE, about, ("uri", "words"), ("uri",), reads_resource=True
            )
        )
    return prompts


async def _prompts(server: ConfiguredServer) -> list[ServerPrompt]:
    try:
        listed = await server.connection.ask(lambda client: client.list_prompts())
    except ToolError:  # it has none
        return []
    return [
        ServerPrompt(
            server.server.name,
            prompt.name,
            " ".join((prompt.description or "").split()),
            tuple(argument.name for argument in prompt.arguments or ()),
            tuple(argument.name for argument in prompt.arguments or () if argument.required),
        )
        for prompt in listed.prompts[:_MOST]
    ]


async def _resources(server: ConfiguredServer) -> list[ServerResource]:
    try:
        listed = await server.connection.ask(lambda client: client.list_resources())
    except ToolError:  # it has none
        return []
    return [
        ServerResource(server.server.name, str(found.uri), found.name, found.description or "")
        for found in listed.resources[:_MOST]
    ]


def _words(prompt: ServerPrompt, text: str) -> list[str]:
    """What follows a command: the words for a shell, or the address of a resource and then a text as it is."""
    if prompt.reads_resource:
        return text.split(maxsplit=2)[1:]
    try:
        return shlex.split(text)[1:]
    except ValueError as error:
        raise InvalidInputError("The command has a quote that is not closed.", field="prompt") from error


def _arguments(prompt: ServerPrompt, words: Sequence[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    free = [name for name in prompt.arguments if not any(word.startswith(f"{name}=") for word in words)]
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in prompt.arguments:
            given[name] = value
        elif free:
            given[free.pop(0)] = word
        elif prompt.arguments:
            given[prompt.arguments[-1]] += f" {word}"  # so that a text needs no quotes
        else:
            raise InvalidInputError(f"{prompt.command} takes no arguments.", field="prompt")
    if missing := [name for name in prompt.required if name not in given]:
        raise InvalidInputError(f"{missing[0]} is missing. Write: {prompt.usage}", field="prompt")
    return given
