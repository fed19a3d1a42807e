from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from maverick import AgentDefinition, Document, Image, Input, InputConfig, PromptConfig, Text
from maverick.exceptions import InvalidInputError, InvalidToolError
from maverick.model import Message, ToolCall
from media_files import pdf, png


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
        (Place, {"city": "Brest"}, '{"city": "Brest"}'),
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


SHELF = Image.from_bytes(png(), name="shelf.png")
LIST = Document.from_bytes(pdf(), name="list.pdf")


@pytest.mark.parametrize(
    ("template", "value", "parts"),
    [
        ("${it}", ["What is it?", SHELF, LIST], [Text("What is it?"), SHELF, LIST]),
        ("${it}", SHELF, [SHELF]),
        ("${it}", (Text("Look."), SHELF), [Text("Look."), SHELF]),
        ("Look at ${it}, please.", SHELF, [Text("Look at "), SHELF, Text(", please.")]),
        ("${it} ${it}", [SHELF], [SHELF, SHELF]),
        ("${it}", ["a", "b"], [Text('["a", "b"]')]),
        ("${it}", ["${it} ", SHELF], [Text("${it} "), SHELF]),
    ],
)
def test_the_parts_of_an_input_stand_in_a_message_where_its_variable_stood(
    template: str, value: Any, parts: list[Any]
) -> None:
    definition = AgentDefinition("seer", "Sees.", PromptConfig(initial_messages=[template]))

    assert definition.render({"it": value})[1] == (Message.user(parts),)


@pytest.mark.parametrize(
    ("kind", "value", "parts"),
    [
        (Image, SHELF, [SHELF]),
        (Image | Document, LIST, [LIST]),
        (Image | None, None, []),
        (list[str | Image | Document], ["What is it?", SHELF, LIST], [Text("What is it?"), SHELF, LIST]),
        (list[Image], [], []),
        (tuple[Image, ...], (SHELF,), [SHELF]),
        (str | Image, "a shelf", [Text("a shelf")]),
    ],
)
def test_an_input_can_be_declared_as_an_image_or_a_document(kind: Any, value: Any, parts: list[Any]) -> None:
    definition = AgentDefinition(
        "seer",
        "Sees.",
        PromptConfig(initial_messages=["See: ${it}"]),
        input_config=InputConfig({"it": kind}),
    )

    assert definition.render({"it": value})[1] == (Message.user(["See: ", *parts]),)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Image, LIST),
        (Image, "shelf.png"),
        (Image, [SHELF]),
        (list[Image], ["What is it?"]),
        (list[Image], [None]),
        (str, [SHELF, 7]),
        (str, ["Look:", b"\x89PNG"]),
        (str, b"\x89PNG"),
        (str, [SHELF, ToolCall("1", "look")]),
    ],
)
def test_a_part_that_is_not_declared_is_refused_by_name(kind: Any, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"inputs\.it: ") as caught:
        define(it=kind).render({"it": value})

    assert caught.value.field == "inputs.it"


def test_a_path_beside_a_text_is_refused_with_how_a_file_is_given_and_alone_is_its_name() -> None:
    with pytest.raises(InvalidInputError, match=r"inputs\.it: .*, got \w*PosixPath\. .* Image\.from_path"):
        define(it=str).render({"it": ["What is it?", PurePosixPath("shelf.png")]})

    assert rendered(define(it=str), it=PurePosixPath("shelf.png")) == "shelf.png"


def test_a_system_prompt_takes_text_only() -> None:
    definition = AgentDefinition("seer", "Sees.", PromptConfig("You see ${it}.", ["${it}"]))

    with pytest.raises(InvalidInputError, match="not in its system prompt"):
        definition.render({"it": SHELF})


def test_an_agent_that_is_a_tool_takes_text_only() -> None:
    with pytest.raises(InvalidInputError, match="the tool of another takes text only"):
        define(it=Image).as_tool()

    schema = define(it=list[str | Image]).as_tool().parameters
    assert schema["properties"] == {"it": {"type": "string"}}


def test_first_messages_can_have_images_of_their_own() -> None:
    definition = AgentDefinition(
        "seer", "Sees.", PromptConfig(initial_messages=[Message.user(["Find ${what} here:", SHELF])])
    )

    assert definition.render({"what": "a cup"})[1] == (Message.user(["Find a cup here:", SHELF]),)


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        (str, ["a", "é"], '["a", "é"]'),
        (str, [], "[]"),
        (str, {"on": True}, '{"on": true}'),
        (str, 5, "5"),
        (str, {(1, 2): 3}, "{(1, 2): 3}"),
        (set[int], {1}, "[1]"),
        (Place, Place(city="Rome"), '{"city": "Rome"}'),
        (list[Place], [Place(city="Rome")], '[{"city": "Rome"}]'),
    ],
)
def test_lists_mappings_and_models_are_written_into_a_prompt_as_json(
    kind: Any, value: Any, written: str
) -> None:
    assert rendered(define(what=kind), what=value) == written
