"""Writes a recording (a cassette): runs as JSON lines, added as requests are answered.

It is written for a client that only sees requests and answers. A request
that follows from a run in the file by the results of its tools, or tries it again, continues that run; any other is
the beginning of a new one. Secrets are removed before anything is written. An answer is in the file before its caller
has it; if the process is killed meanwhile, the last line may be cut short and is ignored.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec.structs import replace

from maverick.exceptions import AgentError, InvalidInputError
from maverick.journal.codec import VERSION, decode_entry, encode_json, from_plain, to_plain
from maverick.journal.export import entry_line, file_errors, read_recording, run_line
from maverick.journal.playback import Delta, Json, bare_loop, plain_messages
from maverick.journal.records import RunRecord, RunStatus
from maverick.journal.redaction import redact, redact_text
from maverick.loop.entries import (
    Entry,
    Interrupted,
    ModelCalled,
    ModelFailed,
    ModelReplied,
    RunStarted,
    ToolFinished,
    ToolsStarted,
)
from maverick.loop.fingerprint import Fingerprint
from maverick.loop.limits import Limits
from maverick.loop.result import TerminateReason, ToolOutcome
from maverick.loop.run_settings import RunSettings, ToolOffer
from maverick.loop.steps import CallModel, Finish, RunTools
from maverick.model import ModelInfo, Part, Request, Response
from maverick.model.message import text_of

Existing: TypeAlias = Literal["refuse", "append", "replace", "reuse"]
"""What to do with a file that is there already; ``reuse`` answers from it, and records what it does not have."""

_UNLIMITED = 1 << 40


class RecordingWriter:
    """Writes the file of a recording.

    ``path`` is the file; the folders it is in are created. ``existing`` is what to do if there is such a file. Raises
    InvalidInputError if there is such a file, or it cannot be written.
    """

    def __init__(self, path: Path, existing: Existing) -> None:
        self._path = path
        self._open: list[_LiveRun] = []
        self._last: _LiveRun | None = None
        with file_errors(path):
            if not path.exists() or existing == "replace":
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(b"")
            elif existing in ("append", "reuse"):
                self._mend(read_recording(path).intact)
            else:
                raise InvalidInputError(
                    f"There is already a file at {path}. Choose another path, or say what to do with this one: "
                    "existing='append', 'replace' or 'reuse'.",
                    field="path",
                )

    def add(
        self,
        request: Request,
        asked: Json,
        info: ModelInfo,
        answer: Response | AgentError | None,
        deltas: Sequence[Delta] | None = None,
    ) -> None:
        """Write a request and its answer; ``None`` if the caller stopped reading it.

        ``asked`` is the request as :func:`~maverick.journal.playback.plain_request` makes it.
        """
        run = next((run for run in self._open if run.take(asked)), None)
        if run is None:
            run = _LiveRun(request, asked, info)
            self._open.insert(0, run)
        run.answer(answer, None if deltas is None else list(_without_secrets(deltas)))
        if run.is_over:
            self._open.remove(run)
        lines = run.unwritten()
        if run is not self._last:
            self._last, lines = run, run_line(run.record) + lines
        with file_errors(self._path), self._path.open("ab") as file:
            file.write(lines)

    def _mend(self, intact: int) -> None:
        """Remove a last line that was cut short, and end one that only lacks its end."""
        with self._path.open("r+b") as file:
            file.truncate(intact)
            file.seek(intact)
            file.write(b"\n")


class _LiveRun:
    """A run that is being recorded."""

    def __init__(self, request: Request, asked: Json, info: ModelInfo) -> None:
        now = time.time()
        self.record = RunRecord(
            run_id=f"recorded-{os.urandom(8).hex()}",
            agent="recorded",
            status=RunStatus.RUNNING,
            created_at=now,
            updated_at=now,
            entries=0,
        )
        self._loop = bare_loop()
        self._asked = asked
        self._lines: list[bytes] = []
        self._feed(
            RunStarted(
                at=now,
                run_id=self.record.run_id,
                trace_id=self.record.run_id,
                agent=("recorded",),
                system=request.system,
                messages=tuple(request.messages),
                head=len(request.messages),
                limits=Limits(),
                info=info,
                settings=RunSettings(
                    max_tokens=request.config.max_tokens or 0,
                    context_window=_UNLIMITED,
                    max_retries=_UNLIMITED,
                    offer=ToolOffer(names=tuple(asked["tools"])),
                ),
            ),
            fingerprint=Fingerprint("recorded", "", request.config.model, asked["output"], asked["tools"]),
        )

    @property
    def is_over(self) -> bool:
        return isinstance(self._loop.step, Finish)

    def take(self, asked: Json) -> bool:
        """Move on to a request, if it follows from this run; says whether it does."""
        known = plain_messages(self._loop.conversation.history)
        messages = asked["messages"]
        if messages[: len(known)] != known or any(
            asked[name] != self._asked[name] for name in asked.keys() - {"messages"}
        ):
            return False
        new, step = messages[len(known) :], self._loop.step
        if not isinstance(step, RunTools):
            return not new
        ids = [planned.call.id for planned in step.calls]
        if [message.get("tool_call_id") for message in new] != ids:
            return False
        self._feed(ToolsStarted(at=time.time(), turn=step.turn))
        for index, message in enumerate(new):
            outcome = ToolOutcome.FAILED if message.get("is_error") else ToolOutcome.FINISHED
            content = message["content"] or ""
            parts: tuple[Part, ...] = ()
            if not isinstance(content, str):
                parts = from_plain(content, tuple[Part, ...])
                content = text_of(parts)
            self._feed(
                ToolFinished(at=time.time(), index=index, outcome=outcome, content=content, parts=parts)
            )
        return True

    def answer(self, answer: Response | AgentError | None, deltas: Sequence[Delta] | None) -> None:
        step, now = self._loop.step, time.time()
        assert isinstance(step, CallModel)  # noqa: S101 - it was asked for
        self._feed(ModelCalled(at=now, turn=step.turn, attempt=step.attempt))
        if isinstance(answer, Response):
            self._feed(ModelReplied(at=now, response=answer), deltas)
        elif answer is not None:
            self._feed(ModelFailed(at=now, error=answer), deltas)
        else:
            self._feed(Interrupted(at=now, reason=TerminateReason.ABORTED), deltas)

    def unwritten(self) -> bytes:
        """The lines that are not in the file yet."""
        lines, self._lines = self._lines, []
        return b"".join(lines)

    def _feed(
        self, entry: Entry, deltas: Sequence[Delta] | None = None, fingerprint: Fingerprint | None = None
    ) -> None:
        # Through the standard library's JSON, which joins two surrogates that are one character.
        plain = json.loads(json.dumps(redact(to_plain(entry))))
        if fingerprint is not None:  # which has the names of tools, such as get_token
            plain["fingerprint"] = to_plain(fingerprint)
        payload = encode_json(plain)
        self._loop.feed(decode_entry(payload, VERSION))
        self.record = replace(self.record, entries=self.record.entries + 1)
        self._lines.append(entry_line(self.record.entries, VERSION, payload, deltas))


def _without_secrets(deltas: Sequence[Delta]) -> Iterator[Delta]:
    """The deltas; those of one kind in a row are joined where a secret would be cut in two."""
    for kind, run in groupby(deltas, key=itemgetter(0)):
        pieces = list(run)
        if kind == "block":
            yield from from_plain(redact(to_plain(pieces)), list[Delta])
            continue
        whole = "".join(str(text) for _, text in pieces)
        clean = redact_text(whole)
        if clean == whole:
            yield from pieces
        else:
            yield (kind, clean)
