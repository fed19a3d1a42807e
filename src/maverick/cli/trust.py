"""``maverick trust``, and what a project's files would decide: the person is asked before they do."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from maverick.agents.discovery import agent_files
from maverick.agents.skills import project_instructions, skill_folders
from maverick.cli.exit_codes import FAILURE, SUCCESS
from maverick.cli.screen import Screen
from maverick.config.loading import deciding_settings, own_choice, settings_in
from maverick.config.mcp_server import MCPServer
from maverick.config.mcp_servers import defines_server, read_server, servers_in
from maverick.config.own_files import own_folder, persons_home, read_small_file
from maverick.config.trust import ADVICE, FILES, PERMISSIONS_FILE, SETTINGS_FILE, Trust, digest
from maverick.exceptions import ConfigError, InvalidInputError
from maverick.runtime.consent import Grants, visible
from maverick.tools.permissions.policy import read_permissions

_YES, _NO = ("y", "yes"), ("n", "no", "")
_LEFT_OUT = "agents and skills are left out"
_SECRETS = ("agent.api_key", "temporal.api_key")


class Untrusted(Struct, frozen=True):
    """Something of a project that decides where data goes or what runs, and is not trusted as it is."""

    name: str
    """The file, or the folder of agents."""
    digest: str
    """What its content is remembered by; empty for what is trusted by its path."""
    lines: tuple[str, ...]
    """What it would decide, in words."""
    ignored: str = "settings that decide where data goes or what runs are ignored"
    """What becomes of it meanwhile, in words."""


def untrusted_in(folder: Path) -> list[Untrusted]:
    """What the person has not trusted in a folder. Files that cannot be read are skipped; loading them says why."""
    trust = Trust(persons_home())
    found: list[Untrusted] = []
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
        found.append(Untrusted("agents", "", (f"instructions and tools of the agents {names}",), _LEFT_OUT))
    for file in project_instructions(folder):
        if not file.is_trusted(folder, trust):
            own = file.folder == folder.absolute()  # which is trusted by its path, so that it can be edited
            told = ("tells every coding agent what to do",)
            trusted_as = "" if own else file.digest
            found.append(Untrusted(visible(file.name), trusted_as, told, "instructions are not read"))
    skills = list(skill_folders(folder))
    if skills and not trust.covers_folder(folder):
        names = ", ".join(visible(path.name) for path in skills)
        found.append(Untrusted("skills", "", (f"instructions and scripts of the skills {names}",), _LEFT_OUT))
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
        decided = deciding_settings(settings_in(path, content), own_choice(persons_home()))
        for setting, value in decided.items():
            shown = "(not shown)" if setting in _SECRETS or "@" in str(value) else visible(str(value))
            yield f"sets {setting}: {shown}"
    for server, settings in servers_in(path, content).items():
        if defines_server(settings):
            yield from server_lines(read_server(path, server, settings, str(folder)))


def server_lines(server: MCPServer) -> Iterator[str]:
    """What a user has to know before they trust a server."""
    verb = "calls" if server.url else "starts"
    yield f"{verb} the MCP server {server.name!r}: {visible(server.words)}"
    yield from (f"  with {visible(f'{name}={text}')}" for name, text in server.env.items())
    yield from (f"  with {visible(f'{name}: {text}')}" for name, text in server.headers.items())
    if server.cwd:
        yield f"  in {visible(server.cwd)}"
    if server.variables:
        yield f"  it gets from your environment: {visible(', '.join(server.variables))}"


def ask_for_trust(folder: Path, *, can_ask: bool, for_agents: bool) -> None:
    """Ask the person whether they trust a folder that they have not trusted yet; else say what is left out.

    If one file is of interest, all is shown: a folder is trusted as a whole.
    """
    untrusted = untrusted_in(folder)
    if any(for_agents or part.name in FILES for part in untrusted):
        screen = Screen(sys.stdout, sys.stderr, colour=False)
        if not (can_ask and _agreed_to(folder, untrusted, screen)):
            screen.remark(f"({_ignored(untrusted)})")


def ignored_in(folder: Path) -> str:
    """What of a folder is ignored, since the person has not trusted it; empty if nothing is."""
    untrusted = untrusted_in(folder)
    return _ignored(untrusted) if untrusted else ""


def _ignored(untrusted: Sequence[Untrusted]) -> str:
    names = ", ".join(dict.fromkeys(part.name for part in untrusted))
    effects = ", ".join(dict.fromkeys(part.ignored for part in untrusted))
    return f"{names}: not trusted, so {effects}. {ADVICE}"


def trust_folder(folder: Path, untrusted: list[Untrusted]) -> None:
    """Trust a folder, and its files as they were looked at."""
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
    screen.headline("Do you trust it? A settings file that changes later is asked about again;")
    screen.headline("instructions, agents and skills are trusted with the folder, whatever they say later.")
    import termios  # here, since not every system has it

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)  # what was typed before is no answer to this
    while True:
        screen.prompt("[y]es or [N]o: ")
        typed = os.read(sys.stdin.fileno(), 4096)
        answer = typed.decode(errors="replace").strip().lower()
        if answer in _YES:
            trust_folder(folder, untrusted)
            return True
        if not typed or answer in _NO:
            return False


def trust(options: argparse.Namespace) -> int:
    """Trust a folder as it is now, and say what that lets it decide; or list the trusted folders, or remove one."""
    screen = Screen.of_process()
    if options.listing:
        screen.say("".join(f"{folder}\n" for folder in Trust(persons_home()).folders()))
        for allowed in Grants(Path.cwd()).of_project():
            screen.remark(f"always allowed in this folder: {visible(allowed)}")
        return SUCCESS
    folder = Path(options.path or ".").expanduser().absolute()
    if options.remove:
        removed = [Trust(persons_home()).revoke(folder), Grants(folder).revoke()]
        screen.say(f"{'no longer trusted' if any(removed) else 'was not trusted'}: {folder}\n")
        return SUCCESS if any(removed) else FAILURE
    if not folder.is_dir():
        raise InvalidInputError(
            f"There is no folder {options.path!r}. Name the project's folder.", field="path"
        )
    own_folder()  # which raises an error for a user without a home
    untrusted = untrusted_in(folder)
    show(untrusted, screen)
    trust_folder(folder, untrusted)
    screen.say(f"trusted: {folder}\n")
    return SUCCESS
