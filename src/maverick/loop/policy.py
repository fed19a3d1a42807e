"""Permissions: what a policy decides about a tool call before it runs."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from maverick.model import Tool, ToolCall


class Verdict(StrEnum):
    """Whether a call may run."""

    ALLOW = "allow"
    """It runs."""
    ASK = "ask"
    """It runs if a person agrees."""
    DENY = "deny"
    """It does not run."""

    @property
    def strictness(self) -> int:
        """How much it forbids; of several verdicts on one call, the strictest counts."""
        return _STRICTNESS[self]


_STRICTNESS = {Verdict.ALLOW: 0, Verdict.ASK: 1, Verdict.DENY: 2}


class PolicyDecision(Struct, frozen=True):
    """A verdict and its reason, worded for the model and for the person who is asked."""

    verdict: Verdict
    """Whether the call runs, is asked about, or is refused."""
    reason: str = ""
    """Why; the model reads it if the call is refused."""


class Policy(Protocol):
    """Rules on tool calls. It is asked once about each call, before any call of its turn runs."""

    def decide(self, call: ToolCall, tool: Tool) -> PolicyDecision:
        """Whether a call of a tool may run; decided by the call alone, and at once."""
        ...
