"""A CLI and its conversation."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maverick.exceptions import AgentError, ProcessError
from maverick.model.secret_names import secrets_in
from maverick.providers.claude_cli.errors import result_error, wrap_sdk_error
from maverick.providers.claude_cli.options import sdk

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, Message, ResultMessage

    from maverick.providers.claude_cli.transport import SupervisedTransport

_NEW_CONVERSATION = json.dumps(
    {
        "type": "user",
        "message": {"role": "user", "content": "/clear"},
        "parent_tool_use_id": None,
        "session_id": "default",
    }
)

_TYPED_ANSWER = "StructuredOutput"
"""The tool with which the model returns structured output."""

_closing: set[asyncio.Task[None]] = set()
"""Sessions that are being closed; the event loop keeps only weak references to its tasks."""


class CliSession:
    """A CLI that is started with the first prompt and keeps the conversation until :meth:`forget`."""

    def __init__(self, options: ClaudeAgentOptions) -> None:
        self.options = options
        self.key: object = self.key_of(options)
        """What a kept session is found by; ``None`` is one that is never found."""
        self.busy = False
        """Whether an answer is outstanding."""
        self._transport: SupervisedTransport | None = None
        self._client: ClaudeSDKClient | None = None
        self._forgetting = False
        self._killed = False
        self._opening = asyncio.Lock()

    @staticmethod
    def key_of(options: ClaudeAgentOptions) -> ClaudeAgentOptions:
        """The options with what they leave to this process: its folder, and its environment."""
        return replace(options, cwd=Path(options.cwd or "").absolute(), env={**os.environ, **options.env})

    @property
    def secrets(self) -> list[str]:
        """The keys and other secrets in the CLI's environment, which no error may repeat."""
        return list(secrets_in({**os.environ, **self.options.env}))

    @property
    def reusable(self) -> bool:
        """Whether it can take a prompt: the CLI is running or starting, and no answer is outstanding."""
        ready = self._transport is not None and self._transport.is_ready()
        return not self.busy and not self._killed and (ready or self._opening.locked())

    @property
    def client(self) -> ClaudeSDKClient:
        """The SDK's client; the session has to be open."""
        if self._client is None:
            raise ProcessError("The session with the Claude CLI is not open. Call open() first.")
        return self._client

    async def open(self, *, warm: bool = False) -> None:
        """Start the CLI if it does not run yet, and wait until it has forgotten its last conversation.

        A ``warm`` one has done the set-up that it otherwise does with the first prompt.
        """
        async with self._opening:
            if self._client is None:
                await self._connect()
                if warm:
                    await self.forget()
            if self._forgetting:
                await self._forgotten()

    async def _connect(self) -> None:
        module = sdk()
        from maverick.providers.claude_cli.transport import SupervisedTransport

        self._transport = SupervisedTransport(self.options)
        client: ClaudeSDKClient = module.ClaudeSDKClient(self.options, transport=self._transport)
        if self._killed:
            self._transport.kill()
        connecting = asyncio.create_task(client.connect())
        try:
            await asyncio.shield(connecting)
        except asyncio.CancelledError:  # the SDK would leave things open
            self.kill()
            await asyncio.gather(connecting, return_exceptions=True)
            await client.disconnect()
            raise
        except Exception as error:  # the SDK raises plain exceptions too
            raise self._wrapped(error) from error
        self._client = client

    async def ask(self, prompt: str) -> AsyncGenerator[Message, None]:
        """Send a prompt, and yield the messages of the answer as they arrive; the last is a ``ResultMessage``.

        If the CLI or the API fails, or a limit is reached, what had arrived is yielded before the error is raised.
        """
        self.busy = True
        await self.open()
        await self.send(prompt)
        failed = answer = ""
        async with aclosing(self.messages()) as messages:
            async for message in messages:
                if isinstance(message, sdk().ResultMessage):
                    if not _answers_us(message):
                        yield message
                        continue
                    self.busy = False
                    yield message
                    if message.is_error:
                        raise result_error(message, error=failed, answer=answer, secrets=self.secrets)
                    return
                failed = getattr(message, "error", None) or failed
                answer = _raw_answer(message) or answer
                yield message

    async def forget(self) -> None:
        """Begin a new conversation in the same process, without what was said before."""
        if self._transport is not None:
            try:
                await self._transport.write(_NEW_CONVERSATION + "\n")
            except Exception as error:  # as in open()
                raise self._wrapped(error) from error
            self._forgetting = True

    def kill(self) -> None:
        """End the CLI and everything it has started. This returns at once and cannot be undone."""
        self._killed = True
        if self._transport is not None:
            self._transport.kill()

    async def aclose(self, *, at_once: bool = False) -> None:
        """End the CLI: gracefully if it is idle, at once if it is answering. Cancelling this changes nothing.

        ``at_once`` kills it in any case: at the end of its input, a CLI takes every open question for a no, and asks its
        model what to do next.
        """
        if at_once or self.busy or self._opening.locked():
            self.kill()
        closing = asyncio.create_task(self._close())
        _closing.add(closing)
        closing.add_done_callback(_closing.discard)
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            if closing.cancelling():  # the event loop is about to close, and cancels every task
                await asyncio.wait([closing])
                await self._close()
            raise

    async def _close(self) -> None:
        async with self._opening:  # if it is still starting, that ends first
            client, transport = self._client, self._transport
        if client is None or transport is None:
            return
        try:
            if not self._killed:
                await transport.finish()
        finally:
            self.kill()
            await client.disconnect()
            self._client = None

    async def send(self, prompt: str | list[dict[str, Any]]) -> None:
        """Send a prompt, a text or blocks, to the CLI, which has to be open."""
        try:
            await self.client.query(prompt if isinstance(prompt, str) else _user_message(prompt))
        except Exception as error:  # as in open()
            raise self._wrapped(error) from error

    async def _forgotten(self) -> None:
        """Wait until the last conversation is cleared."""
        async with aclosing(self.messages()) as messages:
            async for message in messages:
                if isinstance(message, sdk().ResultMessage) and _answers_us(message):
                    self._forgetting = False
                    return

    async def messages(self) -> AsyncGenerator[Message, None]:
        """Yield the CLI's messages until it exits, which is an error."""
        received: Any = self.client.receive_messages()
        async with aclosing(received):
            while True:
                try:
                    message = await anext(received)
                except StopAsyncIteration:
                    raise ProcessError(
                        "The Claude CLI ended before the answer was complete. Start the run again."
                    ) from None
                except Exception as error:  # as in open()
                    raise self._wrapped(error) from error
                yield message

    def _wrapped(self, error: Exception) -> AgentError:
        cli_path = self.options.cli_path
        stderr = "" if self._transport is None else self._transport.stderr
        return wrap_sdk_error(
            error, cli_path=str(cli_path) if cli_path else None, stderr=stderr, secrets=self.secrets
        )


async def _user_message(blocks: list[dict[str, Any]]) -> AsyncGenerator[dict[str, Any], None]:
    yield {"type": "user", "message": {"role": "user", "content": blocks}, "parent_tool_use_id": None}


def _answers_us(result: ResultMessage) -> bool:
    """Whether it ends the answer to our prompt, and not a turn that a background task started."""
    return result.origin is None or result.origin.get("kind") == "human"


def _raw_answer(message: Message) -> str:
    """The model's answer in a message: its text, or its structured output."""
    module = sdk()
    if not isinstance(message, module.AssistantMessage):
        return ""
    return "\n".join(
        block.text if isinstance(block, module.TextBlock) else json.dumps(block.input)
        for block in message.content
        if isinstance(block, module.TextBlock) or getattr(block, "name", None) == _TYPED_ANSWER
    )
