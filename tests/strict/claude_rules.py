"""What the Claude Messages API refuses, written from Anthropic's documentation and the types of its SDK.

Nothing here was written from our own client: a request that passes is one that the vendor takes. The rules of this
module need the request alone; :mod:`strict.claude_ledger` has those about blocks that the service issued.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import jsonschema
from anthropic.types import message_create_params as stable
from anthropic.types.beta import message_create_params as beta

from strict.media import MediaRefusedError, check_image, check_pdf
from strict.typed import DoesNotFitError, check_typed

Body = dict[str, Any]

VERSIONS = frozenset({"2023-06-01", "2026-10-21"})
MAX_REQUEST = 32 * 1024 * 1024
MAX_CACHE_MARKS = 4
COMPACT_BETA = "compact-2026-09-04"
BINDING_BETA = "thinking-binding-controls-2026-08-01"
_FILES_BETA = "files-api-2025-04-14"
_SAMPLING = ("temperature", "top_p", "top_k")
_TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")


class RefusedError(Exception):
    """The service refuses a request.

    Args:
        message: Why, as the service says it.
        status: The HTTP status.
        kind: The type of the error.
    """

    def __init__(self, message: str, status: int = 400, kind: str = "invalid_request_error") -> None:
        super().__init__(message)
        self.message, self.status, self.kind = message, status, kind


@dataclass(frozen=True)
class ModelRules:
    """What one model takes, from its migration guide."""

    thinking: frozenset[str] = frozenset({"adaptive"})
    """The values of ``thinking.type`` it accepts."""
    preserved: bool = True
    """Whether thinking is bound to the conversation before it."""
    sampling: bool = False
    """Whether it takes ``temperature`` and its like, and a prefilled or forced answer."""
    max_tokens: int = 128_000


_OLD = ModelRules(frozenset({"enabled", "disabled"}), preserved=False, sampling=True, max_tokens=64_000)
MODELS: Mapping[str, ModelRules] = {
    "claude-opus-5-5": ModelRules(),
    "claude-sonnet-5-5": ModelRules(frozenset({"adaptive", "between_tools"})),
    "claude-haiku-5-5": ModelRules(frozenset({"adaptive", "disabled"})),
    "claude-fable-5-2": ModelRules(),
    "claude-mythos-5-2": ModelRules(),
    "claude-sonnet-4-5": _OLD,
    "claude-sonnet-4-5-20250929": _OLD,
}


def check_request(headers: Mapping[str, str], raw_size: int, body: Body) -> ModelRules:
    """Check everything about a request that does not depend on earlier ones.

    Raises:
        RefusedError: The service would refuse it.
    """
    _check_headers(headers)
    if raw_size > MAX_REQUEST:
        raise RefusedError("Request exceeds the maximum size", 413, "request_too_large")
    betas = _betas(headers)
    _check_types(betas, body)
    if body["model"] not in MODELS:
        raise RefusedError(f"model: {body['model']}", 404, "not_found_error")
    rules = MODELS[body["model"]]
    _check_settings(rules, body)
    _check_tools(body)
    _check_cache_marks(body)
    for path, block in blocks_of(body):
        _check_block(path, block, betas)
    _check_images(body)
    return rules


def blocks_of(body: Body) -> Iterator[tuple[str, Body]]:
    """Every block of the messages, those in tool results among them, with its path."""
    for number, message in enumerate(body["messages"]):
        for index, block in enumerate(content_of(message)):
            path = f"messages.{number}.content.{index}"
            yield path, block
            if block["type"] == "tool_result":
                for inner, part in enumerate(content_of(block)):
                    yield f"{path}.content.{inner}", part


def content_of(message: Body) -> list[Body]:
    """The blocks of a message or a tool result; a text alone is short for one block."""
    content = message.get("content", [])
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content)


def _check_headers(headers: Mapping[str, str]) -> None:
    if not headers.get("x-api-key") and not headers.get("authorization", "").startswith("Bearer "):
        raise RefusedError("x-api-key header is required", 401, "authentication_error")
    if headers.get("anthropic-version") not in VERSIONS:
        raise RefusedError("anthropic-version: header is required")
    if headers.get("content-type", "").split(";")[0] != "application/json":
        raise RefusedError("content-type: must be application/json")


def _betas(headers: Mapping[str, str]) -> frozenset[str]:
    return frozenset(filter(None, re.split(r"[,\s]+", headers.get("anthropic-beta", ""))))


def _check_types(betas: frozenset[str], body: Body) -> None:
    """The types without beta features apply unless a beta was asked for; sampling is in neither, see the models."""
    known = {name: value for name, value in body.items() if name not in _SAMPLING}
    streamed = body.get("stream") is True
    try:
        if betas:
            check_typed(
                beta.MessageCreateParamsStreaming if streamed else beta.MessageCreateParamsNonStreaming, known
            )
        else:
            check_typed(
                stable.MessageCreateParamsStreaming if streamed else stable.MessageCreateParamsNonStreaming,
                known,
            )
    except DoesNotFitError as failure:
        raise RefusedError(str(failure)) from failure
    needs = {
        COMPACT_BETA: "compaction" in body or any(b["type"] == "compaction" for _, b in blocks_of(body)),
        BINDING_BETA: "block_binding" in body.get("thinking", {}),
        "context-management-2025-06-27": "context_management" in body,
    }
    for name, used in needs.items():
        if used and name not in betas:
            raise RefusedError(f"This feature requires the beta header {name}")


def _check_settings(rules: ModelRules, body: Body) -> None:
    if not 1 <= body["max_tokens"] <= rules.max_tokens:
        raise RefusedError(f"max_tokens: {body['max_tokens']} > {rules.max_tokens}")
    thinking = body.get("thinking", {})
    mode = thinking.get("type", "adaptive" if "adaptive" in rules.thinking else "disabled")
    if mode not in rules.thinking:
        raise RefusedError(f'"thinking.type.{mode}" is not supported for this model.')
    if mode == "enabled" and not 1024 <= thinking["budget_tokens"] < body["max_tokens"]:
        raise RefusedError(
            "`max_tokens` must be greater than `thinking.budget_tokens`, which is at least 1024"
        )
    if mode == "disabled" and body.get("output_config", {}).get("effort") in {"xhigh", "max"}:
        raise RefusedError("output_config.effort: not supported with thinking disabled")
    _check_sampling(rules, mode, body)
    if any(not sequence.strip() for sequence in body.get("stop_sequences", [])):
        raise RefusedError("stop_sequences: each stop sequence must contain non-whitespace")
    if body.get("compaction") and body.get("context_management"):
        raise RefusedError("compaction: cannot be combined with context_management")
    schema = (body.get("output_config", {}).get("format") or {}).get("schema")
    if schema is not None:
        _check_schema("output_config.format.schema", schema, closed=True)


def _check_sampling(rules: ModelRules, mode: str, body: Body) -> None:
    choice = body.get("tool_choice", {}).get("type", "auto")
    if choice in {"any", "tool"} and not rules.sampling:
        raise RefusedError("tool_choice: forced tool use is not supported for this model")
    if choice in {"any", "tool"} and mode == "enabled":
        raise RefusedError("Thinking may not be enabled when tool_choice forces tool use.")
    given = [name for name in _SAMPLING if name in body]
    if given and not rules.sampling:
        raise RefusedError(f"{given[0]}: Extra inputs are not permitted")
    if {"temperature", "top_p"} <= set(given):
        raise RefusedError("`temperature` and `top_p` cannot both be specified for this model.")
    if not 0 <= body.get("temperature", 1) <= 1:
        raise RefusedError("temperature: range: 0..1")
    if mode == "enabled" and body.get("temperature", 1) != 1:
        raise RefusedError("`temperature` may only be set to 1 when thinking is enabled.")


def _check_tools(body: Body) -> None:
    tools = body.get("tools", [])
    names = [tool["name"] for tool in tools if "name" in tool]
    if len(names) != len(set(names)):
        raise RefusedError("tools: Tool names must be unique.")
    for index, tool in enumerate(tools):
        if not _TOOL_NAME.match(tool.get("name", "x")):
            raise RefusedError(
                f"tools.{index}.custom.name: String should match pattern {_TOOL_NAME.pattern!r}"
            )
        if "input_schema" not in tool:
            continue
        schema = tool["input_schema"]
        if schema.get("type") != "object":
            raise RefusedError(f"tools.{index}.custom.input_schema.type: Field required")
        if schema.keys() & {"oneOf", "allOf", "anyOf"}:
            raise RefusedError(
                f"tools.{index}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top"
            )
        _check_schema(f"tools.{index}.custom.input_schema", schema, closed=bool(tool.get("strict")))
    choice = body.get("tool_choice")
    if choice and not tools:
        raise RefusedError("tool_choice: may only be specified while providing tools")
    if choice and choice["type"] == "tool" and choice["name"] not in names:
        raise RefusedError(f"Tool '{choice['name']}' not found in provided tools")


@cache
def _check_draft(schema: str) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(schema))


def _check_schema(path: str, schema: Any, *, closed: bool) -> None:
    try:
        _check_draft(json.dumps(schema))
    except jsonschema.SchemaError as error:
        raise RefusedError(
            f"{path}: JSON schema is invalid. It must match JSON Schema draft 2020-12"
        ) from error
    if closed and any(part.get("additionalProperties") is not False for part in _objects(schema)):
        raise RefusedError(
            f"{path}: For 'object' type, 'additionalProperties' must be explicitly set to false"
        )


def _objects(schema: Any) -> Iterator[Body]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from _objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _objects(value)


def _check_cache_marks(body: Body) -> None:
    system = body.get("system", [])
    marked = [
        block["cache_control"]
        for block in (
            *body.get("tools", []),
            *([] if isinstance(system, str) else system),
            *(block for _, block in blocks_of(body)),
        )
        if block.get("cache_control")
    ]
    if body.get("cache_control"):
        marked.append(body["cache_control"])
    if len(marked) > MAX_CACHE_MARKS:
        raise RefusedError(f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}.")
    lifetimes = [mark.get("ttl", "5m") for mark in marked]
    if "1h" in lifetimes[lifetimes.index("5m") :] if "5m" in lifetimes else False:
        raise RefusedError(
            "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
        )


def _check_block(path: str, block: Body, betas: frozenset[str]) -> None:
    match block["type"]:
        case "text" if not block["text"]:
            raise RefusedError(f"{path}: text content blocks must be non-empty")
        case "text" if not block["text"].strip():
            raise RefusedError(f"{path}: text content blocks must contain non-whitespace text")
        case "tool_use" if not _TOOL_NAME.match(block["name"]):
            raise RefusedError(f"{path}.tool_use.name: String should match pattern {_TOOL_NAME.pattern!r}")
        case "tool_result" if block.get("is_error") and any(
            part["type"] != "text" for part in content_of(block)
        ):
            raise RefusedError(f"{path}: all content must be type text if is_error is true")
        case "image" | "document" if block["source"]["type"] == "file" and _FILES_BETA not in betas:
            raise RefusedError(f"{path}: file sources require the beta header {_FILES_BETA}")
        case "document" if block["source"]["type"] == "base64":
            _refusing(f"{path}.pdf", check_pdf, block["source"]["data"])
        case "document" if block["source"]["type"] == "text" and not block["source"]["data"].strip():
            raise RefusedError(f"{path}.document.source.text.data: must be non-empty")
        case "image" | "document" if block["source"]["type"] == "url" and not re.match(
            r"https?://[^/\s]+", block["source"]["url"]
        ):
            raise RefusedError(f"{path}.source.url: only http and https URLs are supported")


def _check_images(body: Body) -> None:
    images = [(path, block) for path, block in blocks_of(body) if block["type"] == "image"]
    if len(images) > 600:
        raise RefusedError(f"messages: too many images: {len(images)} > 600")
    most = 2000 if len(images) > 20 else 8000
    for path, block in images:
        source = block["source"]
        if source["type"] == "base64":
            _refusing(f"{path}.image", check_image, source["data"], source["media_type"], most)


def _refusing(path: str, check: Any, *arguments: Any) -> None:
    try:
        check(*arguments)
    except MediaRefusedError as error:
        raise RefusedError(f"{path}.source.base64.data: {error}") from error
