"""A conversation as a transcript that the CLI can resume; one that ends in a call has the CLI run that call."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import msgspec
from claude_agent_sdk import (
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    ToolPermissionContext,
    ToolResultBlock,
    UserMessage,
)

from maverick.exceptions import InvalidInputError
from maverick.model import Document, Image, Message, Part, Request, ToolCall
from maverick.providers.claude import messages as api
from maverick.providers.claude_cli.gated_cli import CallResult, call_result, refusal
from maverick.providers.claude_cli.session import CliSession
from maverick.providers.claude_cli.settings import CliSettings
from maverick.providers.claude_cli.tool import class_tools, unwrapped
from maverick.providers.client import requested_model

GO_ON = "Continue from where you left off."
"""The CLI's own prompt for a turn that had stopped after its tools."""

_NO_MODEL = {
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
    "CLAUDE_CODE_USE_BEDROCK": "",
    "CLAUDE_CODE_USE_VERTEX": "",
    "CLAUDE_CODE_USE_FOUNDRY": "",
}
"""An address without a model: with the result of a call the CLI would ask its model what to do next."""

_NOT_RUN = "The CLI ended without a result. It may or may not have taken effect."

OnTheWire = Callable[[ToolCall], ToolCall]
"""A call as the CLI knows it."""
Prompt: TypeAlias = str | list[dict[str, Any]]
"""Text, or the blocks of a message that has images or documents in it."""


def divide(
    messages: Sequence[Message], on_the_wire: OnTheWire, model: str = ""
) -> tuple[list[dict[str, Any]], Prompt]:
    """The messages of the transcript for a model, and the prompt: the user's last words, if the user spoke last."""
    conversation = api.Conversation()
    conversation.model = model
    conversation.extend_to([_as_sent(message, on_the_wire) for message in messages])
    wire = msgspec.json.decode(b"[%b]" % b"".join(conversation.pieces(marker=b"")))
    said: list[dict[str, Any]] = []
    if wire[-1]["role"] == "user":
        blocks = wire.pop()["content"]
        results = [block for block in blocks if block["type"] == "tool_result"]
        wire += [{"role": "user", "content": results}] if results else []
        said = blocks[len(results) :]
    if any(block["type"] != "text" for block in said):
        return wire, said
    return wire, "\n\n".join(block["text"] for block in said) or GO_ON


def prompt_of(messages: Sequence[Message]) -> Prompt:
    """What the user says in these messages."""
    return divide(messages, lambda call: call)[1]


def _as_sent(message: Message, on_the_wire: OnTheWire) -> Message:
    def sent(part: Part) -> Part:
        if isinstance(part, Image | Document) and part.file_id:
            problem = "The Claude CLI takes no file ids. Send the file itself, with from_path or from_bytes."
            raise InvalidInputError(problem, field="messages")
        return on_the_wire(part) if isinstance(part, ToolCall) else part

    parts = [sent(part) for part in message.parts]
    return Message(message.role, parts, tool_call_id=message.tool_call_id, is_error=message.is_error)


@contextmanager
def transcript_file(
    messages: Sequence[dict[str, Any]], model: str, pending: ToolCall | None = None
) -> Iterator[Path]:
    """A transcript as a temporary file that only this user can read.

    The CLI runs a ``pending`` call, which has to be the last, as soon as it has read the transcript.
    """
    lines = [{"type": message["role"], "message": _with_facts(message, model)} for message in messages]
    if pending is not None:
        deferred = {
            "type": "hook_deferred_tool",
            "toolUseID": pending.id,
            "toolName": pending.tool_name,
            "toolInput": pending.arguments,
            "hookName": "maverick",
            "hookEvent": "PreToolUse",
            "permissionMode": "default",
        }
        lines.append({"type": "attachment", "attachment": deferred})
    session, last = str(uuid4()), None
    with tempfile.NamedTemporaryFile(prefix="maverick-", suffix=".jsonl") as file:
        for line in lines:
            known = {
                "uuid": str(uuid4()),
                "parentUuid": last,
                "isSidechain": False,
                "sessionId": session,
                "timestamp": "1970-01-01T00:00:00.000Z",
            }
            last = known["uuid"]
            file.write(msgspec.json.encode(known | line) + b"\n")
        file.flush()
        yield Path(file.name)


def _with_facts(message: dict[str, Any], model: str) -> dict[str, Any]:
    if message["role"] == "user":
        return message
    return {
        "id": f"msg_{uuid4().hex}",
        "type": "message",
        **message,
        "model": model,
        "stop_reason": "tool_use" if message["content"][-1]["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


async def run_single_call(settings: CliSettings, call: ToolCall, *, approved: bool) -> CallResult:
    """Run a call that no CLI waits for any more, because its run was parked for an approval.

    A CLI is started for this call alone, and ended with its result. It can reach no model.
    """

    async def may_use(
        _name: str, _arguments: object, context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        if approved:
            return PermissionResultAllow()
        return PermissionResultDeny(message=refusal(context, is_class=settings.is_class))

    call = unwrapped(call)
    request = Request([], class_tools([call.tool_name], ()))
    said = [Message.user(f"Run {call.tool_name}."), Message.assistant([call])]
    earlier, _ = divide(said, lambda call: call)
    with transcript_file(earlier, requested_model(request, settings.model), pending=call) as transcript:
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
