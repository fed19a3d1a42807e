"""Runs as JSON lines: what ``maverick runs export`` prints, and what a recording (a cassette) is.

::

    {"run": {"run_id": "report-42", …}}
    {"blob": "iVBORw0KGgo…"}
    {"seq": 1, "version": 1, "entry": {"type": "RunStarted", …}}

The first line of a run is its record. Then come the images and documents that it names, in base64, each once in the
file, and its entries, byte for byte as a journal stores them. A recording may name a run again to continue it, and keeps
the pieces in which an answer was streamed (``deltas``); it has no blobs, since a request is known by their hashes.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from maverick.exceptions import AgentError, InvalidInputError, JournalError
from maverick.journal.codec import blobs_in, decode_entry, decode_error, encode_json
from maverick.journal.playback import Delta, Json, RecordedExchange, exchanges_of
from maverick.journal.records import RunRecord
from maverick.journal.store import Journal
from maverick.loop.entries import Entry, RunStarted
from maverick.model import Blob, ModelInfo, Part, Response, StopReason, Usage
from maverick.model.response import NO_USAGE

_OLD_VERSION = 1


async def export_run(journal: Journal, run_id: str, exported: set[str] | None = None) -> AsyncIterator[bytes]:
    """A run and its subagents' runs, line by line; ``exported`` are the hashes of the blobs that are in the export already.

    If a part of it cannot be read, the lines before it have been yielded when the ``JournalDamagedError`` comes.
    """
    exported = set() if exported is None else exported
    yield run_line(await journal.get(run_id))
    for sha256 in await journal.blob_names(run_id):
        if sha256 not in exported:
            exported.add(sha256)
            blob = Blob(None, sha256)
            await journal.load_blob(blob, run_id)
            yield b'{"blob":"%b"}\n' % blob.base64
    async for seq, version, payload in journal.read_payloads(run_id):
        yield entry_line(seq, version, payload)
    for child in reversed(await journal.list_runs(parent=run_id, limit=1_000_000)):
        async for line in export_run(journal, child.run_id, exported):
            yield line


def run_line(record: RunRecord) -> bytes:
    """The line that begins a run, or continues it."""
    return b'{"run":%b}\n' % encode_json(record)


def entry_line(seq: int, version: int, payload: bytes, deltas: Sequence[Delta] | None = None) -> bytes:
    """The line of an entry; ``deltas`` are the pieces in which its answer was streamed."""
    streamed = b"" if deltas is None else b',"deltas":%b' % encode_json(deltas)
    return b'{"seq":%d,"version":%d,"entry":%b%b}\n' % (seq, version, payload, streamed)


# Reading --------------------------------------------------------------------------------------------------------


class Recording(Struct, frozen=True):
    """What the file of a recording holds."""

    runs: Sequence[Sequence[RecordedExchange]]
    models: dict[str, ModelInfo]
    """What the recorded client knew of each model."""
    intact: int
    """The length in bytes of what could be read: less than the file's if its last line was cut short."""


def read_recording(path: Path) -> Recording:
    """Read the file of a recording; an ``InvalidInputError`` if it is not one, or is damaged before its end."""
    with file_errors(path):
        content = path.read_bytes()
    *lines, tail = content.split(b"\n")
    reader = _Reader()
    intact = len(content)
    for number, line in enumerate([*lines, tail], start=1):
        try:
            if line.strip():
                reader.take(number, line)
        except (ValueError, TypeError, KeyError, RecursionError, JournalError, InvalidInputError) as error:
            if number > len(lines):  # its writer was stopped in the middle of it
                intact -= len(tail)
                break
            raise _unusable(path, number, error) from error
    return Recording(reader.runs(path), reader.models, intact)


class _Reader:
    """Sorts the lines of a file by run."""

    def __init__(self) -> None:
        self.models: dict[str, ModelInfo] = {}
        self._blobs: dict[str, bytes] = {}
        self._entries: dict[str, list[tuple[int, Entry, Sequence[Delta] | None]]] = {}
        self._old = _OldCassette(self.models)
        self._run: list[tuple[int, Entry, Sequence[Delta] | None]] = []

    def take(self, number: int, line: bytes) -> None:
        value = json.loads(line)
        if "run" in value:
            self._run = self._entries.setdefault(value["run"]["run_id"], [])
        elif "entry" in value:
            entry = decode_entry(encode_json(value["entry"]), value["version"])
            for blob in blobs_in(entry):
                if blob.sha256 in self._blobs:
                    blob.load(self._blobs[blob.sha256])
            self._run.append((number, entry, msgspec.convert(value.get("deltas"), list[Delta] | None)))
            if isinstance(entry, RunStarted):
                self.models["" if entry.fingerprint is None else entry.fingerprint.model] = entry.info
        elif "blob" in value:
            blob = Blob(b64decode(value["blob"], validate=True))
            self._blobs[blob.sha256] = blob.data
        else:
            self._old.take(number, value)

    def runs(self, path: Path) -> list[Sequence[RecordedExchange]]:
        runs: list[Sequence[RecordedExchange]] = [[exchange] for exchange in self._old.exchanges]
        for entries in self._entries.values():
            try:
                runs.append(list(exchanges_of(entries)))
            except InvalidInputError as error:
                raise _unusable(path, entries[0][0], error) from error
        return runs


def _unusable(path: Path, line: int, error: Exception) -> InvalidInputError:
    problem = f"it has no {error}" if isinstance(error, KeyError) else str(error).rstrip(".")
    return InvalidInputError(
        f"Line {line} of the cassette {path} cannot be used: {problem}. Repair the line, or record it again.",
        field="path",
        cause=error,
    )


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turn what is wrong with a file into an error that says what to do."""
    try:
        yield
    except FileNotFoundError as error:
        raise InvalidInputError(
            f"There is no cassette at {path}. Check the path, or record one with RecordingClient(client, path).",
            field="path",
        ) from error
    except OSError as error:
        raise InvalidInputError(
            f"The cassette {path} cannot be used: {error.strerror or error}. Check the path and its permissions.",
            field="path",
        ) from error


# Cassettes of 0.1.0: one line an exchange, which names an earlier one that it continues --------------------------


class _Response(Struct, frozen=True):
    stop_reason: StopReason
    content: str | list[Part] = ""
    usage: Usage = NO_USAGE
    model: str = ""
    request_id: str = ""


class _Answer(Struct, frozen=True):
    response: _Response | None = None
    error: dict[str, Any] | None = None
    deltas: list[Delta] | None = None


class _OldRequest(Struct, frozen=True):
    system: str = ""


class _OldExchange(Struct, frozen=True):
    id: str
    messages: list[Json]
    answer: _Answer
    continues: str | None = None
    request: _OldRequest = _OldRequest()


class _OldCassette:
    """Reads the lines of a cassette of the first form; what the recorded client knew of its models goes to ``models``."""

    def __init__(self, models: dict[str, ModelInfo]) -> None:
        self.exchanges: list[RecordedExchange] = []
        self._models = models
        self._asked: dict[str, Json] = {}

    def take(self, number: int, line: Json) -> None:
        """Read a line; raises ValueError if it is not a line of a cassette."""
        match line["type"]:
            case "cassette":
                if line["version"] != _OLD_VERSION:
                    raise InvalidInputError(f"its format is version {line['version']}. Update Maverick")
            case "model":
                self._models[line["model"]] = msgspec.convert(line["info"], ModelInfo)
            case "exchange":
                self._take_exchange(number, line)
            case other:
                raise InvalidInputError(f"a cassette has no {other!r}")

    def _take_exchange(self, number: int, line: Json) -> None:
        exchange = msgspec.convert(line, _OldExchange)
        earlier: Json = {"system": exchange.request.system, "messages": []}
        if exchange.continues:
            if exchange.continues not in self._asked:
                raise InvalidInputError(f"it continues {exchange.continues!r}, which is not above it")
            earlier = self._asked[exchange.continues]
        asked = {"system": earlier["system"], "messages": [*earlier["messages"], *exchange.messages]}
        self._asked[exchange.id] = asked
        written = exchange.answer
        answer: Response | AgentError | None = None if written.error is None else decode_error(written.error)
        if (response := written.response) is not None:
            answer = Response(
                response.content,
                usage=response.usage,
                stop_reason=response.stop_reason,
                model=response.model,
                request_id=response.request_id,
            )
        self.exchanges.append(RecordedExchange(number, asked, answer, written.deltas))
