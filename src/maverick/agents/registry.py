"""Agents by name: classes and definitions in one place, and used in one way."""

from __future__ import annotations

import builtins
import inspect
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeAlias, overload

from typing_extensions import TypeVar

from maverick.agents.named_tools import coding_registry, named_tools, names_tools, servers_named
from maverick.agents.python_source import describe_failure
from maverick.config import AgentConfig
from maverick.exceptions import (
    AgentError,
    AgentNotFoundError,
    DuplicateAgentError,
    InvalidInputError,
    MaverickError,
    TimeoutError,
)
from maverick.loop.definition import AgentDefinition
from maverick.loop.result import AgentResult, AgentUsage
from maverick.loop.termination import reason_of
from maverick.misuse import refuse
from maverick.model import LLMClient
from maverick.runtime import AgentExecutor
from maverick.tools import ToolRegistry

if TYPE_CHECKING:
    from maverick.agents.context import AgentContext

T = TypeVar("T", default=str)


class Agent(Protocol):
    """Anything with ``execute``."""

    async def execute(self, context: AgentContext) -> AgentResult[Any]:
        """Do the work."""
        ...


AgentClass: TypeAlias = type[Agent]
Registered: TypeAlias = AgentClass | AgentDefinition[Any]
Execute: TypeAlias = "Callable[[AgentContext], Awaitable[AgentResult[Any]]]"

C = TypeVar("C", bound=AgentClass)
D = TypeVar("D", bound=AgentDefinition[Any])


class DefinitionAgent(Generic[T]):
    """An agent made from a definition; its inputs are the context's ``extra``.

    Args:
        definition: The agent.
        executor: Runs it; by default one that connects to the definition's own model, or to that of the context's
            settings. Tools that the definition refers to by name are then the coding tools, in the context's folder and
            under the user's permissions, and those of configured MCP servers, which are connected for each run.
        client: The model to call, if there is no executor.
    """

    def __init__(
        self,
        definition: AgentDefinition[T],
        *,
        executor: AgentExecutor | None = None,
        client: LLMClient | None = None,
    ) -> None:
        self.definition = definition
        self.name = definition.name
        self._executor = executor
        self._client = client
        self._executors: dict[tuple[Path | None, AgentConfig], AgentExecutor] = {}

    async def execute(self, context: AgentContext) -> AgentResult[T]:
        """Run the agent.

        ``cwd`` and ``branch`` of the context fill inputs of these names, if the definition has them; all other
        inputs come from ``extra``.

        Raises:
            InvalidInputError: An input is missing, unknown or of the wrong type.
            MaverickError: An MCP server that it refers to cannot be used.
        """
        known: dict[str, Any] = {"cwd": context.cwd, "branch": context.branch}
        inputs = {name: value for name, value in known.items() if name in self.definition.inputs}
        inputs |= context.extra
        if self._executor is None and servers_named(self.definition):
            async with (
                named_tools(self.definition, context.cwd) as tools,
                self._made(context, tools) as executor,
            ):
                return await executor.execute(self.definition, inputs=inputs)
        executor = self._executor or self._executor_in(context)
        return await executor.execute(self.definition, inputs=inputs)

    async def aclose(self) -> None:
        """Close the clients it has connected; not an executor or a client it was given."""
        executors, self._executors = self._executors, {}
        for executor in executors.values():
            await executor.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def _executor_in(self, context: AgentContext) -> AgentExecutor:
        place = context.cwd if names_tools(self.definition) else None  # else it makes no difference
        key = (place, context.config.agent)
        if key not in self._executors:
            self._executors[key] = self._made(context, None if place is None else coding_registry(place))
        return self._executors[key]

    def _made(self, context: AgentContext, tools: ToolRegistry | None) -> AgentExecutor:
        permissions = None
        if tools is not None:
            from maverick.tools.permissions import load_permissions  # here, since not every agent has tools

            permissions = load_permissions(project=context.cwd)
        return AgentExecutor(self._client, tools, permissions=permissions, settings=context.config.agent)


class AgentRegistry:
    """Agents under unique names. An application has one, ``maverick.agents.registry``; a test makes its own."""

    def __init__(self) -> None:
        self._agents: dict[str, Registered] = {}
        self._namespaces: dict[str, Mapping[str, Any]] = {}

    @overload
    def register(self, name: D, /) -> D: ...
    @overload
    def register(self, name: str, /) -> Callable[[C], C]: ...
    @overload
    def register(self, name: str, cls: Registered, /) -> None: ...
    @overload
    def register(self, name: str, cls: Registered) -> None: ...
    def register(self, name: str | AgentDefinition[Any], cls: Registered | None = None) -> Any:
        """Add an agent.

        ``register(definition)`` uses the definition's own name; ``register("name", cls)`` gives one;
        ``@register("name")`` decorates a class.

        Raises:
            DuplicateAgentError: The name is taken.
            InvalidInputError: It is neither a definition nor a class with ``execute``.
        """
        if isinstance(name, AgentDefinition):
            self._add(name.name, name)
            return name
        if not isinstance(name, str) or not name.strip():
            refuse("name", f"expected a non-empty string, got {name!r}.")
        if cls is not None:
            self._add(name, cls)
            return None

        def decorate(decorated: C) -> C:
            self._add(name, decorated)
            return decorated

        return decorate

    def get(self, name: str) -> Any:  # noqa: ANN401 - a class or a definition; its user knows which
        """The class or definition of this name.

        Raises:
            AgentNotFoundError: No agent has this name; the message suggests the most similar.
        """
        try:
            return self._agents[name]
        except KeyError:
            raise AgentNotFoundError(agent_name=name, available_agents=self.list_agents()) from None

    def get_all(self) -> dict[str, Registered]:
        """All agents by name; a copy."""
        return dict(self._agents)

    def list_agents(self) -> list[str]:
        """The names of all agents, in alphabetical order."""
        return sorted(self._agents)

    def namespace_of(self, name: str) -> Mapping[str, Any]:
        """The global names of the module that registered an agent.

        Raises:
            AgentNotFoundError: No agent has this name.
        """
        self.get(name)
        return self._namespaces[name]

    def create(self, name: str, **options: Any) -> Agent:
        """Make an agent: an instance of the class, or a definition with an executor.

        Its ``execute`` returns a failed result where the class or the definition would raise an error.

        Args:
            name: The agent; a class that wants a ``name`` and is given none gets this one.
            options: What the class's constructor takes; for a definition, what
                :class:`~maverick.agents.DefinitionAgent` takes.

        Raises:
            AgentNotFoundError: No agent has this name.
        """
        return make_agent(name, self.get(name), **options)

    def unregister(self, name: str) -> None:
        """Remove an agent.

        Raises:
            AgentNotFoundError: No agent has this name.
        """
        self.get(name)
        del self._agents[name], self._namespaces[name]

    def __contains__(self, name: object) -> bool:
        return name in self._agents

    def __iter__(self) -> Iterator[str]:
        return iter(self.list_agents())

    def __len__(self) -> int:
        return len(self._agents)

    def _add(self, name: str, agent: Registered) -> None:
        if not isinstance(agent, AgentDefinition) and not (
            isinstance(agent, type) and callable(getattr(agent, "execute", None))
        ):
            raise InvalidInputError(
                f"{name}: expected an AgentDefinition or a class with `async execute(context)`, got {agent!r}.",
                field="cls",
            )
        if name in self._agents:
            raise DuplicateAgentError(agent_name=name)
        self._agents[name] = agent
        self._namespaces[name] = sys._getframe(2).f_globals  # noqa: SLF001 - of the caller of register()


def make_agent(name: str, registered: Registered, **options: Any) -> Agent:
    """An instance of the class, or the definition with an executor, made with these options; its ``execute`` does not raise.

    An error in ``execute`` becomes a failed result, so that a caller who knows only the agent's name has one thing to
    handle. The class itself is unchanged: an instance that is made directly raises its errors. A class that takes a ``name``
    and has none is given this one.
    """
    agent: Agent
    if isinstance(registered, AgentDefinition):
        agent = DefinitionAgent(registered, **options)
    else:
        if registered.__dictoffset__ == 0:  # a class with slots alone has no room for another execute
            registered = type(registered.__name__, (registered,), {})
        agent = registered(**({"name": name} if _wants_name(registered) else {}) | options)
    object.__setattr__(agent, "execute", _without_raising(name, agent.execute))
    return agent


def make_class_agent(name: str, cls: AgentClass, **options: Any) -> Agent:
    """What :func:`make_agent` makes of a class, for someone who has only named the agent.

    If its constructor fails, the ``InvalidInputError`` says where in its code.
    """
    try:
        return make_agent(name, cls, **options)
    except MaverickError:
        raise
    except Exception as error:  # the agent's own code may raise anything
        file = getattr(sys.modules.get(cls.__module__), "__file__", None)
        folder = Path(file).parent if file else Path.cwd()
        raise InvalidInputError(
            f"The agent {name!r} cannot be made. {describe_failure(error, folder)}", field="agent"
        ) from error


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
            return TimeoutError(f"The agent {name!r} timed out. Give it more time.", cause=error)
    frames = traceback.extract_tb(error.__traceback__)[1:]  # the first is ours
    where = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    return AgentError(
        f"The agent {name!r} failed with {type(error).__name__}{where}. Fix it there; the cause of this error has the details.",
        cause=error,
    )


registry = AgentRegistry()
"""The application's agents."""
