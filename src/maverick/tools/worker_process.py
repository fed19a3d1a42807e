"""The program of a process in which one tool call runs: imports the function, calls it, and writes down what it returns.

It is given two open files, one to read the call from and one to write the answer to; both are JSON.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
from importlib import import_module


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
