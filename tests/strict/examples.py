"""Examples of what a vendor may send, made from the types of its SDK, so that no kind of block is forgotten."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from random import Random
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

_PLAIN: Mapping[Any, Callable[[Random], Any]] = {
    str: lambda rng: rng.choice(("words", "你好 🌍", 'a "quote"\n', "x" * 40)),
    int: lambda rng: rng.choice((0, 1, 7, 100_000)),
    float: lambda rng: rng.choice((0.0, 0.5, -3.25)),
    bool: lambda rng: rng.random() < 0.5,
    object: lambda rng: rng.choice(("value", 3, None, ["list"], {"deep": {"er": True}})),
    datetime: lambda _: datetime(2026, 11, 15, tzinfo=UTC).isoformat(),
}
"""Values of the types that have no parts."""


def members_of(union: Any) -> list[type[BaseModel]]:
    """The classes of a union of the SDK's."""
    union = get_args(union)[0] if get_origin(union) is Annotated else union
    return [member for member in get_args(union) if isinstance(member, type)]


def example_of(kind: Any, rng: Random, depth: int = 0) -> Any:
    """A value of a type, as JSON."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return example_of(arguments[0], rng, depth)
    if origin in (Union, types.UnionType):
        return _one_of(arguments, rng, depth)
    if origin is Literal:
        return rng.choice(arguments)
    if origin in (list, dict):
        items = [example_of(arguments[-1], rng, depth + 1) for _ in range(rng.randint(0, 2))]
        return items if origin is list else {f"key{number}": item for number, item in enumerate(items)}
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return dict(_fields(kind, rng, depth))
    return _PLAIN.get(kind, _PLAIN[object])(rng)


def _one_of(arguments: tuple[Any, ...], rng: Random, depth: int) -> Any:
    real = [argument for argument in arguments if argument is not type(None)]
    if len(real) < len(arguments) and (depth > 6 or rng.random() < 0.4):
        return None
    return example_of(rng.choice(real), rng, depth)


def _fields(model: type[BaseModel], rng: Random, depth: int) -> Iterator[tuple[str, Any]]:
    """The fields of an object; one that need not be there is sometimes not."""
    for name, field in model.model_fields.items():
        if not field.is_required() and (depth > 6 or rng.random() < 0.5):
            continue
        yield field.alias or name, example_of(field.annotation, rng, depth + 1)
