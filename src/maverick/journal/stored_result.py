"""A result as bytes, to be kept anywhere: in a column of your database, a file, a cache."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any, overload

import msgspec
from msgspec import Struct
from typing_extensions import TypeVar

from maverick.exceptions import AgentError, InvalidInputError
from maverick.journal.codec import decode_error, encode_error
from maverick.loop.definition import AgentDefinition
from maverick.loop.result import AgentResult, AgentUsage, ResultMetadata, TerminateReason, ToolRecord
from maverick.model import Message
from maverick.model.history import decode_blob, encode_blob

T = TypeVar("T", default=str)

_VERSION = 1


class _StoredResult(Struct, frozen=True, kw_only=True):
    version: int
    success: bool
    output: Any
    metadata: dict[str, Any]
    errors: list[AgentError]
    usage: AgentUsage
    raw_content: str
    terminate_reason: TerminateReason
    turn_count: int
    messages: list[Message]
    tool_calls: list[ToolRecord]
    validated: bool
    earlier: int


def dump_result(result: AgentResult[Any]) -> bytes:
    """A result as JSON in UTF-8: its output, its conversation with the bytes of images and documents, errors and usage.

    Raises:
        InvalidInputError: Something in it has no JSON form.
    """
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    parts = {field.name: getattr(result, field.name) for field in fields(result)}
    try:
        parts |= {"output": to_jsonable_python(result.output), "version": _VERSION}
        plain = msgspec.to_builtins(
            {**parts, "messages": list(result.messages), "tool_calls": list(result.tool_calls)},
            enc_hook=_encode,
        )
        return json.dumps(plain, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError, PydanticSerializationError) as error:
        raise InvalidInputError(f"The result cannot be written as JSON: {error}.", field="result") from error


@overload
def load_result(data: bytes | str, definition: AgentDefinition[T]) -> AgentResult[T]: ...
@overload
def load_result(data: bytes | str) -> AgentResult[Any]: ...
def load_result(data: bytes | str, definition: AgentDefinition[Any] | None = None) -> AgentResult[Any]:
    """The result that :func:`dump_result` has written.

    Args:
        data: What it has written.
        definition: The agent. Without it, an output of a declared type is what its JSON says, unchecked.

    Raises:
        InvalidInputError: It is damaged, was written by a newer Maverick, or is something else; or the output is not of the
            type that the agent declares.
    """
    try:
        loaded = msgspec.convert(json.loads(data), _StoredResult, dec_hook=_decode)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"This is not a result that dump_result() has written: {error}.", field="data"
        ) from error
    if loaded.version > _VERSION:
        raise InvalidInputError("The result was written by a newer Maverick. Update Maverick.", field="data")
    parts = {field.name: getattr(loaded, field.name) for field in fields(AgentResult)}
    metadata = ResultMetadata(loaded.metadata)
    if isinstance(path := metadata.get("agent"), list):
        metadata["agent"] = tuple(path)
    result = AgentResult(**parts | {"metadata": metadata})
    if definition is None or definition.output_config is None or not result.success:
        return result
    try:
        return replace(result, output=definition.output_config.format.parse(json.dumps(loaded.output)))
    except AgentError as error:
        raise InvalidInputError(
            f"The output is not what {definition.name!r} answers with. {error}", field="definition"
        ) from error


def _encode(value: object) -> object:
    return encode_error(value) if isinstance(value, AgentError) else encode_blob(value)


def _decode(kind: type[Any], value: Any) -> object:  # noqa: ANN401 - any JSON
    return decode_error(value) if kind is AgentError else decode_blob(kind, value)
