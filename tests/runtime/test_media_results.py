"""Tools that return images and documents, and conversations that have them."""

from __future__ import annotations

from typing import Any

import pytest

from maverick import AgentDefinition, AgentExecutor, Document, Image, PromptConfig, Text, tool
from maverick.exceptions import InvalidInputError
from maverick.journal import MemoryJournal
from maverick.loop.events import RunEnd, ToolCallEnd
from maverick.model import Blob, Message, ModelInfo, Part, Request, Role, StructuredResult, Usage
from maverick.model.untrusted import is_marked
from maverick.testing import ScriptedClient, call, calls, reply
from media_files import pdf, png
from scenario import agent, assert_valid, run, watch

HI = {"prompt": "hi"}
SHELF = Image.from_bytes(png(280, 280), name="shelf.png")
LIST = Document.from_bytes(pdf(), name="list.pdf")


def returning(value: Any, **options: Any) -> Any:
    async def look() -> Any:
        """Look at it."""
        return value

    return tool(effect="pure", **options)(look)


@pytest.mark.parametrize(
    ("value", "parts", "text"),
    [
        (SHELF, [SHELF], "[image: shelf.png]"),
        (["Here:", SHELF], [Text("Here:"), SHELF], "Here:\n[image: shelf.png]"),
        ((LIST, {"cups": 3}), [LIST, Text('{"cups":3}')], '[document: list.pdf]\n{"cups":3}'),
        (StructuredResult("a shelf", {"cups": 3}, parts=(SHELF,)), [SHELF], "[image: shelf.png]"),
        ([Text("one"), "two"], [Text("one\ntwo")], "one\ntwo"),
        (Text("one"), [Text("one")], "one"),
    ],
)
async def test_what_a_tool_returns_is_what_the_model_gets_and_events_and_records_say_so(
    value: Any, parts: list[Part], text: str
) -> None:
    watched = await watch([call("look"), "Three cups."], agent(returning(value)))

    (result,) = [
        message for message in watched.client.requests[1].messages if message.role is Role.TOOL_RESULT
    ]
    (end,) = watched.of(ToolCallEnd)
    (record,) = watched.result.tool_calls
    assert list(result.parts) == parts
    assert (end.result, record.result) == (text, text)
    assert list(end.parts or [Text(end.result)]) == list(record.parts or [Text(record.result)]) == parts


async def test_the_limit_of_a_tools_output_is_one_of_text() -> None:
    result = await run([call("look"), "ok"], agent(returning(["x" * 500, SHELF, "y" * 500], max_output=600)))

    first, image, second = result.messages[-2].parts
    assert image is SHELF
    assert first == Text("x" * 500)
    assert isinstance(second, Text)
    assert second.text.startswith("y" * 100 + "\n[…")


async def test_a_result_of_too_many_images_keeps_some_and_names_the_others() -> None:
    result = await run([call("look"), "ok"], agent(returning([SHELF] * 150)))

    kept = [part for part in result.messages[-2].parts if part is SHELF]
    assert len(kept) == 100
    assert "too many" in result.messages[-2].content


async def test_the_text_of_an_untrusted_tool_is_marked_and_names_the_images_after_it() -> None:
    result = await run([call("look"), "ok"], agent(returning(["Obey!", SHELF, "Now!"], untrusted=True)))

    text, image = result.messages[-2].parts
    assert isinstance(text, Text)
    assert is_marked(text.text)
    assert "Obey!\n[image: shelf.png]\nNow!" in text.text
    assert image is SHELF


async def test_a_value_that_is_no_part_beside_an_image_is_an_error_the_model_sees() -> None:
    result = await run([call("look"), "ok"], agent(returning([SHELF, object()])))

    assert "cannot be turned into text" in result.messages[-2].content
    assert result.success


async def test_images_are_in_the_estimate_and_condensing_names_them() -> None:
    unknown = Usage()  # so that only the estimate says when the window is full

    def answer(request: Request) -> Any:
        if "Condense" in request.messages[0].content:
            return reply("It showed a shelf.", usage=unknown)
        condensed = any("condensed" in message.content for message in request.messages)
        return reply("done", usage=unknown) if condensed else calls(call("look"), usage=unknown)

    client = ScriptedClient(answer, info=ModelInfo(context_window=4_000))

    watched = await watch(client, agent(returning(["Here:", *[SHELF] * 4]), max_turns=20))

    (summary,) = [request for request in client.requests if "Condense" in request.messages[0].content]
    assert client.requests.index(summary) <= 9
    assert "Here: [image: shelf.png]" in summary.messages[0].content
    assert [type(part) for part in summary.messages[0].parts] == [Text]
    assert watched.result.success
    assert_valid(watched.result.messages)


async def test_a_document_larger_than_the_window_is_named_and_the_run_goes_on() -> None:
    book = Document.from_bytes(pdf(100), name="book.pdf")
    client = ScriptedClient([call("look"), "Too long."], info=ModelInfo(context_window=20_000))

    watched = await watch(client, agent(returning(["The book:", book])))

    assert client.requests[1].messages[-1].content == "The book:[document: book.pdf: left out]"
    assert watched.result.success


async def test_a_conversation_with_images_goes_on() -> None:
    seer = AgentDefinition("seer", "Sees.", PromptConfig())
    client = ScriptedClient(["A shelf.", "Three cups."])

    first = await run(client, seer, inputs={"prompt": ["What is it?", SHELF]})
    await run(client, seer, inputs={"prompt": "What is on it?"}, messages=first.messages)

    assert client.requests[1].messages == (
        Message.user(["What is it?", SHELF]),
        Message.assistant("A shelf."),
        Message.user("What is on it?"),
    )


@pytest.mark.requirement("P9")
@pytest.mark.parametrize("way", ["messages", "inputs", "say", "tool"])
async def test_who_knows_only_the_hash_of_anothers_image_does_not_get_it_from_the_journal(way: str) -> None:
    theirs = Image.from_bytes(png(noise=b"of another user"), name="theirs.png")
    assert theirs.blob is not None
    stolen = Image(media_type="image/png", blob=Blob(None, theirs.blob.sha256, theirs.blob.size))

    @tool(effect="pure")
    def peek() -> Image:
        """Show an image."""
        return stolen

    journal = MemoryJournal()
    client = ScriptedClient(lambda request: call("peek") if len(request.messages) == 1 else reply("Seen."))
    executor = AgentExecutor(client, journal=journal)
    looker = agent(peek, ask="${prompt}")
    await executor.execute(looker, inputs={"prompt": [theirs]}, user_id="ana", run_id="theirs")

    if way == "messages":
        with pytest.raises(InvalidInputError, match="is not here"):
            await executor.execute(looker, inputs=HI, messages=[Message.user([stolen])], user_id="bob")
    elif way == "inputs":
        with pytest.raises(InvalidInputError, match="is not here"):
            await executor.execute(looker, inputs={"prompt": [stolen]}, user_id="bob")
    elif way == "say":
        with pytest.raises(InvalidInputError, match="is not here"):
            await executor.say("theirs", [stolen])
    else:
        result = await executor.execute(looker, inputs=HI, user_id="bob", run_id="bobs")
        assert "without its content" in result.tool_calls[0].result

    assert [record.run_id for record in await journal.list_runs() if record.run_id != "bobs"] == ["theirs"]
    assert not stolen.blob.is_loaded  # type: ignore[union-attr]  # it was given one


async def test_a_conversation_of_a_replayed_run_continues_with_its_images() -> None:
    shelf = Image.from_bytes(png(), name="shelf.png")
    client = ScriptedClient(["A shelf.", "Yes."])
    executor = AgentExecutor(client, journal=MemoryJournal())
    looker = agent(ask="${prompt}")
    await executor.execute(looker, inputs={"prompt": [shelf]}, run_id="run")
    end = [event async for event in executor.replay("run", looker)][-1]
    assert isinstance(end, RunEnd)

    result = await executor.execute(looker, inputs=HI, messages=end.result.messages)

    assert result.success
    (image,) = [part for part in client.requests[1].messages[0].parts if isinstance(part, Image)]
    assert image.blob is not None
    assert image.blob.data == png()


async def test_an_edit_of_the_words_keeps_the_images_and_one_with_images_replaces_them() -> None:
    shelf = Image.from_bytes(png(), name="shelf.png")
    door = Image.from_bytes(png(50, 50), name="door.png")
    client = ScriptedClient(["A shelf.", "Blue.", "A door."])
    executor = AgentExecutor(client, journal=MemoryJournal())
    looker = agent(ask="${prompt}")
    await executor.execute(looker, inputs={"prompt": [shelf, "What is it?"]}, run_id="run")

    await executor.fork("run", looker, turn=1, edit="Which colour?", new_run_id="words")
    await executor.fork("run", looker, turn=1, edit=[door, "And this?"], new_run_id="door")

    assert [request.messages[-1].parts for request in client.requests[1:]] == [
        (shelf, Text("Which colour?")),
        (door, Text("And this?")),
    ]
    for run_id, image in (("words", shelf), ("door", door)):
        told = [event async for event in executor.replay(run_id, looker)][-1]
        assert isinstance(told, RunEnd)
        assert image in told.result.messages[0].parts
