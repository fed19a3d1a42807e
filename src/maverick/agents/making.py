"""Making agents from what is registered, so that whoever runs them gets a result whatever happens inside."""

from __future__ import annotations

import builtins
import inspect
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from maverick.agents.context import AgentContext
from maverick.agents.defined import DefinedAgent
from maverick.exceptions import AgentError, MaverickError, TimeoutError
from maverick.loop.definition import AgentDefinition
from maverick.loop.result import AgentResult, AgentUsage
from maverick.loop.termination import reason_of


class Agent(Protocol):
    """Anything that can be asked to do its work."""

    async def execute(self, context: AgentContext) -> AgentResult[Any]:
        """Do the work."""
        ...


AgentClass: TypeAlias = type[Agent]
Registered: TypeAlias = AgentClass | AgentDefinition[Any]
Execute: TypeAlias = Callable[[AgentContext], Awaitable[AgentResult[Any]]]


def make_agent(name: str, registered: Registered, **options: Any) -> Agent:
    """An instance of the class, or the definition with an executor; its ``execute`` does not raise.

    What goes wrong in ``execute`` is a failed result, so that a caller who knows the agent by its name alone needs to
    handle nothing else. The class itself stays as it is: whoever makes an instance without this gets its errors.

    Args:
        name: What it is registered as; a class that wants a ``name`` and has none is given it.
        registered: The class or the definition.
        options: What the class's constructor takes; for a definition, what :class:`DefinedAgent` takes.
    """
    agent: Agent
    if isinstance(registered, AgentDefinition):
        agent = DefinedAgent(registered, **options)
    else:
        if registered.__dictoffset__ == 0:  # a class with slots alone has no room for another execute
            registered = type(registered.__name__, (registered,), {})
        agent = registered(**({"name": name} if _wants_name(registered) else {}) | options)
    object.__setattr__(agent, "execute", _without_raising(name, agent.execute))
    return agent


def _wants_name(cls: AgentClass) -> bool:
    parameter = inspect.signature(cls).parameters.get("name")
    return (
        parameter is not None
        and parameter.kind is not parameter.POSITIONAL_ONLY
        and parameter.default in (parameter.empty, None)
        and not getattr(cls, "name", "")
    )


def _without_raising(name: str, execute: Execute) -> Execute:
    @wraps(execute)
    async def execute_and_catch(context: AgentContext) -> AgentResult[Any]:
        began = time.monotonic()
        try:
            result = await execute(context)
        except Exception as raised:  # noqa: BLE001 - the agent's own code, whose errors are its result
            error = _as_agent_error(name, raised)
        else:
            if isinstance(result, AgentResult):
                return result
            error = AgentError(
                f"execute() of the agent {name!r} returned {type(result).__name__}. Return an AgentResult."
            )
        usage = AgentUsage(0, 0, None, round((time.monotonic() - began) * 1000))
        return replace(AgentResult.failure_result([error], usage), terminate_reason=reason_of(error))

    return execute_and_catch


def _as_agent_error(name: str, error: Exception) -> AgentError:
    match error:
        case AgentError():
            return error
        case MaverickError():
            return AgentError(str(error), cause=error)
        case builtins.TimeoutError():
            return TimeoutError(f"The agent {name!r} ran into a timeout. Give it more time.", cause=error)
    frames = traceback.extract_tb(error.__traceback__)[1:]  # the first is ours
    where = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    return AgentError(
        f"The agent {name!r} failed with {type(error).__name__}{where}. Mend it there; this error's cause says more.",
        cause=error,
    )
