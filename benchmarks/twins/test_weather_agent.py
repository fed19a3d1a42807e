"""Tests of an agent without a model: a function for what it does, a cassette of HTTP for what a model really said."""

from __future__ import annotations

import pytest
from pydantic_ai import Agent, ModelMessage, ModelResponse, ModelRetry, TextPart, ToolCallPart, models
from pydantic_ai.models.function import AgentInfo, FunctionModel

models.ALLOW_MODEL_REQUESTS = False
reporter = Agent("anthropic:claude-sonnet-5-5", instructions="You report the weather.")


@reporter.tool_plain
async def get_weather(city: str) -> str:
    """Today's weather in a city."""
    if city != "Brest":
        raise ModelRetry(f"There is no station in {city}.")
    return "rain, 14 °C"


def scripted(*responses: ModelResponse) -> FunctionModel:
    turns = iter(responses)

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return next(turns)

    return FunctionModel(answer)


def test_it_looks_before_it_answers() -> None:
    model = scripted(
        ModelResponse(parts=[ToolCallPart("get_weather", {"city": "Brest"})]),
        ModelResponse(parts=[TextPart("Rain in Brest.")]),
    )

    with reporter.override(model=model):
        result = reporter.run_sync("Weather in Brest?")

    assert result.output == "Rain in Brest."
    assert result.all_messages()[-2].parts[0].content == "rain, 14 °C"


def test_it_is_told_why_a_tool_failed() -> None:
    model = scripted(
        ModelResponse(parts=[ToolCallPart("get_weather", {"city": "Ys"})]),
        ModelResponse(parts=[TextPart("I cannot say.")]),
    )

    with reporter.override(model=model):
        result = reporter.run_sync("Weather in Ys?")

    assert result.all_messages()[-2].parts[0].content == "There is no station in Ys."


@pytest.mark.vcr
def test_the_model_still_gives_the_temperature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", True)

    result = reporter.run_sync("How warm is it in Brest?")

    assert "14" in result.output
