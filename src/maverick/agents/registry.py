"""Agents by name: classes and definitions in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, overload

from maverick.agents.making import Agent, AgentClass, Registered, make_agent
from maverick.exceptions import AgentNotFoundError, DuplicateAgentError, InvalidInputError
from maverick.loop.definition import AgentDefinition

C = TypeVar("C", bound=AgentClass)
D = TypeVar("D", bound=AgentDefinition[Any])


class AgentRegistry:
    """Agents under unique names. An application has one, ``maverick.agents.registry``; a test makes its own."""

    def __init__(self) -> None:
        self._agents: dict[str, Registered] = {}

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
            raise InvalidInputError(f"name: expected a non-empty string, got {name!r}.", field="name")
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
            AgentNotFoundError: There is none; the message names the nearest.
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

    def create(self, name: str, **options: Any) -> Agent:
        """Make an agent: an instance of the class, or a definition with an executor.

        Its ``execute`` returns a failed result where the class or the definition would raise an error.

        Args:
            name: The agent; a class that wants a ``name`` and is given none gets this one.
            options: What the class's constructor takes; for a definition, what
                :class:`~maverick.agents.DefinedAgent` takes.

        Raises:
            AgentNotFoundError: There is none of this name.
        """
        return make_agent(name, self.get(name), **options)

    def unregister(self, name: str) -> None:
        """Remove an agent.

        Raises:
            AgentNotFoundError: There is none of this name.
        """
        self.get(name)
        del self._agents[name]

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


registry = AgentRegistry()
"""The application's agents."""
