"""Loads a package's names on use, and explains wrong ones, as it does calls with wrong arguments: what there is instead."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from importlib import import_module
from typing import Any, NoReturn, TypeVar, cast

from maverick.exceptions import AgentError, InvalidInputError, describe_unknown

F = TypeVar("F", bound=Callable[..., Any])

_MODULES = (
    "testing",
    "exceptions",
    "agents",
    "model",
    "loop.events",
    "loop",
    "tools",
    "tools.permissions",
    "tools.mcp",
    "journal",
    "providers",
    "telemetry",
    "server",
    "chat",
)
"""The modules whose names are documented, in the order in which they are looked into."""

_OTHER_NAMES = {
    "Agent": "An agent is an AgentDefinition, run by an AgentExecutor: from maverick import AgentDefinition, AgentExecutor",
    "Runner": "Agents are run by an AgentExecutor: from maverick import AgentExecutor",
    "RunContext": "A tool's context is a ToolContext: from maverick import ToolContext",
    "function_tool": "Functions become tools with @tool: from maverick import tool",
}
"""What other libraries call things."""


def refuse(field: str, why: str, cause: Exception | None = None) -> NoReturn:
    """Refuse what was given for a field, and say why."""
    raise InvalidInputError(f"{field}: {why}", field=field, cause=cause)


def load_on_use(
    package: str, homes: Mapping[str, str], needs: Callable[[], AbstractContextManager[None]] = nullcontext
) -> Callable[[str], object]:
    """A package's ``__getattr__``, which imports a name from its module when it is first used.

    ``homes`` is the module of each name; ``needs`` is opened around the import, to say which extra is missing.
    """

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with needs():
            value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load


def explain_name(name: str, exported: list[str]) -> str:
    """Say that the package has no such name, and what to import instead."""
    said = f"maverick has no {name!r}."
    if name in _OTHER_NAMES:
        return f"{said} {_OTHER_NAMES[name]}"
    for module in _MODULES:
        if _has(f"maverick.{module}", name):
            return f"{said} Write: from maverick.{module} import {name}"
    from difflib import get_close_matches  # here, since most programs never ask for what is not there

    nearest = get_close_matches(name, exported, n=1)
    return f"{said} Did you mean {nearest[0]!r}?" if nearest else f"{said} dir(maverick) lists what it has."


def _has(module: str, name: str) -> bool:
    try:
        found = import_module(module)
        value = getattr(found, name, None) if name in getattr(found, "__all__", (name,)) else None
    except (ImportError, AgentError):  # it belongs to an extra that is not installed
        return False
    return str(getattr(value, "__module__", "")).startswith("maverick.")


def explain_arguments(
    owner: type, method: str = "__init__", *, shown: str = "", hint: Callable[[str], str] | None = None
) -> None:
    """Make a method say what it takes when it is called with wrong arguments, in place of Python's own words.

    The message calls it what is ``shown``, by default as Python does. The ``hint`` says what to write in place of an
    unknown argument; it is empty if that is not known.
    """
    called = shown or (owner.__name__ if method == "__init__" else f"{owner.__name__}.{method}")
    setattr(owner, method, _checked(getattr(owner, method), called, hint, 1))


def explained(hint: Callable[[str], str] | None = None) -> Callable[[F], F]:
    """Decorate a function that is to say what it takes when it is called with wrong arguments."""

    def wrapped(function: F) -> F:
        return cast("F", _checked(function, function.__name__, hint, 0))

    return wrapped


def _checked(
    function: Callable[..., Any], called: str, hint: Callable[[str], str] | None, bound: int
) -> Callable[..., Any]:
    import inspect  # here, since importing the package is to stay cheap

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - whatever the function takes and returns
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # the arguments were accepted
            problem = _problem(function, args[bound:], kwargs, hint, bound)
            if not problem:
                raise
        raise TypeError(f"{called}(): {problem}")

    # A wrapper of a coroutine function passes for one, where Python can mark it.
    if sys.version_info >= (3, 12) and inspect.iscoroutinefunction(function):
        inspect.markcoroutinefunction(checked)
    return checked


def _problem(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    hint: Callable[[str], str] | None,
    bound: int,
) -> str:
    """What is wrong with the arguments; empty if nothing is."""
    import inspect

    parameters = [*inspect.signature(function).parameters.values()][bound:]
    by_position = [
        one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    names = [one.name for one in parameters if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)]
    takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters)
    if not takes_any and (unknown := [name for name in kwargs if name not in names]):
        instead = hint(unknown[0]) if hint else ""
        if instead:
            return f"There is no argument named {unknown[0]!r}. Write {instead}."
        return describe_unknown("argument", unknown[0], names)
    if len(args) > len(by_position):
        rest = ", ".join(f"{name}=…" for name in names if name not in by_position) or "name=…"
        return f"Only {' and '.join(by_position) or 'nothing'} can be given by position. Name the others: {rest}."
    given = {*by_position[: len(args)], *kwargs}
    missing = [one.name for one in parameters if one.name in by_position + names and one.default is one.empty]
    lacking = [name for name in missing if name not in given]
    return f"{lacking[0]} is missing. Add {lacking[0]}=…." if lacking else ""
