"""Whether arguments fit a tool, for those that a person writes: a model's own are checked by the tool itself."""

from __future__ import annotations

from typing import Any

from maverick.exceptions import ToolError
from maverick.model import Tool


def check_arguments(tool: Tool, arguments: dict[str, Any]) -> None:
    """Make sure that arguments fit a tool's parameters.

    Raises:
        ToolError: They do not; the message says what is wrong.
    """
    if not getattr(tool, "editable", True):
        raise ToolError(
            f"{tool.name} runs with the model's own arguments only. Deny the call, and say why.",
            tool_name=tool.name,
        )
    if callable(check := getattr(tool, "check", None)):
        check(arguments)
        return
    from jsonschema import Draft202012Validator, ValidationError  # here, since few arguments are edited
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    try:  # with a registry of its own, or references to other places would be fetched
        Draft202012Validator(dict(tool.parameters), registry=Registry()).validate(arguments)
    except ValidationError as error:
        place = error.json_path.removeprefix("$").removeprefix(".")
        raise ToolError(
            f"The arguments do not fit {tool.name}: {f'{place}: ' if place else ''}{error.message[:200]}.",
            tool_name=tool.name,
        ) from error
    except (Unresolvable, RecursionError) as error:
        raise ToolError(
            f"The arguments of {tool.name} cannot be checked against its schema.", tool_name=tool.name
        ) from error
