"""Prompt texts with ``${variable}`` places in them.

Values are put in once, as they are: a value that itself contains ``${…}`` is not looked at again, so input can
never reach a variable. ``$${`` stands for a plain ``${``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from maverick.exceptions import InvalidInputError
from maverick.model import Message, Part, Text

_PLACE = re.compile(r"\$(\$)?\{([^}]*)\}?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOTHING = Text("")


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


class MessageTemplate:
    """A first message of a conversation whose words have named places.

    Args:
        message: The message, or the words of one from the user.
        field: What it is, for error messages.
    """

    __slots__ = ("_message", "_parts", "variables")

    def __init__(self, message: str | Message, field: str) -> None:
        self._message = Message.user(message) if isinstance(message, str) else message
        self._parts: tuple[Part | Template, ...] = tuple(
            Template(part.text, field) if isinstance(part, Text) else part for part in self._message.parts
        )
        self.variables = frozenset[str]().union(
            *(part.variables for part in self._parts if isinstance(part, Template))
        )

    def render(self, values: Mapping[str, Any]) -> Message:
        """The message with each value in its place."""
        message = self._message
        rendered = (Text(part.render(values)) if isinstance(part, Template) else part for part in self._parts)
        return Message(
            message.role,
            [part for part in rendered if part != _NOTHING],
            tool_call_id=message.tool_call_id,
            is_error=message.is_error,
        )
