"""One run on the CLI: the conversation it holds, and calls that no CLI waits with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from maverick.exceptions import ToolError
from maverick.model import History, Request, Response, StreamItem, ToolCall
from maverick.providers.claude_cli.options import sdk
from maverick.providers.claude_cli.whole_run.calls import Answer
from maverick.providers.claude_cli.whole_run.settings import CliSettings, max_tokens_of

if TYPE_CHECKING:
    from maverick.providers.claude_cli.whole_run.conversation import Conversation


class WholeRun:
    """The CLI of one run.

    Args:
        client: Whose run it is.
        settings: How the CLI is set up.
    """

    def __init__(self, client: object, settings: CliSettings) -> None:
        self.client = client
        self._settings = settings
        self._conversation: Conversation | None = None
        self._log: object = None
        self._seen = 0

    async def stream(self, request: Request) -> AsyncGenerator[StreamItem, None]:
        """Its next turn, as it arrives; the last item is the whole of it."""
        try:
            conversation = await self._gone_on(request) or await self._opened(request)
            async with aclosing(conversation.turn()) as items:
                async for item in items:
                    if isinstance(item, Response):
                        response = item
                    else:
                        yield item
        except BaseException:  # the CLI must not go on with a turn that nobody waits for
            await self.aclose()
            raise
        if conversation.over:
            await self.aclose()
        self._seen, self._log = len(request.messages), _log_of(request)
        yield response

    def tool_finished(self, call_id: str, content: str, *, failed: bool) -> None:
        """Hand the CLI the result of a call that it waits with."""
        waiting = self._conversation
        if waiting is not None and waiting.waits_with(call_id):
            waiting.tool_finished(call_id, content, failed=failed)

    async def perform(self, call: ToolCall, *, approved: bool) -> str:
        """Have a CLI run a call: the one that waits with it, or else one that is started for it alone.

        Raises:
            ToolError: The CLI says that it failed.
        """
        waiting = self._conversation
        if waiting is None or not waiting.waits_with(call.id):
            return _text(await self._alone(call, approved=approved), call.tool_name)
        try:
            return _text(await waiting.perform(call.id, approved=approved), call.tool_name)
        except asyncio.CancelledError:
            await self.aclose()  # nothing else stops what the CLI has begun
            raise

    async def aclose(self) -> None:
        """End the CLI."""
        conversation, self._conversation = self._conversation, None
        if conversation is not None:
            await conversation.close()

    async def _gone_on(self, request: Request) -> Conversation | None:
        """The conversation there is, if the request follows on what it has seen."""
        held = self._conversation
        if (
            held is not None
            and self._log is _log_of(request)
            and max_tokens_of(request) >= held.max_tokens
            and await held.go_on(request.messages[self._seen :])
        ):
            return held
        await self.aclose()
        return None

    async def _opened(self, request: Request) -> Conversation:
        sdk()  # or else it says what to install
        from maverick.providers.claude_cli.whole_run.conversation import Conversation

        self._conversation = Conversation(self._settings, request)
        await self._conversation.open()
        return self._conversation

    async def _alone(self, call: ToolCall, *, approved: bool) -> Answer:
        sdk()
        from maverick.providers.claude_cli.whole_run.lone_call import run_alone

        return await run_alone(self._settings, call, approved=approved)


def _log_of(request: Request) -> object:
    """What all requests of one conversation have in common."""
    return request.messages.derived if isinstance(request.messages, History) else None


def _text(answer: Answer, tool_name: str) -> str:
    if answer.is_error:
        raise ToolError(answer.content, tool_name=tool_name)
    return answer.content
