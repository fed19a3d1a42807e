"""What OpenAI's Responses API and Chat Completions refuse, written from OpenAI's documentation and its SDK's types.

Nothing here was written from our own clients. The rules of this module need the request alone;
:mod:`strict.openai_ledger` has those about items that the service issued.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from openai.types.chat import completion_create_params as chat
from openai.types.responses import response_compact_params, response_create_params

from strict.media import MediaRefusedError, check_data_url
from strict.typed import DoesNotFitError, check_typed

Body = dict[str, Any]

_LEVELS = ("low", "medium", "high", "xhigh", "max")
_IMAGES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
_FILES = frozenset({"application/pdf", "text/plain"})
_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
MAX_REQUEST = 512 * 1024 * 1024


class RefusedError(Exception):
    """The service refuses a request.

    Args:
        message: Why, as the service says it.
        param: The parameter that is at fault.
        code: The service's code of the error.
        status: The HTTP status.
    """

    def __init__(self, message: str, param: str = "", code: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.message, self.param, self.code, self.status = message, param or None, code, status


@dataclass(frozen=True)
class ModelRules:
    """What one model takes."""

    efforts: frozenset[str] = frozenset({"none", *_LEVELS})
    """The values of the reasoning effort; none at all for a model that does not reason."""

    @property
    def reasons(self) -> bool:
        """Whether it reasons unless it is told not to."""
        return bool(self.efforts)


MODELS: Mapping[str, ModelRules] = {
    "gpt-5.6-sol": ModelRules(),
    "gpt-5.6-terra": ModelRules(),
    "gpt-6-sol": ModelRules(),
    "gpt-6-luna": ModelRules(),
    "gpt-6-astra": ModelRules(frozenset(_LEVELS)),
    "gpt-6.1-sol": ModelRules(frozenset(_LEVELS)),
    "gpt-4.1": ModelRules(frozenset()),
}


def check_headers(headers: Mapping[str, str], size: int) -> None:
    """Check what every request has to have.

    Raises:
        RefusedError: The service would refuse it.
    """
    if not headers.get("authorization", "").startswith("Bearer ") and not headers.get("api-key"):
        raise RefusedError("You didn't provide an API key.", code="invalid_api_key", status=401)
    if headers.get("content-type", "").split(";")[0] != "application/json":
        raise RefusedError("Unsupported content type", status=415)
    if size > MAX_REQUEST:
        raise RefusedError("Request too large", status=413)


def check_responses(body: Body) -> ModelRules:
    """Check everything about a request for a response that does not depend on earlier ones.

    Raises:
        RefusedError: The service would refuse it.
    """
    streamed = body.get("stream") is True
    _check_types(
        response_create_params.ResponseCreateParamsStreaming
        if streamed
        else response_create_params.ResponseCreateParamsNonStreaming,
        body,
    )
    rules = _rules_of(body)
    effort = (body.get("reasoning") or {}).get("effort")
    _check_effort(rules, effort, "reasoning.effort")
    _check_sampling(rules, effort, body)
    if "message.output_text.logprobs" in (body.get("include") or []) and effort != "none" and rules.reasons:
        raise RefusedError("logprobs are not supported with reasoning models.", "include")
    if body.get("max_output_tokens") is not None and body["max_output_tokens"] < 16:
        raise RefusedError(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.",
            "max_output_tokens",
            "integer_below_min_value",
        )
    _check_tools(body, [tool for tool in body.get("tools", []) if tool["type"] == "function"])
    text_format = (body.get("text") or {}).get("format") or {}
    if text_format.get("type") == "json_schema":
        _check_schema(text_format["schema"], f"response_format '{text_format['name']}'", text_format)
    for path, part in _parts_of(body):
        _check_part(path, part)
    return rules


def check_compact(body: Body) -> ModelRules:
    """Check a request to compact a conversation.

    Raises:
        RefusedError: The service would refuse it.
    """
    _check_types(response_compact_params.ResponseCompactParams, body)
    return _rules_of(body)


def check_chat(body: Body) -> ModelRules:
    """Check a request for a chat completion.

    Raises:
        RefusedError: The service would refuse it.
    """
    streamed = body.get("stream") is True
    _check_types(
        chat.CompletionCreateParamsStreaming if streamed else chat.CompletionCreateParamsNonStreaming, body
    )
    rules = _rules_of(body)
    effort = body.get("reasoning_effort")
    _check_effort(rules, effort, "reasoning_effort")
    _check_sampling(rules, effort, body)
    if rules.reasons and "max_tokens" in body:
        raise RefusedError(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
            "instead.",
            "max_tokens",
            "unsupported_parameter",
        )
    if body.get("tools") and rules.reasons and effort != "none":
        raise RefusedError(
            f"Function tools with reasoning_effort are not supported for {body['model']} in /v1/chat/completions. "
            "To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
            "reasoning_effort",
        )
    _check_tools(body, [tool["function"] for tool in body.get("tools", []) if tool["type"] == "function"])
    _check_chat_messages(body["messages"])
    return rules


def _check_types(kind: Any, body: Body) -> None:
    """The types of the SDK, but for one thing: a user's message that compaction gave back goes in with its id."""
    items = body.get("input")
    if isinstance(items, list):
        body = {**body, "input": [_without_id(item) for item in items]}
    try:
        check_typed(kind, body)
    except DoesNotFitError as failure:
        path = re.sub(r"\.(\d+)", r"[\1]", failure.path)
        if failure.reason.startswith("Extra"):
            raise RefusedError(f"Unknown parameter: '{path}'.", path, "unknown_parameter") from failure
        if failure.reason == "Field required":
            message = f"Missing required parameter: '{path}'."
            raise RefusedError(message, path, "missing_required_parameter") from failure
        raise RefusedError(f"Invalid value: '{path}'. {failure.reason}", path, "invalid_value") from failure


def _without_id(item: Any) -> Any:
    given_back = isinstance(item, dict) and item.get("role") == "user"
    return {name: value for name, value in item.items() if name != "id"} if given_back else item


def _rules_of(body: Body) -> ModelRules:
    if body.get("model") not in MODELS:
        message = f"The model '{body.get('model')}' does not exist or you do not have access to it."
        raise RefusedError(message, "model", "model_not_found", 404)
    return MODELS[body["model"]]


def _check_effort(rules: ModelRules, effort: str | None, param: str) -> None:
    if effort is None or effort in rules.efforts:
        return
    if not rules.reasons:
        message = f"Unsupported parameter: '{param}' is not supported with this model."
        raise RefusedError(message, param, "unsupported_parameter")
    raise RefusedError(
        f"Unsupported value: '{effort}' is not supported with this model.", param, "unsupported_value"
    )


def _check_sampling(rules: ModelRules, effort: str | None, body: Body) -> None:
    for name in ("temperature", "top_p", "top_logprobs", "logprobs"):
        if body.get(name) is not None and rules.reasons and effort != "none":
            message = f"Unsupported parameter: '{name}' is not supported with this model."
            raise RefusedError(message, name, "unsupported_parameter")


def _check_tools(body: Body, functions: list[Body]) -> None:
    names = [function["name"] for function in functions]
    for number, (name, function) in enumerate(zip(names, functions, strict=True)):
        if not _NAME.match(name):
            raise RefusedError(f"Invalid 'tools[{number}].name': string does not match pattern.", "tools")
        if names.count(name) > 1:
            raise RefusedError(f"Duplicate function name: {name}", "tools")
        _check_schema(function.get("parameters") or {"type": "object"}, f"function '{name}'", function)
    choice = body.get("tool_choice")
    if choice is not None and not body.get("tools"):
        raise RefusedError("'tool_choice' is only allowed when 'tools' are specified.", "tool_choice")
    if isinstance(choice, dict) and choice["type"] == "function":
        wanted = choice.get("name") or choice["function"]["name"]
        if wanted not in names:
            raise RefusedError(
                f"Tool choice 'function:{wanted}' not found in 'tools' parameter.", "tool_choice"
            )


def _check_schema(schema: Body, whose: str, holder: Body) -> None:
    """A schema is an object's; a strict one closes every object and requires every property."""
    if schema.get("type") != "object":
        raise RefusedError(
            f"Invalid schema for {whose}: schema must be a JSON Schema of 'type: \"object\"'.", "tools"
        )
    if not holder.get("strict"):
        return
    for part in _objects(schema):
        if part.get("additionalProperties") is not False:
            raise RefusedError(
                f"Invalid schema for {whose}: 'additionalProperties' is required to be supplied and to be false.",
                "tools",
                "invalid_function_parameters",
            )
        if set(part.get("required", [])) != set(part.get("properties", {})):
            raise RefusedError(
                f"Invalid schema for {whose}: 'required' is required to be supplied and to be an array including "
                "every key in properties.",
                "tools",
                "invalid_function_parameters",
            )


def _objects(schema: Any) -> Iterator[Body]:
    if isinstance(schema, dict):
        if schema.get("type") == "object" or "object" in (schema.get("type") or ()):
            yield schema
        for value in schema.values():
            yield from _objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _objects(value)


def _parts_of(body: Body) -> Iterator[tuple[str, Body]]:
    items = body.get("input", [])
    for number, item in enumerate([] if isinstance(items, str) else items):
        for name in ("content", "output"):
            parts = item.get(name)
            for index, part in enumerate(parts if isinstance(parts, list) else []):
                yield f"input[{number}].{name}[{index}]", part


def _check_part(path: str, part: Body) -> None:
    try:
        if part.get("type") == "input_image":
            url = part.get("image_url") or ""
            if url.startswith("data:"):
                check_data_url(url, _IMAGES)
            elif not part.get("file_id") and not re.match(r"https?://[^/\s]+", url):
                raise RefusedError(f"Invalid '{path}.image_url'.", path)
        elif part.get("type") == "input_file":
            if "file_data" in part:
                if not part.get("filename"):
                    raise RefusedError(f"Missing required parameter: '{path}.filename'.", path)
                check_data_url(part["file_data"], _FILES)
            elif not part.get("file_id") and not part.get("file_url"):
                raise RefusedError(f"Invalid '{path}': expected file_data, file_id or file_url.", path)
    except MediaRefusedError as error:
        if part["type"] == "input_image":
            raise RefusedError(f"Invalid '{path}'. {error}", path, "image_parse_error") from error
        raise RefusedError(f"Invalid '{path}'. {error}", f"{path}.file_data", "invalid_value") from error


def _check_chat_messages(messages: list[Body]) -> None:
    waiting: list[str] = []
    if not messages:
        raise RefusedError("Invalid 'messages': empty array.", "messages")
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                raise RefusedError(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                    "'tool_calls'.",
                    f"messages.[{number}].role",
                )
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            raise RefusedError(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}",
                f"messages.[{number}].role",
            )
        waiting = [call["id"] for call in message.get("tool_calls") or []]
        said = waiting or message.get("content") or message.get("refusal")
        if message["role"] == "assistant" and not said:
            raise RefusedError("Invalid value for 'content': expected a string, got null.", "messages")
        for part in message["content"] if isinstance(message.get("content"), list) else []:
            _check_chat_part(part)
    if waiting:
        raise RefusedError(
            f"These tool_call_ids did not have response messages: {', '.join(waiting)}", "messages"
        )


def _check_chat_part(part: Body) -> None:
    try:
        if part["type"] == "image_url" and part["image_url"]["url"].startswith("data:"):
            check_data_url(part["image_url"]["url"], _IMAGES)
        elif part["type"] == "file" and "file_data" in part["file"]:
            check_data_url(part["file"]["file_data"], _FILES)
    except MediaRefusedError as error:
        about = "file.file_data" if part["type"] == "file" else "image_url"
        raise RefusedError(f"Invalid media. {error}", f"messages.{about}") from error
