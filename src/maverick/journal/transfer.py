"""Moves a run from one journal to another: same id, same entries, and never two that can continue it.

The source is marked before anything is copied, and what was copied appears in the target at once. A move that was
interrupted can be repeated at any time: it finds the run as it was in the source, or marked there, and then either
complete in the target or not there at all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from msgspec.structs import replace

from maverick.exceptions import InvalidInputError, MaverickError, RunExistsError, RunNotFoundError
from maverick.journal.codec import VERSION, decode_entry, encode_entry
from maverick.journal.records import (
    ApprovalStatus,
    Departure,
    Lease,
    RunCopy,
    RunRecord,
    RunStatus,
    check_here,
)
from maverick.journal.store import Journal
from maverick.loop.entries import RunStarted
from maverick.model import Blob

_ALL = 1_000_000


async def move_run(source: Journal, run_id: str, target: Journal, place: str) -> None:
    """Move a run and its subagents' runs, with their blobs, approvals and the words that wait for them.

    Whoever drives the run can no longer write to it. A move that was interrupted is finished, one that is done stays done.

    ``place`` is what the target is called, for whoever looks for the run in the source; without passwords.

    Raises:
        RunNotFoundError: The source has no such run.
        RunMovedError: It was moved to another place before.
        RunExistsError: The target has another run of this id.
        InvalidInputError: It is a subagent's run, or a prompt of an agent that is a class.
        JournalDamagedError: A part of it cannot be read; it stays in the source.
    """
    record = await source.get(run_id)
    await _check_movable(source, record)
    is_there, before = await _is_live(target, source, run_id), Departure.of(record)
    if before is not None and (before.target != place or (before.arrived and not is_there)):
        check_here(record)
    if before is None and is_there:
        raise RunExistsError(run_id=run_id)
    if before is None or not before.arrived:
        await _move(source, run_id, target, place, before)


async def _move(source: Journal, run_id: str, target: Journal, place: str, before: Departure | None) -> None:
    await _confirm_arrival(target, run_id)
    lease = await source.claim(run_id)
    record = await source.get(run_id)  # not as it was before: now no one can change it any more
    departure = Departure.of(record)
    if departure != before:  # someone else moves it, perhaps elsewhere, and perhaps is done
        check_here(record)
    if departure is None:
        departure = Departure(place, record.status, record.reason, arrived=False)
        await _mark(source, lease, departure)
    if not await _is_live(target, source, run_id):
        try:
            copies = [copy async for copy in _copies(source, run_id, departure)]
        except MaverickError:  # nothing has left yet
            await source.append(lease, (), departure.status, departure.reason)
            raise
        target.at_write_point("Received", before=True)
        await target.receive(copies)
        target.at_write_point("Received", before=False)
    await _settle_approvals(source, run_id, target)
    await _mark(source, lease, departure._replace(arrived=True))


async def _check_movable(source: Journal, record: RunRecord) -> None:
    if record.parent is not None:
        raise InvalidInputError(
            f"The run {record.run_id!r} belongs to a subagent. Move the run {record.run_id.partition('/')[0]!r}.",
            field="run_id",
        )
    for _, version, payload in await source.read_page(record.run_id, 0, 1):
        start = decode_entry(payload, version)
        if isinstance(start, RunStarted) and start.execution is not None:
            raise InvalidInputError(
                f"The run {record.run_id!r} is a prompt of an agent that is a class, and cannot be moved without the "
                "others. Let it finish where it is.",
                field="run_id",
            )


async def _is_live(journal: Journal, other: Journal, run_id: str) -> bool:
    """Whether a journal has a run, and it was not moved away; a ``RunExistsError`` if it has another one of this id."""
    try:
        record = await journal.get(run_id)
    except RunNotFoundError:
        return False
    if Departure.of(record) is not None:
        return False
    if await journal.read_page(run_id, 0, 1) != await other.read_page(run_id, 0, 1):
        raise RunExistsError(run_id=run_id)
    return True


async def _confirm_arrival(target: Journal, run_id: str) -> None:
    """Finish the move with which the run came, if that was interrupted at its last step.

    Else both journals could be marked with a move that has begun, and neither be known to have the newest entries.
    """
    try:
        departure = Departure.of(await target.get(run_id))
    except RunNotFoundError:
        return
    if departure is not None and not departure.arrived:
        await _mark(target, await target.claim(run_id), departure._replace(arrived=True))


async def _mark(source: Journal, lease: Lease, departure: Departure) -> None:
    point = "Arrived" if departure.arrived else "Departed"
    source.at_write_point(point, before=True)
    await source.append(lease, (), RunStatus.STOPPED, str(departure))
    source.at_write_point(point, before=False)


async def _copies(source: Journal, run_id: str, departure: Departure | None = None) -> AsyncIterator[RunCopy]:
    """A run and its subagents' runs, with all that belongs to them."""
    record = await source.get(run_id)
    if departure is not None:
        record = replace(record, status=departure.status, reason=departure.reason)
    payloads = [
        payload if version == VERSION else encode_entry(decode_entry(payload, version))
        async for _, version, payload in source.read_payloads(run_id)
    ]
    blobs = [Blob(None, sha256) for sha256 in await source.blob_names(run_id)]
    for blob in blobs:
        await source.load_blob(blob, run_id)
    words = await source.waiting_words(run_id)
    approvals = await source.list_approvals(run_id=run_id, state="all")
    yield RunCopy(replace(record, entries=len(payloads)), payloads, blobs, words, approvals)
    for child in await source.list_runs(parent=run_id, limit=_ALL):
        async for copy in _copies(source, child.run_id):
            yield copy


async def _settle_approvals(source: Journal, run_id: str, target: Journal) -> None:
    """Close the requests that are now the target's; a decision that was made here meanwhile goes with the run."""
    for pending in await source.list_approvals():
        if pending.run_id.partition("/")[0] == run_id:
            closed = replace(pending, status=ApprovalStatus.USED)
            if not await source.settle_approval(closed, ApprovalStatus.PENDING):
                decided = await source.get_approval(pending.approval_id)
                await target.settle_approval(decided, ApprovalStatus.PENDING)
