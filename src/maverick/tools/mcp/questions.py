"""Questions that an MCP server asks the user in the middle of a call (elicitation).

A server can ask only if its settings say ``elicitation: true`` and somebody can answer. The answer goes to the server
alone, as far as it fits what was asked for; the model does not see it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import mcp_types as types
from mcp.client.context import ClientRequestContext
from mcp.client.session import ElicitationFnT
from msgspec import Struct

from maverick.tools.argument_check import misfits

_MOST_FIELDS = 20
_LONGEST_MESSAGE = 2_000
_ATTEMPTS = 3


class Question(Struct, frozen=True):
    """What a server asks the user."""

    server: str
    """The server's name."""
    message: str
    """The server's words."""
    fields: dict[str, Any] = {}
    """What is asked for, with the values that the server suggests; ``None`` where it suggests none."""
    url: str = ""
    """Where the user is to go, if that is the question; the server is only told whether they agreed."""


AskUser: TypeAlias = Callable[[Question], Awaitable[dict[str, Any] | None]]
"""Asks the user, and returns their answer; ``None`` if they decline."""


def elicitation(server: str, ask: AskUser) -> ElicitationFnT:
    """What an MCP client does with a server's question."""

    async def answer(
        context: ClientRequestContext,  # noqa: ARG001 - the protocol's
        params: types.ElicitRequestParams,
    ) -> types.ElicitResult | types.ErrorData:
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
            given = await ask(Question(server, message, fields))
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
