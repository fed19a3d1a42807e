"""What a run in a fleet is asked for with: whose it is, its agent and its inputs, as they are stored until a worker starts it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from maverick.exceptions import InvalidInputError, JournalDamagedError
from maverick.journal.codec import encode_json, from_plain
from maverick.misuse import refuse
from maverick.model import Blob, Document, Image, Part
from maverick.model.media import MAX_BYTES

_MOST_BYTES = 8 * 2**20
"""Of the inputs of a run, without images and documents."""
_RUN_ID = re.compile(r"[\w.:-]{1,200}")
_AGENT = re.compile(r"[^/@]{1,100}")
_MAX_USER_ID = 300
_MAX_REASON = 2_000
DEFAULT_PRIORITY = 3
"""The priority of a run that is given no other."""


def check_run_id(run_id: str) -> None:
    """Raise an InvalidInputError unless a fleet can have a run of this id, which Temporal sees."""
    if not _RUN_ID.fullmatch(run_id):
        raise _unfit("run_id", f"up to 200 letters, digits and any of '._:-', got {run_id[:200]!r}")


def check_agent(name: str) -> None:
    """Raise an InvalidInputError unless a fleet can have an agent of this name: it is part of the names of task queues."""
    if not _AGENT.fullmatch(name) or not name.isprintable():
        raise _unfit("agent", f"a name of up to 100 characters without '/' and '@', got {name[:200]!r}")


def check_user(user_id: str | None) -> None:
    """Raise an InvalidInputError unless a fleet can have runs of this user."""
    if user_id is not None and not 0 < len(user_id) <= _MAX_USER_ID:
        raise _unfit("user_id", f"1 to {_MAX_USER_ID} characters, got {len(user_id):,}")


def check_reason(reason: str) -> None:
    """Raise an InvalidInputError if a reason to stop a run is too long to be kept with it."""
    if len(reason) > _MAX_REASON:
        raise _unfit("reason", f"up to {_MAX_REASON:,} characters, got {len(reason):,}")


def check_priority(priority: int) -> None:
    """Raise an InvalidInputError unless a run can have this priority."""
    if priority not in range(1, 6):
        raise _unfit("priority", f"1 to 5, got {priority!r}")


def fairness_key(user_id: str | None) -> str:
    """The user's fairness key in Temporal: a hash, since user ids are often e-mail addresses."""
    return "" if user_id is None else hashlib.sha256(user_id.encode()).hexdigest()[:32]


def _unfit(field: str, expected: str) -> InvalidInputError:
    return InvalidInputError(f"{field}: expected {expected}.", field=field)


class RunRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The inputs of a run."""

    inputs: dict[str, Any] = {}
    parts: dict[str, list[str | Part] | Part] = {}
    """The inputs that are images or documents, or text with such."""
    trace_id: str | None = None
    fork: bool = False
    """Whether it forks a run: the inputs are then what :meth:`AgentExecutor.fork` is given."""

    @classmethod
    def of(
        cls, inputs: Mapping[str, Any] | None, trace_id: str | None = None, *, fork: bool = False
    ) -> RunRequest:
        """The request for a run with these inputs; raises InvalidInputError if they are not a dictionary."""
        if inputs is not None and not isinstance(inputs, Mapping):
            refuse("inputs", f"expected a dictionary, such as inputs={{'prompt': …}}, got {inputs!r}.")
        values = dict(inputs or {})
        parts = {name: value for name, value in values.items() if _has_parts(value)}
        plain = {name: value for name, value in values.items() if name not in parts}
        return cls(inputs=plain, parts=parts, trace_id=trace_id, fork=fork)

    @classmethod
    def decode(cls, payload: bytes, run_id: str) -> RunRequest:
        """Read the stored request of a run; raises JournalDamagedError if it cannot be read."""
        try:
            return from_plain(json.loads(payload), cls)
        except ValueError as error:
            raise JournalDamagedError(
                f"The request of the run {run_id!r} cannot be read.", cause=error
            ) from error

    def encode(self) -> bytes:
        """Write it as JSON, without the bytes of images and documents; an error if it is too large, or no JSON."""
        try:
            payload = encode_json(self)
        except (TypeError, ValueError, RecursionError, OverflowError) as error:
            refuse("inputs", f"expected JSON values, text, images or documents ({error}).", error)
        if len(payload) > _MOST_BYTES or sum(blob.size for blob in self.blobs) > MAX_BYTES:
            refuse(
                "inputs",
                f"a run takes at most {_MOST_BYTES // 2**20} MB, and {MAX_BYTES // 2**20} MB of images and "
                "documents.",
            )
        return payload

    @property
    def blobs(self) -> list[Blob]:
        """The bytes of its images and documents; after :meth:`decode` they have yet to be loaded."""
        given = [p for value in self.parts.values() for p in (value if isinstance(value, list) else [value])]
        return [part.blob for part in given if isinstance(part, Image | Document) and part.blob is not None]

    @property
    def all_inputs(self) -> dict[str, Any]:
        """The values of the agent's variables."""
        return self.inputs | self.parts

    def is_same_as(self, other: RunRequest) -> bool:
        """Whether it asks for what another did. Without inputs, it asks for whatever the run is."""
        return not self.all_inputs or (self.fork, self.all_inputs) == (other.fork, other.all_inputs)


def _has_parts(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(isinstance(item, Part) for item in value)
    return isinstance(value, Part)
