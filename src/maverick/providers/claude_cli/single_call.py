"""Runs a single tool call of the CLI that no CLI waits for any more, because its run was parked for an approval.

A CLI is started for this call alone, and ended with its result. It can reach no model.
"""

from __future__ import annotations

from contextlib import aclosing

import msgspec
from claude_agent_sdk import (
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    ToolPermissionContext,
    ToolResultBlock,
    UserMessage,
)

from maverick.model import Request, ToolCall
from maverick.providers.claude_cli.gated_cli import CallResult, call_result, refusal
from maverick.providers.claude_cli.session import CliSession
from maverick.providers.claude_cli.settings import CliSettings
from maverick.providers.claude_cli.tool import class_tools, unwrapped
from maverick.providers.claude_cli.transcript import transcript_file, write_pending_call
from maverick.providers.client import requested_model

_NO_MODEL = {
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
    "CLAUDE_CODE_USE_BEDROCK": "",
    "CLAUDE_CODE_USE_VERTEX": "",
    "CLAUDE_CODE_USE_FOUNDRY": "",
}
"""An address without a model: with the result of the call the CLI would ask its model what to do next."""

_NOT_RUN = "The CLI ended without a result. It may or may not have taken effect."


async def run_single_call(settings: CliSettings, call: ToolCall, *, approved: bool) -> CallResult:
    """Run a call in a CLI that is started for it."""

    async def may_use(
        _name: str, _arguments: object, context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        if approved:
            return PermissionResultAllow()
        return PermissionResultDeny(message=refusal(context, is_class=settings.is_class))

    call = unwrapped(call)
    request = Request([], class_tools([call.tool_name], ()))
    with transcript_file(write_pending_call(call, requested_model(request, settings.model))) as transcript:
        # Not as allowed_tools, with which the SDK takes the question about dangerous calls for a mistake.
        allowed = msgspec.json.encode({"permissions": {"allow": [call.tool_name]}}).decode()
        rules = {} if settings.is_class else {"settings": allowed}
        options = settings.options(
            request, env=_NO_MODEL, resume=str(transcript), can_use_tool=may_use, **rules
        )
        cli = CliSession(options)
        try:
            await cli.open()
            return await _result(cli, call.id)
        finally:
            await cli.aclose(at_once=True)


async def _result(cli: CliSession, call_id: str) -> CallResult:
    async with aclosing(cli.messages()) as messages:
        async for message in messages:
            if isinstance(message, ResultMessage):
                break
            for block in message.content if isinstance(message, UserMessage) else ():
                if isinstance(block, ToolResultBlock) and block.tool_use_id == call_id:
                    return call_result(block)
    return CallResult(_NOT_RUN, is_error=True)
