"""Agent definitions from a Python file or module that a person names."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from maverick.cli.screen import shortened
from maverick.exceptions import AgentNotFoundError, InvalidInputError, describe_unknown
from maverick.loop import AgentDefinition
from maverick.loop.subagent import AgentTool

_MODULE = "agents_file"
"""What a file is called as a module: its own name may be that of a module which is loaded already."""


def find_agent(source: str, name: str) -> AgentDefinition[Any]:
    """The definition of an agent, from a Python file or module.

    Its definitions are those it registers, those it has as global names, and those that are tools of these.

    Args:
        source: A path that ends with ``.py``, or the dotted name of a module.
        name: The agent's name.

    Raises:
        InvalidInputError: The source is missing or fails, or has several agents of this name.
        AgentNotFoundError: It has none of this name; the message has the nearest.
    """
    found = dict.fromkeys(_with_subagents(_definitions(_load(source))))
    named = [definition for definition in found if definition.name == name]
    if not named:
        known = [definition.name for definition in found]
        problem = f"{source}: {describe_unknown('agent', name, known)}"
        raise AgentNotFoundError(problem, agent_name=name, available_agents=known)
    if len(named) > 1:
        raise InvalidInputError(
            f"{source} has {len(named)} agents named {name!r}, so that it is not clear which is meant. Rename all "
            "but one.",
            field="agents",
        )
    return named[0]


def _load(source: str) -> ModuleType:
    path = Path(source)
    is_path = path.suffix == ".py" or len(path.parts) > 1
    if is_path and not (path.suffix == ".py" and path.is_file()):
        raise InvalidInputError(
            f"There is no Python file {source!r}. Name the file that defines the agent, or a module.",
            field="agents",
        )
    folder = path.absolute().parent if is_path else Path.cwd()
    sys.path.insert(0, str(folder))  # as Python does for a script, so that it can import its neighbours
    try:
        return _run_file(path) if is_path else import_module(source)
    except (Exception, SystemExit) as error:  # somebody's code may do anything when it is loaded
        if isinstance(error, ModuleNotFoundError) and f"{source}.".startswith(f"{error.name}."):
            problem = f"There is no module {source!r} here or installed. Name a module, or a file that ends with .py."
        else:
            problem = f"{source} can not be loaded. {_place(error, folder)}{_words(error)}"
        raise InvalidInputError(problem, field="agents", cause=error) from error


def _run_file(path: Path) -> ModuleType:
    spec = spec_from_file_location(_MODULE, path)
    assert spec is not None  # noqa: S101 - there is a loader for every file that ends with .py
    assert spec.loader is not None  # noqa: S101 - the same
    module = sys.modules[_MODULE] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _definitions(module: ModuleType) -> Iterator[AgentDefinition[Any]]:
    from maverick.agents import registry  # here, since only these commands need it

    for thing in (*vars(module).values(), *registry.get_all().values()):
        if isinstance(thing, AgentDefinition):
            yield thing


def _with_subagents(definitions: Iterable[AgentDefinition[Any]]) -> Iterator[AgentDefinition[Any]]:
    for definition in definitions:
        yield definition
        tools = definition.tool_config.tools
        yield from _with_subagents(tool.definition for tool in tools if isinstance(tool, AgentTool))


def _place(error: BaseException, folder: Path) -> str:
    """The innermost line of the person's own code that an error comes from."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_short(error.filename)}, line {error.lineno}: "
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_own(frame.filename, folder)]
    return f"{_short(own[-1].filename)}, line {own[-1].lineno}: " if own else ""


def _words(error: BaseException) -> str:
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    return shortened(f"{type(error).__name__}: {said}" if said else type(error).__name__)


def _is_own(filename: str, folder: Path) -> bool:
    path = Path(filename)
    return path.is_relative_to(folder) and "site-packages" not in path.parts


def _short(filename: str) -> str:
    path = Path(filename)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
