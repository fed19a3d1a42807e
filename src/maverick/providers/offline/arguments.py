"""Filling a tool's arguments from a sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite

from maverick.providers.offline.schema import Json, Property, Schema, properties_of, resolve
from maverick.providers.offline.sentence import Sentence
from maverick.providers.offline.words import split_words

_HINTS: tuple[tuple[frozenset[str], Callable[[Sentence], str | None]], ...] = (
    (frozenset(("expression", "formula", "equation", "calculation", "arithmetic")), Sentence.expression),
    (frozenset(("date", "day", "when", "due", "deadline")), Sentence.date),
    (frozenset(("email", "mail", "recipient")), Sentence.email),
    (frozenset(("url", "uri", "link", "website")), Sentence.url),
    (frozenset(("path", "file", "filename", "folder", "directory")), Sentence.path),
    (
        frozenset(
            ("city", "place", "location", "town", "country", "region", "destination", "timezone", "zone")
        ),
        Sentence.place,
    ),
)
"""Which words in a parameter's name or format say what kind of text it is."""

_SEPARATOR = re.compile(r"[,;]|\band\b")


@dataclass(frozen=True, slots=True)
class Filled:
    """The arguments that were found."""

    values: dict[str, Json]
    missing: tuple[str, ...] = ()
    """Required arguments that were not."""
    guessed: bool = False
    """Whether one of them is merely what was left of the sentence."""


def fill(
    parameters: Schema,
    text: str,
    vocabulary: frozenset[str],
    known: Mapping[str, Json] | None = None,
) -> Filled:
    """Read the arguments of a tool from a sentence.

    Args:
        parameters: The JSON Schema of the arguments.
        text: What the person said.
        vocabulary: The stems of the words that name the tool, which are no values.
        known: What was said of the arguments earlier; the sentence may change it.
    """
    reader = _Reader(Sentence(text), parameters, vocabulary)
    slots = list(properties_of(parameters))
    found: dict[str, Json] = {}
    # What is easy to recognise is read first, so that "what is left" comes last and is really left.
    for read in (reader.labelled, reader.recognised):
        for slot in slots:
            if slot.name not in found and (value := read(slot)) is not None:
                found[slot.name] = value
    values = {**(known or {}), **found}
    settled = frozenset(values) if found else frozenset()
    for slot in slots:
        if slot.name not in settled and (value := reader.leftover(slot)) is not None:
            values[slot.name] = value
    missing = tuple(slot.name for slot in slots if slot.required and slot.name not in values)
    ordered = {slot.name: values[slot.name] for slot in slots if slot.name in values}
    return Filled(ordered, missing, reader.guessed)


class _Reader:
    def __init__(self, sentence: Sentence, root: Schema, vocabulary: frozenset[str]) -> None:
        self._sentence = sentence
        self._root = root
        self._vocabulary = vocabulary
        self.guessed = False

    def labelled(self, slot: Property) -> Json:
        """What stands beside the argument's own name."""
        if slot.type in ("integer", "number"):
            return _number(self._sentence.counted(slot.name), slot)
        if slot.type not in ("string", "boolean") or "enum" in slot.schema or not slot.name:
            return None
        found = self._sentence.labelled(slot.name)
        if found is not None and slot.type == "boolean":
            return found.lower() in ("true", "yes", "on", "1")
        return found

    def recognised(self, slot: Property) -> Json:
        """What can only be meant for an argument of this kind."""
        if choices := slot.schema.get("enum"):
            named = {str(choice): choice for choice in choices}
            return named.get(self._sentence.choice(named) or "")
        if slot.type in ("integer", "number"):
            return _number(self._sentence.number(), slot) if slot.required else None
        if slot.type == "boolean":
            mentioned = self._sentence.choice([slot.name]) is not None
            return mentioned if slot.required or mentioned else None
        if slot.type == "array":
            return self._several(slot)
        return self._text(slot) if slot.type == "string" else None

    def leftover(self, slot: Property) -> Json:
        """What no other argument wanted."""
        if not slot.required or slot.type not in ("string", "array") or "enum" in slot.schema:
            return None
        found = self._sentence.quoted() or self._sentence.rest(self._vocabulary)
        if found is None:
            return None
        self.guessed = True
        if slot.type == "string":
            return found
        return [piece.strip() for piece in _SEPARATOR.split(found) if piece.strip()]

    def _several(self, slot: Property) -> Json:
        item = Property(slot.name, resolve(slot.schema.get("items", {}), self._root), required=True)
        if item.type in ("integer", "number"):
            values = (_number(value, item) for value in self._sentence.numbers())
            return [value for value in values if value is not None] or None
        return self._sentence.all_quoted() or None

    def _text(self, slot: Property) -> str | None:
        words = set(split_words(slot.name)) | {str(slot.schema.get("format", ""))}
        if "unit" in words or "units" in words:
            wanted = words & {"to", "target", "into"}
            return self._sentence.wanted_unit() if wanted else self._sentence.measured_unit()
        for hints, read in _HINTS:
            if words & hints:
                return read(self._sentence)
        for preposition in ("to", "from"):
            if preposition in words:
                return self._sentence.email() or self._sentence.after(preposition)
        if "target" in words:
            return self._sentence.after("to") or self._sentence.after("into")
        return self._sentence.quoted()


def _number(value: float | None, slot: Property) -> int | float | None:
    if value is None or not isfinite(value) or (slot.type == "integer" and not value.is_integer()):
        return None
    return int(value) if value.is_integer() else value
