"""One MCP server as it is written down: where it is, what agents may do with it, and what its tools are called."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from maverick.exceptions import ConfigError

SETTINGS = (
    "command", "args", "env", "cwd", "url", "headers", "type", "tools", "effect", "approval", "trusted", "timeout",
    "elicitation", "sampling",
)  # fmt: skip
"""What can be said about a server."""

_VARIABLE = r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}"
_TELLING_NAME = r"(?i)authorization|token|secret|passw|api.?key|cookie|credential"
_EFFECTS = ("pure", "keyed", "irreversible")

_BEGINNING, _BETWEEN = "mcp__", "__"
"""How the names of tools are made: ``mcp__server__tool``, and ``mcp__server`` for all tools of a server."""

S = TypeVar("S", bound=Struct)


def group_of(server: str) -> str:
    """The name that stands for all tools of a server."""
    return f"{_BEGINNING}{server}"


def prefix_of(server: str) -> str:
    """What the names of a server's tools begin with."""
    return f"{_BEGINNING}{server}{_BETWEEN}"


def server_of(tool: str) -> str | None:
    """The server that a name of one or all of its tools is about; nothing if it is another tool's name."""
    if not tool.startswith(_BEGINNING):
        return None
    return tool.removeprefix(_BEGINNING).partition(_BETWEEN)[0]


def server_problem(source: str, name: str, problem: str) -> ConfigError:
    """The error for something that a file says of a server."""
    return ConfigError(f"{source}: MCP server {name!r}: {problem}", source=source, field=name)


class _Narrowing(Struct, frozen=True):
    """What a project can say about a server of the person's."""

    tools: list[str] | None = None
    approval: bool | list[str] = False


class MCPServer(Struct, frozen=True, kw_only=True):
    """A server. Texts may have ``${VARIABLE}`` or ``${VARIABLE:-otherwise}`` in them, from the environment."""

    is_written: ClassVar[bool] = True
    """Whether it is in a file, so that what a user has accepted of it is remembered."""

    name: str
    source: str
    """The file it is written in."""
    project: str = ""
    """The folder of the project whose file defines it; nothing if the person's own does."""
    command: str | list[str] = ""
    """The program, or the program and its arguments; no shell reads them."""
    args: list[str] = []
    """More arguments."""
    env: dict[str, str] = {}
    """Variables for the program, which gets little else of the environment."""
    cwd: str | None = None
    """The folder to start it in; by default the current one."""
    url: str = ""
    """An address that speaks streamable HTTP, in place of a command."""
    headers: dict[str, str] = {}
    """Headers for the address."""
    type: str = ""
    """``stdio`` or ``http``, as other programs write it; it follows from the rest."""
    tools: list[str] | None = None
    """The only tools agents get, by the server's names; by default all."""
    effect: str | dict[str, str] = ""
    """What running a tool again would do, for all tools or for each; by default what the server says of read-only ones."""
    approval: bool | list[str] = False
    """Whether a person has to agree to each call, for all tools or for some."""
    trusted: bool = False
    """Whether the results of its tools are trusted like the user's words, and not marked as untrusted content."""
    elicitation: bool = True
    """Whether it may ask the user something in the middle of a call, where one is there to answer."""
    sampling: bool = True
    """Whether it may ask the user's model something in the middle of a call, if the user agrees each time."""
    timeout: int | float = 30
    """The seconds it has to start and say which tools it has."""

    @classmethod
    def read(cls, name: str, settings: Mapping[str, object], source: str, project: str = "") -> Self:
        """A server from its settings. No error about them has a value in it: it may be a secret."""
        return _converted({**settings, "name": name, "source": source, "project": project}, cls, source, name)

    @property
    def transport(self) -> str:
        """How it is talked to: ``stdio`` or ``http``."""
        return "http" if self.url else "stdio"

    @property
    def words(self) -> str:
        """What would be started or called, as it is written."""
        return self.url or shlex.join(self._argv)

    @property
    def summary(self) -> str:
        """The program, or the address up to its path: what follows may be a secret."""
        if not self.url:
            return " ".join(self._argv[0].split()[:1])
        variable = re.match(_VARIABLE, self.url)
        return f"${{{variable[1]}}}" if variable else "://".join(urlsplit(self.url)[:2])

    @property
    def variables(self) -> list[str]:
        """The variables of the environment that it would be told."""
        return sorted({found[1] for found in self._uses_of_variables()})

    def unset_variables(self, environ: Mapping[str, str] | None = None) -> list[str]:
        """The variables that it cannot be used without, and that are not set."""
        environ = os.environ if environ is None else environ
        needed = {found[1] for found in self._uses_of_variables() if found[2] is None}
        return sorted(name for name in needed if not environ.get(name))

    def effect_of(self, tool: str) -> str | None:
        """The effect of a tool, if it was said."""
        return (self.effect if isinstance(self.effect, str) else self.effect.get(tool)) or None

    def needs_approval(self, tool: str) -> bool:
        """Whether a person has to agree to each call of a tool."""
        return self.approval if isinstance(self.approval, bool) else tool in self.approval

    def named_tools(self) -> dict[str, Iterable[str]]:
        """The tools that settings name, by setting."""
        said = {"tools": self.tools, "effect": self.effect, "approval": self.approval}
        return {name: value for name, value in said.items() if isinstance(value, list | dict)}

    def narrowed_by(self, settings: Mapping[str, object], source: str) -> Self:
        """This server with what a project takes away from it: tools, or the right to call some without asking."""
        for setting in settings:
            if setting not in _Narrowing.__struct_fields__:
                problem = f"{setting}: a project can only narrow a server of yours, with tools and approval."
                raise server_problem(source, self.name, problem)
        less = _converted(settings, _Narrowing, source, self.name)
        tools = self.tools if less.tools is None else less.tools
        if self.tools is not None:
            tools = [tool for tool in self.tools if tool in (tools or ())]
        return msgspec.structs.replace(self, tools=tools, approval=_either(self.approval, less.approval))

    def address(self, environ: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Where it is, with the values of its variables, which have to be set: what a ``ServerAddress`` is made of."""
        environ = os.environ if environ is None else environ

        def filled(text: str, setting: str) -> str:
            def value(found: re.Match[str]) -> str:
                known = environ.get(found[1]) or found[2]
                if known is None:
                    raise self._problem(
                        f"{setting}: the variable {found[1]} is not set. Set it, and try again."
                    )
                return known

            return re.sub(_VARIABLE, value, text)

        if self.url:
            headers = {name: filled(text, f"headers.{name}") for name, text in self.headers.items()}
            for name, text in headers.items():
                if not (text.isascii() and text.isprintable()):  # libraries would quote it
                    raise self._problem(f"headers.{name}: has characters in it that no header can have.")
            return {"url": filled(self.url, "url"), "headers": headers}
        return {
            "command": [filled(word, "command") for word in self._argv],
            "env": {name: filled(text, f"env.{name}") for name, text in self.env.items()},
            "cwd": None if self.cwd is None else filled(self.cwd, "cwd"),
        }

    def _uses_of_variables(self) -> Iterator[re.Match[str]]:
        for text in (*self._argv, *self.env.values(), self.cwd or "", self.url, *self.headers.values()):
            yield from re.finditer(_VARIABLE, text)

    @property
    def _argv(self) -> list[str]:
        if not self.command:
            return []
        words = [self.command] if isinstance(self.command, str) else self.command
        return [*words, *self.args]

    def __post_init__(self) -> None:
        if bool(self._argv) == bool(self.url):
            raise self._problem("expected either a command or a url.")
        if self.url and (self.type == "sse" or not re.match(r"https?://|\$\{", self.url)):
            raise self._problem("url: expected an http:// or https:// address that speaks streamable HTTP.")
        if self.project and self.trusted:
            raise self._problem(
                "trusted: a project cannot trust itself. Name the server in your own settings."
            )
        if self.timeout <= 0:
            raise self._problem("timeout: expected seconds above 0.")
        for effect in [self.effect] if isinstance(self.effect, str) else self.effect.values():
            if effect and effect not in _EFFECTS:
                raise self._problem(f"effect: expected one of {', '.join(_EFFECTS)}.")
        self._check_secrets()

    def _check_secrets(self) -> None:
        if "@" in urlsplit(self.url).netloc:
            raise self._problem("url: keep secrets out of it. Use headers, with ${VARIABLE} in them.")
        for setting, texts in (("env", self.env), ("headers", self.headers)):
            for name, text in texts.items():
                if text and re.search(_TELLING_NAME, name) and not re.search(_VARIABLE, text):
                    raise self._problem(
                        f"{setting}.{name}: keep secrets out of files. Write ${{VARIABLE}}, and set the variable."
                    )

    def _problem(self, problem: str) -> ConfigError:
        return server_problem(self.source, self.name, problem)


class HandedServer(MCPServer, frozen=True, kw_only=True):
    """A server that the program which started this one hands over, such as an editor.

    Its values are meant as they are, secrets too: nothing of it is written to a file. It is no more than what that program
    could start itself, with the same rights. Its tools are asked about as those of any other server.
    """

    is_written: ClassVar[bool] = False

    def address(self, environ: Mapping[str, str] | None = None) -> dict[str, Any]:  # noqa: ARG002 - none is used
        """Where it is."""
        if self.url:
            return {"url": self.url, "headers": self.headers}
        return {"command": self._argv, "env": self.env, "cwd": self.cwd}

    def _check_secrets(self) -> None:
        """Secrets may be in it."""


def _converted(settings: Mapping[str, object], kind: type[S], source: str, name: str) -> S:
    try:
        return msgspec.convert(settings, kind)
    except msgspec.ValidationError as error:
        problem, _, setting = str(error).replace("`", "").partition(" - at $.")
    # Raised out here, so that the error has no cause: it could quote a key.
    raise server_problem(source, name, f"{setting}: {problem[:1].lower()}{problem[1:]}.")


def _either(own: bool | list[str], other: bool | list[str]) -> bool | list[str]:
    if isinstance(own, bool) or isinstance(other, bool):
        return own if other is False else other if own is False else True
    return sorted({*own, *other})
