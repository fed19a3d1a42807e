"""What a provider's own tools did, and what an answer cites: read from blocks that are otherwise kept as they came.

Claude has a block for each use and one for its result, and citations in its text blocks. OpenAI has one item for each
use, and annotations in the message. Nothing is relied upon: these are the words of another side, and only shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from maverick.model.message import Opaque, Part, Text

_DONE = {
    "web_search": "searched the web",
    "web_fetch": "read a page",
    "file_search": "searched files",
    "image_generation": "made an image",
    **dict.fromkeys(("code_execution", "bash_code_execution", "code_interpreter"), "ran code"),
    **dict.fromkeys(("tool_search_tool_regex", "tool_search_tool_bm25", "tool_search"), "searched tools"),
}
_TELLING = ("query", "queries", "url", "pattern", "code", "command", "arguments")
"""The fields that say what a tool was asked, the most telling first."""

_MOST_CHARACTERS = 500
_MOST_CITATIONS = 100


class ServerToolUse(Struct, frozen=True):
    """A use of a tool that the provider runs itself."""

    name: str
    """What the provider calls the tool, such as ``web_search``."""
    detail: str
    """What it was asked, as far as the block says."""
    error: str = ""
    """How it failed, if it did."""

    @classmethod
    def of(cls, block: Opaque) -> ServerToolUse | None:
        """The use that a block tells of, or the failure; ``None`` for blocks that tell of neither."""
        data, kind = block.data, block.type
        if kind in ("server_tool_use", "mcp_tool_use"):
            return cls(_text(data.get("name")), _detail(data.get("input")))
        if kind.endswith("_tool_result"):
            error = _field(data.get("content"), "error_code") or ("error" if data.get("is_error") else "")
            return cls(kind.removesuffix("_tool_result"), "", error) if error else None
        if kind.endswith("_call"):
            failed = _field(data.get("error"), "message") or (
                "failed" if data.get("status") == "failed" else ""
            )
            name = _text(data.get("name")) or kind.removesuffix("_call")
            return cls(name, _detail(data.get("action")) or _detail(data), failed)
        return None

    def __str__(self) -> str:
        said = _DONE.get(self.name, f"used {self.name}")
        said = f"{self.name} failed" if self.error and not self.detail else said
        return ": ".join(filter(None, (said, self.detail, self.error)))


class Citation(Struct, frozen=True, omit_defaults=True):
    """A source of something that an answer says."""

    title: str
    url: str = ""
    """Its address, if it is on the web."""
    quote: str = ""
    """The words that are cited, where the provider gives them."""

    def __str__(self) -> str:
        return " ".join(dict.fromkeys(filter(None, (self.title, self.url))))


def shows_findings(parts: Iterable[Part]) -> bool:
    """Whether the provider's own tools have brought in what others wrote; which of our tools there are is no such thing."""
    uses = (ServerToolUse.of(part) for part in parts if type(part) is Opaque)
    return any(use is not None and "tool_search" not in use.name for use in uses)


def citations_of(parts: Iterable[Part]) -> tuple[Citation, ...]:
    """The sources that the parts of an answer cite, each once, in order."""
    found: dict[str, Citation] = {}
    for part in parts:
        if isinstance(part, Text) and part.block is not None:
            for piece in (part.block.data, *_dicts(part.block.data.get("content"))):
                for cited in (*_dicts(piece.get("citations")), *_dicts(piece.get("annotations"))):
                    if (citation := _citation(cited)).title:
                        found.setdefault(citation.url or citation.title, citation)
    return tuple(found.values())[:_MOST_CITATIONS]


def _citation(cited: Mapping[str, Any]) -> Citation:
    url = _field(cited, "url") or _field(cited, "source")
    title = _field(cited, "title") or _field(cited, "document_title") or _field(cited, "filename")
    is_address = url.startswith(("https://", "http://"))
    return Citation(title or url, url if is_address else "", _field(cited, "cited_text"))


def _detail(asked: object) -> str:
    return next(filter(None, (_field(asked, name) for name in _TELLING)), "")


def _field(value: object, name: str) -> str:
    return _text(value.get(name)) if isinstance(value, Mapping) else ""


def _dicts(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _text(value: object) -> str:
    """The value as one line of text that is not too long."""
    if isinstance(value, list):
        value = "; ".join(item for item in value if isinstance(item, str))
    elif isinstance(value, Mapping):
        value = msgspec.json.encode(value).decode()
    return " ".join(value[:_MOST_CHARACTERS].split()) if isinstance(value, str) else ""
