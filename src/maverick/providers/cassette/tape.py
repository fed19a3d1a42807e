"""The file of a cassette: one JSON value on each line, added as things happen.

The first line tells the format's version. Then come exchanges, each a request and its answer, and what the client
said of models. A request that goes on where an earlier one stopped names that one (``continues``) and holds only
the messages that were added, so a conversation is written once, not once for each of its turns::

    {"type": "cassette", "version": 1}
    {"type": "exchange", "id": "9d0c…", "request": {"system": "…"}, "messages": […], "answer": {…}}
    {"type": "exchange", "id": "51f2…", "continues": "9d0c…", "messages": […], "answer": {…}}

A line is written in one go when its exchange is over. If the process is killed meanwhile, the last line may be
cut short; it is then ignored, and taken off by whoever records on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from maverick.exceptions import InvalidInputError
from maverick.model import ModelInfo
from maverick.providers.cassette.exchange import Answer, Json

VERSION = 1


class Header(Struct, frozen=True, tag="cassette"):
    """The first line."""

    version: int


class WrittenModel(Struct, frozen=True, tag="model"):
    """What the recorded client said of a model."""

    model: str
    info: ModelInfo


class WrittenExchange(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="exchange"):
    """A request and its answer."""

    id: str
    """A digest of the request; equal requests have equal ones."""
    continues: str = ""
    """The id of an earlier request that this one begins with, if there is one."""
    request: dict[str, Any] = {}
    """What is asked beside the messages, unless it is what the earlier request asks."""
    messages: list[dict[str, Any]]
    """The messages, after those of the earlier request."""
    answer: Answer


Line: TypeAlias = Header | WrittenModel | WrittenExchange


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request, whole again, and its answer."""

    line: int
    key: str
    request: Json
    answer: Answer


@dataclass(frozen=True, slots=True)
class Tape:
    """What a cassette's file holds."""

    exchanges: Sequence[Exchange]
    models: dict[str, ModelInfo]
    intact: int
    """The length in bytes of what could be read: less than the file's if its last line was cut short."""


def canonical(value: object) -> bytes:
    """The JSON of a value, the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def keys_of(request: Json) -> list[str]:
    """What identifies the request with none of its messages, with the first, the first two, … and with all."""
    digest = _begin_digest(request)
    keys = [digest.hexdigest()]
    for message in request["messages"]:
        digest.update(canonical(message))
        keys.append(digest.hexdigest())
    return keys


def read_tape(path: Path) -> Tape:
    """Read a cassette's file.

    Raises:
        InvalidInputError: It cannot be read, is no cassette, or is damaged elsewhere than at its end.
    """
    with _file_errors_explained(path):
        content = path.read_bytes()
    *lines, tail = content.split(b"\n")
    reader = _Reader(path)
    for number, line in enumerate(lines, start=1):
        if line.strip():
            reader.take(number, reader.parse(number, line))
    if not reader.has_header:
        raise InvalidInputError(f"{path} is not a Maverick cassette.", field="path")
    intact = len(content)
    if tail:
        try:
            last = reader.parse(len(lines) + 1, tail)
        except InvalidInputError:  # whoever wrote it was stopped in the middle
            intact -= len(tail)
        else:
            reader.take(len(lines) + 1, last)
    return Tape(reader.exchanges, reader.models, intact)


class _Reader:
    """Puts requests together again from the lines that hold their parts."""

    def __init__(self, path: Path) -> None:
        self.has_header = False
        self.exchanges: list[Exchange] = []
        self.models: dict[str, ModelInfo] = {}
        self._path = path
        self._digests: dict[str, blake2b] = {}
        self._requests: dict[str, Json] = {}

    def parse(self, number: int, line: bytes) -> Line:
        try:
            parsed: Line = msgspec.convert(json.loads(line), Line)
        except (ValueError, RecursionError) as error:
            raise self._error(number, str(error)) from error
        return parsed

    def take(self, number: int, line: Line) -> None:
        if isinstance(line, Header):
            self._take_header(number, line)
        elif not self.has_header:
            raise self._error(number, "the first line must be the cassette's header")
        elif isinstance(line, WrittenModel):
            self.models[line.model] = line.info
        else:
            self._take_exchange(number, line)

    def _take_header(self, number: int, header: Header) -> None:
        if header.version != VERSION:
            raise self._error(
                number, f"its format is version {header.version}, and this Maverick reads version {VERSION}"
            )
        self.has_header = True

    def _take_exchange(self, number: int, written: WrittenExchange) -> None:
        if not written.continues:
            request = {**written.request, "messages": written.messages}
            digest = _begin_digest(request)
        elif written.continues in self._requests:
            earlier = self._requests[written.continues]
            request = {**earlier, "messages": [*earlier["messages"], *written.messages]}
            digest = self._digests[written.continues].copy()
        else:
            raise self._error(number, f"it continues {written.continues!r}, which is not above it")
        for message in written.messages:
            digest.update(canonical(message))
        # The key is computed, not read, so that a cassette edited by hand matches what it says now. The id it
        # had when it was written is still what later lines know it by.
        key = digest.hexdigest()
        for name in (written.id, key):
            self._requests[name] = request
            self._digests[name] = digest
        self.exchanges.append(Exchange(number, key, request, written.answer))

    def _error(self, number: int, problem: str) -> InvalidInputError:
        return InvalidInputError(
            f"Line {number} of the cassette {self._path} cannot be used: {problem}. "
            "Repair the line, or record the cassette again.",
            field="path",
        )


class TapeWriter:
    """Writes a cassette's file.

    Args:
        path: The file; the folders it is in are made if need be.
        existing: What to do if there is such a file: ``refuse``, ``append`` or ``replace``.
    """

    def __init__(self, path: Path, existing: Literal["refuse", "append", "replace"]) -> None:
        if existing not in ("refuse", "append", "replace"):
            raise InvalidInputError(
                f"existing: expected 'refuse', 'append' or 'replace', got {existing!r}.", field="existing"
            )
        self._path = path
        self._written: set[str] = set()
        with _file_errors_explained(path):
            if not path.exists() or existing == "replace":
                self._begin()
            elif existing == "append":
                self._resume()
            else:
                raise InvalidInputError(
                    f"There is already a file at {path}. Choose another path, or say what to do with this one: "
                    "existing='append' or existing='replace'.",
                    field="path",
                )

    def add_exchange(self, request: Json, answer: Answer) -> None:
        """Write down a request and its answer."""
        keys = keys_of(request)
        messages = request["messages"]
        shared = max((count for count, key in enumerate(keys) if key in self._written), default=None)
        if shared is None:
            others = {name: value for name, value in request.items() if name != "messages"}
            line = WrittenExchange(id=keys[-1], request=others, messages=messages, answer=answer)
        else:
            line = WrittenExchange(
                id=keys[-1], continues=keys[shared], messages=messages[shared:], answer=answer
            )
        self._write(line)
        self._written.add(keys[-1])

    def add_model(self, model: str, info: ModelInfo) -> None:
        """Write down what the client says of a model."""
        self._write(WrittenModel(model, info))

    def _begin(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_bytes(b"")
        self._write(Header(VERSION))

    def _resume(self) -> None:
        tape = read_tape(self._path)
        self._written.update(exchange.key for exchange in tape.exchanges)
        with self._path.open("r+b") as file:
            file.truncate(tape.intact)
            file.seek(tape.intact)
            file.write(b"\n")  # in case the last line lacks its end; readers skip an empty one

    def _write(self, line: Line) -> None:
        text = json.dumps(msgspec.to_builtins(line), ensure_ascii=False)
        # A lone surrogate has no UTF-8; backslashreplace writes it just as JSON escapes it.
        with _file_errors_explained(self._path), self._path.open("ab") as file:
            file.write(text.encode("utf-8", "backslashreplace") + b"\n")


def _begin_digest(request: Json) -> blake2b:
    others = {name: value for name, value in request.items() if name != "messages"}
    return blake2b(canonical(others), digest_size=8)


@contextmanager
def _file_errors_explained(path: Path) -> Iterator[None]:
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
