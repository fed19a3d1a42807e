"""``maverick doctor``: checks the installation, and says what is missing and how to fix it."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

import maverick
from maverick.cli.agent_lookup import discovery
from maverick.cli.config import settings_files, write_setting
from maverick.cli.exit_codes import FAILURE, SUCCESS
from maverick.cli.formatting import json_text
from maverick.cli.new_file import write_new_file
from maverick.cli.screen import Screen, shortened
from maverick.config import DEFAULT, AgentConfig, MaverickConfig, load_config
from maverick.config.installation import install_command
from maverick.config.mcp_server import MCPServer
from maverick.config.mcp_servers import load_mcp_servers
from maverick.config.own_files import own_folder, persons_home
from maverick.config.programs import find_program, helper_environment
from maverick.config.provider_names import VENDORS
from maverick.config.settings import is_address
from maverick.exceptions import ConfigError, MaverickError
from maverick.providers.resolve import resolve
from maverick.tui.figures import counted
from maverick.tui.plain_text import one_line


class Health(StrEnum):
    """How something is."""

    GOOD = "good"
    MISSING = "missing"
    """It is not there, and only some need it."""
    WRONG = "wrong"
    """It does not work, and should."""


class Finding(Struct, frozen=True):
    """What was found of one thing."""

    what: str
    health: Health
    detail: str
    fix: str = ""
    """What to do about it."""


def _good(what: str, detail: str, fix: str = "") -> Finding:
    return Finding(what, Health.GOOD, detail, fix)


def _missing(what: str, detail: str, fix: str = "") -> Finding:
    return Finding(what, Health.MISSING, detail, fix)


def _wrong(what: str, detail: str, fix: str = "") -> Finding:
    return Finding(what, Health.WRONG, detail, fix)


_CORRECT = "correct it, or remove it"


def examine_settings() -> Iterator[Finding]:
    """The program itself, and whether the settings can be read."""
    yield _good("maverick", f"{maverick.__version__}, on Python {platform.python_version()}")
    try:
        config = load_config()
    except ConfigError as error:
        yield _wrong("settings", str(error), "correct it; until then the defaults are looked at")
        return
    files = [str(path) for path in settings_files() if path.is_file()]
    yield _good("settings", ", ".join(files) or "the defaults")
    yield _model(config.agent)


def _model(settings: AgentConfig) -> Finding:
    """Who answers an agent that names no model."""
    try:
        answering = resolve(settings).check().check_settings()
    except MaverickError as error:
        return _wrong("model", str(error), "correct it, or choose another model")
    said = ", ".join(
        f"{setting.field.removeprefix('agent.')} {setting.value} ({setting.source})"
        for setting in answering.describe()[2:]
        if setting.source != DEFAULT
    )
    detail = f"{answering.model} ({answering.sources['model']}){said and f'; {said}'}"
    if notice := answering.retirement():
        finding = _wrong if "was retired" in notice else _good
        return finding("model", f"{detail}; {notice}", "name another model in the settings")
    return _good("model", detail, answering.stand_in_fix)


def examine_keys() -> Iterator[Finding]:
    """Whether keys are set; their values are never shown."""
    settings = _config().agent
    for provider, vendor in VENDORS.items():
        what, fix = f"{vendor.name} key", f"export {vendor.key_variable}=…"
        try:
            found = resolve(settings, named=f"{provider}:any")
            found.check_key_owner()
        except MaverickError as error:
            yield _wrong(what, str(error), fix)
        else:
            is_set = found.api_key is not None
            yield (
                _good(what, f"set in {found.sources['api_key']}")
                if is_set
                else _missing(what, "not set", fix)
            )


def examine_journal() -> Iterator[Finding]:
    """Whether the journal opens."""
    location = _config().journal.get_secret_value()
    shown = "a database" if "://" in location else location
    try:
        path = Path(location).expanduser()
    except RuntimeError:  # the user of a container may have no home
        problem = f"{shown} cannot be created, because you have no home folder"
        yield _wrong("journal", problem, "set the variable HOME, or name a file with MAVERICK_JOURNAL")
        return
    if "://" not in location and not path.exists():
        there = next(folder for folder in path.absolute().parents if folder.exists())
        if os.access(there, os.W_OK):
            yield _good("journal", f"{shown}, created with the first run")
        else:
            yield _wrong(
                "journal", f"{shown} cannot be created", f"allow writing in {there}, or name another"
            )
        return
    try:
        count = asyncio.run(_count_runs(location))
    except MaverickError as error:
        fix = "correct the setting journal or MAVERICK_JOURNAL, or move the file away"
        yield _wrong("journal", f"{shown} does not open: {error}", fix)
    else:
        yield _good("journal", f"{shown}, {counted(count, 'run')}" + ("+" if count == 1000 else ""))


async def _count_runs(location: str) -> int:
    from maverick.journal.opening import open_journal

    async with open_journal(location, create=False) as journal:
        return len(await journal.list_runs(limit=1000))


def examine_agents() -> Iterator[Finding]:
    """Whether all agents can be read."""
    looking = discovery(_config())
    yield _good("agents", ", ".join(found.name for found in looking.all()) or "none")
    for problem in looking.problems:
        yield _wrong("agents", str(problem), _CORRECT)


def _config() -> MaverickConfig:
    """The settings, or the defaults if they are wrong, which is reported elsewhere."""
    try:
        return load_config()
    except ConfigError:
        return MaverickConfig()


def examine_mcp_servers() -> Iterator[Finding]:
    """Whether each server could be used; none is started or called."""
    try:
        known = load_mcp_servers()
    except ConfigError as error:
        yield _wrong("MCP servers", str(error), _CORRECT)
        return
    for name in sorted({*known.servers, *known.problems}):
        what = shortened(f"MCP {name}")
        if name in known.untrusted:
            detail = "of this project, which you have not trusted"
            yield _missing(what, detail, "look at it, then run: maverick trust")
            continue
        try:
            server = known.find(name)
            health, problem, fix = _condition(server)
        except MaverickError as error:
            yield _wrong(what, str(error), _CORRECT)
        else:
            yield Finding(what, health, f"{server.summary}, from {server.source}{problem}", fix)


def _condition(server: MCPServer) -> tuple[Health, str, str]:
    """How a server is, what is wrong with it, and what to do about it."""
    if find_spec("mcp") is None:
        return Health.MISSING, ", needs the package mcp", install_command("mcp")
    from maverick.tools.mcp.server_address import ServerAddress  # here, since it brings MCP with it

    if unset := server.unset_variables():
        return Health.MISSING, f", {' and '.join(unset)} not set", f"export {unset[0]}=…"
    address = ServerAddress(**server.address())
    if address.url and not is_address(address.url):
        return Health.WRONG, ", not a web address", "correct its url, or the variables in it"
    try:
        if address.command:
            address.folder()
    except FileNotFoundError as error:
        missing = "program" if error.filename == address.command[0] else "folder"
        return Health.WRONG, f", the {missing} is not there", "install it, or correct the command or cwd"
    return Health.GOOD, "", ""


_PATIENCE = 20
"""Seconds until a program that does not answer is given up."""

_EXTRAS: Mapping[str, tuple[str, str]] = {
    "claude-code": ("claude-agent-sdk", "agents on Claude Code"),
    "claude-sdk": ("anthropic", "claude-sdk: models"),
    "mcp": ("mcp", "tools of MCP servers"),
    "server": ("fastapi", "maverick serve"),
    "tui": ("textual", "maverick tui"),
    "acp": ("agent-client-protocol", "maverick acp"),
    "postgres": ("asyncpg", "journals in Postgres"),
    "temporal": ("temporalio", "fleets"),
    "otel": ("opentelemetry-sdk", "traces and metrics"),
    "local": ("xllamacpp", "local: models"),
    "fast": ("uvloop", "a faster event loop"),
}
"""The packages of each extra that tell whether it is installed, and what it is for."""

_PROGRAMS: Mapping[str, tuple[str, str]] = {
    "git": ("what changed in a project", "install git"),
    "rg": ("faster searching in files", "install ripgrep"),
    "bwrap": ("a sandbox for shell commands", "install bubblewrap; without it, every command is asked about"),
}


def examine_packages() -> Iterator[Finding]:
    """The optional packages."""
    for extra, (package, purpose) in _EXTRAS.items():
        try:
            yield _good(extra, f"{package} {version(package)}, for {purpose}")
        except PackageNotFoundError:
            yield _missing(extra, f"not installed, for {purpose}", install_command(extra))


def examine_claude_cli() -> Iterator[Finding]:
    """Whether the Claude CLI is installed and starts."""
    path = _claude_cli()
    if path is None:
        fix = f"{install_command('claude-code')}, or npm install -g @anthropic-ai/claude-code"
        yield _missing("claude CLI", "not found, for agents on Claude Code", fix)
        return
    try:
        done = subprocess.run(  # noqa: S603 - the program that agents would start
            [path, "--version"],
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=True,
            stdin=subprocess.DEVNULL,
            env=helper_environment(Path.cwd()),
        )
    except (OSError, subprocess.SubprocessError) as error:
        yield _wrong("claude CLI", f"{path} does not start: {type(error).__name__}", "install it again")
    else:
        yield _good("claude CLI", f"{one_line(done.stdout)}, at {path}")


def examine_programs() -> Iterator[Finding]:
    """Programs that tools for coding use."""
    for name, (purpose, fix) in _PROGRAMS.items():
        path = find_program(name, workspace=Path.cwd())
        if path is None:
            yield _missing(name, f"not found outside of this folder, for {purpose}", fix)
        else:
            yield _good(name, f"{path}, for {purpose}")


def _claude_cli() -> str | None:
    """The CLI that comes with the SDK, or else the one on the path; the SDK itself is slow to load, and is not."""
    sdk = find_spec("claude_agent_sdk")
    for folder in (sdk.submodule_search_locations or ()) if sdk else ():
        bundled = Path(folder) / "_bundled" / "claude"
        if bundled.is_file():
            return str(bundled)
    return find_program("claude", workspace=Path.cwd())


def examine_own_folder() -> Iterator[Finding]:
    """Whether only the user may read what is kept in their home."""
    with suppress(ConfigError, OSError):  # there is no home, or nothing in it yet
        folder = own_folder()
        if folder.stat().st_mode & 0o077:
            yield _missing(_FOLDER, f"other users of this computer can read {folder}", f"chmod 700 {folder}")


def examine_completion() -> Iterator[Finding]:
    """Whether the user's shell completes commands."""
    shell = Path(os.environ.get("SHELL", "")).name
    script, home = _SCRIPTS.get(shell), persons_home()
    if script is not None and home is not None and not (home / script).is_file():
        fix = f"maverick completion {shell} > ~/{script}"
        yield _missing(_COMPLETION, f"not set up for {shell}", fix)


_FOLDER, _COMPLETION = "own folder", "completion"
_SCRIPTS = {
    "bash": ".local/share/bash-completion/completions/maverick",
    "fish": ".config/fish/completions/maverick.fish",
}
"""Where the shells look for the script; zsh has no such place unless its user sets one up."""


def _repair(finding: Finding) -> bool:
    """Repair what was found, if that needs no decision; says whether it did."""
    if finding.what == _FOLDER:
        own_folder().chmod(0o700)
        return True
    if finding.what == _COMPLETION:
        from maverick.cli.completion import script_of  # here, since it loads the arguments of every command

        shell = Path(os.environ["SHELL"]).name
        write_new_file(Path.home() / _SCRIPTS[shell], script_of(shell), force=False)
        return True
    if finding.what == "model" and (model := resolve(load_config().agent)).info.successor:
        own = own_folder() / "config.yaml"
        if model.sources["model"] == str(own) and model.retirement():
            write_setting(own, "agent", "model", f"{model.provider}:{model.info.successor}")
            return True
    return False


_EXAMINATIONS: tuple[Callable[[], Iterator[Finding]], ...] = (
    examine_settings,
    examine_keys,
    examine_own_folder,
    examine_journal,
    examine_agents,
    examine_mcp_servers,
    examine_claude_cli,
    examine_packages,
    examine_programs,
    examine_completion,
)
_MARKS = {Health.GOOD: "ok", Health.MISSING: "--", Health.WRONG: "!!"}


def examine(options: argparse.Namespace) -> int:
    """Report on everything; the exit code is 1 if something is wrong."""
    screen = Screen.of_process()
    findings = []
    for examination in _EXAMINATIONS:
        for finding in _examined(examination, fix=options.fix):
            findings.append(finding)
            if not options.as_json:
                fix = f"    {'':<14} → {finding.fix}\n" if finding.fix else ""
                screen.say(f"{_MARKS[finding.health]}  {finding.what:<14} {finding.detail}\n{fix}")
    if options.as_json:
        screen.say(f"{json_text(findings)}\n")
    return FAILURE if any(finding.health is Health.WRONG for finding in findings) else SUCCESS


def _examined(examination: Callable[[], Iterator[Finding]], *, fix: bool) -> list[Finding]:
    """What is found after repairing what can be."""
    found = list(examination())
    repaired = [finding.what for finding in found if fix and finding.fix and _repair(finding)]
    if not repaired:
        return found
    after = list(examination())
    left = {finding.what for finding in after if finding.fix}
    return [*after, *(_good(what, "repaired") for what in repaired if what not in left)]
