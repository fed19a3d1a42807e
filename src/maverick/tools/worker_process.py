"""Runs a tool's function in a process of its own, which can be ended at any moment.

A function that holds Python's global lock, or blocks for good, can not be stopped in a thread. In a process it can, and
nothing else waits for it meanwhile. What goes in and comes out is JSON. This file is also the program of that process.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from tempfile import TemporaryFile
from typing import Any


def import_path(function: Callable[..., Any]) -> tuple[str, str] | str:
    """The module and the name that a function is imported by, or why there are none."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or not inspect.isfunction(function):
        return "it is not a function"
    if module == "__main__":
        return "it is in the program that was started; move it into a module that can be imported"
    if not name.isidentifier():
        return "it is not at the top of its module, so it can not be imported"
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return "it yields pieces; return one value"
    return module, name


async def run_in_process(module: str, name: str, arguments: dict[str, Any]) -> object:
    """What a function returns that is called in a process of its own. The process ends with this task.

    Args:
        module: The module to import it from.
        name: What it is called there.
        arguments: Its arguments, as JSON values.

    Raises:
        ToolError: The function raised an error, or the process ended without an answer.
    """
    from maverick.exceptions import ToolError
    from maverick.processes import run_program

    with TemporaryFile() as request, TemporaryFile() as answer:
        request.write(json.dumps([sys.path, module, name, arguments]).encode())
        request.seek(0)
        files = [request.fileno(), answer.fileno()]
        argv = [sys.executable, "-P", __file__, *map(str, files)]
        # It is the program's own code, so it has the environment of the program.
        code = await run_program(argv, lambda _: True, env=os.environ, files=files)
        answer.seek(0)
        content = answer.read()
    if not content:
        raise ToolError(f"The process of the tool {name} ended without an answer, with exit code {code}.")
    outcome: dict[str, Any] = json.loads(content)
    if "error" in outcome:
        raise ToolError(outcome["error"])
    return outcome["value"]


def main(request: int, answer: int) -> None:
    """Import the function, call it, and write down what it returns or raises."""
    with os.fdopen(request, "rb") as file:
        sys.path[:], module, name, arguments = json.loads(file.read())
    from maverick.exceptions import MaverickError
    from maverick.tools.function import FunctionTool

    try:
        found = getattr(import_module(module), name)
        made = found if isinstance(found, FunctionTool) else FunctionTool(found)
        value = made.function(**made.check(arguments))
        content = _json({"value": asyncio.run(value) if inspect.iscoroutine(value) else value})
    except MaverickError as error:
        content = _json({"error": str(error)})
    except BaseException as error:  # noqa: BLE001 - whatever it raises is the model's to read
        content = _json({"error": f"{type(error).__name__}: {error}"})
    with os.fdopen(answer, "wb") as file:
        file.write(content)


def _json(value: object) -> bytes:
    from pydantic_core import to_json

    return to_json(value, inf_nan_mode="constants")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
