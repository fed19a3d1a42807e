"""Prompt texts with ``${variable}`` places in them.

Values are put in once, as they are: a value that itself contains ``${…}`` is not looked at again, so input can
never reach a variable. ``$${`` stands for a plain ``${``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from maverick.exceptions import InvalidInputError

_PLACE = re.compile(r"\$(\$)?\{([^}]*)\}?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Template:
    """A text with named places.

    Args:
        text: The text.
        field: What the text is, for error messages.
    """

    __slots__ = ("_pieces", "variables")

    def __init__(self, text: str, field: str) -> None:
        pieces: list[tuple[str, str | None]] = []
        end = 0
        for place in _PLACE.finditer(text):
            escaped, name = place.groups()
            if escaped:
                pieces.append((text[end : place.start()] + place.group()[1:], None))
            elif place.group().endswith("}") and _NAME.fullmatch(name):
                pieces.append((text[end : place.start()], name))
            else:
                raise InvalidInputError(
                    f"{field}: {place.group()!r} is not a variable. Write ${{name}}, with letters, digits and "
                    "underscores, or $${ for a plain ${.",
                    field=field,
                )
            end = place.end()
        pieces.append((text[end:], None))
        self._pieces = pieces
        self.variables = frozenset(name for _, name in pieces if name is not None)

    def render(self, values: Mapping[str, Any]) -> str:
        """The text with each value in its place."""
        return "".join(
            text if name is None else f"{text}{values[name]}"  # every variable was checked before
            for text, name in self._pieces
        )
