"""What a function's docstring says of the function and of its parameters."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import getdoc
from typing import Any

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns?|Raises|Yields|Examples?|Notes?):\s*$")
_PARAMETER = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_FIELD = re.compile(r"^:param\s+(?:[^:]*\s)?(\w+):\s*(.*)$")


def read_docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """The description of a function and those of its parameters, from Google or reST style."""
    description: list[str] = []
    parameters: dict[str, str] = {}
    section, latest = "", ""
    for line in (getdoc(function) or "").splitlines():
        if heading := _SECTION.match(line):
            section, latest = heading.group(1), ""
        elif entry := _FIELD.match(line.strip()):
            section, latest = "Args", entry.group(1)
            parameters[latest] = entry.group(2)
        elif line.startswith(":"):
            section = "other"
        elif not section:
            description.append(line)
        elif section in ("Args", "Arguments", "Parameters"):
            latest = _read_parameter(line, latest, parameters)
    return "\n".join(description).strip(), parameters


def _read_parameter(line: str, latest: str, parameters: dict[str, str]) -> str:
    """Take a line of the parameters' section; return the parameter it speaks of."""
    indent = len(line) - len(line.lstrip())
    entry = _PARAMETER.match(line.strip())
    if entry and (indent <= 4 or not latest):
        parameters[entry.group(1)] = entry.group(2)
        return entry.group(1)
    if latest and line.strip():
        parameters[latest] = f"{parameters[latest]} {line.strip()}".strip()
    return latest
