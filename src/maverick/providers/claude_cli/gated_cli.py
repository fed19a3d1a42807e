"""A CLI that does nothing the loop has not asked for.

The CLI drives itself: it calls its model, runs tools, and calls its model again. Three gates hold it: a call of a tool
of ours waits in an MCP server of this process, a call of its own tools in the hook before the tool, and its next
question to the model in the hook after the tools. The server runs nothing: the loop runs the tools, as it does for every
provider, so that there is one definition of a tool, and one way to run it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
    ToolResultBlock,
)
from mcp.server import Server
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult
from msgspec import Struct

from maverick.model import Request, Tool, Usage
from maverick.providers.claude_cli.session import CliSession
from maverick.providers.claude_cli.settings import FOREVER_SECONDS, CliSettings, own_tools

SERVER = "maverick"
_PREFIX = f"mcp__{SERVER}__"
_CALL_ID = "claudecode/toolUseId"
_WHOLE_RESULTS = {"anthropic/maxResultSizeChars": 500_000}
"""Otherwise the CLI puts long results into a file and shows its model the beginning; the loop has already capped them."""

_CUT_OFF = "The CLI ended before this call had a result. It may or may not have taken effect."

_ALLOW = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}
_ASK = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}}
_UP_TO_THE_RULES: dict[str, Any] = {}


class CallResult(Struct, frozen=True):
    """The result of a call, in the words the model reads."""

    content: str
    is_error: bool = False


class Leave(Struct, frozen=True):
    """The CLI may run the call itself."""

    approved: bool
    """Whether a person had to approve it, and has."""


Decision: TypeAlias = CallResult | Leave
"""What the loop decides on a call: its result, or leave for the CLI to run it."""


class WaitingCall:
    """One call: the loop's decision on it, and its result in the CLI."""

    __slots__ = ("decision", "result")

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.decision: asyncio.Future[Decision] = loop.create_future()
        self.result: asyncio.Future[CallResult] = loop.create_future()


class WaitingCalls(defaultdict[str, WaitingCall]):
    """The calls of a conversation by id, created by whichever side mentions one first."""

    def __init__(self) -> None:
        super().__init__(WaitingCall)

    def decide(self, call_id: str, decision: Decision) -> None:
        """Decide on a call; the first decision counts."""
        call = self[call_id]
        if not call.decision.done():
            call.decision.set_result(decision)

    def finish(self, call_id: str, result: CallResult) -> None:
        """Record the result of a call."""
        call = self[call_id]
        if not call.result.done():
            call.result.set_result(result)

    def cut_off(self) -> None:
        """Give each unfinished call a result that says that its outcome is unknown."""
        for call_id in self:
            self.finish(call_id, CallResult(_CUT_OFF, is_error=True))


class GatedCli(CliSession):
    """A CLI behind the gates, for one conversation after the other.

    One with a transcript, of what was said before, is used for no other conversation.
    """

    def __init__(self, settings: CliSettings, request: Request, transcript: Path | None = None) -> None:
        self.calls = WaitingCalls()
        """The calls it waits for."""
        self.charged = Usage()
        """What its turns have used since it was started."""
        self._is_class = settings.is_class
        self._turns = asyncio.Semaphore(0)
        """One for each time that it may ask its model after it has run tools."""
        plain, tools = settings.options(request), own_tools(request)
        self._asked_by_rules = plain.can_use_tool
        super().__init__(self._gated(plain, tools, transcript))
        self.key = None if transcript is not None else (self.key_of(plain), *map(id, tools))

    def begin(self) -> None:
        """Begin another conversation."""
        self.busy = True
        self.calls, self._turns = WaitingCalls(), asyncio.Semaphore(0)

    def let_ask(self) -> None:
        """Let it ask its model once more."""
        self._turns.release()

    async def aclose(self, *, at_once: bool = True) -> None:
        """End it, and whatever it has started, at once: no transcript of its own has to be kept whole."""
        await super().aclose(at_once=at_once)

    def _gated(
        self, plain: ClaudeAgentOptions, tools: Sequence[Tool], transcript: Path | None
    ) -> ClaudeAgentOptions:
        own: dict[Any, list[HookMatcher]] = {  # the SDK does not name all the hooks the CLI has
            "PreToolUse": [
                HookMatcher(hooks=[self._before_tool], timeout=FOREVER_SECONDS, on_failure="block")
            ],
            "PostToolBatch": [HookMatcher(hooks=[self._after_tools], timeout=FOREVER_SECONDS)],
        }
        given: dict[Any, list[HookMatcher]] = dict(plain.hooks or {})
        changes: dict[str, Any] = {
            "hooks": given | {name: [*given.get(name, ()), *hooks] for name, hooks in own.items()},
            "can_use_tool": self._may_use,
        }
        if tools and isinstance(plain.mcp_servers, dict):
            server = {"type": "sdk", "name": SERVER, "instance": self._tool_server(tools)}
            changes["mcp_servers"] = {**plain.mcp_servers, SERVER: server}
        if transcript is not None:
            changes["resume"] = str(transcript)
        return replace(plain, **changes)

    async def _before_tool(self, data: Any, call_id: str | None, _context: object) -> Any:  # noqa: ANN401 - the SDK's
        if own_name(data["tool_name"]) is not None:
            return _ALLOW  # it waits in the tool server
        if data.get("agent_id"):
            return _UP_TO_THE_RULES  # a call of an agent of the CLI's own, which the loop does not know
        decision = await self.calls[call_id or ""].decision
        if isinstance(decision, Leave):
            return _UP_TO_THE_RULES if self._is_class else _ALLOW
        return _ASK

    async def _after_tools(self, data: Any, _call_id: object, _context: object) -> Any:  # noqa: ANN401 - the SDK's
        if not data.get("agent_id"):
            await self._turns.acquire()
        return {}

    async def _may_use(
        self, name: str, arguments: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        """CallResult a question of the CLI itself: about a call the loop refused, or one that its own rules do not allow."""
        decision = (
            Leave(approved=False)
            if context.agent_id
            else await self.calls[context.tool_use_id or ""].decision
        )
        if isinstance(decision, CallResult):
            return PermissionResultDeny(message=decision.content)
        if decision.approved:
            return PermissionResultAllow()
        if self._asked_by_rules is not None:
            return await self._asked_by_rules(name, arguments, context)
        return PermissionResultDeny(message=refusal(context, is_class=self._is_class))

    def _tool_server(self, tools: Sequence[Tool]) -> Server[Any]:
        offered = [
            {
                "name": tool.name,
                "description": tool.description,
                "inputSchema": dict(tool.parameters),
                "_meta": _WHOLE_RESULTS,
            }
            for tool in tools
        ]
        listed = ListToolsResult.model_validate({"tools": offered})

        async def list_tools(_context: object, _params: object) -> ListToolsResult:
            return listed

        async def call_tool(_context: object, params: CallToolRequestParams) -> CallToolResult:
            decision = await self.calls[str(dict(params.meta or {})[_CALL_ID])].decision
            assert isinstance(decision, CallResult)  # noqa: S101 - leave to run a call is given for tools of the CLI only
            content = [{"type": "text", "text": decision.content}]
            return CallToolResult.model_validate({"content": content, "isError": decision.is_error})

        return Server(SERVER, version="1", on_list_tools=list_tools, on_call_tool=call_tool)


def call_result(block: ToolResultBlock) -> CallResult:
    """The result of a tool of the CLI, as text."""
    content = block.content
    if isinstance(content, list):
        content = "\n".join(str(piece.get("text") or f"[{piece.get('type')}]") for piece in content)
    return CallResult(content or "", is_error=bool(block.is_error))


def refusal(context: ToolPermissionContext, *, is_class: bool) -> str:
    """The answer to a call that the loop allows, and that the CLI would ask a person about."""
    reason = (context.decision_reason or "no reason given").rstrip(". ")
    if is_class:
        return f"Not run: the agent's allowed tools do not cover this call ({reason}). Do it another way."
    return (
        f"Not run: the CLI considers this call dangerous ({reason}), and no one had to approve it. "
        "Do it another way, or have the tool declared with approval=True."
    )


def wire_name(name: str) -> str:
    """What the CLI calls a tool of this server."""
    return _PREFIX + name


def own_name(name: str) -> str | None:
    """What we call a tool the CLI asks for; ``None`` if it is one of its own."""
    return name.removeprefix(_PREFIX) if name.startswith(_PREFIX) else None
