"""``run_sync``: runs an agent from code that is not async."""

from __future__ import annotations

import asyncio
from typing import Any

from typing_extensions import TypeVar, Unpack

from maverick.exceptions import InvalidInputError
from maverick.loop.definition import AgentDefinition
from maverick.loop.result import AgentResult
from maverick.model import LLMClient
from maverick.runtime.event_log import Listener
from maverick.runtime.executor import AgentExecutor
from maverick.runtime.options import StreamOptions

T = TypeVar("T", default=str)


def run_sync(
    definition: AgentDefinition[T],
    *,
    client: LLMClient | None = None,
    on_activity: Listener | None = None,
    **options: Unpack[StreamOptions],
) -> AgentResult[T]:
    """Run an agent to its end, from code that is not async.

    Args:
        definition: The agent.
        client: The model to call; by default the definition's own.
        on_activity: Called with each event, in order.
        options: What :meth:`AgentExecutor.execute` takes.

    Raises:
        InvalidInputError: There is an event loop in this thread already; ``await executor.execute(…)`` there.
    """
    given: dict[str, Any] = dict(options)

    async def run() -> AgentResult[T]:
        async with AgentExecutor(client) as executor:
            return await executor.execute(definition, on_activity=on_activity, **given)

    try:
        asyncio.get_running_loop()
    except RuntimeError:  # as it should be: no loop is running here
        return asyncio.run(run())
    raise InvalidInputError(
        "run_sync() was called where an event loop runs; write `await executor.execute(…)` there."
    )
