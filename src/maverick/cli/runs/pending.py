"""What runs wait for: the tool calls a person is asked about, in full, with the commands to decide."""

from __future__ import annotations

import getpass
import time
from collections.abc import Iterator, Sequence

from maverick.cli.formatting import age, duration
from maverick.cli.runs.console import Console
from maverick.cli.screen import one_line, printable, whole_call
from maverick.exceptions import InvalidInputError
from maverick.journal import Approval, Journal

_LONGEST_CALL = 4_000


async def pending_in(journal: Journal, run_id: str) -> list[Approval]:
    """What a run and its subagents wait for, oldest first."""
    asked = await journal.list_approvals()
    return [approval for approval in asked if await _is_within(journal, approval.run_id, run_id)]


def pending_lines(
    console: Console, approvals: Sequence[Approval], words: Sequence[str] = ()
) -> Iterator[str]:
    """The requests as a person reads them before they decide, with the commands that do; ``words`` end these."""
    from textwrap import wrap  # here, since it is slow to load, and most runs wait for nothing

    for approval in approvals:
        yield f"Waiting for a decision on this call, {_when(approval)}:"
        yield from wrap(
            _call(approval),
            console.width,
            initial_indent="  ",
            subsequent_indent="    ",
            break_on_hyphens=False,
        )
        if approval.question:
            yield f"  because {printable(one_line(approval.question))}"
        yield f"  {console.command('approve', approval.approval_id, *words)}"
        yield f"  {console.command('deny', approval.approval_id, *words)}"


async def _is_within(journal: Journal, run_id: str, outer: str) -> bool:
    """Whether a run is another one, or a subagent somewhere in it."""
    if run_id == outer:
        return True
    if not run_id.startswith(f"{outer}/"):  # as all subagents' ids do, but a user may have chosen such an id
        return False
    parent = (await journal.get(run_id)).parent
    return parent is not None and await _is_within(journal, parent, outer)


def _call(approval: Approval) -> str:
    # In full, since no one should approve what they cannot see; and escaped, so that nothing in it is invisible.
    call = whole_call(approval.tool_name, approval.arguments)
    if len(call) <= _LONGEST_CALL:
        return call
    return f"{call[:_LONGEST_CALL]}… ({len(call) - _LONGEST_CALL:,} more characters; --json shows them)"


def _when(approval: Approval) -> str:
    now = time.time()
    asked = f"asked {age(now - approval.requested_at)} ago"
    if approval.expires_at is None:
        return asked
    left = approval.expires_at - now
    return f"{asked}, {f'{duration(left)} left' if left > 0 else 'expired, which denies it'}"


def deciding_user() -> str:
    """Who decides, by default: the user of this computer.

    Raises:
        InvalidInputError: They have no name.
    """
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError) as error:  # the user of a container may have no name
        raise InvalidInputError(
            "--by: this computer's user has no name. Say who you are.", field="by"
        ) from error
