"""Conversations of programs that were written for a vendor's SDK, as ours."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from maverick.exceptions import InvalidInputError
from maverick.model import Document, Image, Message, Part, Role, Text
from maverick.model.history import check_conversation
from maverick.providers.claude.blocks import part_of
from maverick.providers.http.wire_json import tool_call

_Block: TypeAlias = Mapping[str, Any]
_DATA_URL = re.compile(r"data:[\w/.+-]*;base64,(.*)", re.DOTALL)


def messages_from_anthropic(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """The ``messages`` of a request to the Anthropic Messages API, or of its SDK (as dictionaries).

    Every block is kept: thinking with its signature, server tools, citations.

    Raises:
        InvalidInputError: Something in them is not as the API has it, or a tool call has no result.
    """
    return _converted(messages, _from_anthropic)


def messages_from_openai(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """The ``messages`` of a request to OpenAI's Chat Completions API, or of its SDK (as dictionaries).

    Raises:
        InvalidInputError: Something in them is not as the API has it, a tool call has no result, or there are
            instructions (``system``, ``developer``) among them: those are an agent's ``system_prompt``.
    """
    return _converted(messages, _from_openai)


def _converted(
    messages: Iterable[Mapping[str, Any]], convert: Callable[[_Block], Iterator[Message]]
) -> list[Message]:
    found: list[Message] = []
    for index, message in enumerate(messages):
        try:
            found += convert(_plain(message))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            why = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
            raise InvalidInputError(
                f"messages[{index}] cannot be read: {why.rstrip('.')}.", field="messages"
            ) from error
    check_conversation(found)
    return found


def _plain(value: Any) -> _Block:  # noqa: ANN401 - whatever a program has
    """A message or a block as a dictionary; objects of the SDKs say themselves what they are."""
    if not isinstance(value, Mapping) and callable(dump := getattr(value, "model_dump", None)):
        value = dump(exclude_none=True)
    if not isinstance(value, Mapping):
        raise ValueError(f"expected a dictionary, got {type(value).__name__}")  # noqa: TRY004 - it is read as data
    return value


def _blocks(content: Any) -> Sequence[_Block]:  # noqa: ANN401 - any JSON
    if content is None:
        return ()
    if not isinstance(content, str | list | tuple):
        raise ValueError(f"its content is a {type(content).__name__}, not a text or a list of blocks")  # noqa: TRY004 - as above
    return [{"type": "text", "text": content}] if isinstance(content, str) else [_plain(b) for b in content]


def _instructions(role: str) -> ValueError:
    advice = "Leave it out, and give it to the agent as its instructions: PromptConfig(system_prompt=…)"
    return ValueError(f"it has the role {role!r}. {advice}")


def _parts(parts: Iterable[Part | None]) -> list[Part]:
    return [part for part in parts if part is not None]


# Anthropic ----------------------------------------------------------------------------------------------------------


def _from_anthropic(message: _Block) -> Iterator[Message]:
    role, blocks = message["role"], _blocks(message["content"])
    if role == "assistant":
        yield Message.assistant(_parts(part_of(dict(block)) for block in blocks))
        return
    if role != "user":
        raise (
            _instructions(role)
            if role == "system"
            else ValueError(f"{role!r} is no role of the Messages API")
        )
    for block in blocks:
        if block["type"] == "tool_result":
            content = _parts(_anthropic_part(inner) for inner in _blocks(block.get("content")))
            yield Message.tool_result(block["tool_use_id"], content, is_error=bool(block.get("is_error")))
    said = [block for block in blocks if block["type"] != "tool_result"]
    if said:
        yield Message.user(_parts(_anthropic_part(block) for block in said))


def _anthropic_part(block: _Block) -> Part | None:
    if block["type"] not in ("image", "document"):
        return part_of(dict(block))
    kind: type[Image | Document] = Image if block["type"] == "image" else Document
    source, name = block["source"], block.get("title") or ""
    match source["type"]:
        case "base64":
            return kind.from_bytes(b64decode(source["data"], validate=True), name=name)
        case "text":
            return Document.from_bytes(source["data"].encode(), name=name)
        case "url":
            return kind.from_url(source["url"], name=name)
        case "file":
            return kind.from_file_id(source["file_id"], name=name)
    raise ValueError(f"an {block['type']} cannot come from {source['type']!r}")


# OpenAI -------------------------------------------------------------------------------------------------------------


def _from_openai(message: _Block) -> Iterator[Message]:
    role = message["role"]
    match role:
        case "user":
            yield Message.user([_openai_part(block) for block in _blocks(message["content"])])
        case "assistant":
            said = [_openai_part(block) for block in _blocks(message.get("content"))]
            calls = [
                tool_call(call["id"], call["function"]["name"], call["function"]["arguments"] or "")
                for call in map(_plain, message.get("tool_calls") or ())
            ]
            yield Message(Role.ASSISTANT, [*said, *calls])
        case "tool":
            content = [_openai_part(block) for block in _blocks(message["content"])]
            yield Message.tool_result(message["tool_call_id"], content)
        case "system" | "developer":
            raise _instructions(role)
        case _:
            raise ValueError(f"{role!r} is no role of the Chat Completions API")


def _openai_part(block: _Block) -> Part:
    match block["type"]:
        case "text":
            return Text(block["text"])
        case "refusal":
            return Text(block["refusal"])
        case "image_url":
            url = block["image_url"]["url"]
            if inline := _DATA_URL.fullmatch(url):
                return Image.from_bytes(b64decode(inline[1], validate=True))
            return Image.from_url(url)
        case "file":
            file = block["file"]
            if "file_id" in file:
                return Document.from_file_id(file["file_id"])
            inline = _DATA_URL.fullmatch(file["file_data"])
            data = b64decode(inline[1] if inline else file["file_data"], validate=True)
            return Document.from_bytes(data, name=file.get("filename", ""))
    raise ValueError(f"a part of the type {block['type']!r} cannot be taken over")
