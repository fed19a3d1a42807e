"""Tools that hold up whoever calls them, to be imported by the process that is given one of them."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from pydantic import BaseModel

from maverick import tool
from maverick.exceptions import ToolError


class Place(BaseModel):
    name: str
    floor: int = 0


@tool(process=True, timeout=1)
def search_forever(text: str) -> bool:
    """Search with a regular expression that never ends."""
    return re.search("(a+)+$", text) is not None


@tool(process=True)
def describe(place: Place, times: int = 1) -> dict[str, object]:
    """Describe a place."""
    print("this is not the answer")  # noqa: T201 - what the test is about
    return {"places": [place] * times, "pid": os.getpid()}


@tool(process=True)
async def fail(how: str) -> str:
    """Fail."""
    if how == "die":
        os.abort()
    if how == "tool":
        raise ToolError("The flight is full.")
    raise ValueError("It is wrong.")


@tool(process=True)
def start_and_wait(mark: str) -> str:
    """Start a process, and wait for good."""
    if os.fork() == 0:
        os.setsid()
        Path(mark).write_text(str(os.getpid()), encoding="utf-8")
    time.sleep(600)
    return "done"
