from __future__ import annotations

from typing import Any, ClassVar

import pytest

from maverick import ToolRegistry, tool
from maverick.exceptions import InvalidToolError
from maverick.tools import FunctionTool


@tool
async def search(query: str) -> str:
    """Search."""
    return query


class Clock:
    """A tool written as a class."""

    name = "clock"
    description = "Tells the time."
    parameters: ClassVar[dict[str, Any]] = {"type": "object", "properties": {}}

    async def execute(self, args: dict[str, Any]) -> str:
        return "noon"


@pytest.mark.requirement("002-R2")
def test_tools_of_every_make_are_found_by_name() -> None:
    registry = ToolRegistry([search])
    clock = Clock()

    @registry.register
    def add(left: int, right: int) -> int:
        """Add."""
        return left + right

    registry.register(clock)

    assert registry.get("search") is search
    assert registry.get("clock") is clock
    assert isinstance(registry.get("add"), FunctionTool)
    assert add is registry.get("add")
    assert registry.list_tools() == ["add", "clock", "search"]
    assert ("clock" in registry, "cuckoo" in registry, len(registry)) == (True, False, 3)
    assert set(registry) == {search, clock, add}


def test_a_taken_name_is_refused_and_the_first_tool_stays() -> None:
    registry = ToolRegistry([search])

    with pytest.raises(InvalidToolError, match="'search' is already registered"):
        registry.register(tool(name="search", description="Another.")(lambda: "other"))

    assert registry.get("search") is search


def test_an_unknown_name_names_the_nearest() -> None:
    with pytest.raises(InvalidToolError, match="Did you mean 'search'") as caught:
        ToolRegistry([search]).get("serach")

    assert (caught.value.tool_name, caught.value.available_tools) == ("serach", ["search"])


def test_a_removed_tool_is_gone_and_can_not_be_removed_twice() -> None:
    registry = ToolRegistry([search])
    registry.unregister("search")

    assert "search" not in registry
    with pytest.raises(InvalidToolError):
        registry.unregister("search")


class Nameless(Clock):
    name = ""


class Spaced(Clock):
    name = "tell time"


class Shapeless(Clock):
    parameters: ClassVar[dict[str, Any]] = {"type": "string"}


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("thing", [3, None, "search", Nameless(), Spaced(), Shapeless(), Clock])
def test_what_is_no_tool_is_refused_with_a_typed_error(thing: Any) -> None:
    with pytest.raises(InvalidToolError):
        ToolRegistry().register(thing)
