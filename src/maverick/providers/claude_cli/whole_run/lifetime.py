"""A CLI from its start to its end, for conversations in which both sides speak at any time."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from claude_agent_sdk import ClaudeAgentOptions, Message

from maverick.exceptions import AgentError, ProcessError
from maverick.providers.claude_cli.errors import wrap_sdk_error
from maverick.providers.claude_cli.session import CliSession


class LiveCli:
    """A CLI that can be talked to.

    Args:
        options: What it is started with.
    """

    def __init__(self, options: ClaudeAgentOptions) -> None:
        self._session = CliSession(options)

    async def start(self) -> None:
        """Start it and shake hands with it.

        Raises:
            AgentError: It is not there, or does not answer as it should.
        """
        await self._session.open()

    async def say(self, words: str) -> None:
        """Tell it something.

        Raises:
            AgentError: It does not listen any more.
        """
        try:
            await self._session.client.query(words)
        except Exception as error:  # the SDK raises what it likes (promise P8)
            raise _replaceable(error) from error

    async def messages(self) -> AsyncGenerator[Message, None]:
        """What it says, for as long as it lives.

        Raises:
            AgentError: It ended, or what it says makes no sense.
        """
        try:
            async for message in self._session.client.receive_messages():
                yield message
        except Exception as error:  # the SDK raises what it likes (promise P8)
            raise _replaceable(error) from error
        raise ProcessError("The Claude CLI ended before its turn did. Try again.", retryable=True)

    async def end(self) -> None:
        """End it, and whatever it has started, at once. Cancelling this changes nothing.

        It is killed before its input is closed: at the end of its input it takes every open question for a no, and
        asks its model what to do next.
        """
        self._session.kill()
        await self._session.aclose()


def _replaceable(error: Exception) -> AgentError:
    """The error in our tree; when a CLI is gone, another one can be handed the conversation."""
    wrapped = wrap_sdk_error(error)
    if isinstance(wrapped, ProcessError):
        wrapped.retryable = True
    return wrapped
