"""Modes: what happens to a call that no rule matches, depending on how far its tool reaches."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from maverick.exceptions import InvalidInputError
from maverick.loop.definition import AgentTool
from maverick.loop.policy import Verdict
from maverick.model import Effect, Tool


class Access(StrEnum):
    """The most a tool can do. A tool says so with its attribute ``access``."""

    READ = "read"
    """It reads, and changes nothing."""
    EDIT = "edit"
    """It changes files of the workspace, and nothing else."""
    NETWORK = "network"
    """It sends requests to other machines, which learn something from them."""
    EXECUTE = "execute"
    """Anything else: it may do whatever the process may."""


def access_of(tool: Tool) -> Access:
    """How far a tool reaches; one that does not say so may do the worst that its effect allows.

    An agent that is called as a tool does nothing itself: each of its own calls is checked.
    """
    declared = getattr(tool, "access", None)
    if declared is not None:
        return Access(declared)
    if isinstance(tool, AgentTool) or getattr(tool, "effect", None) is Effect.PURE:
        return Access.READ
    return Access.EXECUTE


class Mode(StrEnum):
    """How much an agent may do without asking."""

    PLAN = "plan"
    """Look and think; change nothing."""
    ASK = "ask"
    """Look freely, ask before anything else."""
    ACCEPT_EDITS = "accept-edits"
    """Change files of the workspace freely, ask before anything else."""
    YOLO = "yolo"
    """Do anything that no rule forbids. Never read from a file, and a default only for what an agent's author gave it."""

    @classmethod
    def named(cls, mode: str) -> Mode:
        """The mode of this name.

        Raises:
            InvalidInputError: There is no such mode.
        """
        try:
            return cls(mode)
        except ValueError as error:
            raise InvalidInputError(
                f"mode: there is no mode {mode!r}. Choose one of {', '.join(cls)}.", field="mode", cause=error
            ) from error

    def verdict(self, access: Access) -> Verdict:
        """What this mode says of a tool that reaches this far."""
        return _VERDICTS[self][access]

    @property
    def is_final(self) -> bool:
        """Whether its denials hold even where a rule allows the call."""
        return self is Mode.PLAN


_VERDICTS: Mapping[Mode, Mapping[Access, Verdict]] = {
    mode: dict(zip((Access.READ, Access.EDIT, Access.NETWORK, Access.EXECUTE), verdicts, strict=True))
    for mode, verdicts in {
        Mode.PLAN: (Verdict.ALLOW, Verdict.DENY, Verdict.ASK, Verdict.DENY),
        Mode.ASK: (Verdict.ALLOW, Verdict.ASK, Verdict.ASK, Verdict.ASK),
        Mode.ACCEPT_EDITS: (Verdict.ALLOW, Verdict.ALLOW, Verdict.ASK, Verdict.ASK),
        Mode.YOLO: (Verdict.ALLOW, Verdict.ALLOW, Verdict.ALLOW, Verdict.ALLOW),
    }.items()
}
