"""A request as the bytes of the Claude Messages API. No I/O here.

What stays the same from turn to turn is encoded once: the messages in :mod:`~maverick.providers.claude.messages`, and
everything before them, the settings and the tools, here (:mod:`~maverick.providers.http.wire_json`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Raw

from maverick.exceptions import describe_unknown
from maverick.misuse import refuse
from maverick.model import Opaque, Request, RequestConfig, Tool
from maverick.providers.claude.messages import Conversation
from maverick.providers.http.wire_json import HeadCache, add_extra, encode, encode_tools, encoded_conversation
from maverick.providers.strict_schema import claude_schema

API_VERSION = "2026-10-21"
SAMPLING_API_VERSION = "2023-06-01"
"""The last version that takes a temperature, for the models that still do."""

DEFAULT_MAX_TOKENS = 16_384
"""Room for a long answer and the thinking before it, and few enough to arrive within the first-byte timeout when it is
not streamed."""

_LEAST_SUMMARY_TOKENS = 4_096
"""The least that a compaction may take, since the model thinks before it writes the summary."""

COMPACTION_BETA = "compact-2026-09-04"
_COMPACTS = re.compile(
    r"claude-((fable|mythos)-5(-[12])?|mythos-preview|opus-(5(-5)?|4-[678])|sonnet-(5(-5)?|4-6))(-20\d{6})?"
)
"""The models that compact a conversation on demand, by the vendor's list."""

_MARKERS: Mapping[str, bytes] = {
    "5m": b',"cache_control":{"type":"ephemeral"}',
    "1h": b',"cache_control":{"type":"ephemeral","ttl":"1h"}',
    "off": b"",
}

_THINKING: Mapping[str, str] = {"adaptive": "adaptive", "between_tools": "between_tools", "off": "disabled"}

_SERVER_TOOLS: Mapping[str, Mapping[str, Any]] = {
    # Called by the model itself: called from code that it runs, they need a container, which a turn with tools of one's
    # own is not told of in every case.
    "web_search": {"type": "web_search_20260318", "name": "web_search", "allowed_callers": ["direct"]},
    "web_fetch": {"type": "web_fetch_20260318", "name": "web_fetch", "allowed_callers": ["direct"]},
    "code_execution": {"type": "code_execution_20260521", "name": "code_execution"},
    "memory": {"type": "memory_20250818", "name": "memory"},
    "tool_search": {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
}
"""Today's versions of the tools that can be had by name."""


_ANSWER_IN_JSON = "Give your final answer as JSON and nothing else. It has to fit this JSON Schema:"
"""For a schema that the API cannot enforce."""

_LEAST_BUDGET = 1024
_LEAST_TOP_P = 0.95


def compacts(model: str) -> bool:
    """Whether a model compacts a conversation when ``Request.compact`` asks for it."""
    return _COMPACTS.fullmatch(model) is not None


class RequestEncoder:
    """Encodes requests."""

    def __init__(self) -> None:
        self._heads = HeadCache()

    def encode(self, request: Request, *, model: str, stream: bool) -> list[bytes]:
        """The request as JSON, in pieces: first all that stays the same from turn to turn, then the messages."""
        marker = _marker(request)
        options = (model, stream, marker)
        head = self._heads.get(request, options, lambda: _head(request, model, marker, stream=stream))
        conversation = encoded_conversation(request.messages, model, Conversation, Conversation)
        end = (
            b"]}" if not conversation.container else b'],"container":' + encode(conversation.container) + b"}"
        )
        return [head, *conversation.pieces(marker), end]


def request_headers(request: Request, betas: str = "") -> dict[str, str]:
    """The headers that a request needs besides those of every request, whose beta features are ``betas``."""
    headers: dict[str, str] = {}
    if request.config.temperature is not None or request.config.top_p is not None:
        headers["anthropic-version"] = SAMPLING_API_VERSION
    wanted = list(_betas(request.config.extra))
    if request.compact or _is_compacted(request):
        wanted.append(COMPACTION_BETA)
    if wanted:
        headers["anthropic-beta"] = ",".join(dict.fromkeys([*filter(None, betas.split(",")), *wanted]))
    return headers


def _marker(request: Request) -> bytes:
    if request.config.cache is not None:
        return _MARKERS[request.config.cache]
    # A single question without tools is not asked again, and writing the cache costs more than not having one.
    pays = bool(request.tools) or len(request.messages) > 1
    return _MARKERS["5m" if pays else "off"]


def _head(request: Request, model: str, marker: bytes, *, stream: bool) -> bytes:
    fields: dict[str, Any] = {"model": model, "max_tokens": _limit(request)}
    if stream:
        fields["stream"] = True
    fields |= _settings(request)
    system = request.system
    if request.output is not None:
        schema = claude_schema(request.output.schema)
        if schema is None:
            system = f"{system}\n\n{_ANSWER_IN_JSON} {encode(request.output.schema).decode()}".strip()
        elif not request.compact:
            answer_format = {"type": "json_schema", "schema": schema}
            fields["output_config"] = {**fields.get("output_config", {}), "format": answer_format}
    if request.tools or request.config.server_tools:
        fields["tools"] = _tools(request.tools, request.config, b"" if system else marker)
    if system:
        block = encode({"type": "text", "text": system})
        fields["system"] = [Raw(block[:-1] + marker + b"}")] if marker else system
    left_out = ("betas", "context_management") if request.compact else ("betas",)
    extra = request.config.extra
    add_extra(fields, {name: extra[name] for name in extra if name not in left_out})
    return encode(fields)[:-1] + b',"messages":['


def _limit(request: Request) -> int:
    config = request.config
    limit = config.max_tokens or DEFAULT_MAX_TOKENS
    if type(config.thinking) is int and config.thinking >= limit:
        limit += config.thinking
    return max(limit, _LEAST_SUMMARY_TOKENS) if request.compact else limit


def _settings(request: Request) -> dict[str, Any]:
    """The settings of a request in the words of the API."""
    config = request.config
    check_thinking(config)
    thinking: dict[str, Any] | None = None
    if type(config.thinking) is int:
        thinking = {"type": "enabled", "budget_tokens": config.thinking}
    elif isinstance(config.thinking, str):
        thinking = {"type": _THINKING[config.thinking]}
    fields = {
        "temperature": config.temperature,
        "top_p": config.top_p,
        "output_config": config.effort and {"effort": config.effort},
        "thinking": thinking,
        "compaction": {"type": "summarize"} if request.compact else None,
        "stop_sequences": None if request.compact else config.stop_sequences or None,
        "tool_choice": _tool_choice(request),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _tool_choice(request: Request) -> dict[str, str] | None:
    config = request.config
    if config.tool_choice is None or not (request.tools or config.server_tools):
        return None
    if config.tool_choice in {"auto", "none"}:
        return {"type": config.tool_choice}
    if request.compact:
        return None
    if config.thinking not in {None, "off"}:
        refuse(
            "tool_choice",
            f"Claude cannot be made to call a tool ({config.tool_choice!r}) while it thinks. "
            'Set tool_choice="auto" or thinking="off".',
        )
    if config.tool_choice == "required":
        return {"type": "any"}
    return {"type": "tool", "name": config.tool_choice}


def _tools(tools: Sequence[Tool], config: RequestConfig, marker: bytes) -> Raw:
    """The tools of the request and the API's own, whose form replaces that of a tool with the same name."""
    own_forms = [_server_tool(tool) for tool in config.server_tools]
    names = {form.get("name") for form in own_forms}
    encoded = encode_tools(
        [tool for tool in tools if tool.name not in names],
        lambda tool, schema: {"name": tool.name, "description": tool.description, "input_schema": schema},
    )
    if own_forms:
        encoded = encoded[:-1] + b"," * (len(encoded) > 2) + encode(own_forms)[1:]
        if "cache_control" in own_forms[-1]:
            marker = b""
    return Raw(encoded[:-2] + marker + b"}]")


def _server_tool(tool: str | dict[str, Any]) -> Mapping[str, Any]:
    if not isinstance(tool, str):
        return tool
    if tool not in _SERVER_TOOLS:
        refuse(
            "server_tools",
            f"{describe_unknown('tool', tool, list(_SERVER_TOOLS))} Another one is given as Claude documents it.",
        )
    return _SERVER_TOOLS[tool]


def _betas(extra: Mapping[str, Any]) -> Sequence[str]:
    betas = extra.get("betas", ())
    if not isinstance(betas, list | tuple) or not all(isinstance(beta, str) for beta in betas):
        refuse("extra", "expected a list of texts as 'betas'.")
    return betas


def _is_compacted(request: Request) -> bool:
    """Whether the conversation begins with the block of a compaction."""
    parts = request.messages[0].parts if request.messages else ()
    block = getattr(parts[0], "block", parts[0]) if parts else None
    return isinstance(block, Opaque) and block.type == "compaction"


def check_thinking(config: RequestConfig) -> None:
    """Refuse a budget that Claude does not take, and sampling that it does not take while it thinks."""
    if config.thinking is None or config.thinking == "off":
        return
    if isinstance(config.thinking, int):
        _check_budget(config.thinking, config.max_tokens)
    if config.temperature not in {None, 1}:
        refuse("temperature", "Claude takes none but 1 while it thinks. Leave it out, or turn thinking off.")
    if config.top_p is not None and config.top_p < _LEAST_TOP_P:
        refuse(
            "top_p",
            f"Claude takes {_LEAST_TOP_P} to 1 while it thinks, got {config.top_p:g}. "
            "Leave it out, or turn thinking off.",
        )


def _check_budget(budget: int, max_tokens: int | None) -> None:
    if budget < _LEAST_BUDGET:
        refuse(
            "thinking",
            f"Claude takes a budget of at least {_LEAST_BUDGET} tokens, got {budget}. Raise it, or turn thinking off.",
        )
    if max_tokens and budget >= max_tokens:
        refuse(
            "thinking",
            f"a budget of {budget} tokens leaves none of max_tokens ({max_tokens}) for the answer. "
            "Raise max_tokens, or lower the budget.",
        )
