"""Protection against slow clients: deadlines for requests and responses, and a limit of connections."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

from maverick.server.limits import network_of

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Deadlines for clients, and how many connections there may be."""

    header_seconds: float = 10
    """From the beginning of a connection, or of a request on it, until the headers have arrived."""
    body_seconds: float = 30
    """From there until the body has arrived."""
    stall_seconds: float = 60
    """How long a client may leave a response unread."""
    per_address: int = 256
    """Connections of one address; a proxy is one address for all of its clients."""
    total: int = 4096
    """Connections of all addresses."""


_Stage: TypeAlias = Literal["request", "headers", "body", "response"]
"""What a connection waits for: the client's next request, the parts of one, or the server's response to it."""


class Connections:
    """All connections. When there are too many, the oldest idle one of the address with the most is closed.

    So an attacker who opens thousands loses only their own, and one whose request has arrived is never closed.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._total = min(limits.total, _open_files() * 3 // 4)
        self._count = 0
        self._of_address: Counter[str] = Counter()
        self._waiting: dict[str, dict[ClientProtocol, None]] = {}

    def add(self, connection: ClientProtocol) -> None:
        """Add a new connection."""
        self._count += 1
        self._of_address[connection.network] += 1
        self.wait(connection)
        if self._of_address[connection.network] > self.limits.per_address:
            self._drop(connection.network)
        elif self._count > self._total:
            self._drop(max(self._waiting, key=self._of_address.__getitem__))

    def remove(self, connection: ClientProtocol) -> None:
        """Remove a closed one."""
        self.work(connection)
        self._count -= 1
        self._of_address[connection.network] -= 1
        if not self._of_address[connection.network]:
            del self._of_address[connection.network]

    def wait(self, connection: ClientProtocol) -> None:
        """Note that it waits for its client."""
        waiting = self._waiting.setdefault(connection.network, {})
        waiting.pop(connection, None)
        waiting[connection] = None

    def work(self, connection: ClientProtocol) -> None:
        """Note that its client waits for the server."""
        waiting = self._waiting.get(connection.network, {})
        waiting.pop(connection, None)
        if not waiting:
            self._waiting.pop(connection.network, None)

    def _drop(self, network: str) -> None:
        oldest = next(iter(self._waiting.get(network, ())), None)
        if oldest is not None:
            oldest.transport.abort()


class ClientProtocol(H11Protocol):
    """uvicorn's HTTP protocol, with a deadline for each wait for the client."""

    def __init__(self, connections: Connections, **options: Any) -> None:
        super().__init__(**options)
        self.network = ""
        """The network it is counted for."""
        self._all = connections
        self._stage: _Stage = "headers"
        self._deadline: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Start the deadline of the first request."""
        super().connection_made(transport)
        self.network = network_of(self.client[0] if self.client else None)
        self._set_deadline(self._all.limits.header_seconds)
        self._all.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers."""
        for timer in (self._deadline, self._stall):
            if timer is not None:
                timer.cancel()
        self._all.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Restart the deadline when the next part of a request begins."""
        super().data_received(data)
        self._enter(self._stage_now() or "headers")

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._enter(self._stage_now() or "request")

    def pause_writing(self) -> None:
        """Start the deadline for a client that does not read."""
        super().pause_writing()
        self._stall = self.loop.call_later(self._all.limits.stall_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop that deadline."""
        super().resume_writing()
        if self._stall is not None:
            self._stall.cancel()

    def _stage_now(self) -> _Stage | None:
        """The stage of the current request, if there is one."""
        if self.cycle is None or self.cycle.response_complete:
            return None
        return "body" if self.cycle.more_body else "response"

    def _enter(self, stage: _Stage) -> None:
        if stage == self._stage or self.transport.is_closing():
            return
        self._stage = stage
        limits = self._all.limits
        seconds = {"headers": limits.header_seconds, "body": limits.body_seconds}.get(stage)
        self._set_deadline(seconds)
        if stage == "response":
            self._all.work(self)
        else:
            self._all.wait(self)

    def _set_deadline(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)


def client_protocol(limits: ConnectionLimits | None = None) -> type[asyncio.Protocol]:
    """The protocol for ``uvicorn.Config(http=…)``, so that slow clients do not keep others out."""
    made: Callable[..., ClientProtocol] = partial(ClientProtocol, Connections(limits or ConnectionLimits()))
    return cast("type[asyncio.Protocol]", made)  # uvicorn only calls it


def _open_files() -> int:
    """How many files this process may have open; each connection is one."""
    if sys.platform == "win32":
        return 8192
    import resource  # here, since not every system has it

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if most == resource.RLIM_INFINITY else most
