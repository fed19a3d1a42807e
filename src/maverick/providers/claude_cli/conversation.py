"""A conversation with one CLI, turn by turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, aclosing
from typing import Any

import msgspec
from claude_agent_sdk import (
    AssistantMessage,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    ToolResultBlock,
    UserMessage,
)

from maverick.exceptions import InvalidToolError, MalformedResponseError, ProcessError, describe_unknown
from maverick.model import Message, Part, Request, Response, Role, StopReason, StreamItem, ToolCall
from maverick.model.message import describe_part
from maverick.providers.claude.response import API, SERVICE, MessageAccumulator
from maverick.providers.claude_cli.errors import result_error
from maverick.providers.claude_cli.gated_cli import (
    CallResult,
    GatedCli,
    Leave,
    call_result,
    own_name,
    wire_name,
)
from maverick.providers.claude_cli.session import CliSession
from maverick.providers.claude_cli.settings import CliSettings, max_tokens_of
from maverick.providers.claude_cli.tool import CliTool, McpServerTool, unwrapped
from maverick.providers.claude_cli.transcript import Prompt, divide, prompt_of, transcript_file
from maverick.providers.claude_cli.usage import hidden_usage
from maverick.providers.client import requested_model
from maverick.providers.http.exchange import Exchange


class Conversation:
    """A conversation that a CLI was given and continues."""

    def __init__(self, settings: CliSettings, request: Request) -> None:
        self.max_tokens = max_tokens_of(request)
        self.asked: tuple[str, ...] = ()
        """The ids of the calls it waits for; empty when it waits for the user."""
        self.over = False
        """Whether it cannot be continued."""
        self._settings = settings
        self._model = requested_model(request, settings.model)
        self._request = request
        self._inbox: asyncio.Queue[StreamEvent | ResultMessage | Exception] = asyncio.Queue()
        self._told_to_ask = True
        """Whether the loop has asked for the model's next answer."""
        self._fault = ""
        self._files = ExitStack()
        self._borrowed = AsyncExitStack()
        self._cli = GatedCli(settings, request)
        self._reading: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Start the CLI with the conversation so far."""
        earlier, prompt = divide(self._request.messages, self._on_the_wire, self._model)
        if earlier:
            transcript = self._files.enter_context(transcript_file(earlier, self._model))
            self._cli = GatedCli(self._settings, self._request, transcript)
        if self._settings.pool is None:
            self._borrowed.push_async_callback(self._cli.aclose)
        else:
            self._cli = await self._borrowed.enter_async_context(self._settings.pool.session(self._cli))
        self._cli.begin()
        await self._cli.open()
        self._reading = asyncio.create_task(self._read(self._cli))
        await self._send(prompt)

    async def close(self) -> None:
        """End the CLI and what it has started, or give it back to the pool."""
        self.over = True
        try:
            if self._reading is not None:
                self._reading.cancel()
                await asyncio.wait([self._reading])
        finally:
            self._cli.calls.cut_off()
            self._files.close()
            await self._borrowed.aclose()

    # What the loop has it do --------------------------------------------------------------------------------------

    async def resume(self, messages: Sequence[Message]) -> bool:
        """Continue with what was said since the last turn: the results of its calls, or the user's words.

        False if that is not what it waits for; then nothing has happened.
        """
        results = [message for message in messages if message.role is Role.TOOL_RESULT]
        said = [message for message in messages if message.role is Role.USER]
        if self.over or len(results) != len(self.asked) or bool(said) is bool(results):
            return False
        for call_id, result in zip(self.asked, results, strict=True):
            content = "\n".join(map(describe_part, result.parts))
            self._cli.calls.decide(call_id, CallResult(content, result.is_error))
        self._told_to_ask = True
        self._cli.busy = True
        if said:
            await self._send(prompt_of(said))
        return True

    async def turn(self) -> AsyncGenerator[StreamItem, None]:
        """Yield the next turn as it arrives; the last item is the whole response."""
        if self.asked:
            self._cli.let_ask()
        answer: MessageAccumulator | None = None
        while answer is None or answer.response is None:
            event = await self._next_event()
            if event["type"] == "message_start":
                exchange = Exchange(SERVICE, API, self._model, {}, self._settings.prices)
                answer = MessageAccumulator(exchange)
            if answer is not None:
                for delta in answer.feed(msgspec.json.encode(event)):
                    yield delta
        yield await self._conclude(answer.response)

    def tool_finished(self, call_id: str, content: str, *, failed: bool) -> None:
        """Give it the result of a call that it waits for; another call may have to wait for this one in the CLI."""
        if self.waits_for(call_id):
            self._cli.calls.decide(call_id, CallResult(content, is_error=failed))

    def waits_for(self, call_id: str) -> bool:
        """Whether it waits for a call."""
        return not self.over and call_id in self.asked

    async def perform(self, call_id: str, *, approved: bool) -> CallResult:
        """Let it run a call that it waits for, and return the result."""
        self._cli.calls.decide(call_id, Leave(approved))
        return await self._cli.calls[call_id].result

    # What a turn is -----------------------------------------------------------------------------------------------

    async def _next_event(self) -> Mapping[str, Any]:
        item = await self._inbox.get()
        match item:
            case StreamEvent():
                return item.event
            case ResultMessage(is_error=True):
                self._report(item)
                raise result_error(item, error=self._fault, secrets=self._cli.secrets)
            case ResultMessage():
                raise MalformedResponseError("The Claude CLI ended its turn without an answer. Try again.")
        raise item

    async def _conclude(self, response: Response) -> Response:
        self._cli.charged += response.usage
        if response.stop_reason is StopReason.TOOL_USE:
            self.asked = tuple(call.id for call in response.tool_calls)
            return response.with_parts(map(self._as_known, response.parts))
        self.asked = ()
        if response.stop_reason is not StopReason.COMPLETE:
            self.over = True  # the CLI would ask its model again
            return response
        return await self._with_hidden_usage(response)

    async def _with_hidden_usage(self, response: Response) -> Response:
        """The response with what the CLI used on its own, such as for reading a web page."""
        while True:
            item = await self._inbox.get()
            if isinstance(item, ResultMessage) and not item.is_error:
                self._cli.busy = False
                self._report(item)
                hidden = hidden_usage(item, self._cli.charged)
                self._cli.charged += hidden
                return Response(
                    response.parts,
                    usage=response.usage + hidden,
                    stop_reason=response.stop_reason,
                    model=response.model,
                    request_id=response.request_id,
                )
            if not isinstance(item, StreamEvent) or item.event["type"] == "message_start":
                self.over = True  # the answer is complete, and this comes too late to matter
                return response

    def _report(self, result: ResultMessage) -> None:
        if self._settings.on_result is not None:
            self._settings.on_result(result)

    # What the CLI says --------------------------------------------------------------------------------------------

    async def _send(self, prompt: Prompt) -> None:
        try:
            await self._cli.send(prompt)
        except ProcessError as error:
            error.retryable = True  # another CLI can be handed the conversation
            raise

    async def _read(self, cli: CliSession) -> None:
        try:
            async with aclosing(cli.messages()) as messages:
                async for message in messages:
                    self._take(message)
        except Exception as error:  # noqa: BLE001 - whatever it was, those who wait must not wait for good
            if isinstance(error, ProcessError):
                error.retryable = True  # as above
            self.over = True
            self._cli.calls.cut_off()
            self._inbox.put_nowait(error)

    def _take(self, message: object) -> None:
        match message:
            case StreamEvent(parent_tool_use_id=None):
                self._watch(message.event["type"])
                self._inbox.put_nowait(message)
            case ResultMessage():
                self._inbox.put_nowait(message)
            case UserMessage(content=list(blocks), parent_tool_use_id=None):
                for block in blocks:
                    if isinstance(block, ToolResultBlock):
                        self._cli.calls.finish(block.tool_use_id, call_result(block))
            case AssistantMessage(error=str(fault)):
                self._fault = fault
            case SystemMessage(subtype="init", data=data):
                self._files.close()  # it has read its transcript
                self._check_tools(data.get("tools", ()))

    def _watch(self, event: str) -> None:
        """Notice a CLI that does not wait: it would exceed every limit."""
        if event == "message_stop":
            self._told_to_ask = False
        elif event == "message_start" and not self._told_to_ask:
            self._inbox.put_nowait(
                ProcessError(
                    "The Claude CLI called its model without being asked to, so limits cannot be enforced. "
                    "Use the CLI that comes with the claude-agent-sdk: leave cli_path out."
                )
            )

    def _check_tools(self, has: Sequence[str]) -> None:
        for tool in self._request.tools:
            if isinstance(tool, CliTool) and not tool.optional and tool.name not in has:
                own = [name for name in has if own_name(name) is None]
                what = describe_unknown("tool of the Claude CLI", tool.name, own)
                self._inbox.put_nowait(InvalidToolError(what, tool_name=tool.name, available_tools=own))

    def _on_the_wire(self, call: ToolCall) -> ToolCall:
        """A call of the conversation as the CLI knows it."""
        of_the_cli = any(
            tool.name == call.tool_name for tool in self._request.tools if isinstance(tool, CliTool)
        )
        return (
            unwrapped(call)
            if of_the_cli
            else msgspec.structs.replace(call, tool_name=wire_name(call.tool_name), block=None)
        )

    def _as_known(self, part: Part) -> Part:
        """A part of an answer with our names for tools."""
        if not isinstance(part, ToolCall):
            return part
        if (name := own_name(part.tool_name)) is not None:
            return msgspec.structs.replace(part, tool_name=name)
        if any(tool.name == part.tool_name for tool in self._request.tools):
            return part
        servers = [tool for tool in self._request.tools if isinstance(tool, McpServerTool)]
        return next((call for server in servers if (call := server.wrapped(part)) is not None), part)
