"""What a project's files would decide, and asking the person whether they trust it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from maverick.agents.discovery import agent_files
from maverick.agents.skills import project_instructions, skill_folders
from maverick.cli.screen import Screen
from maverick.config.loading import deciding_settings, own_choice, settings_in
from maverick.config.mcp_server import MCPServer
from maverick.config.mcp_servers import defines_server, read_server, servers_in
from maverick.config.own_files import persons_home, read_small_file
from maverick.config.trust import ADVICE, FILES, PERMISSIONS_FILE, SETTINGS_FILE, Trust, digest
from maverick.exceptions import ConfigError
from maverick.runtime.consent import visible
from maverick.tools.permissions.policy import read_permissions

_YES, _NO = ("y", "yes"), ("n", "no", "")
_SECRETS = ("agent.api_key", "temporal.api_key")


class Untrusted(Struct, frozen=True):
    """Something of a project that decides where data goes or what runs, and is not trusted as it is."""

    name: str
    """The file, or the folder of agents."""
    digest: str
    """What its content is remembered by; empty for what is trusted by its path."""
    lines: tuple[str, ...]
    """What it would decide, in words."""


def untrusted_in(folder: Path, trust: Trust | None = None) -> list[Untrusted]:
    """What is not trusted in a folder. Files that cannot be read are skipped; loading them reports the error.

    Args:
        folder: The project's folder.
        trust: What is trusted; by default what the person has trusted, and nothing to see what there is at all.
    """
    trust = Trust(persons_home()) if trust is None else trust
    found = []
    for name in FILES:
        try:
            content = read_small_file(folder / name)
            lines = tuple(_decisions(folder, name, content))
        except ConfigError:
            continue
        if lines and not trust.covers(folder, name, content):
            found.append(Untrusted(name, digest(content), lines))
    agents = agent_files(folder)
    if agents and not trust.covers_folder(folder):
        names = ", ".join(visible(path.stem) for path in agents)
        found.append(Untrusted("agents", "", (f"instructions and tools of the agents {names}",)))
    for file in project_instructions(folder):
        if not file.is_trusted(folder, trust):
            own = file.folder == folder.absolute()  # which is trusted by its path, so that it can be edited
            found.append(
                Untrusted(
                    visible(file.name), "" if own else file.digest, ("tells every coding agent what to do",)
                )
            )
    skills = [] if trust.covers_folder(folder) else [visible(path.name) for path in skill_folders(folder)]
    if skills:
        found.append(
            Untrusted("skills", "", (f"instructions and scripts of the skills {', '.join(skills)}",))
        )
    return found


def _decisions(folder: Path, name: str, content: bytes) -> Iterator[str]:
    path = folder / name
    if name == PERMISSIONS_FILE:
        own = persons_home()
        if own is None or path.absolute() != (own / name).absolute():  # else it is the person's own
            for rule in read_permissions(path, content).get("allow", []):
                yield f"allows tool calls without asking: {visible(rule)}"
        return
    if name == SETTINGS_FILE:
        for setting, value in deciding_settings(
            settings_in(path, content), own_choice(persons_home())
        ).items():
            shown = "(not shown)" if setting in _SECRETS or "@" in str(value) else visible(str(value))
            yield f"sets {setting}: {shown}"
    for server, settings in servers_in(path, content).items():
        if defines_server(settings):
            yield from server_lines(read_server(path, server, settings, str(folder)))


def server_lines(server: MCPServer) -> Iterator[str]:
    """What a user has to know before they trust a server."""
    verb = "calls" if server.url else "starts"
    yield f"{verb} the MCP server {server.name!r}: {visible(server.words)}"
    yield from _described("with", (f"{name}={text}" for name, text in server.env.items()))
    yield from _described("with", (f"{name}: {text}" for name, text in server.headers.items()))
    yield from _described("in", [server.cwd] if server.cwd else [])
    yield from _described("it gets from your environment:", [", ".join(server.variables)])


def _described(word: str, things: Iterable[str]) -> Iterator[str]:
    yield from (f"  {word} {visible(thing)}" for thing in things if thing)


def ask_for_trust(folder: Path, *, can_ask: bool) -> None:
    """Ask the person whether they trust a folder that they have not trusted yet; else say what is left out."""
    if untrusted := untrusted_in(folder):
        screen = Screen(sys.stdout, sys.stderr, colour=False)
        if not (can_ask and _agreed_to(folder, untrusted, screen)):
            names = ", ".join(dict.fromkeys(part.name for part in untrusted))
            screen.remark(
                f"({names}: not trusted, so settings that decide where data goes or what runs are ignored. {ADVICE})"
            )


def trust_folder(folder: Path, untrusted: list[Untrusted]) -> None:
    """Trust a folder, and its files as they were looked at.

    Raises:
        ConfigError: There is no home folder to keep it in.
    """
    Trust(persons_home()).grant(folder, {part.name: part.digest for part in untrusted if part.digest})


def show(untrusted: list[Untrusted], screen: Screen) -> None:
    """Show what each part would decide."""
    for part in untrusted:
        screen.headline(f"{part.name}:")
        for line in part.lines:
            screen.remark(f"  {line}")


def _agreed_to(folder: Path, untrusted: list[Untrusted], screen: Screen) -> bool:
    screen.headline(f"{folder} would decide where your data goes or what runs:")
    show(untrusted, screen)
    screen.headline("Do you trust it? A settings file that changes later is asked about again.")
    if not _says_yes(screen):
        return False
    trust_folder(folder, untrusted)
    return True


def _says_yes(screen: Screen) -> bool:
    """Whether the user at the terminal says yes; this blocks until they answer."""
    import termios  # here, since not every system has it

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)  # what was typed before is no answer to this
    while True:
        screen.prompt("[y]es or [N]o: ")
        typed = os.read(sys.stdin.fileno(), 4096)
        answer = typed.decode(errors="replace").strip().lower()
        if not typed or answer in _YES + _NO:
            return answer in _YES
