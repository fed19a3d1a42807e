"""A transport that brings bytes which are already there, so that a client can be driven without an event loop."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeVar

from maverick.exceptions import AgentError

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service sends."""

    chunks: Sequence[bytes]
    """The pieces in which its bytes arrive; none of them is empty."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    breaks_with: AgentError | None = None
    """What the transport raises in place of the end."""


class PreparedTransport:
    """Brings the same answer, whatever is asked."""

    def __init__(self) -> None:
        self.answer = Answer(())

    async def request(
        self, method: str, url: str, *, headers: Mapping[str, str], body: Sequence[bytes] = ()
    ) -> PreparedReply:
        return PreparedReply(self.answer)

    async def aclose(self) -> None:
        pass


class PreparedReply:
    """Hands out the answer and fails if more is read after its end."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._chunks = iter(answer.chunks)
        self._ended = False
        self.status = answer.status
        self.headers = answer.headers

    async def read(self) -> bytes:
        body = b"".join(self._chunks)
        self._end()
        return body

    async def read_some(self) -> bytes:
        chunk = next(self._chunks, b"")
        if not chunk:
            self._end()
        return chunk

    def content_arrived(self) -> None:
        pass

    async def finish(self) -> None:
        pass

    def close(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        pass

    def _end(self) -> None:
        assert not self._ended, "the client reads on after the end"
        self._ended = True
        if self._answer.breaks_with is not None:
            raise self._answer.breaks_with


def completed(work: Coroutine[Any, Any, Result]) -> Result:
    """What the work comes to. With all bytes there, it has nothing to wait for; if it waits, it would hang."""
    try:
        work.send(None)
    except StopIteration as done:
        result: Result = done.value
        return result
    work.close()
    raise AssertionError("the client waits for something that never comes")
