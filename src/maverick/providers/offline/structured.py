"""An answer in JSON, made from a schema, what was said and what tools returned."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator

from maverick.providers.offline.arguments import fill
from maverick.providers.offline.phrasing import report
from maverick.providers.offline.scene import Outcome, Scene
from maverick.providers.offline.schema import Json, Property, Schema, properties_of, resolve
from maverick.providers.offline.sentence import LONGEST
from maverick.providers.offline.words import stem, topics

_DEEPEST = 8
"""How far nested objects are followed: a schema may contain itself."""


def answer_as_json(schema: Schema, scene: Scene) -> str:
    """The best JSON the scene allows; it has the schema's shape, and only words that were really there."""
    return json.dumps(
        _Builder(schema, scene).value(Property("", resolve(schema, schema), required=True)),
        ensure_ascii=False,
    )


class _Builder:
    def __init__(self, schema: Schema, scene: Scene) -> None:
        outcomes = (*scene.earlier, *scene.outcomes)
        self._root = schema
        self._asked = next(iter((*scene.said_before, scene.said)))
        self._words = report(outcomes) if outcomes else self._asked
        self._facts: defaultdict[str, list[Json]] = defaultdict(list)
        for name, value in _facts(outcomes):
            self._facts[stem(name.lower())].append(value)

    def value(self, field: Property, depth: int = 0) -> Json:
        """A value of the field's type, from the facts where one has its name."""
        if field.type == "object":
            return self._object(field.schema, depth)
        if field.type == "array":
            return self._array(field, depth)
        return next(self._fitting(field), None) or self._scalar(field)

    def _object(self, schema: Schema, depth: int) -> dict[str, Json]:
        if depth == _DEEPEST:
            return {}
        fields = properties_of(schema, self._root)
        return {field.name: self.value(field, depth + 1) for field in fields if field.required}

    def _array(self, field: Property, depth: int) -> list[Json]:
        item = Property(field.name, resolve(field.schema.get("items", {}), self._root), required=True)
        found = list(dict.fromkeys(self._fitting(item)))
        least = int(field.schema.get("minItems", 0))
        return found + [self.value(item, depth + 1) for _ in range(least - len(found))]

    def _fitting(self, field: Property) -> Iterator[str | int | float | bool]:
        """The facts that have the field's name and type, latest first; a list counts as its items."""
        for fact in reversed(self._facts[stem(field.name.lower())]):
            for value in fact if isinstance(fact, list) else [fact]:
                if isinstance(value, str | int | float) and _fits(value, field):
                    yield value

    def _scalar(self, field: Property) -> Json:
        one = {"type": "object", "properties": {field.name: field.schema}, "required": [field.name]}
        found = fill(one, self._asked[:LONGEST], topics(field.name))
        if not found.missing and not found.guessed:
            return found.values[field.name]
        blank: dict[str, Json] = {"integer": 0, "number": 0, "boolean": False, "string": self._words}
        return next(_suggested(field.schema), blank.get(field.type))


def _suggested(schema: Schema) -> Iterator[Json]:
    """The values a schema itself names."""
    for keyword in ("default", "minimum"):
        if keyword in schema:
            yield schema[keyword]
    yield from schema.get("enum", ())


def _facts(outcomes: Iterable[Outcome]) -> Iterator[tuple[str, Json]]:
    """What is known by name: the arguments of the calls, and the fields of results that are JSON objects."""
    for outcome in outcomes:
        yield from outcome.call.arguments.items()
        try:
            result = json.loads(outcome.text)
        except ValueError:  # a result in plain words has no named fields
            continue
        if isinstance(result, dict):
            yield from result.items()


def _fits(value: str | float, field: Property) -> bool:
    if value not in field.schema.get("enum", (value,)):
        return False
    if isinstance(value, bool):
        return field.type == "boolean"
    kinds = {"integer": (int,), "number": (int, float), "string": (str,)}
    return isinstance(value, kinds.get(field.type, ()))
