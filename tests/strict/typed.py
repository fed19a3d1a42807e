"""Holds JSON to the types that a vendor's SDK declares for it, field by field, and says where it does not fit.

Unlike a validator that coerces, it refuses what a vendor's API refuses: a field that the type does not have, a
boolean where a number belongs, a block of a kind that does not exist.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typing_extensions

_PLAIN: Mapping[Any, tuple[type, ...]] = {str: (str,), int: (int,), float: (int, float), bool: (bool,)}
_TAGS = ("type", "role")
_REQUIRED = frozenset({typing.Required, typing_extensions.Required})
_NOT_REQUIRED = frozenset({typing.NotRequired, typing_extensions.NotRequired})
_WRAPPERS = _REQUIRED | _NOT_REQUIRED | {Annotated}


class DoesNotFitError(Exception):
    """A value is not of its type.

    Args:
        path: Where it is, as the vendors write it: ``messages.0.content``.
        reason: What is wrong with it.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = path, reason


def check_typed(kind: Any, value: Any, path: str = "") -> None:
    """Check that a JSON value is of the type.

    Raises:
        DoesNotFitError: It is not.
    """
    kind = _unwrapped(kind)
    if kind is Any or kind is object:
        return
    origin = get_origin(kind)
    if origin is None and typing_extensions.is_typeddict(kind):
        _check_fields(kind, value, path)
    elif origin in (Union, types.UnionType):
        _check_union(kind, value, path)
    elif origin is Literal:
        if value not in get_args(kind):
            raise DoesNotFitError(path, f"Input should be {' or '.join(map(repr, get_args(kind)))}")
    elif kind is None or kind is type(None):
        _expect(value is None, path, "null")
    elif kind in _PLAIN:
        fits = isinstance(value, _PLAIN[kind]) and (kind is bool or not isinstance(value, bool))
        _expect(fits, path, f"a valid {kind.__name__}")
    else:
        _check_collection(kind, value, path)


def _check_collection(kind: Any, value: Any, path: str) -> None:
    origin = get_origin(kind) or kind
    if isinstance(origin, type) and issubclass(origin, Mapping):
        _expect(isinstance(value, dict), path, "an object")
        for name, item in value.items():
            check_typed((get_args(kind) or (str, Any))[1], item, _below(path, name))
    elif (isinstance(origin, type) and issubclass(origin, Iterable)) or _is_sequence(origin):
        _expect(isinstance(value, list), path, "an array")
        for index, item in enumerate(value):
            check_typed((get_args(kind) or (Any,))[0], item, _below(path, index))
    else:
        raise DoesNotFitError(path, f"nothing in JSON is a {kind}")


def _check_fields(kind: Any, value: Any, path: str) -> None:
    _expect(isinstance(value, dict), path, "an object")
    fields = _fields(kind)
    for name, item in value.items():
        if name not in fields:
            raise DoesNotFitError(_below(path, name), "Extra inputs are not permitted")
        check_typed(fields[name], item, _below(path, name))
    for name in _required(kind) - value.keys():
        raise DoesNotFitError(_below(path, name), "Field required")


def _check_union(kind: Any, value: Any, path: str) -> None:
    """The members are told apart by their tags, as the vendors do; of those left over, one has to fit."""
    members = _members(kind)
    for tag in _TAGS if isinstance(value, dict) else ():
        said = value.get(tag)
        # Tags are few, and asked about with each block of each message of each request.
        find = _tagged if said is None or isinstance(said, str) else _tagged.__wrapped__
        members = find(members, tag, said)
        if not members:
            raise DoesNotFitError(path, f"Input tag {said!r} does not match any of the expected tags")
    failures = []
    for member in members:
        try:
            return check_typed(member, value, path)
        except DoesNotFitError as failure:
            failures.append(failure)
    raise max(failures, key=lambda failure: len(failure.path))


@cache
def _tagged(members: tuple[Any, ...], tag: str, said: Any) -> tuple[Any, ...]:
    return tuple(member for member in members if _allows(member, tag, said))


def _allows(member: Any, tag: str, said: Any) -> bool:
    """Whether a member of a union may have this value in the field that tells the members apart."""
    if not typing_extensions.is_typeddict(member):
        return True
    fields = _fields(member)
    if tag not in fields or said is None:
        return tag not in _required(member)
    try:
        check_typed(fields[tag], said)
    except DoesNotFitError:
        return False
    return True


@cache
def _fields(kind: Any) -> Mapping[str, Any]:
    return typing_extensions.get_type_hints(kind, include_extras=True)


@cache
def _required(kind: Any) -> frozenset[str]:
    """The fields that have to be there; the class cannot tell, as its annotations are texts until they are read."""
    by_default = kind.__required_keys__
    return frozenset(
        name
        for name, hint in _fields(kind).items()
        if get_origin(hint) in _REQUIRED or (name in by_default and get_origin(hint) not in _NOT_REQUIRED)
    )


@cache
def _members(kind: Any) -> tuple[Any, ...]:
    """The members of a union, those of unions inside it among them, without classes that are no JSON."""
    members: list[Any] = []
    for member in map(_unwrapped, get_args(kind)):
        if get_origin(member) in (Union, types.UnionType):
            members.extend(_members(member))
        elif not hasattr(member, "model_fields"):
            members.append(member)
    return tuple(members)


def _unwrapped(kind: Any) -> Any:
    while get_origin(kind) in _WRAPPERS:
        kind = get_args(kind)[0]
    return kind


def _is_sequence(origin: Any) -> bool:
    return getattr(origin, "__name__", "") == "SequenceNotStr" or origin is Sequence


def _expect(fits: bool, path: str, what: str) -> None:
    if not fits:
        raise DoesNotFitError(path, f"Input should be {what}")


def _below(path: str, name: object) -> str:
    return f"{path}.{name}" if path else str(name)
