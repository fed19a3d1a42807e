"""Plain parameters are described without Pydantic, and exactly as Pydantic describes them."""

from __future__ import annotations

import json
import typing
from typing import Annotated, Any, Literal, NotRequired

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field
from typing_extensions import TypedDict

from maverick.tools.signature import plain_schema
from maverick.tools.typed_arguments import TypedArguments
from scripts import run_python


class Step(TypedDict):
    """One thing to do.

    It has a second paragraph.
    """

    step: str
    status: Literal["pending", "done"]


class Plan(TypedDict, total=False):
    steps: list[Step]
    note: str | None


class Tree(TypedDict):
    label: str
    children: list[Tree]


class Loose(TypedDict):
    maybe: NotRequired[str]


class Refused(typing.TypedDict):
    step: str


class Namesake(TypedDict):
    other: int


Namesake.__name__ = "Step"


PLAIN = (
    str,
    int,
    float,
    bool,
    list[str],
    list[list[int]],
    str | None,
    None | int,
    typing.Optional[bool],  # noqa: UP045 - people write it
    typing.List[int],  # noqa: UP006 - people write it
    list[int | None] | None,
    Literal["only"],
    Literal["fast", "slow"],
    Literal["a"] | None,
    Step,
    list[Step],
    Plan,
    Plan | None,
)
OTHERS = (
    Any,
    None,
    bytes,
    list,
    typing.List,  # noqa: UP006 - people write it
    dict[str, int],
    tuple[int, ...],
    int | str,
    int | str | None,
    Literal[1, 2],
    Literal["a", 2],
    Annotated[int, Field(ge=1)],
    Annotated[str, ["not", "hashable"]],
    list[Annotated[str, Field(max_length=3)]],
    Tree,
    Loose,
)
NAMES = st.sampled_from(["path", "limit", "title", "default", "type", "properties", "self"])


def described(types: dict[str, Any], notes: dict[str, str], defaults: dict[str, Any]) -> str:
    return json.dumps(TypedArguments("tool", types, notes, defaults).schema)


@pytest.mark.requirement("F-TOOL-SCHEMA")
@pytest.mark.parametrize("hint", PLAIN, ids=str)
def test_a_plain_type_is_described_as_pydantic_does(hint: Any) -> None:
    for notes in ({}, {"it": "What it is."}):
        for defaults in ({}, {"it": None}):
            found = plain_schema({"it": hint}, notes, defaults)

            assert json.dumps(found) == described({"it": hint}, notes, defaults)


@pytest.mark.parametrize("hint", OTHERS, ids=str)
def test_any_other_type_is_left_to_pydantic(hint: Any) -> None:
    assert plain_schema({"plain": str, "other": hint}, {}, {}) is None
    assert plain_schema({"others": list[hint]}, {}, {}) is None


def test_a_typed_dict_that_pydantic_refuses_or_has_another_name_for_is_left_to_it() -> None:
    assert plain_schema({"refused": Refused}, {}, {}) is None
    assert plain_schema({"one": Step, "another": Namesake}, {}, {}) is None


def test_a_default_that_json_does_not_have_is_left_to_pydantic() -> None:
    assert plain_schema({"plain": list[str]}, {}, {"plain": ("a", "b")}) is None


@pytest.mark.requirement("F-TOOL-SCHEMA")
@settings(deadline=None)  # Pydantic builds a validator for each
@given(
    types=st.dictionaries(NAMES, st.sampled_from((*PLAIN, *OTHERS))),
    noted=st.sets(NAMES),
    left_out=st.sets(NAMES),
)
def test_no_signature_is_described_in_two_ways(
    types: dict[str, Any], noted: set[str], left_out: set[str]
) -> None:
    notes = {name: f"About the {name}." for name in types if name in noted}
    defaults = {name: None for name in types if name in left_out}

    found = plain_schema(types, notes, defaults)

    assert found is None or found == json.loads(described(types, notes, defaults))


@pytest.mark.requirement("F-IMPORT")
def test_plain_tools_are_made_without_pydantic_and_checked_by_it() -> None:
    said = run_python("""
import asyncio, sys
from maverick import tool
from maverick.exceptions import ToolError

@tool
async def add(first: int, second: int = 1) -> int:
    "Add."
    return first + second

print("pydantic" in sys.modules)
print(asyncio.run(add.execute({"first": "2"})))
try:
    asyncio.run(add.execute({"first": "two"}))
except ToolError as error:
    print("pydantic" in sys.modules, error)
""")

    assert said.splitlines()[:2] == ["False", "3"]
    assert said.splitlines()[2].startswith(
        "True The arguments do not fit add: first: Input should be a valid integer"
    )
