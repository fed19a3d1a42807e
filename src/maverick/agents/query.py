"""A query: the SDK's messages as they arrive, and as events; what is kept of one that breaks off; how it is stopped.

An async generator that is left in the middle is closed by the event loop, and so is each generator below it, all at
once: at the end of a program they get in each other's way, and asyncio logs it. Here a task of its own goes through
the generators. They end in that task, in order, whatever becomes of the iteration.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from maverick.exceptions import AbortedError, AgentError, StreamingError, StreamTimeoutError, TimeoutError
from maverick.loop import ToolOutcome
from maverick.loop.events import AgentActivityEvent, ContentChunk, Thinking, ToolCallEnd, ToolCallStart
from maverick.model import ToolCall
from maverick.providers.claude_cli import CliSession, SessionPool
from maverick.runtime.interruption import AbortSignal

if TYPE_CHECKING:
    from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, Message, ToolResultBlock

_Reply: TypeAlias = "asyncio.Future[Message]"


class MessageStream(AsyncIterator["Message"]):
    """Iterates over messages; nothing is started before the first one is wanted."""

    def __init__(self, messages: AsyncGenerator[Message, None]) -> None:
        self._messages = messages
        self._wanted: asyncio.Queue[_Reply | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        if self._task is None:
            self._task = asyncio.create_task(_serve(self._messages, self._wanted))
        if self._task.done():
            raise StopAsyncIteration
        reply: _Reply = asyncio.get_running_loop().create_future()
        self._wanted.put_nowait(reply)
        try:
            either: list[asyncio.Future[Any]] = [reply, self._task]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.aclose()
            raise
        if reply.done():
            return reply.result()
        self._task.result()  # why there are no more, if it is an error
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """End the query, and wait until nothing of it is left."""
        if self._task is None:
            await self._messages.aclose()
        else:
            self._task.cancel()
            await asyncio.wait([self._task])

    def __del__(self) -> None:
        if self._task is not None and not self._task.done():
            with suppress(RuntimeError):  # the event loop is closed, and the task with it
                self._task.get_loop().call_soon_threadsafe(self._wanted.put_nowait, None)


class PartialAnswer:
    """Follows the messages of a query: which are complete, and which text is still open."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        """What was said and done so far: the assistant's messages, and the results of its tools."""
        self._model = ""
        self._open: list[str] = []
        self._at_a_limit = False

    def see(self, message: Message) -> list[Message]:
        """Take a message into account, and return what to tell of it.

        The CLI reports a failure of the API as if the assistant had said it, and once more as the end of the run.
        Only the end is told, and before it what there was of the answer.
        """
        from claude_agent_sdk import AssistantMessage, ResultMessage, StreamEvent, UserMessage

        match message:
            case AssistantMessage(error=str()):
                return []
            case ResultMessage(is_error=True):
                self._at_a_limit = str(message.subtype).startswith("error_max_")
                rest = self.broken_off()
                return [message] if rest is None else [rest, message]
            case AssistantMessage() | UserMessage():
                self.messages.append(message)
                self._open.clear()
            case StreamEvent(parent_tool_use_id=None):  # a subagent's words are not part of the answer
                self._see_event(message.event)
        return [message]

    def broken_off(self) -> AssistantMessage | None:
        """The text that came after the last complete message, as a message; it is handed out once."""
        from claude_agent_sdk import AssistantMessage, TextBlock

        text = "".join(self._open)
        self._open.clear()
        if not text:
            return None
        message = AssistantMessage(content=[TextBlock(text)], model=self._model)
        self.messages.append(message)
        return message

    def broken_off_by(self, failure: AgentError) -> AgentError:
        """The error for a query that failed: the failure itself, or why it broke off with what had come of it."""
        if not self.messages or self._at_a_limit:
            return failure
        match failure:
            case AbortedError():
                failure.partial_messages = list(self.messages)
                return failure
            case TimeoutError():
                kind: type[StreamingError] = StreamTimeoutError
            case _:
                kind = StreamingError
        return kind(
            f"The answer broke off. {failure}",
            partial_messages=self.messages,
            kind=failure.kind,
            retryable=failure.retryable,
            cause=failure,
        )

    def _see_event(self, event: Mapping[str, Any]) -> None:
        match event:
            case {"type": "message_start", **rest}:  # also when the same answer is streamed a second time
                self._open.clear()
                match rest:
                    case {"message": {"model": str(model)}}:
                        self._model = model
            case {"type": "content_block_delta", "delta": {"text": str(text)}}:
                self._open.append(text)


class Stopping:
    """Watches the clock and the signal of one query, and ends it with a function that does not wait.

    Nothing is cancelled, so it does not matter which task reads the messages.
    """

    def __init__(self, seconds: float | None, signal: AbortSignal | None, stop: Callable[[], None]) -> None:
        self.cause: AgentError | None = None
        """Why the query was stopped, if it was."""
        self._seconds = seconds
        self._signal = signal
        self._stop = stop
        loop = asyncio.get_running_loop()
        self._timer = None if seconds is None else loop.call_later(seconds, self._time_is_up)
        self._unsubscribe = None if signal is None else signal.subscribe(self._was_aborted)

    def close(self) -> None:
        """Stop watching."""
        if self._timer is not None:
            self._timer.cancel()
        if self._unsubscribe is not None:
            self._unsubscribe()

    def _time_is_up(self) -> None:
        late = f"The agent was not done after {self._seconds:g} s. Give it a longer timeout, or less to do."
        self._end(TimeoutError(late))

    def _was_aborted(self) -> None:
        reason = self._signal.reason if self._signal else ""
        self._end(AbortedError(f"The agent was stopped{f': {reason}' if reason else ''}.", reason=reason))

    def _end(self, cause: AgentError) -> None:
        if self.cause is None:
            self.cause = cause
            self._stop()


class QueryEvents:
    """Makes events of the messages of queries, which are no runs."""

    def __init__(self, agent: str, run_id: str) -> None:
        self._ids: dict[str, Any] = {"run_id": run_id, "trace_id": os.urandom(16).hex(), "agent": (agent,)}
        self._begun: dict[str, float] = {}

    def of(self, message: Message) -> Iterator[AgentActivityEvent]:
        """The events that a message stands for; of subagents, what they do but not what they say."""
        from claude_agent_sdk import AssistantMessage, StreamEvent, ToolResultBlock, ToolUseBlock, UserMessage

        about = {**self._ids, "at": time.time()}
        if isinstance(message, StreamEvent):
            delta = message.event.get("delta", {}) if message.parent_tool_use_id is None else {}
            if text := delta.get("text"):
                yield ContentChunk(content=text, **about)
            elif thought := delta.get("thinking"):
                yield Thinking(content=thought, **about)
        elif isinstance(message, AssistantMessage | UserMessage) and not isinstance(message.content, str):
            for block in message.content:
                if isinstance(block, ToolUseBlock):
                    self._begun[block.id] = time.monotonic()
                    call = ToolCall(id=block.id, tool_name=block.name, arguments=dict(block.input))
                    yield ToolCallStart(tool_call=call, **about)
                elif isinstance(block, ToolResultBlock):
                    yield self._ended(block, about)

    def _ended(self, block: ToolResultBlock, about: dict[str, Any]) -> ToolCallEnd:
        began = self._begun.pop(block.tool_use_id, time.monotonic())
        content = block.content or ""
        if not isinstance(content, str):
            content = "\n".join(str(part.get("text", f"[{part.get('type')}]")) for part in content)
        return ToolCallEnd(
            tool_call_id=block.tool_use_id,
            result=content,
            outcome=ToolOutcome.FAILED if block.is_error else ToolOutcome.FINISHED,
            duration_ms=round((time.monotonic() - began) * 1000),
            **about,
        )


async def ask(
    pool: SessionPool,
    options: ClaudeAgentOptions,
    prompt: str,
    timeout: float | None,  # noqa: ASYNC109 - what it ends with is more than a cancellation
    signal: AbortSignal | None,
    wrap: Callable[[Exception], AgentError],
) -> AsyncGenerator[Message, None]:
    """Yield every message of an answer, then what is left of one that broke off, and raise why it did."""
    partial = PartialAnswer()
    stopping: Stopping | None = None
    try:
        async with pool.session(CliSession(options), wait_seconds=timeout) as session:
            stopping = Stopping(timeout, signal, session.kill)
            async with aclosing(session.ask(prompt)) as messages:
                async for message in messages:
                    for told in partial.see(message):
                        yield told
    except Exception as error:  # noqa: BLE001 - the SDK raises plain exceptions too; each becomes ours
        failure = wrap(error)
    else:
        return
    finally:
        if stopping is not None:
            stopping.close()
    if (rest := partial.broken_off()) is not None:
        yield rest
    raise partial.broken_off_by(failure if stopping is None or stopping.cause is None else stopping.cause)


def extract_text(message: Message) -> str:
    """The text of an ``AssistantMessage``: its text blocks, joined by newlines.

    Thinking, tool calls and their results are left out. Any other kind of message has no text.
    """
    from claude_agent_sdk import AssistantMessage, TextBlock

    if not isinstance(message, AssistantMessage):
        return ""
    return "\n".join(block.text for block in message.content if isinstance(block, TextBlock) and block.text)


def extract_all_text(messages: Iterable[Message]) -> str:
    """The text of every ``AssistantMessage`` among the messages, with an empty line between two messages.

    Messages without text leave no gap.
    """
    return "\n\n".join(filter(None, map(extract_text, messages)))


async def _serve(
    messages: AsyncGenerator[Message, None], wanted: asyncio.Queue[asyncio.Future[Message] | None]
) -> None:
    """Hand out one message for each reply that waits; it must not know the stream, so that that can be let go."""
    async with aclosing(messages):
        while (reply := await wanted.get()) is not None:
            try:
                message = await anext(messages)
            except StopAsyncIteration:
                return
            if not reply.done():
                reply.set_result(message)
