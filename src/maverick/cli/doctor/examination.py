"""Looks at everything, one thing after the other, and says how it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from maverick.cli.doctor.finding import Finding, Health
from maverick.cli.doctor.mcp_servers import examine_mcp_servers
from maverick.cli.doctor.programs import examine_claude_cli, examine_packages, examine_programs
from maverick.cli.doctor.settings import examine_agents, examine_journal, examine_keys, examine_settings
from maverick.cli.exit_codes import FAILURE, SUCCESS
from maverick.cli.json_text import json_text
from maverick.cli.screen import Screen

_EXAMINATIONS: tuple[Callable[[], Iterator[Finding]], ...] = (
    examine_settings,
    examine_keys,
    examine_journal,
    examine_agents,
    examine_mcp_servers,
    examine_claude_cli,
    examine_packages,
    examine_programs,
)
_MARKS = {Health.GOOD: "ok", Health.MISSING: "--", Health.WRONG: "!!"}


def examine(*, as_json: bool) -> int:
    """Say how everything is; returns the exit code, which is 1 if something is wrong."""
    screen = Screen.of_process(interactive=False)
    findings = []
    for examination in _EXAMINATIONS:
        for finding in examination():
            findings.append(finding)
            if not as_json:
                screen.say("".join(f"{line}\n" for line in _lines(finding)))
    if as_json:
        screen.say(f"{json_text(findings)}\n")
    return FAILURE if any(finding.health is Health.WRONG for finding in findings) else SUCCESS


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{_MARKS[finding.health]}  {finding.what:<14} {finding.detail}"
    if finding.fix:
        yield f"    {'':<14} → {finding.fix}"
