"""The form that an MCP server asks a person to fill in: its fields in words, and what is typed for one as a value."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from maverick.tools.argument_check import misfits

_LONGEST = 200
"""Characters of a title, of a description, and of what is wrong with a value."""
_TRUTH = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}


def _finite(typed: str) -> float:
    number = float(typed)
    if not math.isfinite(number):
        raise ValueError(typed)
    return number


_KINDS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "integer": ("a whole number", int),
    "number": ("a number", _finite),
    "boolean": ("yes or no", lambda typed: _TRUTH[typed.lower()]),
    "string": ("text", str),
}


class FormField(Struct, frozen=True):
    """A field of a form, as a stranger's JSON schema describes it."""

    name: str
    schema: Mapping[str, Any]
    is_required: bool
    suggested: Any = None
    """The value that is taken if nothing is typed; ``None`` if the field is then left out."""

    @property
    def title(self) -> str:
        """What a person calls it."""
        return self._text("title") or self.name

    @property
    def in_words(self) -> str:
        """All there is to know about it, in a line."""
        about = [self.kind, "required" if self.is_required else "optional"]
        if self.suggested is not None:
            about.append(f"suggested: {json.dumps(self.suggested, ensure_ascii=False)}")
        description = self._text("description")
        # Whoever writes the answer as JSON needs the name.
        called = self.name if self.title == self.name else f"{self.title} ({self.name})"
        return f"{called}: {', '.join(about)}{f' ({description})' if description else ''}"

    @property
    def kind(self) -> str:
        """What may be typed."""
        choices = [str(choice) for choice in self._choices]
        kind = " or ".join(choices) if choices else _KINDS.get(self._type, _KINDS["string"])[0]
        return f"several with commas, of {kind}" if self._is_list else kind

    @property
    def offered(self) -> str:
        """What would be typed for the suggested value; empty if nothing is suggested."""
        values = self.suggested if isinstance(self.suggested, list) else [self.suggested]
        words = ("" if value is None else str(value) for value in values)
        return ", ".join({"True": "yes", "False": "no"}.get(word, word) for word in words)

    def read(self, typed: str) -> Any:  # noqa: ANN401 - whatever is asked for
        """What was typed as a value of the field; a ``ValueError`` says why it does not fit."""
        parts = [part.strip() for part in typed.split(",")] if self._is_list else [typed]
        values = [self._value(part) for part in parts]
        value = values if self._is_list else values[0]
        try:
            misfit = next(misfits(dict(self.schema), value), None)
        except Exception:  # noqa: BLE001 - the schema is a stranger's, and the library raises many things
            misfit = None
        if misfit is not None:
            raise ValueError(misfit.message[:_LONGEST])
        return value

    def read_line(self, line: str) -> Any:  # noqa: ANN401 - whatever is asked for
        """What stands in the line of the field as a value; ``None`` if the field is left out, and may be."""
        typed = line.strip()
        if not typed and self.is_required:
            raise ValueError("it has to be filled in")
        return self.read(typed) if typed else None

    def _value(self, typed: str) -> Any:  # noqa: ANN401 - whatever is asked for
        for choice in self._choices:
            if str(choice) == typed:
                return choice
        try:
            return _KINDS.get(self._type, _KINDS["string"])[1](typed)
        except (ValueError, KeyError) as error:
            raise ValueError(f"expected {self.kind}") from error

    @property
    def _is_list(self) -> bool:
        return self.schema.get("type") == "array"

    @property
    def _item(self) -> Mapping[str, Any]:
        item = self.schema.get("items") if self._is_list else self.schema
        return item if isinstance(item, dict) else {}

    @property
    def _type(self) -> str:
        return str(self._item.get("type"))

    @property
    def _choices(self) -> list[Any]:
        choices = self._item.get("enum")
        if isinstance(choices, list):
            return choices
        titled = self._item.get("oneOf") or self._item.get("anyOf")
        options = titled if isinstance(titled, list) else []
        return [option["const"] for option in options if isinstance(option, dict) and "const" in option]

    def _text(self, name: str) -> str:
        text = self.schema.get(name)
        return " ".join(text.split())[:_LONGEST] if isinstance(text, str) else ""


def form_fields(schema: Mapping[str, Any], suggested: Mapping[str, Any]) -> list[FormField]:
    """The fields of a form, in order."""
    required = schema.get("required")
    return [
        FormField(
            name,
            kind if isinstance(kind, dict) else {},
            isinstance(required, list) and name in required,
            suggested.get(name),
        )
        for name, kind in schema["properties"].items()
    ]
