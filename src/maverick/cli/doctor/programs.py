"""Looks at what is installed: optional packages, the Claude CLI, and programs that tools use."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from maverick.cli.doctor.finding import Finding, Health
from maverick.cli.screen import one_line, printable
from maverick.config.installation import install_command
from maverick.config.programs import find_program, helper_environment

_PATIENCE = 20
"""Seconds until a program that does not answer is given up."""

_EXTRAS: Mapping[str, tuple[str, str]] = {
    "claude-code": ("claude-agent-sdk", "agents on Claude Code"),
    "claude-sdk": ("anthropic", "claude-sdk: models"),
    "mcp": ("mcp", "tools of MCP servers"),
    "server": ("fastapi", "maverick serve"),
    "tui": ("textual", "maverick tui"),
    "postgres": ("asyncpg", "journals in Postgres"),
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
            yield Finding(extra, Health.GOOD, f"{package} {version(package)}, for {purpose}")
        except PackageNotFoundError:
            yield Finding(extra, Health.MISSING, f"not installed, for {purpose}", install_command(extra))


def examine_claude_cli() -> Iterator[Finding]:
    """Whether the Claude CLI is there and starts."""
    path = _claude_cli()
    if path is None:
        yield Finding(
            "claude CLI",
            Health.MISSING,
            "not found, for agents on Claude Code",
            f"{install_command('claude-code')}, or npm install -g @anthropic-ai/claude-code",
        )
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
        yield Finding(
            "claude CLI", Health.WRONG, f"{path} does not start: {type(error).__name__}", "install it again"
        )
    else:
        yield Finding("claude CLI", Health.GOOD, f"{printable(one_line(done.stdout))}, at {path}")


def examine_programs() -> Iterator[Finding]:
    """Programs that tools for coding use."""
    for name, (purpose, fix) in _PROGRAMS.items():
        path = find_program(name, workspace=Path.cwd())
        if path is None:
            yield Finding(name, Health.MISSING, f"not found outside of this folder, for {purpose}", fix)
        else:
            yield Finding(name, Health.GOOD, f"{path}, for {purpose}")


def _claude_cli() -> str | None:
    """The CLI that comes with the SDK, or else the one on the path; the SDK itself is slow to load, and is not."""
    sdk = find_spec("claude_agent_sdk")
    for folder in (sdk.submodule_search_locations or ()) if sdk else ():
        bundled = Path(folder) / "_bundled" / "claude"
        if bundled.is_file():
            return str(bundled)
    return find_program("claude", workspace=Path.cwd())
