"""``run_sync``: runs an agent from code that is not async."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from typing_extensions import TypeVar

from maverick.exceptions import InvalidInputError
from maverick.journal import Journal
from maverick.loop.definition import AgentDefinition
from maverick.loop.result import AgentResult
from maverick.misuse import explained
from maverick.model import LLMClient, Message
from maverick.runtime.arguments import instead_of
from maverick.runtime.event_log import Listener
from maverick.runtime.executor import AgentExecutor
from maverick.runtime.interruption import AbortSignal

T = TypeVar("T", default=str)


@explained(instead_of)
def run_sync(
    definition: AgentDefinition[T],
    *,
    client: LLMClient | None = None,
    journal: Journal | None = None,
    inputs: Mapping[str, Any] | None = None,
    signal: AbortSignal | None = None,
    on_activity: Listener | None = None,
    messages: Sequence[Message] = (),
    run_id: str | None = None,
    user_id: str | None = None,
    deps: object = None,
    if_exists: Literal["raise", "resume"] = "raise",
) -> AgentResult[T]:
    """Run an agent to its end, from code that is not async.

    ``client`` and ``journal`` are those of :class:`AgentExecutor`; the other arguments are those of
    :meth:`AgentExecutor.execute`.

    Raises:
        InvalidInputError: There is an event loop in this thread already; ``await executor.execute(…)`` there.
    """

    async def run() -> AgentResult[T]:
        async with AgentExecutor(client, journal=journal) as executor:
            return await executor.execute(
                definition,
                inputs=inputs,
                signal=signal,
                on_activity=on_activity,
                messages=messages,
                run_id=run_id,
                user_id=user_id,
                deps=deps,
                if_exists=if_exists,
            )

    with suppress(RuntimeError):  # as it should be: no loop is running here
        asyncio.get_running_loop()
        raise InvalidInputError(
            "run_sync() was called where an event loop runs; write `await executor.execute(…)` there."
        )
    # Not where the other error is handled, which would be in every traceback of the run.
    return asyncio.run(run())
