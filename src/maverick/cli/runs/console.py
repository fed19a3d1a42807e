"""What every command about runs works with: the journal, the screen, and what the runs wait for."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from maverick.cli.formatting import Column, json_text, table, terminal_width
from maverick.cli.screen import Screen, whole_call
from maverick.exceptions import InvalidInputError
from maverick.journal import Approval, Journal
from maverick.tui.figures import age, duration
from maverick.tui.plain_text import one_line, printable

_LONGEST_CALL = 4_000

LOOKED_AT = 10_000
"""How many of the newest runs are looked at for one whose id is shortened."""


class Console(Struct, frozen=True):
    """The surroundings of one command."""

    journal: Journal
    screen: Screen
    as_json: bool = False
    """Whether another program reads the output."""
    named_journal: str | None = None
    """The journal as the person named it, if they did."""

    def write(self, value: object) -> None:
        """Write a value as a line of JSON."""
        self.screen.say(f"{json_text(value)}\n")

    def say(self, lines: Iterable[str]) -> None:
        """Write lines of text."""
        self.screen.say("".join(f"{line}\n" for line in lines))

    def report(self, value: object, *lines: str) -> None:
        """Write a value as JSON where another program reads it, else lines about it."""
        self.write(value) if self.as_json else self.say(lines)

    def tabulate(self, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
        """Write a table."""
        self.screen.say(table(columns, rows))

    def command(self, *words: str) -> str:
        """The command to type for something else to do with the same journal."""
        where: tuple[str, ...] = ()
        if self.named_journal is not None:
            # An address may have a password in it, which is not to be shown.
            where = ("--journal", "…" if "://" in self.named_journal else self.named_journal)
        return printable(shlex.join(("maverick", "runs", *words, *where)))


async def pending_in(journal: Journal, run_id: str) -> list[Approval]:
    """What a run and its subagents wait for, oldest first."""
    asked = await journal.list_approvals()
    return [approval for approval in asked if await _is_within(journal, approval.run_id, run_id)]


def pending_lines(
    console: Console, approvals: Sequence[Approval], words: Sequence[str] = ()
) -> Iterator[str]:
    """The requests as a person reads them before they decide, with the commands that do; ``words`` end these."""
    for approval in approvals:
        yield f"Waiting for a decision on this call, {_when(approval)}:"
        yield from call_lines(approval.tool_name, approval.arguments)
        if approval.question:
            yield f"  because {one_line(approval.question)}"
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


def call_lines(tool: str, arguments: Mapping[str, Any]) -> Iterator[str]:
    """A call in full, since no one should approve what they cannot see; and escaped, so that nothing is invisible."""
    from textwrap import wrap  # here, since it is slow to load, and most runs wait for nothing

    call = whole_call(tool, arguments)
    if len(call) > _LONGEST_CALL:
        more = len(call) - _LONGEST_CALL
        call = f"{call[:_LONGEST_CALL]}… ({more:,} more characters; --json shows them)"
    lines = wrap(call, max(terminal_width() - 4, 1), break_on_hyphens=False)
    yield from (f"{'    ' if number else '  '}{line}" for number, line in enumerate(lines))


def _when(approval: Approval) -> str:
    now = time.time()
    asked = f"asked {age(now - approval.requested_at)} ago"
    if approval.expires_at is None:
        return asked
    left = approval.expires_at - now
    return f"{asked}, {f'{duration(left)} left' if left > 0 else 'expired, which denies it'}"


def deciding_user() -> str:
    """Who decides, unless the person says who they are: the user of this computer."""
    import getpass  # here, since it is only needed once someone decides

    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError) as error:  # the user of a container may have no name
        problem = (
            "This computer's user has no name to record the decision with. Set the variable USER, or say who you are "
            "with `maverick runs approve --by` or `deny --by`."
        )
        raise InvalidInputError(problem, field="by") from error
