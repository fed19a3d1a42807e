"""Agents from a Python file or module."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from maverick.exceptions import InvalidInputError
from maverick.loop import AgentDefinition

_MODULE = "agents_file"
"""What a file is called as a module: its own name may be that of a module which is loaded already."""
_LONGEST_QUOTE = 200


def load_python(source: str, field: str = "agents", *, from_here: bool = True) -> ModuleType:
    """Load a Python file, or a module by its dotted name, which may lie in the current folder if it is ``from_here``.

    If it is missing, or fails, the ``InvalidInputError`` has the line, and begins with ``field``.
    """
    path = Path(source)
    is_path = path.suffix == ".py" or len(path.parts) > 1
    if is_path and not (path.suffix == ".py" and path.is_file()):
        raise InvalidInputError(
            f"There is no Python file {source!r}. Name the file or module that defines the agent.",
            field=field,
        )
    folder = path.absolute().parent if is_path else Path.cwd()
    if (is_path or from_here) and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))  # as Python does for a script, so that it can import its neighbours
    try:
        return _run_file(path) if is_path else import_module(source)
    except (Exception, SystemExit) as error:  # foreign code may raise anything when it is loaded
        if isinstance(error, ModuleNotFoundError) and f"{source}.".startswith(f"{error.name}."):
            problem = f"There is no module {source!r} here or installed. Name a module, or a file that ends with .py."
        else:
            problem = f"{source} cannot be loaded. {describe_failure(error, folder)}"
        raise InvalidInputError(problem, field=field) from error


def describe_failure(error: BaseException, folder: Path) -> str:
    """An error of a user's code in a line: where in a folder it was raised, and what it says."""
    return f"{_place(error, folder)}{_words(error)}"


def definitions_in(module: ModuleType) -> Iterator[AgentDefinition[Any]]:
    """The definitions that are global names of a module."""
    for thing in tuple(vars(module).values()):
        if isinstance(thing, AgentDefinition):
            yield thing


def _run_file(path: Path) -> ModuleType:
    spec = spec_from_file_location(_MODULE, path)
    assert spec is not None  # noqa: S101 - there is a loader for every file that ends with .py
    assert spec.loader is not None  # noqa: S101 - the same
    module = sys.modules[_MODULE] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _place(error: BaseException, folder: Path) -> str:
    """The innermost line of the user's own code in a traceback."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_short(error.filename)}, line {error.lineno}: "
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_own(frame.filename, folder)]
    return f"{_short(own[-1].filename)}, line {own[-1].lineno}: " if own else ""


def _words(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = Path(error.name.partition(".")[0])
        is_here = package.is_dir() or package.with_suffix(".py").is_file()
        if is_here and str(Path.cwd()) not in sys.path:
            return (
                f"The module {error.name!r} is not looked for in the current folder. If it is yours, set PYTHONPATH to "
                "that folder."
            )
        return f"The module {error.name!r} is not installed for {sys.executable}. Install it there, or check its name."
    said = " ".join((error.msg if isinstance(error, SyntaxError) else str(error)).split())
    words = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return words if len(words) <= _LONGEST_QUOTE else f"{words[:_LONGEST_QUOTE]}…"


def _is_own(filename: str, folder: Path) -> bool:
    path = Path(filename)
    return path.is_relative_to(folder) and "site-packages" not in path.parts


def _short(filename: str) -> str:
    path = Path(filename)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
