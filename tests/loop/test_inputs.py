from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from maverick import AgentDefinition, Input, InputConfig, PromptConfig
from maverick.exceptions import InvalidInputError, InvalidToolError


class Place(BaseModel):
    city: str


def define(**inputs: Any) -> AgentDefinition[str]:
    places = " ".join(f"${{{name}}}" for name in inputs) or "Go."
    return AgentDefinition(
        "writer", "Writes.", PromptConfig(initial_messages=[places]), input_config=InputConfig(inputs)
    )


def rendered(definition: AgentDefinition[str], **inputs: Any) -> str:
    return definition.render(inputs)[1][0].content


@pytest.mark.requirement("003-FR1", "003-DATA-FLOW")
@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (str, "Brest", "Brest"),
        (str, 29200, "29200"),
        (int, 7, "7"),
        (int, "7", "7"),
        (float, 0.5, "0.5"),
        (bool, True, "True"),
        (list[int], ["1", 2], "[1, 2]"),
        (Literal["fast", "slow"], "slow", "slow"),
        (Place, {"city": "Brest"}, "city='Brest'"),
    ],
)
def test_an_input_is_checked_against_its_type_and_put_in_its_place(kind: Any, value: Any, text: str) -> None:
    assert rendered(define(it=kind), it=value) == text
    assert rendered(define(it=Input(kind)), it=value) == text


@pytest.mark.requirement("003-FR1-AC2")
@pytest.mark.parametrize(
    ("kind", "value"), [(int, "seven"), (Literal["fast"], "slow"), (Place, {}), (list[int], "12")]
)
def test_a_value_of_another_type_is_refused_by_name(kind: Any, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"inputs\.it") as caught:
        rendered(define(it=kind), it=value)

    assert caught.value.field == "inputs.it"


def test_a_default_stands_in_for_a_value_that_is_not_given() -> None:
    definition = define(
        city=Input(str, default="Brest"), days=Input(int, default=3), when=Input(str, default="now")
    )

    assert rendered(definition) == "Brest 3 now"
    assert rendered(definition, days=5) == "Brest 5 now"


@pytest.mark.requirement("003-FR1-AC2")
def test_a_default_of_another_type_is_refused_when_it_is_declared() -> None:
    with pytest.raises(InvalidInputError):
        Input(int, default="lots")


@pytest.mark.requirement("003-FR1-AC2")
@pytest.mark.parametrize("kind", [3, object(), Callable[[], int], "NoSuchType"])
def test_a_type_that_can_not_be_described_is_refused_when_it_is_declared(kind: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        InputConfig({"it": Input(kind)})

    assert caught.value.field == "input_config.inputs"


def test_several_missing_inputs_are_named_together() -> None:
    with pytest.raises(InvalidInputError, match="city, days missing"):
        rendered(define(days=int, city=str))


def test_a_declared_input_that_no_text_uses_is_allowed() -> None:
    definition = AgentDefinition(
        "writer",
        "Writes.",
        PromptConfig(initial_messages=["Go."]),
        input_config=InputConfig({"unused": Input(str, default="")}),
    )

    assert definition.render()[1][0].content == "Go."


@pytest.mark.requirement("003-OQ1")
def test_a_definition_is_offered_as_a_tool_with_its_inputs_as_arguments() -> None:
    made = define(city=Input(str, "Which city."), days=Input(int, default=3), place=Place).as_tool()
    properties = made.parameters["properties"]

    assert (made.name, made.description) == ("writer", "Writes.")
    assert properties["city"] == {"type": "string", "description": "Which city."}
    assert properties["days"]["type"] == "integer"
    assert properties["days"]["default"] == 3
    assert properties["place"] == {"$ref": "#/$defs/Place"}
    assert made.parameters["$defs"]["Place"]["properties"]["city"]["type"] == "string"
    assert made.parameters["required"] == ["city", "place"]
    assert made.parameters["additionalProperties"] is False


def test_an_agent_as_a_tool_may_have_another_name_and_description() -> None:
    made = define().as_tool("scribe", "Writes things down.")

    assert (made.name, made.description) == ("scribe", "Writes things down.")


async def test_an_agent_as_a_tool_says_that_it_needs_an_executor() -> None:
    with pytest.raises(InvalidToolError, match="AgentExecutor"):
        await define().as_tool().execute({})
