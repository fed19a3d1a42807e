"""What a run in a fleet begins with, as it is stored until a worker starts the run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from maverick.exceptions import InvalidInputError, JournalDamagedError
from maverick.journal.codec import encode_json, from_plain
from maverick.model import Blob, Document, Image, Part
from maverick.model.media import MAX_BYTES

_MOST_BYTES = 8 * 2**20
"""Of the inputs of a run, without images and documents."""


class RunRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The inputs of a run."""

    inputs: dict[str, Any] = {}
    parts: dict[str, list[str | Part] | Part] = {}
    """The inputs that are images or documents, or text with such."""
    trace_id: str | None = None

    @classmethod
    def of(cls, inputs: Mapping[str, Any] | None, trace_id: str | None) -> RunRequest:
        """The request for a run with these inputs.

        Raises:
            InvalidInputError: They are not a dictionary.
        """
        if inputs is not None and not isinstance(inputs, Mapping):
            raise InvalidInputError(
                f"inputs: expected a dictionary, such as inputs={{'prompt': …}}, got {inputs!r}.",
                field="inputs",
            )
        values = dict(inputs or {})
        parts = {name: value for name, value in values.items() if _has_parts(value)}
        return cls(inputs={k: v for k, v in values.items() if k not in parts}, parts=parts, trace_id=trace_id)

    @classmethod
    def decode(cls, payload: bytes, run_id: str) -> RunRequest:
        """Read the stored request of a run.

        Raises:
            JournalDamagedError: It cannot be read.
        """
        try:
            return from_plain(json.loads(payload), cls)
        except ValueError as error:
            raise JournalDamagedError(
                f"The request of the run {run_id!r} cannot be read.", cause=error
            ) from error

    def encode(self) -> bytes:
        """Write it as JSON, without the bytes of images and documents.

        Raises:
            InvalidInputError: An input cannot be written as JSON, or the inputs are too large.
        """
        try:
            payload = encode_json(self)
        except (TypeError, ValueError, RecursionError, OverflowError) as error:
            raise InvalidInputError(
                f"inputs: expected JSON values, text, images or documents ({error}).", field="inputs"
            ) from error
        if len(payload) > _MOST_BYTES or sum(blob.size for blob in self.blobs) > MAX_BYTES:
            raise InvalidInputError(
                f"inputs: a run takes at most {_MOST_BYTES // 2**20} MB, and {MAX_BYTES // 2**20} MB of images and "
                "documents.",
                field="inputs",
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


def _has_parts(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(isinstance(item, Part) for item in value)
    return isinstance(value, Part)
