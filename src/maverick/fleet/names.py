"""What the runs, agents and users of a fleet may be called where Temporal sees it, and the priorities of runs."""

from __future__ import annotations

import hashlib
import re

from maverick.exceptions import InvalidInputError

_RUN_ID = re.compile(r"[\w.:-]{1,200}")
_AGENT = re.compile(r"[^/@]{1,100}")
MAX_USER_ID = 300
"""Characters that the id of a user may have."""
MAX_REASON = 2_000
"""Characters that the reason to stop a run may have."""
DEFAULT_PRIORITY = 3
"""The priority of a run that is given no other."""


def check_run_id(run_id: str) -> None:
    """Make sure that a fleet can have a run of this id.

    Raises:
        InvalidInputError: It cannot.
    """
    if not _RUN_ID.fullmatch(run_id):
        raise InvalidInputError(
            f"run_id: expected up to 200 letters, digits and any of '._:-', got {run_id[:200]!r}.",
            field="run_id",
        )


def check_agent(name: str) -> None:
    """Make sure that a fleet can have an agent of this name: it is part of the names of task queues.

    Raises:
        InvalidInputError: It cannot.
    """
    if not _AGENT.fullmatch(name) or not name.isprintable():
        raise InvalidInputError(
            f"agent: expected a name of up to 100 characters without '/' and '@', got {name[:200]!r}.",
            field="agent",
        )


def check_user(user_id: str | None) -> None:
    """Make sure that a fleet can have runs of this user.

    Raises:
        InvalidInputError: It cannot.
    """
    if user_id is not None and not 0 < len(user_id) <= MAX_USER_ID:
        raise InvalidInputError(
            f"user_id: expected 1 to {MAX_USER_ID} characters, got {len(user_id):,}.", field="user_id"
        )


def check_reason(reason: str) -> None:
    """Make sure that a reason to stop a run is not too long to be kept with it.

    Raises:
        InvalidInputError: It is.
    """
    if len(reason) > MAX_REASON:
        raise InvalidInputError(
            f"reason: expected up to {MAX_REASON:,} characters, got {len(reason):,}.", field="reason"
        )


def check_priority(priority: int) -> None:
    """Make sure that a run can have this priority.

    Raises:
        InvalidInputError: It cannot.
    """
    if priority not in range(1, 6):
        raise InvalidInputError(f"priority: expected 1 to 5, got {priority!r}.", field="priority")


def fairness_key(user_id: str | None) -> str:
    """The user's fairness key in Temporal: a hash, since user ids are often e-mail addresses."""
    return "" if user_id is None else hashlib.sha256(user_id.encode()).hexdigest()[:32]
