"""A run of a session that was cut off: whether it is resumed, or a new one takes over what it did."""

from __future__ import annotations

from collections.abc import Callable

from maverick.agents.conversations import result_so_far
from maverick.exceptions import InvalidInputError, RunChangedError
from maverick.journal import Journal, RunStatus
from maverick.loop.fingerprint import Fingerprint
from maverick.model import Message
from maverick.runtime.replay import beginning, check_unchanged, load
from maverick.runtime.worker import Predecessor


async def carried_over(
    journal: Journal, run_id: str, agent: Fingerprint, remark: Callable[[str], object]
) -> tuple[Message, ...] | None:
    """What was said and done in a run that was cut off, if its agent has changed since; ``None`` if it can be resumed.

    Args:
        journal: Where it is.
        run_id: The run.
        agent: What its agent is now.
        remark: Called with what has changed.

    Raises:
        InvalidInputError: Another process works on it.
    """
    entries = await load(journal, run_id, with_blobs=False)
    record = await journal.get(run_id)
    if record.status is RunStatus.RUNNING and Predecessor.of(run_id, entries).is_there:
        raise InvalidInputError(
            "This conversation is being continued in another window or terminal. Wait for it, or stop it there.",
            field="session",
        )
    try:
        check_unchanged(beginning(run_id, entries), agent, accept_changes=False)
    except RunChangedError as error:
        remark(
            f"The agent is not what it was when it was interrupted: {'; '.join(error.changes)}. It goes on from what was "
            "said and done until then.\n\n"
        )
        return tuple((await result_so_far(journal, run_id)).messages)
    return None
