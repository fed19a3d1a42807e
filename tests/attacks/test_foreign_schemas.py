"""The schemas of MCP servers fetch nothing, and hold nothing up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import mcp_types as types
import pytest

from maverick.exceptions import ToolError
from maverick.model import Tool
from maverick.tools.argument_check import check_arguments
from maverick.tools.mcp.questions import Question, elicitation


class Foreign:
    """A tool of a server."""

    name = "find"

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parameters = parameters


EXPLOSION = {f"s{n}": {"anyOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(40)}
SLOW = "^(a|aa)+$"


@pytest.mark.requirement("MCP-ELICITATION")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_a_servers_question_does_not_read_other_places_to_check_the_answer(tmp_path: Path) -> None:
    (tmp_path / "private.json").write_text(json.dumps({"type": "integer"}))
    schema = {"type": "object", "properties": {"x": {"$ref": (tmp_path / "private.json").as_uri()}}}
    asked: list[Question] = []

    async def ask(question: Question) -> dict[str, Any]:
        asked.append(question)
        return {"x": "words"}

    answer = await elicitation("wiki", ask)(
        cast("Any", None), types.ElicitRequestFormParams(message="Which?", requested_schema=schema)
    )

    assert isinstance(answer, types.ElicitResult)
    assert (answer.action, len(asked)) == ("accept", 1)


@pytest.mark.requirement("MCP-ELICITATION")
@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"x": {"pattern": SLOW}}},
        {"properties": {"y": {"patternProperties": {SLOW: False}, "additionalProperties": False}}},
        {"properties": {"y": {"patternProperties": {SLOW: False}, "unevaluatedProperties": False}}},
    ],
)
def test_a_servers_regular_expressions_are_not_matched(schema: dict[str, Any]) -> None:
    word = "a" * 25 + "!"  # with twice as many it would take years

    check_arguments(cast("Tool", Foreign(schema)), {"x": word, "y": {word: 1}})


@pytest.mark.requirement("MCP-ELICITATION")
def test_references_that_multiply_are_given_up_and_what_can_be_checked_is() -> None:
    exploding = Foreign({"$ref": "#/$defs/s0", "$defs": {**EXPLOSION, "s40": {"required": ["never"]}}})
    plain = Foreign({"properties": {"pattern": {"type": "string"}}, "additionalProperties": False})

    check_arguments(cast("Tool", plain), {"pattern": "x"})
    with pytest.raises(ToolError, match="cannot be checked"):
        check_arguments(cast("Tool", exploding), {})
    with pytest.raises(ToolError, match="pattern: 5 is not of type 'string'"):
        check_arguments(cast("Tool", plain), {"pattern": 5})
    with pytest.raises(ToolError, match="'other' was unexpected"):
        check_arguments(cast("Tool", plain), {"other": 5})
