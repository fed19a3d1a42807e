"""What an MCP server asks in the middle of a call: the user (elicitation), or the user's model (sampling).

A server can ask the user where somebody can answer, unless its settings say ``elicitation: false``. The answer goes to the
server alone, as far as it fits what was asked for; the model does not see it. Unless they say ``sampling: false``, it can ask
the model, and the user is asked each time. The model is told what the server says, and nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

import mcp_types as types
import msgspec
from mcp.client.context import ClientRequestContext
from mcp.client.session import ElicitationFnT, SamplingFnT
from msgspec import Struct

from maverick.exceptions import MaverickError, ToolError
from maverick.loop.result import AgentResult, TerminateReason
from maverick.tools.argument_check import misfits

_MOST_FIELDS = 20
_LONGEST_MESSAGE = 2_000
_ATTEMPTS = 3
_LONGEST_SAMPLE = 20_000
"""Characters that a server may ask a model with: a person has to read them."""
_MOST_TOKENS = 8_000
_DECLINED = -1
"""The code with which the protocol says that the user does not want it."""


class Question(Struct, frozen=True):
    """What a server asks the user."""

    server: str
    """The server's name."""
    message: str
    """The server's words."""
    fields: dict[str, Any] = {}
    """What is asked for, with the values that the server suggests; ``None`` where it suggests none."""
    form: dict[str, Any] | None = None
    """The JSON schema of the fields, if they are a form that the user fills in."""
    url: str = ""
    """Where the user is to go, if that is the question; the server is only told whether they agreed."""
    asks_model: bool = False
    """Whether it may ask the user's model what is in the fields; that is asked each time."""


AskUser: TypeAlias = Callable[[Question], Awaitable[dict[str, Any] | None]]
"""Asks the user, and returns their answer; ``None`` if they decline. A ``ToolError`` says why they cannot be asked."""


def elicitation(server: str, ask: AskUser) -> ElicitationFnT:
    """What an MCP client does with a server's question."""

    async def answer(
        context: ClientRequestContext,  # noqa: ARG001 - the protocol's
        params: types.ElicitRequestParams,
    ) -> types.ElicitResult | types.ErrorData:
        try:
            return await put(params)
        except ToolError as error:
            return types.ErrorData(code=_DECLINED, message=str(error))

    async def put(params: types.ElicitRequestParams) -> types.ElicitResult:
        message = params.message[:_LONGEST_MESSAGE]
        if isinstance(params, types.ElicitRequestURLParams):
            agreed = await ask(Question(server, message, url=params.url))
            return types.ElicitResult(action="decline" if agreed is None else "accept")
        schema: dict[str, Any] = dict(params.requested_schema)
        wanted = schema.get("properties")
        if not isinstance(wanted, dict) or len(wanted) > _MOST_FIELDS:
            return types.ElicitResult(action="decline")
        fields = {
            str(name): kind.get("default") if isinstance(kind, dict) else None
            for name, kind in wanted.items()
        }
        for _ in range(_ATTEMPTS):
            given = await ask(Question(server, message, fields, schema if wanted else None))
            # What was not filled in is not an answer.
            content = None if given is None else {n: value for n, value in given.items() if value is not None}
            if content is None:
                return types.ElicitResult(action="decline")
            if not (problem := _misfit(schema, content)):
                return types.ElicitResult(action="accept", content=content)
            again = f"{params.message[:_LONGEST_MESSAGE]} ({problem}; fill it in, or decline)"
            if given == fields and message == again:  # they only agree; perhaps nothing can be filled in
                return types.ElicitResult(action="decline")
            message, fields = again, {**fields, **content}
        return types.ElicitResult(action="cancel")

    return answer


class Spoken(Struct, frozen=True):
    """A message to a model."""

    role: Literal["user", "assistant"]
    content: str


class Sample(Struct, frozen=True):
    """What a server asks a model, as a person sees it and can change it."""

    messages: list[Spoken]
    """What was said, and last the user's message that is to be answered."""
    max_tokens: int
    """How long the answer may be."""
    system: str = ""
    """What the model is told first."""


AskModel: TypeAlias = Callable[[str, Sample], Awaitable[AgentResult[Any]]]
"""Asks the user's model something for a server."""


def sampling(server: str, ask: AskUser, ask_model: AskModel) -> SamplingFnT:
    """What an MCP client does when a server asks for the user's model."""

    async def answer(
        context: ClientRequestContext,  # noqa: ARG001 - the protocol's
        params: types.CreateMessageRequestParams,
    ) -> types.CreateMessageResult | types.ErrorData:
        wanted = _sample(params)
        if wanted is None:
            problem = (
                f"Only text of at most {_LONGEST_SAMPLE:,} characters that ends with the user's is taken, "
                "for an answer of at least 1 token."
            )
            return types.ErrorData(code=types.INVALID_PARAMS, message=problem)
        given = await ask(
            Question(server, "May it ask your model this?", msgspec.to_builtins(wanted), asks_model=True)
        )
        if given is None:
            return types.ErrorData(code=_DECLINED, message="The user declined.")
        try:
            result = await ask_model(server, msgspec.convert(given, Sample))
        except (MaverickError, msgspec.ValidationError):  # what is wrong here is not the server's business
            return types.ErrorData(code=types.INTERNAL_ERROR, message="The model could not be asked.")
        if result.terminate_reason not in (TerminateReason.COMPLETE, TerminateReason.MAX_TOKENS):
            return types.ErrorData(code=types.INTERNAL_ERROR, message="The model did not answer.")
        return types.CreateMessageResult(
            role="assistant",
            content=types.TextContent(text=result.raw_content),
            model=str(result.metadata.get("model", "")),
            stop_reason="endTurn" if result.terminate_reason is TerminateReason.COMPLETE else "maxTokens",
        )

    return answer


def _sample(params: types.CreateMessageRequestParams) -> Sample | None:
    """What a server wants to ask; ``None`` if a person could not read it, or a model could not answer it."""
    if params.max_tokens < 1:  # to a provider's client, 0 means as many as there may be
        return None
    messages = []
    for message in params.messages:
        blocks = message.content if isinstance(message.content, list) else [message.content]
        texts = [block.text for block in blocks if isinstance(block, types.TextContent)]
        if len(texts) < len(blocks):
            return None
        messages.append(Spoken(message.role, "\n".join(texts)))
    said = Sample(messages, min(params.max_tokens, _MOST_TOKENS), params.system_prompt or "")
    length = len(said.system) + sum(len(message.content) for message in messages)
    return said if messages and messages[-1].role == "user" and length <= _LONGEST_SAMPLE else None


def _misfit(schema: dict[str, Any], content: dict[str, Any]) -> str:
    """What is wrong with an answer; empty if nothing is."""
    try:
        found = next(misfits(schema, content), None)
    except Exception:  # noqa: BLE001 - the schema is a stranger's, and the library raises many things
        return ""
    if found is None:
        return ""
    if found.validator == "required":
        missing = [str(name) for name in schema.get("required", ()) if name not in content]
        return f"missing: {', '.join(_wanted(name, schema) for name in missing)}"
    return f"{'.'.join(map(str, found.path)) or 'the answer'} does not fit"


def _wanted(name: str, schema: dict[str, Any]) -> str:
    """A field, and what it may be."""
    kind = schema["properties"].get(name)
    choices = kind.get("enum") if isinstance(kind, dict) else None
    return f"{name}, one of {', '.join(map(str, choices))}"[:200] if isinstance(choices, list) else name
