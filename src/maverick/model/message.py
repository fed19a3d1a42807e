"""A message of a conversation, and the parts it is made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from msgspec import Struct, field

from maverick.exceptions import InvalidInputError
from maverick.misuse import refuse
from maverick.model.media import Document, Image


class Role(StrEnum):
    """Who a message is from."""

    USER = "user"
    """From a person or a program."""
    ASSISTANT = "assistant"
    """From the model."""
    TOOL_RESULT = "tool_result"
    """The results of tool calls."""


class Opaque(Struct, frozen=True, tag="opaque"):
    """A block of a provider that is not interpreted: it goes back to that provider as it came, and to no other."""

    provider: str
    """Whose it is: ``claude`` or ``openai``."""
    data: dict[str, Any]
    """The block, as the provider sent it."""

    @property
    def type(self) -> str:
        """What the provider calls it, such as ``server_tool_use``."""
        return str(self.data.get("type", ""))


class Text(Struct, frozen=True, omit_defaults=True, tag="text"):
    """Text."""

    text: str
    """What is said."""
    block: Opaque | None = None
    """The provider's own form, where it says more than the text, such as citations; only that provider gets it back."""


class Thought(Struct, frozen=True, omit_defaults=True, tag="thinking"):
    """What the model thought before it answered; ``signature`` lets the provider check it is untouched."""

    text: str
    """What was thought, as far as the provider shows it."""
    signature: str = ""
    """What the provider checks it by when it is sent back."""
    redacted: str = ""
    """The provider's encrypted form, when it does not show the thought itself."""
    block: Opaque | None = None
    """The provider's own form, where the fields above do not say all of it."""
    model: str = ""
    """The model that thought it, as it was asked for: no other takes it back. Empty where that is not known."""
    behind: str = ""
    """A digest of the messages that a bound one was made behind. Empty where that is not known."""

    @property
    def is_bound(self) -> bool:
        """Whether its provider takes it back only behind what it was made behind: Claude's thoughts are signed so."""
        return bool(self.signature or self.redacted)


class ToolCall(Struct, frozen=True, omit_defaults=True, tag="tool_call"):
    """The model's request to run a tool."""

    id: str
    """The id that its result refers to."""
    tool_name: str
    """The tool to call."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """The arguments to call it with."""
    malformed: str = ""
    """The arguments as sent, when they were not a JSON object; such a call is answered, never run."""
    block: Opaque | None = None
    """The provider's own form, where the fields above do not say all of it."""


Part: TypeAlias = Text | Thought | ToolCall | Image | Document | Opaque
"""What a message consists of."""
_LONGEST_NAME = 100
_NO_BRACKETS = str.maketrans("[]<>", "()()")
_PART_TYPES = frozenset({Text, Thought, ToolCall, Image, Document, Opaque})


class _Unfrozen:
    """A message that is being made: to set the fields of a frozen one takes five times as long."""

    __slots__ = ("is_error", "parts", "role", "tool_call_id")


@dataclass(frozen=True, slots=True, init=False)
class Message(_Unfrozen):
    """One message: its role and, in order, the parts it is made of.

    ``Message(Role.USER, "hi")`` and ``Message.user("hi")`` are the same.

    Args:
        role: Who it is from.
        content: The text, or texts and parts in order.
        tool_call_id: The call a tool result answers; required for that role, and only for it.
        is_error: Whether a tool result tells of a failure.
    """

    role: Role
    parts: tuple[Part, ...]
    """What it consists of: text, thoughts, tool calls, images, documents."""
    tool_call_id: str | None
    is_error: bool

    def __init__(
        self,
        role: Role | str,
        content: str | Iterable[str | Part] = "",
        *,
        tool_call_id: str | None = None,
        is_error: bool = False,
    ) -> None:
        role = role if type(role) is Role else _role(role)
        if (role is Role.TOOL_RESULT) != (tool_call_id is not None):
            raise InvalidInputError(
                "A tool result needs the tool_call_id of the call it answers; no other message may have one.",
                field="tool_call_id",
            )
        set_field = object.__setattr__
        set_field(self, "role", role)
        set_field(self, "parts", parts_of(content))
        set_field(self, "tool_call_id", tool_call_id)
        set_field(self, "is_error", is_error)

    @classmethod
    def user(cls, content: str | Iterable[str | Part]) -> Message:
        """What a person said."""
        return cls(Role.USER, content)

    @classmethod
    def assistant(cls, content: str | Iterable[str | Part]) -> Message:
        """What the model said."""
        return cls(Role.ASSISTANT, content)

    @classmethod
    def tool_result(
        cls, tool_call_id: str, content: str | Iterable[str | Part], *, is_error: bool = False
    ) -> Message:
        """What a tool answered."""
        parts = (Text(content),) if type(content) is str and content else parts_of(content)
        return Message.of_parts(Role.TOOL_RESULT, parts, tool_call_id, is_error)

    @staticmethod
    def of_parts(
        role: Role, parts: tuple[Part, ...], tool_call_id: str | None = None, is_error: bool = False
    ) -> Message:
        """A message of which nothing has to be checked."""
        draft: Any = _Unfrozen()
        draft.role = role
        draft.parts = parts
        draft.tool_call_id = tool_call_id
        draft.is_error = is_error
        draft.__class__ = Message
        message: Message = draft
        return message

    @property
    def content(self) -> str:
        """The text of the message, without thoughts and tool calls."""
        return text_of(self.parts)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tools the message asks to run."""
        return tuple([part for part in self.parts if type(part) is ToolCall])

    @property
    def thinking(self) -> str:
        """The thoughts in the message."""
        return "".join(part.text for part in self.parts if type(part) is Thought)


def parts_of(content: str | Iterable[str | Part]) -> tuple[Part, ...]:
    """The parts that a text, or a sequence of texts and parts, makes."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if not isinstance(content, Iterable):
        refuse("content", f"expected a text or a sequence of parts, got {content!r}.")
    parts = tuple([Text(part) if isinstance(part, str) else part for part in content])
    for part in parts:
        if type(part) not in _PART_TYPES:
            raise InvalidInputError(
                f"A message is made of texts and of the parts in maverick.model, not {type(part).__name__}.",
                field="content",
            )
    return parts


def text_of(parts: tuple[Part, ...]) -> str:
    """The text of the parts."""
    if len(parts) == 1 and type(parts[0]) is Text:
        return parts[0].text
    return "".join([part.text for part in parts if type(part) is Text])


def describe_part(part: Part) -> str:
    """A part as text: what it says or, for what is not text, what it is, in brackets."""
    match part:
        case Text() | Thought():
            return part.text
        case ToolCall():
            return f"{part.tool_name}{part.malformed or part.arguments}"
        case Opaque():
            return f"[{part.provider}: {part.type}]"
    # A name may be of others' making: it ends neither its line nor the brackets, and is no place for a long story.
    name = " ".join(part.name[:_LONGEST_NAME].split()).translate(_NO_BRACKETS)
    return f"[{type(part).__name__.lower()}: {name or part.url or part.file_id or part.media_type}]"


def _role(value: str) -> Role:
    try:
        return Role(value)
    except ValueError as error:
        choices = ", ".join(repr(role.value) for role in Role)
        refuse("role", f"expected one of {choices}, got {value!r}.", error)
