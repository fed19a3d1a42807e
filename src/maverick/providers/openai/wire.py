"""What OpenAI's two APIs share: settings in its words, a conversation that only grows, what was used. No I/O here."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Raw, Struct

from maverick.misuse import refuse
from maverick.model import Document, Image, Message, OutputSchema, Part, Request, RequestConfig, Tool
from maverick.model.usage import Usage
from maverick.providers.http.wire_json import (
    EncodedConversation,
    HeadCache,
    TokenCount,
    encode,
    encode_tools,
    nothing_to_send,
)
from maverick.providers.media_limits import OPENAI, MediaTally
from maverick.providers.strict_schema import openai_schema

_MEDIA = frozenset({Image, Document})
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_VERSION = re.compile(r"gpt-(\d+)(?:\.(\d+))?")
_ANSWERS_AT_ONCE = re.compile(r"(ft:)?(gpt-[34]|chatgpt-)|.*-chat(-|$)")
"""The models that do not reason. They refuse what is said about reasoning."""

_NEWEST = (1_000, 0)
"""The version of a model whose name has none, such as a deployment on Azure: it is taken for a current one."""

_SERVER_TOOLS: Mapping[str, dict[str, Any]] = {
    "web_search": {"type": "web_search"},
    "code_interpreter": {"type": "code_interpreter", "container": {"type": "auto"}},
    "code_execution": {"type": "code_interpreter", "container": {"type": "auto"}},  # as Claude calls it
    "image_generation": {"type": "image_generation"},
}


def reasons(model: str) -> bool:
    """Whether a model of OpenAI may reason before it answers."""
    return _ANSWERS_AT_ONCE.match(model) is None


def reasoning_effort(config: RequestConfig, model: str, *, most: str = "max") -> str | None:
    """The effort to ask for, if the settings name one; ``most`` is the greatest of a model that is not OpenAI's."""
    if isinstance(config.thinking, int):
        refuse("thinking", "OpenAI's APIs have no budget in tokens. Set effort instead, or limit max_tokens.")
    if config.thinking == "off":
        if config.effort is not None:
            refuse("thinking", "it cannot be off while effort is set. Leave one of them out.")
        if not reasons(model):
            return None
        if _version(model) < (5, 1):
            refuse("thinking", f"{model} cannot answer without reasoning. Set effort to 'low' instead.")
        return "none"
    if config.effort != "max":
        return config.effort
    version = _version(model)
    if version == _NEWEST:
        return most
    if version >= (5, 6):
        return "max"
    return "xhigh" if version >= (5, 2) or "codex-max" in model else "high"


def cache_fields(config: RequestConfig, model: str) -> dict[str, Any]:
    """How long the prompt is to be cached: at least as long as wanted, in the steps that OpenAI has."""
    if config.cache is None or config.cache == "5m":
        return {}  # its shortest time is longer than that
    if _version(model) >= (5, 6):
        return {"prompt_cache_options": {"ttl": "12h"} if config.cache == "1h" else {"mode": "explicit"}}
    if config.cache == "off":
        refuse("cache", f"the cache of {model} cannot be turned off. Leave the setting out.")
    return {"prompt_cache_retention": "24h"}


def server_tools(config: RequestConfig) -> list[dict[str, Any]]:
    """The provider's own tools that a request offers."""
    tools: list[dict[str, Any]] = []
    for wanted in config.server_tools:
        if isinstance(wanted, str) and wanted not in _SERVER_TOOLS:
            refuse(
                "server_tools",
                f"OpenAI has no {wanted!r} that needs no settings. Use {', '.join(_SERVER_TOOLS)}, or a "
                'dictionary as OpenAI documents the tool, such as {"type": "file_search", "vector_store_ids": […]}.',
            )
        tools.append(_SERVER_TOOLS[wanted] if isinstance(wanted, str) else wanted)
    return tools


def answer_format(output: OutputSchema) -> dict[str, Any]:
    """The format of the answer: strict where the schema allows it, and otherwise as good as the server can do it."""
    wanted: dict[str, Any] = {"name": _NOT_IN_A_NAME.sub("_", output.name)[:64] or "answer"}
    schema = output.as_object()
    strict = openai_schema(schema)
    return wanted | ({"schema": schema} if strict is None else {"schema": strict, "strict": True})


def tool_fields(
    request: Request,
    own: Sequence[Mapping[str, Any]],
    form: Callable[[Tool, dict[str, Any]], dict[str, Any]],
    choice: Callable[[str, Request], dict[str, Any] | None],
) -> dict[str, Any]:
    """The tools of a request, and which of them the model has to call.

    ``own`` are the tools that the server runs itself; ``form`` and ``choice`` say a tool, and the choice of one by its
    name, in the words of the API.
    """
    functions = encode_tools(request.tools, form)[1:-1]
    tools = [functions, *map(encode, own)] if functions else [*map(encode, own)]
    if not tools:
        return {}
    fields: dict[str, Any] = {"tools": Raw(b"[" + b",".join(tools) + b"]")}
    wanted = request.config.tool_choice
    if wanted is not None:
        chosen = wanted if wanted in ("auto", "required", "none") else choice(wanted, request)
        if chosen is None:
            refuse(
                "tool_choice",
                f"there is no tool named {wanted!r}. Use auto, required, none or the name of a tool on offer.",
            )
        fields["tool_choice"] = chosen
    return fields


def _version(model: str) -> tuple[int, int]:
    if re.match(r"(ft:)?o\d", model):
        return (4, 0)
    found = _VERSION.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else _NEWEST


class CachedTokens(Struct, frozen=True):
    """How much of a prompt was read from the cache, or written to it."""

    cached_tokens: TokenCount | None = None
    cache_write_tokens: TokenCount | None = None


def counts(sent: int | None, received: int | None, cached: CachedTokens | None) -> Usage:
    """What an answer used, as far as the server says."""
    known = cached or CachedTokens()
    cache_read, cache_write = known.cached_tokens or 0, known.cache_write_tokens or 0
    # A server may count cached tokens separately; they were input all the same.
    return Usage(max(sent or 0, cache_read + cache_write), received or 0, cache_read, cache_write)


class RequestEncoder(ABC):
    """Encodes requests for one of the APIs.

    ``max_tokens`` is for requests that do not say, and 0 leaves it to the server.
    """

    def __init__(self, *, max_tokens: int = 0, extra: Mapping[str, Any] | None = None) -> None:
        self._max_tokens = max_tokens
        self._extra = dict(extra or {})
        self._heads = HeadCache()

    def encode(self, request: Request, *, model: str, stream: bool) -> list[bytes]:
        """The request as JSON, in pieces: first all that stays the same from turn to turn, then the messages."""
        head = self._heads.get(request, (model, stream), lambda: self._head(request, model, stream=stream))
        return [head, *self._conversation(request.messages, model).pieces(), b"]}"]

    @abstractmethod
    def _head(self, request: Request, model: str, *, stream: bool) -> bytes: ...

    @abstractmethod
    def _conversation(self, messages: Sequence[Message], model: str) -> JsonConversation: ...

    def _common_settings(self, config: RequestConfig, limit_field: str) -> dict[str, Any]:
        """The settings that both APIs have, of which only the limit has two names."""
        limit = config.max_tokens or self._max_tokens or None
        fields = {limit_field: limit, "temperature": config.temperature, "top_p": config.top_p}
        return {name: value for name, value in fields.items() if value is not None}


class JsonConversation(EncodedConversation, ABC):
    """The messages so far, each with a comma after it.

    Now and then the pieces are joined, so that a long conversation does not become a long list.
    """

    __slots__ = ("_media", "_pieces")

    _MOST_PIECES = 64

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._media = MediaTally(OPENAI)

    def pieces(self) -> list[bytes]:
        """The messages as JSON, in pieces to be sent one after another."""
        if not self._pieces:
            raise nothing_to_send()
        pieces = self._pieces.copy()
        pieces[-1] = pieces[-1][:-1]  # no comma after the last one
        return self._filled(pieces)

    def _append(self, message: bytes) -> None:
        if len(self._pieces) >= self._MOST_PIECES:
            self._pieces = [b"".join(self._pieces)]
        self._pieces.append(message + b",")

    def _content(self, parts: Iterable[Part]) -> list[object]:
        """The texts and media of a message."""
        return [block for part in parts if (block := self._block(part)) is not None]

    @abstractmethod
    def _block(self, part: Part) -> object:
        """A text, an image or a document in the words of the API; nothing for any other part."""

    def _data_url(self, media: Image | Document) -> Raw | str:
        """Where the content of the media is: in a data URL, or at the address that it has."""
        if media.blob is None:
            return media.url
        return self._string(media.blob.base64, start=f"data:{media.media_type};base64,")


def has_media(parts: Iterable[Part]) -> bool:
    """Whether any of the parts is an image or a document."""
    return not _MEDIA.isdisjoint(map(type, parts))


def file_of(document: Document, data: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON that was made before
    """The content of a document under a name, which both APIs require."""
    ending = "pdf" if document.media_type == "application/pdf" else "txt"
    return {"filename": document.name or f"document.{ending}", "file_data": data}
