"""Text that nobody should see by accident."""

from __future__ import annotations

HIDDEN = "***"
"""What is shown in place of a secret."""


class Secret:
    """A text that is shown as ``***`` wherever it is printed, and told only to who asks for it by name."""

    # Not a dataclass, because dataclasses.asdict() would tell the text.
    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def get_secret_value(self) -> str:
        """The text itself."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"Secret({HIDDEN!r})"

    def __str__(self) -> str:
        return HIDDEN
