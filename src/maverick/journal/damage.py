"""Errors for damaged runs, and reading rows of a database that may be damaged."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from typing import Any, Protocol

import msgspec

from maverick.exceptions import JournalDamagedError
from maverick.journal.codec import decode_approval
from maverick.journal.records import Approval, RunRecord
from maverick.model import Blob
from maverick.telemetry import log

_ADVICE = "`maverick runs check` lists the damaged runs, and `maverick runs check --repair COPY` saves what can be read."

_END_OF_TIME = 253_402_300_800
"""The year 10,000, in seconds since the epoch: no clock shows it, and no calendar of Python's."""


class Row(Protocol):
    """A row of a result: its values by name."""

    def __getitem__(self, name: str, /) -> Any:  # noqa: ANN401 - whatever was asked for
        """One of its values."""
        ...

    def keys(self) -> Iterable[str]:
        """The names of its values."""
        ...


def damaged_run(run_id: str, readable: int, why: str, cause: Exception | None = None) -> JournalDamagedError:
    """The error for a run that can be read up to an entry.

    ``readable`` is how many of its entries can be read, and ``why`` says what is wrong with the next one.
    """
    rest = f"Its first {readable} entries can be read." if readable else "None of its entries can be read."
    return JournalDamagedError(
        f"The run {run_id!r} is damaged: {why.rstrip('.')}. {rest} {_ADVICE}",
        run_id=run_id,
        readable=readable,
        cause=cause,
    )


def damaged_blob(blob: Blob, run_id: str, state: str) -> JournalDamagedError:
    """The error for an image or document whose bytes are ``missing`` or ``damaged``."""
    about = f"The run {run_id!r} is damaged: the" if run_id else "The"
    return JournalDamagedError(
        f"{about} content of an image or document is {state} (sha256 {blob.sha256}). {_ADVICE}", run_id=run_id
    )


def read_record(fields: Row) -> RunRecord:
    """The record that a row of a database holds; raises JournalDamagedError if it does not hold one."""
    values = dict(fields)
    run_id = str(values.get("run_id", ""))
    try:
        record = msgspec.convert(values, RunRecord)
    except (ValueError, TypeError, OverflowError) as error:
        raise _damaged_record(run_id, str(error)) from error
    if record.entries < 0 or not all(0 <= at < _END_OF_TIME for at in (record.created_at, record.updated_at)):
        raise _damaged_record(run_id, "its numbers are impossible")
    # Walking from a run to its subagents' runs would never end.
    if record.parent is not None and f"{record.parent}/".startswith(f"{run_id}/"):
        raise _damaged_record(run_id, "it is its own parent")
    return record


def read_records(rows: Iterable[Row]) -> list[RunRecord]:
    """The records of rows; one that is damaged is logged and left out, since the others can be read."""
    records = []
    for row in rows:
        try:
            records.append(read_record(row))
        except JournalDamagedError as error:
            log(logging.WARNING, "run_damaged", {"run_id": error.run_id, "error": str(error)})
    return records


def read_approval(approval_id: str, payload: bytes) -> Approval:
    """The request for approval that a row of a database holds; raises JournalDamagedError if it does not hold one."""
    try:
        approval = decode_approval(payload)
        json.loads(approval.arguments_json)
    except (JournalDamagedError, ValueError, RecursionError) as error:
        run_id = approval_id.rpartition(":")[0].rpartition(":")[0]
        problem = f"The request {approval_id!r} for approval is damaged, so it cannot be decided. {_ADVICE}"
        raise JournalDamagedError(problem, run_id=run_id) from error
    return approval


def read_approvals(rows: Iterable[tuple[str, bytes]]) -> list[Approval]:
    """The requests of rows, each its id and payload; one that is damaged is logged and left out."""
    approvals = []
    for approval_id, payload in rows:
        try:
            approvals.append(read_approval(str(approval_id), payload))
        except JournalDamagedError as error:
            log(logging.WARNING, "approval_damaged", {"run_id": error.run_id, "error": str(error)})
    return approvals


def _damaged_record(run_id: str, why: str) -> JournalDamagedError:
    return JournalDamagedError(
        f"The run {run_id!r} is damaged: its record cannot be read ({why.rstrip('.')}). {_ADVICE}",
        run_id=run_id,
    )
