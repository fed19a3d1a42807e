"""On whose behalf a tool of the task server acts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """The verified user behind a call, and which call it is. None of it comes from the model's arguments."""

    user_id: str
    """The user whose tasks are meant."""
    key: str
    """The idempotency key: two calls of a user with the same key act once."""
    conversation_id: str = ""
    """The conversation in which a confirmation would be asked for and given; empty outside of one."""
