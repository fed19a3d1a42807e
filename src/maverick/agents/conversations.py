"""The conversations of each folder: which runs they are made of, kept in the user's own folder.

A conversation is a chain of runs that share their trace id, each of which continues the one before. What was said is in
the journal. Here is what a journal does not know: in which folder a conversation takes place, and with which agent.
``maverick -c`` continues the last one of a folder, and editors list and load them.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from maverick.config.own_files import own_folder, persons_home, replace_file
from maverick.config.trust import Trust, digest, folder_key
from maverick.exceptions import ConfigError, InvalidInputError, RunNotFoundError
from maverick.journal import Journal, RunStatus
from maverick.journal.words import decode_words
from maverick.loop.entries import Interrupted
from maverick.loop.machine import AgentLoop
from maverick.loop.result import AgentResult, TerminateReason
from maverick.loop.steps import Finish
from maverick.model import Message

_MOST = 200
"""How many conversations of a folder are remembered; their runs stay in the journal."""


class Conversation(msgspec.Struct, frozen=True):
    """Some runs, each of which continues the one before."""

    id: str
    """The trace id of its runs."""
    runs: tuple[str, ...] = ()
    """Their ids, oldest first."""
    agent: str | None = None
    """The agent as the user named it; ``None`` for the general one."""
    digest: str = ""
    """What its file was, if it was named by its file."""

    def continued_by(self, run_id: str) -> Conversation:
        """The conversation with one more run."""
        return self if run_id in self.runs else msgspec.structs.replace(self, runs=(*self.runs, run_id))

    def agent_in(self, folder: Path) -> str | None:
        """The agent as it can be named from anywhere, if its folder is trusted, or it is Markdown and still the same.

        A Python file that is the same may import others that are not, so that it runs unnamed from a trusted folder only:
        that is the file's own, wherever the conversation takes place, and also where a link to the file leads. One that a
        stranger may have replaced is an ``InvalidInputError``.
        """
        file = _file_of(self.agent, folder)
        if file is None or self.agent is None:
            return self.agent
        named = self.agent if folder == Path.cwd() else str(folder / self.agent)
        is_same = file.suffix == ".md" and _digest(file) == self.digest
        stranger = None if is_same else _untrusted_folder_of(file, folder)
        if stranger is not None:
            what = "has changed since this conversation began" if file.suffix == ".md" else "is Python code"
            source = shlex.quote(named if named.endswith(file.suffix) else named.rpartition(":")[0])
            raise InvalidInputError(
                f"{file} {what}, and its folder is not trusted. Look at it, then name it: maverick run "
                f'{shlex.quote(named)} -c -p "…", or after maverick runs …: --agents {source}. '
                f"Or run: maverick trust {shlex.quote(stranger)}",
                field="agent",
            )
        return named


def new_conversation(agent: str | None) -> Conversation:
    """A conversation in which nothing was said yet."""
    file = _file_of(agent, Path.cwd())
    return Conversation(os.urandom(16).hex(), (), agent, "" if file is None else _digest(file))


def agent_of_run(run_id: str) -> str | None:
    """The file of the agent of a run that was started here, if it was named by one, and no stranger may have replaced it."""
    return _agent_where(lambda conversation: run_id in conversation.runs)


def agent_of_conversation(trace_id: str) -> str | None:
    """The same of a conversation, by the trace id of its runs."""
    return _agent_where(lambda conversation: conversation.id == trace_id)


def _agent_where(is_meant: Callable[[Conversation], bool]) -> str | None:
    here = str(Path.cwd())
    for folder, conversations in sorted(every_folder().items(), key=lambda known: known[0] != here):
        for conversation in conversations:
            if is_meant(conversation) and _file_of(conversation.agent, Path(folder)) is not None:
                return conversation.agent_in(Path(folder))
    return None


def _file_of(agent: str | None, folder: Path) -> Path | None:
    """The file of an agent that was named by its file: ``FILE.md``, ``FILE.py`` or ``FILE.py:NAME``."""
    path, colon, _ = (agent or "").rpartition(":")
    named = path if colon and path.endswith(".py") else agent or ""
    return folder / named if named.endswith((".py", ".md")) else None


def _untrusted_folder_of(file: Path, project: Path) -> str | None:
    """Of the folder that a file is named in and the one it really is in, the one that is not trusted, if any.

    A trusted project is trusted with the folders in it; the user's home folder is not a project.
    """
    trust, real, home = Trust(persons_home()), Path(os.path.realpath(file)), persons_home()
    inside = real.is_relative_to(os.path.realpath(project)) and ".." not in file.parts
    if inside and trust.covers_folder(project) and (home is None or folder_key(home) != folder_key(project)):
        return None
    folders = (file.parent, real.parent)
    return next((folder_key(folder) for folder in folders if not trust.covers_folder(folder)), None)


def _digest(file: Path) -> str:
    try:
        return digest(file.read_bytes())
    except OSError:  # loading it says what is wrong
        return ""


class _Folder(msgspec.Struct, frozen=True):
    """The file of a folder."""

    folder: str
    conversations: tuple[Conversation, ...]
    """The newest first."""


class FolderConversations:
    """The conversations of a folder, by default the current one, the newest first."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = str(folder or Path.cwd())

    def all(self) -> tuple[Conversation, ...]:
        """All that are remembered."""
        with suppress(ConfigError):  # without a home, nothing is remembered
            return _read(self._file, self._folder).conversations
        return ()

    def latest(self, conversation: Conversation) -> Conversation:
        """A conversation as it is by now: another process may have continued it."""
        return next((one for one in self.all() if one.id == conversation.id), conversation)

    def last(self) -> Conversation:
        """The one that was continued last; without any, an ``InvalidInputError``."""
        if not (found := self.all()):
            raise InvalidInputError(
                "There is no conversation in this folder to continue. Start one without -c.", field="continue"
            )
        return found[0]

    def remember(self, conversation: Conversation) -> None:
        """Make a conversation the last one. Where that cannot be written, there is nothing to continue later."""
        with suppress(OSError, ConfigError), _only_one(self._file):
            latest = (conversation,) if conversation.runs else ()
            others = (one for one in self.all() if one.id != conversation.id)
            kept = _Folder(self._folder, (*latest, *others)[:_MOST])
            replace_file(self._file, msgspec.json.encode(kept))

    @property
    def _file(self) -> Path:
        hashed = hashlib.sha256(self._folder.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return own_folder() / "folders" / f"{hashed}.json"


def every_folder() -> dict[str, tuple[Conversation, ...]]:
    """The conversations of every folder that has any."""
    files: list[Path] = []
    with suppress(OSError, ConfigError):
        files = sorted((own_folder() / "folders").glob("*.json"))
    read = (_read(file, "") for file in files)
    return {one.folder: one.conversations for one in read if one.folder and one.conversations}


async def messages_of(journal: Journal, run_id: str) -> tuple[Message, ...] | None:
    """What was said in a run that the journal has, and to it as it was stopped; ``None`` if it has not ended."""
    loop = await _followed(journal, run_id)
    if not isinstance(loop.step, Finish):
        return None
    return (*loop.step.result.messages, *await unheard_by(journal, run_id))


async def messages_to_continue(journal: Journal, run_id: str) -> tuple[Message, ...] | None:
    """The same of a run that a conversation continues from.

    Raises:
        RunMovedError: It was moved to another journal, and what was said there since would be left out.
        JournalDamagedError: Its last entries are lost.
    """
    from maverick.runtime.replay import check_complete  # here, since few runs continue another

    messages = await messages_of(journal, run_id)
    await check_complete(journal, run_id, None)
    return messages


async def unheard_by(journal: Journal, run_id: str) -> list[Message]:
    """What was said to a run that has not heard it."""
    words = [decode_words(payload) for payload in await journal.waiting_words(run_id)]
    await journal.load_blobs(words, run_id)
    return [Message.user(said.parts or said.content) for said in words]


async def is_elsewhere(journal: Journal, run_id: str) -> bool:
    """Whether another process works on a run that has not ended."""
    from maverick.runtime.replay import load  # here, since few runs continue another
    from maverick.runtime.worker import Predecessor

    if (await journal.get(run_id)).status is not RunStatus.RUNNING:
        return False
    return Predecessor.of(run_id, await load(journal, run_id, with_blobs=False)).is_there is True


async def result_so_far(journal: Journal, run_id: str) -> AgentResult[str]:
    """What was said and done in a run that may not have ended: it is taken as one that was stopped after its last entry.

    Its agent is not needed, so that also a run can be continued by another whose own agent has changed.
    """
    loop = await _followed(journal, run_id)
    if not isinstance(step := loop.step, Finish):
        last = (await journal.get(run_id)).updated_at
        step = loop.feed(Interrupted(at=last, reason=TerminateReason.ABORTED))
    assert isinstance(step, Finish)  # noqa: S101 - what is stopped has ended
    return step.result


async def _followed(journal: Journal, run_id: str) -> AgentLoop[str]:
    from maverick.journal.playback import bare_loop, follow  # here, since few runs continue another
    from maverick.runtime.replay import load

    try:
        entries = await load(journal, run_id)
    except RunNotFoundError as error:
        raise InvalidInputError(
            f"The journal does not have the last run of this conversation, {run_id}. Start a new conversation.",
            field="continue",
        ) from error
    loop = bare_loop()
    for entry in entries:
        follow(loop, entry)
    return loop


def _read(file: Path, folder: str) -> _Folder:
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Folder)
    except (OSError, msgspec.DecodeError):
        return _Folder(folder, ())


@contextmanager
def _only_one(file: Path) -> Iterator[None]:
    """Change a file while no other process does."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with file.with_suffix(".lock").open("wb") as lock:
        with suppress(ImportError):  # Windows does not have it; there, of two at once the last counts
            import fcntl  # here, since not every system has it

            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
