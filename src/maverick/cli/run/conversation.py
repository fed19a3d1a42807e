"""The last conversation of each folder, which ``maverick -c`` continues: kept in the person's own folder."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

import msgspec

from maverick.config.loading import own_folder
from maverick.exceptions import ConfigError, InvalidInputError, RunNotFoundError
from maverick.journal import Journal, RunStatus
from maverick.loop.steps import Finish
from maverick.model import Message


class LastRun(msgspec.Struct, frozen=True):
    """The run that a folder's conversation ended with."""

    run_id: str
    agent: str | None
    """The agent as the person named it; ``None`` for the general one."""


def remember(run: LastRun) -> None:
    """Make a run the last one of this folder. Where that cannot be written, there is nothing to continue later."""
    with suppress(OSError, ConfigError):
        place = _place()
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.write_bytes(msgspec.json.encode(run))


def last_run() -> LastRun:
    """The last run of this folder.

    Raises:
        InvalidInputError: There is none.
    """
    try:
        return msgspec.json.decode(_place().read_bytes(), type=LastRun)
    except (OSError, msgspec.DecodeError, ConfigError) as error:
        raise InvalidInputError(
            "There is no conversation in this folder to continue. Start one without -c.", field="continue"
        ) from error


async def messages_of(journal: Journal, run_id: str) -> tuple[Message, ...]:
    """What was said in a run that has ended with an answer.

    Raises:
        InvalidInputError: It has not, or the journal does not have it.
    """
    from maverick.journal.playback import bare_loop, follow  # here, since few runs continue another
    from maverick.runtime.replay import load

    try:
        record = await journal.get(run_id)
    except RunNotFoundError as error:
        raise InvalidInputError(
            f"The journal does not have the last conversation of this folder, {run_id}. Start one without -c.",
            field="continue",
        ) from error
    loop = bare_loop()
    for entry in await load(journal, run_id):
        follow(loop, entry)
    if record.status is not RunStatus.COMPLETE or not isinstance(loop.step, Finish):
        raise InvalidInputError(
            f"The last run in this folder has not ended. Go on with it: maverick runs resume {run_id}",
            field="continue",
        )
    return tuple(loop.step.result.messages)


def _place() -> Path:
    folder = hashlib.sha256(str(Path.cwd()).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return own_folder() / "folders" / f"{folder}.json"
