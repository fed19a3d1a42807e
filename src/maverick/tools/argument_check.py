"""Whether what a person writes fits a schema: the arguments of a tool, or an answer to a server's question.

A model's own arguments are checked by the tool itself. The schemas come from strangers, so no check fetches anything, and
none takes long.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

from maverick.exceptions import ToolError
from maverick.model import Tool

if TYPE_CHECKING:
    from jsonschema import ValidationError

_MOST_REFERENCES = 1_000
"""References that one check follows: a few that name each other double the work with each step."""


def check_arguments(tool: Tool, arguments: dict[str, Any]) -> None:
    """Make sure that arguments fit a tool's parameters; a ``ToolError`` says what does not."""
    if not getattr(tool, "editable", True):
        problem = f"{tool.name} runs with the model's own arguments only. Deny the call, and say why."
        raise ToolError(problem, tool_name=tool.name)
    if callable(check := getattr(tool, "check", None)):
        check(arguments)
        return
    from jsonschema import ValidationError  # here, since few arguments are edited
    from referencing.exceptions import Unresolvable

    try:
        for error in misfits(dict(tool.parameters), arguments):
            raise error
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


def misfits(schema: dict[str, Any], value: object) -> Iterator[ValidationError]:
    """What of a value does not fit a stranger's schema; an error if its references cannot be followed.

    Patterns do not count, since some take a regular expression for ever; nor do references to other places.
    """
    from jsonschema import Draft202012Validator, validators  # here, since it is seldom needed
    from referencing import Registry

    rules, followed = Draft202012Validator.VALIDATORS, count(1)

    def refer(validator: Any, target: str, instance: object, within: Any) -> Iterator[ValidationError]:  # noqa: ANN401 - jsonschema's
        if next(followed) > _MOST_REFERENCES:
            raise RecursionError
        yield from rules["$ref"](validator, target, instance, within)

    def others(validator: Any, rule: Any, instance: object, within: Any) -> Iterator[ValidationError]:  # noqa: ANN401 - jsonschema's
        if not within.get("patternProperties"):
            yield from rules["additionalProperties"](validator, rule, instance, within)

    ignored = dict.fromkeys(("pattern", "patternProperties", "unevaluatedProperties"), lambda *_: ())
    bounded = {**ignored, "additionalProperties": others, "$ref": refer, "$dynamicRef": refer}
    # With a registry of its own, or references to other places would be fetched.
    check = validators.extend(Draft202012Validator, bounded)
    yield from check(schema, registry=Registry()).iter_errors(value)
