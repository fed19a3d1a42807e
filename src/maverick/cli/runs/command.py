"""``maverick runs``: opens the journal and does what was asked for."""

from __future__ import annotations

import argparse
import re
from contextlib import suppress
from importlib import import_module

from maverick.cli.runs.console import LOOKED_AT, Console
from maverick.cli.screen import Screen
from maverick.exceptions import ApprovalError, InvalidInputError, RunNotFoundError
from maverick.journal import Journal
from maverick.journal.opening import open_journal

_OF_ALL_COMMANDS = {"asked", "command", "debug"}
_RUN_IDS = frozenset(("run_id", "other_id"))
_LAST = "last"


async def run_verb(options: argparse.Namespace) -> int | None:
    """Do one thing with the runs of a journal; the options of a verb are the parameters of its function."""
    own = {name: value for name, value in vars(options).items() if name not in _OF_ALL_COMMANDS}
    named_journal, as_json = own.pop("journal"), own.pop("as_json")
    module, _, function = own.pop("function").partition(":")
    where = named_journal
    if not where:
        # Here, since it is the slowest part of a short command.
        from maverick.cli.settings import load_settings

        where = load_settings().journal.get_secret_value()
    async with open_journal(where, create=own.get("to") == "local") as journal:
        console = Console(journal, Screen.of_process(), as_json, named_journal)
        work = getattr(import_module(f"maverick.cli.runs.{module}"), function)
        for name in _RUN_IDS & own.keys():
            own[name] = own[name] and await _find_run(journal, own[name])
        if "request_id" in own:
            own["request_id"] = await _find_request(journal, own["request_id"])
        code: int | None = await work(console, **own)
        return code


async def _find_run(journal: Journal, asked: str) -> str:
    """The id of a run that was named by its id, by the beginning of it, or as the last one."""
    with suppress(RunNotFoundError, InvalidInputError):
        return (await journal.get(asked)).run_id
    newest = await journal.list_runs(limit=1 if asked == _LAST else LOOKED_AT)
    if asked == _LAST:
        return newest[0].run_id if newest else asked
    found = [
        record.run_id
        for record in newest
        if record.run_id.removeprefix("run_").startswith(asked.removeprefix("run_"))
    ]
    if len(found) > 1:
        raise InvalidInputError(
            f"RUN: {len(found)} runs begin with {asked!r}: {', '.join(found[:3])}, … Write more of the id.",
            field="run_id",
        )
    return found[0] if found else asked


async def _find_request(journal: Journal, asked: str) -> str:
    """The id of a request for approval, or of the run it belongs to, which may be shortened as that of any run."""
    with suppress(ApprovalError):
        return (await journal.get_approval(asked)).approval_id
    run, *place = re.split(r"(?=[/:])", asked, maxsplit=1)
    return await _find_run(journal, run) + "".join(place)
