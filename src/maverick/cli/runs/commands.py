"""Opens the journal and does what was asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from maverick.cli.runs.console import Console
from maverick.cli.screen import Screen
from maverick.journal.opening import open_journal

_VERBS: Mapping[str, tuple[str, str]] = {
    "check": ("checking", "check_journal"),
    "approve": ("deciding", "approve"),
    "deny": ("deciding", "deny"),
    "diff": ("difference", "show_difference"),
    "export": ("exporting", "write_export"),
    "fork": ("driving", "fork_run"),
    "list": ("listing", "list_runs"),
    "prune": ("pruning", "prune_runs"),
    "replay": ("driving", "replay_run"),
    "resume": ("driving", "resume_run"),
    "show": ("page", "show_run"),
    "tail": ("tail", "show_tail"),
}
"""The module and the function of each verb; only the one that is asked for is loaded."""


def run_command(verb: str, journal: str | None, *, as_json: bool, **options: Any) -> int:
    """Do one thing with the runs of a journal.

    Args:
        verb: What.
        journal: Which journal; by default the one that is configured.
        as_json: Whether to write JSON.
        options: What the verb's function takes.

    Returns:
        The exit code.
    """
    return asyncio.run(_run(verb, journal, as_json=as_json, **options))


async def _run(verb: str, named_journal: str | None, *, as_json: bool, **options: Any) -> int:
    async with open_journal(named_journal or _configured_journal(), create=False) as journal:
        screen = Screen.of_process(interactive=False)
        module, function = _VERBS[verb]
        work = getattr(import_module(f"maverick.cli.runs.{module}"), function)
        code: int = await work(Console(journal, screen, as_json, named_journal), **options)
        return code


def _configured_journal() -> str:
    from maverick.cli.trust.asking import (
        load_settings,
    )  # here, since it is the slowest part of a short command

    return load_settings().journal.get_secret_value()
