"""A connection to an MCP server, kept by one task of its own.

An MCP session has to be opened and closed by the same task. Here that task does nothing else; calls come from any
task of the event loop. A connection that broke is opened again by the next call.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context
from functools import partial
from typing import Any, TypeVar

import mcp_types as types
from mcp import Client
from mcp.shared.exceptions import MCPError

from maverick.exceptions import NetworkError, TimeoutError, ToolError
from maverick.tools.mcp.server_address import NotAllowedError

R = TypeVar("R")

_CHECK = "If the tool acts, check what it has done before you repeat it."

# Without a handler Python would write to the terminal what the library says of a server that writes nonsense.
logging.getLogger("mcp").addHandler(logging.NullHandler())


class MCPConnection:
    """One session with an MCP server, opened when it is first used."""

    def __init__(self, name: str, make_client: Callable[[], Client]) -> None:
        self.name = name
        self._make_client = make_client
        self._session: _Session | None = None

    async def list_tools(self) -> list[types.Tool]:
        """Every tool the server has; raises what :meth:`ask` does."""
        tools: list[types.Tool] = []
        cursor: str | None = None
        while True:
            page = await self.ask(partial(Client.list_tools, cursor=cursor, cache_mode="refresh"))
            tools += page.tools
            if (cursor := page.next_cursor) is None:
                return tools

    async def call_tool(
        self,
        tool_name: str,
        arguments: dict[str, Any],
        *,
        meta: Mapping[str, Any] | None = None,
        within: float | None = None,
        again: bool = False,
    ) -> types.CallToolResult:
        """Call a tool, by the server's name for it, with ``meta`` beside the arguments, ``within`` so many seconds.

        ``again`` says that it may be sent once more on a new connection if this one breaks; only for tools that change
        nothing, since the first call may have taken effect. Raises what :meth:`ask` does.
        """

        async def send(client: Client) -> types.CallToolResult:
            return await client.call_tool(
                tool_name,
                arguments,
                read_timeout_seconds=within,
                meta=None if meta is None else types.RequestParamsMeta(**meta),  # type: ignore[typeddict-item]
            )

        try:
            return await self.ask(send)
        except NetworkError:
            if not again:
                raise
        return await self.ask(send)

    async def aclose(self) -> None:
        """End the session; the next call opens another."""
        session, self._session = self._session, None
        if session is not None and session.loop is asyncio.get_running_loop():
            await session.end()

    def drop(self) -> None:
        """End the session without waiting for it; calls in progress fail."""
        session, self._session = self._session, None
        if session is not None:
            session.stop()

    async def ask(self, send: Callable[[Client], Awaitable[R]]) -> R:
        """Ask the server something, over the session that is open or a new one.

        Raises:
            NetworkError: The server cannot be reached, or went away before it answered.
            TimeoutError: It did not answer in time.
            ToolError: It answered with an error.
        """
        session = self._open_session()
        try:
            client = await session.client()
        except Exception as error:  # transports raise whatever their libraries do; none of it gets out
            self._lose(session)
            why = f"The MCP server {self.name!r} {_why_not_open(error, self.name)}"
            raise NetworkError(why) from error
        try:
            return await send(client)
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED:
                self._lose(session)
                why = f"The MCP server {self.name!r} went away before it answered. {_CHECK}"
                raise NetworkError(why) from error
            if error.code == types.REQUEST_TIMEOUT:
                late = f"The MCP server {self.name!r} did not answer in time."
                raise TimeoutError(late) from error
            raise ToolError(f"The MCP server {self.name!r} refused: {error.message}") from error
        except Exception as error:  # transports raise whatever their libraries do; none of it gets out
            self._lose(session)
            why = f"closed the connection, or sent an invalid answer. {_CHECK}"
            if isinstance(refused := _first_of(error), NotAllowedError):
                why = _why_not_open(refused, self.name)
            raise NetworkError(f"The MCP server {self.name!r} {why}") from error

    def _open_session(self) -> _Session:
        loop = asyncio.get_running_loop()
        if self._session is None or self._session.loop is not loop or self._session.over:
            self._session = _Session(self._make_client, loop)
        return self._session

    def _lose(self, session: _Session) -> None:
        if self._session is session:
            self.drop()


class _Session:
    """The task that opens a client, keeps it open, and closes it."""

    def __init__(self, make_client: Callable[[], Client], loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._ready: asyncio.Future[Client] = loop.create_future()
        self._ready.add_done_callback(_seen)
        self._stopping = asyncio.Event()
        # The context is empty: what the first call has in its own, such as a trace, is not the session's.
        self._owner = loop.create_task(self._own(make_client), name="maverick-mcp", context=Context())

    @property
    def over(self) -> bool:
        return self._stopping.is_set() or self._owner.done()

    async def client(self) -> Client:
        return await asyncio.shield(self._ready)

    def stop(self) -> None:
        self._stopping.set()
        if not self._ready.done():
            self._owner.cancel()  # it waits for a server that may never answer

    async def end(self) -> None:
        self.stop()
        await asyncio.wait([self._owner])

    async def _own(self, make_client: Callable[[], Client]) -> None:
        try:
            async with make_client() as client:
                self._ready.set_result(client)
                await self._stopping.wait()
        except asyncio.CancelledError:
            if not self._ready.done():  # tasks that wait for the client are not cancelled
                self._ready.set_exception(
                    ConnectionAbortedError(errno.ECONNABORTED, "it was closed meanwhile")
                )
            raise
        except BaseException as error:  # noqa: BLE001 - passed on to those who wait for the client
            if not self._ready.done():
                self._ready.set_exception(_first_of(error))
        finally:
            self._stopping.set()


def _why_not_open(error: Exception, name: str) -> str:
    """What is wrong with a server that could not be connected to, and what to do about it."""
    match error:
        case FileNotFoundError(filename=str(missing)):
            return f"could not be started: there is no {missing!r}. Install it, or correct the server's command or cwd."
        case OSError(strerror=str(reason)):
            return f"could not be started: {reason}. Check its command, and who may run it."
        case MCPError(code=types.CONNECTION_CLOSED):
            return (
                "exited while it started. Run its command in a terminal to see why; of your environment "
                "it gets only what its env names."
            )
        case NotAllowedError():
            return f"{error} Sign in with `maverick mcp login {name}`, or check its url and the headers it wants."
    return "cannot be reached, or does not speak MCP. Check its command or url, and whether it runs."


def _first_of(error: BaseException) -> Exception:
    """The first plain error in a group of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, Exception) else RuntimeError(type(error).__name__)


def _seen(ready: asyncio.Future[Client]) -> None:
    """Mark an error as seen, so that asyncio does not log it."""
    if not ready.cancelled():
        ready.exception()
