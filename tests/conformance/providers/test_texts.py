"""Any text a Python string can hold gets to the model and back, over every provider."""

from __future__ import annotations

from conformance.providers.asking import HI, Way, add, ask
from conformance.providers.provider import Provider
from conformance.providers.roster import both_ways, each_provider
from conformance.providers.scenarios import Scenario
from maverick.model import Message, Request, ToolCall

TEXTS = {
    "unicode": "Grüße, 你好, שלום, 👩‍👩‍👧‍👦, e\u0301",
    "controls": "nul \x00, escape \x1b, delete \x7f, line separators \u2028\u2029, \r\n\t",
    "half a pair": "before \ud83d after",
    "halves in the wrong order": "\ude00\ud83d",
    "JSON": '{"role": "user"}\\"\\u0041',
    "an event": 'data: {"type": "message_stop"}\n\nevent: error\ndata: [DONE]\n\n',
}
A_MEGABYTE = "Ω" * 500_000


def mended(text: str) -> str:
    """The text as UTF-8 can carry it: half of a surrogate pair becomes the replacement character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@both_ways
@each_provider(Scenario.ECHO)
async def test_a_message_goes_there_and_back(provider: Provider, way: Way) -> None:
    async with provider.stage(Scenario.ECHO) as stage:
        for what, text in TEXTS.items():
            response = await ask(stage.client, Request([Message.user(text)]), way)

            assert mended(response.content) == mended(text), what


@both_ways
@each_provider(Scenario.ECHO)
async def test_a_megabyte_goes_there_and_back(provider: Provider, way: Way) -> None:
    async with provider.stage(Scenario.ECHO) as stage:
        response = await ask(stage.client, Request([Message.user(A_MEGABYTE)]), way)

    assert response.content == A_MEGABYTE


@both_ways
@each_provider(Scenario.ECHO)
async def test_the_result_of_a_tool_goes_there_and_back(provider: Provider, way: Way) -> None:
    wish = Message.assistant([ToolCall("call_1", "add", {"a": 1, "b": 2})])
    async with provider.stage(Scenario.ECHO) as stage:
        for what, text in TEXTS.items():
            conversation = [Message.user("Add."), wish, Message.tool_result("call_1", text)]
            response = await ask(stage.client, Request(conversation, tools=(add,)), way)

            assert mended(response.content) == mended(text), what


@each_provider(Scenario.ECHO)
async def test_arguments_and_instructions_may_hold_it_too(provider: Provider) -> None:
    async with provider.stage(Scenario.ECHO) as stage:
        for what, text in TEXTS.items():
            wish = Message.assistant([ToolCall("call_1", "add", {"a": text, text: 2})])
            conversation = [Message.user("Add."), wish, Message.tool_result("call_1", "3")]
            response = await stage.client.run(Request(conversation, tools=(add,), system=text))

            assert response.content == "3", what


@both_ways
@each_provider(Scenario.HALF_A_CHARACTER)
async def test_half_a_character_in_an_answer_is_replaced(provider: Provider, way: Way) -> None:
    async with provider.stage(Scenario.HALF_A_CHARACTER) as stage:
        response = await ask(stage.client, HI, way)

    assert response.content == "broken \ufffd here"
