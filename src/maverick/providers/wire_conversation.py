"""A conversation in its wire form, which grows with it: each message is encoded once. No I/O here.

A turn adds a few messages to a conversation and sends all of it again. So the JSON of a message is made once: it is
kept with the :class:`~maverick.model.History` it belongs to, and a request joins what is there with what is new.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from maverick.exceptions import InvalidInputError
from maverick.model import History, Message

Form = TypeVar("Form", bound="WireConversation")


class WireConversation(ABC):
    """The wire form of the messages taken in so far."""

    __slots__ = ("length",)

    def __init__(self) -> None:
        self.length = 0
        """How many messages were taken in."""

    @abstractmethod
    def _add(self, message: Message) -> None:
        """Take in a message; if it has no JSON, this raises and changes nothing."""

    def take_in(self, messages: Sequence[Message]) -> None:
        """Take in those of the messages that are new."""
        if self.length < len(messages):
            for message in messages[self.length :]:
                self._add(message)
                self.length += 1


def conversation_of(messages: Sequence[Message], key: Hashable, begin: Callable[[], Form]) -> Form:
    """The wire form of the messages, taking up what was made for an earlier request of the same history.

    Args:
        messages: The messages of a request.
        key: What tells this wire form from others of the same history.
        begin: Makes a wire form without messages.
    """
    form: Form | None = None
    if isinstance(messages, History):
        form = messages.derived.get(key)
        if form is None:
            form = messages.derived[key] = begin()
    # One that has taken in more than this was made for a later view of the history, and cannot serve this one.
    if form is None or form.length > len(messages):
        form = begin()
    form.take_in(messages)
    return form


def nothing_to_send() -> InvalidInputError:
    """The error for a conversation that is empty on the wire."""
    return InvalidInputError(
        "There is nothing to send: the conversation has no message with any text in it.", field="messages"
    )


def result_content(message: Message) -> str:
    """What a tool's result says; an error always says something, because services refuse one without words."""
    content = message.content
    return "The tool failed and did not say why." if message.is_error and not content else content
