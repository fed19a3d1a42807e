from __future__ import annotations

import textwrap
from typing import Any

import pytest

from maverick import tool
from maverick.exceptions import InvalidToolError

GOOGLE = """
Find flights.

Only direct ones are found.

Args:
    origin (str): Where it starts,
        as an airport's code.
    when: The day. Like this: 2026-11-15.
    *rest: Ignored.

Returns:
    The flights: a list.
"""

REST = """
Find flights.

Only direct ones are found.

:param origin: Where it starts,
    as an airport's code.
:param str when: The day. Like this: 2026-11-15.
:returns: The flights.
:rtype: list
"""


def documented(text: str) -> Any:
    def flights(origin: str, when: str) -> None: ...

    flights.__doc__ = textwrap.indent(text, "    ")
    return tool(flights)


@pytest.mark.requirement("F-TOOL-SCHEMA")
@pytest.mark.parametrize("style", [GOOGLE, REST], ids=["google", "reST"])
def test_both_styles_describe_the_tool_and_its_parameters(style: str) -> None:
    made = documented(style)
    shown = made.parameters["properties"]

    assert made.description == "Find flights.\n\nOnly direct ones are found."
    assert shown["origin"]["description"] == "Where it starts, as an airport's code."
    assert shown["when"]["description"] == "The day. Like this: 2026-11-15."
    assert set(shown) == {"origin", "when"}


def test_a_docstring_without_sections_is_the_description() -> None:
    made = documented("Find flights. Note: only direct ones.\n")

    assert made.description == "Find flights. Note: only direct ones."
    assert made.parameters["properties"]["origin"] == {"type": "string"}


def test_a_function_without_docstring_is_refused_with_what_to_add() -> None:
    def flights(origin: str) -> None: ...

    with pytest.raises(InvalidToolError, match=r"no docstring.*Add one, or write @tool\(description=…\)"):
        tool(flights)
    assert tool(description="Find flights.")(flights).description == "Find flights."


def test_a_parameter_without_a_type_is_refused_with_what_to_add() -> None:
    def flights(origin) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001 - that is what is refused
        """Find flights."""

    with pytest.raises(InvalidToolError, match=r"'origin' has no type.*such as origin: str"):
        tool(flights)


def test_a_section_that_is_not_about_parameters_is_left_out() -> None:
    made = documented("Find flights.\n\nRaises:\n    origin: Never.\n\nArgs:\n    when: The day.\n")

    assert made.description == "Find flights."
    assert "description" not in made.parameters["properties"]["origin"]
    assert made.parameters["properties"]["when"]["description"] == "The day."
