"""An agent that was found somewhere: what it is, and where it comes from."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from maverick.agents.making import Registered
from maverick.loop import AgentDefinition, Input


class Origin(StrEnum):
    """What kind of place an agent comes from, nearest first: of two with one name, the nearer one is used."""

    PROJECT = "project"
    """A Markdown file of the project."""
    HOME = "home"
    """A Markdown file of the person."""
    REGISTERED = "registered"
    """Python of the program, or of a module that the settings name."""
    READY = "ready"
    """Maverick itself."""
    PACKAGE = "package"
    """A package that is installed."""


@dataclass(frozen=True, slots=True)
class FoundAgent:
    """An agent, and where it was found."""

    name: str
    agent: Registered
    """A definition, or a class with ``execute``."""
    origin: Origin
    where: str
    """The file, module or package, for people."""
    missing_tools: Sequence[str] = ()
    """Tools it names that there are none of here."""

    @property
    def definition(self) -> AgentDefinition[Any] | None:
        """The definition, if it is one."""
        return self.agent if isinstance(self.agent, AgentDefinition) else None

    @property
    def inputs(self) -> Mapping[str, Input] | None:
        """What it takes; nothing if it does not say, as a class need not."""
        inputs: Mapping[str, Input] | None = getattr(self.agent, "inputs", None)
        return inputs

    @property
    def description(self) -> str:
        """What it does, in a line."""
        if isinstance(self.agent, AgentDefinition):
            return self.agent.description
        documented = inspect.getdoc(self.agent) or ""
        return documented.partition("\n\n")[0].replace("\n", " ")
