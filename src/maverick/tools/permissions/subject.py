"""What a rule looks at in a call: the one argument that says what the call is about.

The same thing can be written in many ways (``./a``, ``b/../a``), and a rule must not be fooled by that. So each kind
of subject has two readings of an argument. Rules that forbid look at every way it can be understood, and match if one
of them does. Rules that allow look at the one way it will be understood, and never match what has none.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable

from maverick.tools.permissions.web_address import WebAddress

_CONTROL = ";&|<>$`\n\r(){}"
"""The characters with which one command line becomes several commands, or reads and writes files."""
_BETWEEN_COMMANDS = re.compile(f"[{re.escape(_CONTROL)}]+")


class Subject(ABC):
    """An argument that rules are about.

    Args:
        argument: Its name.
    """

    segmented = False
    """Whether ``*`` in a pattern stops at a ``/``; ``**`` never does."""

    def __init__(self, argument: str) -> None:
        self.argument = argument

    @abstractmethod
    def exact(self, value: str) -> str | None:
        """The one thing the argument means, for rules that allow; ``None`` if it can not be said."""

    def readings(self, value: str) -> set[str]:
        """Everything the argument may be taken for, for rules that forbid."""
        exact = self.exact(value)
        return {value} if exact is None else {value, exact}

    def covers(self, value: str) -> bool:
        """Whether a pattern with wildcards may allow the argument at all; if not, only the very same text does."""
        return self.exact(value) is not None


class TextSubject(Subject):
    """An argument that means what it says."""

    def exact(self, value: str) -> str:
        """The text itself."""
        return value


class PathSubject(Subject):
    """A path in a workspace.

    Args:
        argument: The argument's name.
        canonical: The path as the tool will understand it, relative to the workspace; ``None`` if it leads outside.
    """

    segmented = True

    def __init__(self, argument: str, canonical: Callable[[str], str | None]) -> None:
        super().__init__(argument)
        self._canonical = canonical

    def exact(self, value: str) -> str | None:
        """The path relative to the workspace."""
        return self._canonical(value)


class CommandSubject(Subject):
    """A command line for a shell. Rules about it catch mistakes; what holds a hostile command is the sandbox."""

    def exact(self, value: str) -> str:
        """The command line itself."""
        return value.strip()

    def readings(self, value: str) -> set[str]:
        """The whole line, and each command in it."""
        parts = (" ".join(part.split()) for part in (value, *_BETWEEN_COMMANDS.split(value)))
        return {value, *filter(None, parts)}

    def covers(self, value: str) -> bool:
        """Not a line that may hold more than one command: ``git status*`` must not allow ``git status; rm -rf .``."""
        return not any(sign in value for sign in _CONTROL)


class UrlSubject(Subject):
    """An address on the web."""

    segmented = True

    def exact(self, value: str) -> str | None:
        """The address as it is sent; ``None`` if it hides who is asked."""
        address = WebAddress.read(value)
        return None if address is None else str(address)

    def readings(self, value: str) -> set[str]:
        """Every spelling of the address, and every place that a server may take it for."""
        address = WebAddress.read(value)
        return {value} if address is None else {value, *address.readings}

    def covers(self, value: str) -> bool:
        """Not an address that some servers take for another place: ``/docs/**`` must not allow ``/docs/..%2Fadmin``."""
        address = WebAddress.read(value)
        return address is not None and address.is_plain


def shown(value: object) -> str:
    """An argument as the text that patterns are compared with."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
