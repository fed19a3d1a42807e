"""How far a tool reaches: what a mode decides by when no rule speaks of a call."""

from __future__ import annotations

from enum import StrEnum

from maverick.loop.definition import AgentTool
from maverick.model import Effect, Tool


class Access(StrEnum):
    """The most a tool can do. A tool says so with its attribute ``access``."""

    READ = "read"
    """It looks, within its bounds, and changes nothing."""
    EDIT = "edit"
    """It changes files of the workspace, and nothing else."""
    NETWORK = "network"
    """It asks something of other machines, which tells them something."""
    EXECUTE = "execute"
    """Anything else: it may do whatever the process may."""


def access_of(tool: Tool) -> Access:
    """How far a tool reaches; one that does not say so is taken for the worst its effect allows.

    An agent that is called as a tool does nothing itself: each of its own calls is ruled on.
    """
    declared = getattr(tool, "access", None)
    if declared is not None:
        return Access(declared)
    if isinstance(tool, AgentTool) or getattr(tool, "effect", None) is Effect.PURE:
        return Access.READ
    return Access.EXECUTE
