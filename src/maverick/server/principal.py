"""Who makes a request, once that has been proved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Principal:
    """A verified user. It is made by a verifier and by nothing else."""

    user_id: str
    """What everything the user owns is kept under."""
    name: str
    """What the user is called, for showing it to them."""


class Verifier(Protocol):
    """Proves who a bearer token belongs to."""

    async def verify(self, token: str) -> Principal:
        """The user the token was issued to.

        Raises:
            RequestRefusedError: The token proves nothing: it is forged, expired, or meant for somebody else.
        """
        ...
