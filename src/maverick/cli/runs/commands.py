"""Opens the journal and does what was asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from maverick.cli.runs.console import Console
from maverick.cli.runs.deciding import approve, deny
from maverick.cli.runs.difference import show_difference
from maverick.cli.runs.driving import fork_run, replay_run, resume_run
from maverick.cli.runs.exporting import write_export
from maverick.cli.runs.listing import list_runs
from maverick.cli.runs.page import show_run
from maverick.cli.runs.pruning import prune_runs
from maverick.cli.runs.tail import show_tail
from maverick.cli.screen import Screen
from maverick.journal.opening import open_journal

_VERBS: Mapping[str, Callable[..., Awaitable[int]]] = {
    "approve": approve,
    "deny": deny,
    "diff": show_difference,
    "export": write_export,
    "fork": fork_run,
    "list": list_runs,
    "prune": prune_runs,
    "replay": replay_run,
    "resume": resume_run,
    "show": show_run,
    "tail": show_tail,
}


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
        return await _VERBS[verb](Console(journal, screen, as_json, named_journal), **options)


def _configured_journal() -> str:
    from maverick.config import load_config  # here, since it is the slowest part of a short command

    return load_config().journal.get_secret_value()
