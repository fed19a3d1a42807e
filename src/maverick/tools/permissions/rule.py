"""Rules: which tool calls a permission is about.

A rule looks at one argument of a call, its *subject*. The same thing can be written in many ways (``./a``, ``b/../a``),
and a rule must not be fooled by that. So each kind of subject has two readings of an argument. Rules that forbid look at
every way it can be understood, and match if one of them does. Rules that allow look at the one way it will be understood,
and never match what has none.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from maverick.misuse import refuse
from maverick.model import Tool, ToolCall
from maverick.tools.permissions.web_address import WebAddress

_CONTROL = ";&|<>$`\n\r(){}"
"""The characters with which one command line becomes several commands, or reads and writes files."""
_BETWEEN_COMMANDS = f"[{re.escape(_CONTROL)}]+"
_RULE = r"(?s)([A-Za-z0-9_*?-]+)(?:\((.*)\))?"
_NAMED = r"(?s)([A-Za-z_]\w*)=(.*)"


class TextGlob:
    """A pattern for text: ``*`` stands for any text and ``?`` for one character.

    A model may choose both, so it is matched in no more steps than the length of the pattern times that of the text.
    """

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        first, *rest = [
            "".join("." if sign == "?" else re.escape(sign) for sign in piece)
            for piece in re.split(r"\*+", pattern)
        ]
        # Each piece is taken where it first occurs and never tried again further on, so nothing is read twice.
        middle = "".join(f"(?>.*?{piece})" for piece in rest[:-1])
        written = f"{first}{middle}.*{rest[-1]}" if rest else first
        self._compiled = re.compile(written, re.DOTALL | (re.IGNORECASE if ignore_case else 0))

    def matches(self, text: str) -> bool:
        """Whether the whole text is what the pattern describes."""
        return self._compiled.fullmatch(text) is not None


class PathGlob:
    """A pattern for paths: ``*`` and ``?`` stop at a slash, and ``**`` stands for any number of folders, or none."""

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        # Any number of folders, twice, is any number of folders.
        parts = [
            part for part, following in pairwise([*pattern.split("/"), ""]) if not part == following == "**"
        ]
        self._steps = [None if part == "**" else TextGlob(part, ignore_case=ignore_case) for part in parts]

    def matches(self, path: str) -> bool:
        """Whether the whole path is what the pattern describes."""
        reached = self._passing_folders({0})
        for name in path.split("/"):
            following: set[int] = set()
            for index in reached:
                if index < len(self._steps):
                    step = self._steps[index]
                    if step is None:
                        following.add(index)
                    elif step.matches(name):
                        following.add(index + 1)
            reached = self._passing_folders(following)
        return len(self._steps) in reached

    def _passing_folders(self, reached: set[int]) -> set[int]:
        """The places in the pattern that can be reached from these without another name: ``**`` may be nothing."""
        return reached | {
            index + 1 for index in reached if index < len(self._steps) and self._steps[index] is None
        }


class Subject(ABC):
    """An argument that rules are about."""

    segmented = False
    """Whether ``*`` in a pattern stops at a ``/``; ``**`` never does."""

    def __init__(self, argument: str) -> None:
        self.argument = argument

    @abstractmethod
    def exact(self, value: str) -> str | None:
        """The one meaning of the argument, for rules that allow; ``None`` if it has no certain one."""

    def readings(self, value: str) -> set[str]:
        """Everything the argument may mean, for rules that forbid."""
        exact = self.exact(value)
        return {value} if exact is None else {value, exact}

    def covers(self, value: str) -> bool:
        """Whether a pattern with wildcards may allow the argument at all; if not, only the very same text does."""
        return self.exact(value) is not None


class TextSubject(Subject):
    """An argument that is plain text."""

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
    """A command line for a shell. Rules about it catch mistakes; the sandbox confines a hostile command."""

    def exact(self, value: str) -> str:
        """The command line itself."""
        return value.strip()

    def readings(self, value: str) -> set[str]:
        """The whole line, and each command in it."""
        parts = (" ".join(part.split()) for part in (value, *re.split(_BETWEEN_COMMANDS, value)))
        return {value, *filter(None, parts)}

    def covers(self, value: str) -> bool:
        """Not a line that may hold more than one command: ``git status*`` must not allow ``git status; rm -rf .``."""
        return not any(sign in value for sign in _CONTROL)


class UrlSubject(Subject):
    """An address on the web."""

    segmented = True

    def exact(self, value: str) -> str | None:
        """The address as it is sent; ``None`` if it hides its host."""
        address = WebAddress.read(value)
        return None if address is None else str(address)

    def readings(self, value: str) -> set[str]:
        """Every spelling of the address, and everything that a server may read it as."""
        address = WebAddress.read(value)
        return {value} if address is None else {value, *address.readings}

    def covers(self, value: str) -> bool:
        """Not an address that some servers read as another one: ``/docs/**`` must not allow ``/docs/..%2Fadmin``."""
        address = WebAddress.read(value)
        return address is not None and address.is_plain


def shown(value: object) -> str:
    """An argument as the text that patterns are compared with."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


class Rule:
    """Which calls a permission is about: ``shell``, ``shell(git status*)``, ``send_mail(to=*@example.org)``, ``mcp__*``.

    In brackets is a pattern for the argument the tool is about (a path, a command, an address), or for an argument by
    name. ``*`` stands for any text; in paths and addresses it stops at ``/``, and ``**`` does not.

    Args:
        text: The rule as it is written.

    Raises:
        InvalidInputError: It is not a rule.
    """

    def __init__(self, text: str) -> None:
        found = re.fullmatch(_RULE, text) if isinstance(text, str) else None
        if found is None:
            refuse(
                "permissions",
                f"{text!r} is not a rule. Write a tool's name, or name(pattern), such as "
                "'shell(git status*)'.",
            )
        self.text = text
        self._name = TextGlob(found.group(1))
        self._pattern: str | None = found.group(2)
        self._globs: dict[tuple[str, bool, bool], TextGlob | PathGlob] = {}

    @property
    def is_about_arguments(self) -> bool:
        """Whether it is about certain calls of a tool, and not about all of them."""
        return self._pattern is not None

    def forbids(self, call: ToolCall, tool: Tool) -> bool:
        """Whether it matches a call in any way the call can be understood."""
        if not self._name.matches(call.tool_name):
            return False
        if self._pattern is None:
            return True
        subject, pattern = self._about(tool, self._pattern)
        if subject is None:  # any argument may be meant, so each of them counts
            return any(self._matches(pattern, shown(value)) for value in call.arguments.values())
        value = shown(_argument(call, tool, subject.argument))
        return any(
            self._matches(pattern, reading, segmented=subject.segmented, strict=True)
            for reading in subject.readings(value)
        )

    def allows(self, call: ToolCall, tool: Tool) -> bool:
        """Whether it matches a call in the one way it will be understood."""
        if not self._name.matches(call.tool_name):
            return False
        if self._pattern is None:
            return True
        subject, pattern = self._about(tool, self._pattern)
        if subject is None:
            return False
        value = shown(_argument(call, tool, subject.argument))
        exact = subject.exact(value)
        if exact is None or not subject.covers(value):
            return exact == pattern
        return self._matches(pattern, exact, segmented=subject.segmented)

    def _about(self, tool: Tool, pattern: str) -> tuple[Subject | None, str]:
        """The argument the pattern is for, and the pattern without the argument's name."""
        own: Subject | None = getattr(tool, "subject", None)
        named = re.fullmatch(_NAMED, pattern)
        if named is None or named.group(1) not in tool.parameters.get("properties", {}):
            return own, pattern
        if own is not None and own.argument == named.group(1):
            return own, named.group(2)
        return TextSubject(named.group(1)), named.group(2)

    def _matches(self, pattern: str, text: str, *, segmented: bool = False, strict: bool = False) -> bool:
        """Whether a pattern describes a text; a strict one also catches what is the same file on some disks."""
        key = (pattern, segmented, strict)
        if key not in self._globs:
            kind = PathGlob if segmented else TextGlob
            self._globs[key] = kind(pattern, ignore_case=strict)
        return self._globs[key].matches(text)

    def __repr__(self) -> str:
        return f"Rule({self.text!r})"


def own_question(call: ToolCall, tool: Tool) -> str:
    """Why a tool itself wants a person to be asked about a call; empty if it does not."""
    question: Callable[[str], str] | None = getattr(tool, "question", None)
    subject: Subject | None = getattr(tool, "subject", None)
    if question is None or subject is None:
        return ""
    return question(shown(_argument(call, tool, subject.argument)))


def _argument(call: ToolCall, tool: Tool, name: str) -> Any:  # noqa: ANN401 - JSON of any shape
    """An argument of the call, or its default."""
    if name in call.arguments:
        return call.arguments[name]
    return tool.parameters.get("properties", {}).get(name, {}).get("default", "")
