"""Templates: ``${variable}`` in the system prompt and the first messages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maverick import AgentDefinition, InputConfig, PromptConfig
from maverick.exceptions import InvalidInputError
from maverick.model import Message, Text, Thought, ToolCall


def define(system: str = "", *messages: str | Message, **options: Any) -> AgentDefinition[str]:
    return AgentDefinition("writer", "Writes.", PromptConfig(system, messages or ["Go."]), **options)


@pytest.mark.requirement("003-FR1-AC3", "003-DATA-FLOW")
def test_variables_are_replaced_in_the_system_prompt_and_in_every_message() -> None:
    definition = define("Write for ${audience}.", "Report on ${city} and ${city}.", "${audience} wait.")

    system, messages = definition.render({"audience": "sailors", "city": "Brest"})

    assert system == "Write for sailors."
    assert messages == (Message.user("Report on Brest and Brest."), Message.user("sailors wait."))


@pytest.mark.requirement("003-FR1-AC3")
def test_variables_are_replaced_in_the_words_of_a_whole_message_and_nowhere_else_in_it() -> None:
    call = ToolCall("call_1", "look", {"at": "${city}"})
    thought = Thought("Is ${city} far?", "signed")
    definition = define(
        "",
        Message.user("I sail to ${city}."),
        Message.assistant([thought, Text("To ${city}? "), call]),
        Message.tool_result("call_1", "${city} is far; $${city} stays.", is_error=True),
    )

    assert list(definition.inputs) == ["city"]
    assert definition.render({"city": "Brest"})[1] == (
        Message.user("I sail to Brest."),
        Message.assistant([thought, Text("To Brest? "), call]),
        Message.tool_result("call_1", "Brest is far; ${city} stays.", is_error=True),
    )


def test_a_variable_of_a_whole_message_that_is_not_declared_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"\$\{city\} is not declared"):
        define("", Message.user("To ${city}."), input_config=InputConfig({"town": str}))


@pytest.mark.requirement("003-FR1-AC3")
def test_the_inputs_are_the_variables_when_none_are_declared() -> None:
    assert list(define("${b}", "${a} ${b}").inputs) == ["a", "b"]


@pytest.mark.requirement("003-FR1-AC3")
@given(st.text(alphabet="${}secrtaid \n"))
def test_a_value_is_put_in_as_it_is_even_when_it_looks_like_a_variable(value: str) -> None:
    definition = define("${secret}", "[${said}]")

    _, (message,) = definition.render({"said": value + "${secret}$${x}", "secret": "hush"})

    assert message.content == f"[{value}${{secret}}$${{x}}]"


@pytest.mark.requirement("003-FR1-AC3")
@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("$${name}", "${name}"),
        ("$${", "${"),
        ("$$${name}", "$${name}"),
        ("costs $5 and $name", "costs $5 and $name"),
        ("{name} and }", "{name} and }"),
        ("$", "$"),
        ("a$${b}c", "a${b}c"),
    ],
)
def test_what_is_no_variable_stays_as_it_is(text: str, rendered: str) -> None:
    assert define(text).render()[0] == rendered


@pytest.mark.requirement("003-FR1-AC2", "003-FR1-AC3")
@pytest.mark.parametrize("text", ["${}", "${two words}", "${open", "${a-b}", "${1st}", "${a.b}", "${ a }"])
def test_a_place_that_names_no_variable_is_refused_when_the_definition_is_made(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"\$\$\{") as in_system:
        define(f"Say {text}")
    with pytest.raises(InvalidInputError) as in_message:
        define("", "Hello.", f"Say {text}")

    assert in_system.value.field == "prompt_config.system_prompt"
    assert in_message.value.field == "prompt_config.initial_messages[1]"


@pytest.mark.requirement("003-FR1-AC3")
def test_a_missing_variable_is_named_with_the_way_to_pass_it() -> None:
    with pytest.raises(InvalidInputError, match=r"city missing\. Pass inputs=\{'city': …\}") as caught:
        define("", "Report on ${city}.").render({})

    assert caught.value.field == "inputs.city"


@pytest.mark.requirement("003-FR1-AC3")
def test_an_unknown_variable_is_named_with_the_nearest_known_one() -> None:
    with pytest.raises(InvalidInputError, match="Did you mean 'city'") as caught:
        define("", "Report on ${city}.").render({"ctiy": "Brest"})

    assert caught.value.field == "inputs.ctiy"


@pytest.mark.requirement("003-FR1-AC2")
def test_a_variable_that_is_not_declared_is_refused_when_the_definition_is_made() -> None:
    with pytest.raises(InvalidInputError, match=r"\$\{city\} is not declared") as caught:
        define("", "Report on ${city}.", input_config=InputConfig({"town": str}))

    assert caught.value.field == "prompt_config"
