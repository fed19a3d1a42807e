"""Reading a request: which tool it asks for, and which values it has for the tool's arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from msgspec import Struct

from maverick.model import Tool

Schema: TypeAlias = Mapping[str, Any]

LONGEST_REQUEST = 20_000
"""Characters of the longest request that is read for tools and values."""

# Each pattern has one place where it can begin and gives nothing back, so that no text takes long to search.
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^“”]+)”|«([^«»]+)»|`([^`]+)`|(?<!\w)'([^']+)'(?!\w)")
_NUMBER = re.compile(r"(?<![\w.])-?\d++(?:,\d{3})*+(?:\.\d++)?+(?!\w)")
_UP_TO_PREPOSITION = re.compile(r"^.*\b(?:about|for|in|of|on)\s", re.DOTALL)
_LIST_SEPARATOR = re.compile(r"[,;]|\band\b")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_STOP_WORDS = frozenset(
    _WORD.findall(
        "a about an and are as at by can could do does for from get give has have how i in into is it its like many me "
        "much my now of on or please show tell that the this to today use what when where which with would you"
    )
)
_NAME_WEIGHT = 3
"""What a word in common with a tool's name counts; one in common with its description counts 1."""


class RequestedCall(Struct, frozen=True):
    """A tool that a request asks for."""

    tool_name: str
    arguments: dict[str, Any]
    missing: tuple[str, ...] = ()
    """The required arguments that the request has no value for."""


def choose_tool(text: str, tools: Sequence[Tool]) -> RequestedCall | None:
    """The call that a request asks for: of the tool it names, or else has most words in common with.

    An only tool is called too when the request has a value for each of its arguments.
    """
    if len(text) > LONGEST_REQUEST or not tools:
        return None
    asked = frozenset(words_of(_QUOTED.sub(" ", text))) - _STOP_WORDS
    scores = [_score(tool, text, asked) for tool in tools]
    best = max(scores)
    tool = tools[scores.index(best)]
    named = frozenset(
        words_of(" ".join((tool.name, tool.description, *tool.parameters.get("properties", ()))))
    )
    if best >= _NAME_WEIGHT:
        return RequestedCall(tool.name, *fill(tool.parameters, text, named))
    arguments, missing = fill(tool.parameters, _UP_TO_PREPOSITION.sub("", text, count=1), named)
    is_meant = len(tools) == 1 and arguments and not missing
    return RequestedCall(tool.name, arguments) if is_meant else None


def _score(tool: Tool, text: str, asked: frozenset[str]) -> int:
    name = frozenset(words_of(tool.name))
    described = frozenset(words_of(tool.description)) - name
    is_named = tool.name in text and re.search(rf"(?<!\w){re.escape(tool.name)}(?!\w)", text) is not None
    return 100 * is_named + _NAME_WEIGHT * len(asked & name) + len(asked & described)


def fill(
    parameters: Schema, text: str, names: frozenset[str] | None = None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The arguments that a text has values for, and the required ones that it has none for.

    With ``names``, the words that name the tool and its arguments, the words that are left are the value of the first
    required argument that has none yet.
    """
    fields = list(fields_of(parameters, parameters))
    found: dict[str, Any] = {}
    values = _Values(text)
    for name, schema, _ in fields if re.search("[:=]", text) else ():
        label = rf"\b{re.escape(name).replace('_', '[_ ]')}\s*[:=]\s*(?:{_QUOTED.pattern}|([^,;\n]+))"
        if name and (written := values.take(re.compile(label, re.IGNORECASE))) is not None:
            found[name] = _typed(written, schema)
    for name, schema, required in sorted(fields, key=lambda each: not each[2]):
        if found.get(name) is None:
            found[name] = values.of_type(name, schema, required=required)
    for name, schema, required in fields:
        if (
            found[name] is None
            and required
            and names is not None
            and schema.get("type", "string") in _TEXTUAL
        ):
            found[name] = _typed(values.left_over(names), schema) or None
    missing = tuple(name for name, _, required in fields if required and found[name] is None)
    return {name: found[name] for name, _, _ in fields if found[name] is not None}, missing


_TEXTUAL = ("string", "array")


class _Values:
    """What is left of a text from which values are taken, each of them once."""

    def __init__(self, text: str) -> None:
        self._text = text

    def take(self, pattern: re.Pattern[str]) -> str | None:
        """The first match, which is then gone."""
        found = pattern.search(self._text)
        if found is None:
            return None
        self._text = f"{self._text[: found.start()]} {self._text[found.end() :]}"
        return _matched(found)

    def of_type(self, name: str, schema: Schema, *, required: bool) -> object:
        """What can only be meant for an argument of this type: a choice, a number, something in quotation marks."""
        words = frozenset(words_of(self._text))
        kind = schema.get("type", "string")
        if choices := schema.get("enum"):
            return next((each for each in choices if words.issuperset(words_of(str(each)) or [""])), None)
        if kind == "boolean":
            return words.issuperset(words_of(name)) or (False if required else None)
        pattern = _NUMBER if kind in ("integer", "number") else _QUOTED
        if kind == "object" or not (required or kind == "string"):
            return None
        if kind == "array":
            items = schema.get("items", {})
            pattern = _NUMBER if items.get("type") in ("integer", "number") else _QUOTED
            found = [_typed(_matched(each), items) for each in pattern.finditer(self._text)]
            self._text = pattern.sub(" ", self._text)
            return found or None
        return _typed(self.take(pattern), schema)

    def left_over(self, names: frozenset[str]) -> str:
        """The words between those that name the tool: ``buy milk`` of ``add the task buy milk``."""
        tokens = self._text.split()
        self._text = ""
        kept = [
            at for at, token in enumerate(tokens) if not names.union(_STOP_WORDS).issuperset(words_of(token))
        ]
        return " ".join(tokens[kept[0] : kept[-1] + 1]).strip(" .,;:!?") if kept else ""


def _matched(found: re.Match[str]) -> str:
    return next((group for group in found.groups() if group is not None), found.group()).strip()


def _typed(text: str | None, schema: Schema) -> object:
    """A text as a value of the schema's type; ``None`` if it is not one."""
    kind = schema.get("type", "string")
    if choices := schema.get("enum"):
        return next((each for each in choices if str(each) == text), None)
    if not text or kind == "string":
        return text
    if kind == "boolean":
        return text.lower() in ("true", "yes", "on", "1")
    if kind == "array":
        pieces = (piece.strip() for piece in _LIST_SEPARATOR.split(text))
        return [_typed(piece, schema.get("items", {})) for piece in pieces if piece]
    with suppress(ValueError, OverflowError):
        value = float(text.replace(",", ""))
        return int(value) if value.is_integer() else (value if kind == "number" else None)
    return None


def fields_of(schema: Schema, root: Schema) -> Iterator[tuple[str, Schema, bool]]:
    """The fields of an object's schema: the name, the resolved schema, and whether it is required."""
    for name, declared in schema.get("properties", {}).items():
        field = resolve(declared, root)
        if "items" in field:
            field = {**field, "items": resolve(field["items"], root)}
        yield name, field, name in schema.get("required", ())


def resolve(schema: Schema, root: Schema) -> Schema:
    """A schema without references, alternatives (the first that is not null counts) and constants."""
    if "$ref" in schema:
        return resolve(root.get("$defs", {}).get(schema["$ref"].rpartition("/")[2], {}), root)
    for alternative in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        if alternative.get("type") != "null":
            return resolve(alternative, root)
    return {**schema, "enum": [schema["const"]]} if "const" in schema else schema


def words_of(text: str) -> list[str]:
    """The words of a text in lower case and in the singular; ``snake_case`` and ``camelCase`` names come apart."""
    return [_singular(word.lower()) for word in _WORD.findall(_CAMEL_CASE.sub(" ", text))]


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
