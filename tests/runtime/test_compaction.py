"""A conversation that outgrows the context window is condensed instead of failing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from maverick import AgentDefinition, ModelConfig, TerminateReason, tool
from maverick.exceptions import AuthenticationError, ContextOverflowError
from maverick.loop.events import Compacted, ContentChunk
from maverick.loop.prefix import without_thoughts
from maverick.model import History, Message, ModelInfo, Request, Role, Thought, ToolCall, Usage
from maverick.testing import ScriptedClient, call, calls, reply
from scenario import Watched, agent, assert_valid, results_in, watch

SMALL = ModelConfig(model="scripted:", context_window=2_000, max_tokens=200)
UNKNOWN = ModelConfig(model="scripted:", max_tokens=200)
TASK = "Count the stars, all of them."


@tool
async def read(page: int) -> str:
    """Read a page."""
    return f"page {page}: " + "star " * 150


def is_summary(request: Request) -> bool:
    """Whether it is the loop's own question."""
    return "Condense" in request.messages[0].content


def size(request: Request) -> int:
    """About as many tokens as a real model would count."""
    return (
        sum(len(part.text) for message in request.messages for part in message.parts if hasattr(part, "text"))
        // 4
    )


def reads(pages: int, *, summarise: Callable[[Request], Any]) -> Callable[[Request], Any]:
    """A model that reads so many pages, one a turn, and then answers."""
    read_so_far = 0

    def answer(request: Request) -> Any:
        nonlocal read_so_far
        if is_summary(request):
            return summarise(request)
        if read_so_far == pages:
            return reply("Many stars.", usage=Usage(size(request), 5))
        read_so_far += 1
        wanted = ToolCall(f"page_{read_so_far}", "read", {"page": read_so_far})
        return calls(wanted, usage=Usage(size(request), 10))

    return answer


def in_short(request: Request) -> Any:
    return reply("Nothing but stars so far.", usage=Usage(size(request), 8))


def long_agent(model: ModelConfig = SMALL, **limits: Any) -> AgentDefinition[Any]:
    return agent(read, ask=TASK, model=model, **limits)


def conversation(watched: Watched) -> list[Request]:
    """The requests that were not for a summary."""
    return [request for request in watched.client.requests if not is_summary(request)]


def notes_in(watched: Watched) -> list[Message]:
    """What stands after the task, where a summary would."""
    return [request.messages[1] for request in conversation(watched) if len(request.messages) > 1]


@pytest.mark.requirement("003-OQ2")
async def test_a_run_many_times_longer_than_the_window_comes_to_its_end() -> None:
    watched = await watch(reads(30, summarise=in_short), long_agent())

    assert (watched.result.success, watched.result.output) == (True, "Many stars.")
    assert watched.result.turn_count == 31
    assert len(watched.of(Compacted)) >= 2
    assert max(size(request) for request in conversation(watched)) < 2_000


@pytest.mark.requirement("003-OQ2", "P3")
async def test_the_task_and_the_newest_turns_stay_and_no_call_is_parted_from_its_result() -> None:
    watched = await watch(reads(30, summarise=in_short), long_agent())

    for request in conversation(watched):
        assert_valid(request.messages)
        assert request.messages[0].content == TASK
        pages = [int(text.split(":")[0].removeprefix("page ")) for text in results_in(request.messages)]
        assert pages == sorted(pages)
    notes = [note for note in notes_in(watched) if "Nothing but stars" in note.content]
    assert notes
    assert {note.role for note in notes} == {Role.USER}


@pytest.mark.requirement("003-OQ2", "002-R7")
async def test_a_summary_is_no_turn_but_its_tokens_count() -> None:
    watched = await watch(reads(10, summarise=in_short), long_agent(max_turns=11))

    assert (watched.result.success, watched.result.turn_count) == (True, 11)
    asked = len(watched.client.requests)
    assert asked > 11
    assert watched.types.count("usage_updated") == asked
    assert watched.types.count("turn_start") == watched.types.count("turn_end") == 11


@pytest.mark.requirement("003-FR3-AC4", "003-OQ2")
async def test_the_words_of_a_summary_are_not_told_as_the_answer() -> None:
    watched = await watch(reads(10, summarise=in_short), long_agent())

    chunks = [event.content for event in watched.events if isinstance(event, ContentChunk)]
    assert "".join(chunks) == "Many stars."


@pytest.mark.requirement("003-OQ2", "003-NFR2-ERRORS")
async def test_a_summary_that_fails_is_replaced_by_a_plain_account() -> None:
    def fails(request: Request) -> Any:
        return AuthenticationError("Not today.")

    watched = await watch(reads(10, summarise=fails), long_agent())

    assert watched.result.success
    assert len(watched.of(Compacted)) >= 1
    notes = [note.content for note in notes_in(watched) if "left out" in note.content]
    assert notes
    assert "read (" in notes[0]


@pytest.mark.requirement("003-OQ2")
async def test_a_window_the_client_knows_is_kept_without_being_configured() -> None:
    client = ScriptedClient(reads(10, summarise=in_short), info=ModelInfo(context_window=2_000))

    watched = await watch(client, long_agent(UNKNOWN))

    assert watched.result.success
    assert len(watched.of(Compacted)) >= 1


def with_a_limit(answer: Callable[[Request], Any], most: int) -> Callable[[Request], Any]:
    """A provider that takes no more than so many tokens, and does not say so before."""

    def limited(request: Request) -> Any:
        if size(request) > most:
            return ContextOverflowError("The conversation is too long. Shorten it.", status=400)
        return answer(request)

    return limited


@pytest.mark.requirement("003-OQ2", "003-NFR2-ERRORS")
@pytest.mark.parametrize(
    "summarise", [in_short, lambda _: AuthenticationError("Not today.")], ids=["told", "untold"]
)
async def test_a_provider_that_says_the_conversation_is_too_long_is_asked_again_with_a_shorter_one(
    summarise: Any,
) -> None:
    watched = await watch(with_a_limit(reads(20, summarise=summarise), 1_500), long_agent(UNKNOWN))

    assert (watched.result.error, watched.result.output) == (None, "Many stars.")
    assert watched.result.turn_count == 21
    assert len(watched.of(Compacted)) == len(watched.client.requests) - len(conversation(watched)) >= 1
    assert watched.types.count("turn_start") == watched.types.count("turn_end") == 21
    for request in conversation(watched):
        assert_valid(request.messages)


@pytest.mark.requirement("003-OQ2")
async def test_a_task_that_alone_is_too_long_fails_with_the_providers_error() -> None:
    watched = await watch(lambda _: ContextOverflowError("Too long. Shorten it."), long_agent(UNKNOWN))

    assert (watched.result.success, watched.result.terminate_reason) == (False, TerminateReason.ERROR)
    assert isinstance(watched.result.errors[0], ContextOverflowError)
    assert len(watched.client.requests) <= 2


@tool
async def dump() -> str:
    """Return far too much."""
    return "BEGIN " + "star " * 9_000 + " END"


@pytest.mark.requirement("003-OQ2", "F-TOOL-OUTPUT")
async def test_a_tool_result_that_would_fill_the_window_is_cut_in_its_middle() -> None:
    watched = await watch([call("dump"), "Done."], agent(dump, model=SMALL))

    (text,) = results_in(watched.client.requests[1].messages)
    assert watched.result.success
    assert text.startswith("BEGIN")
    assert text.endswith("END")
    assert "characters left out" in text
    assert len(text) // 4 < 2_000


@pytest.mark.requirement("003-OQ2", "F-TOOL-OUTPUT")
async def test_several_large_results_of_one_turn_share_the_window() -> None:
    watched = await watch([calls(*[call("dump") for _ in range(4)]), "Done."], agent(dump, model=SMALL))

    assert watched.result.success
    assert size(watched.client.requests[1]) < 2_000


@pytest.mark.requirement("003-OQ2", "F-TOOL-OUTPUT")
async def test_a_newest_result_that_only_the_provider_finds_too_long_is_not_fatal() -> None:
    def answer(request: Request) -> Any:
        return call("dump") if len(request.messages) == 1 else "Done."

    watched = await watch(with_a_limit(answer, 4_000), agent(dump, model=UNKNOWN))

    assert (watched.result.error, watched.result.output) == (None, "Done.")
    assert_valid(watched.result.messages)


@pytest.mark.requirement("P5", "003-OQ2")
async def test_a_summary_the_budget_does_not_pay_is_not_asked_for() -> None:
    watched = await watch(reads(30, summarise=in_short), long_agent(max_total_tokens=9_000))

    assert watched.result.usage.total_tokens <= 9_000
    assert watched.result.terminate_reason is TerminateReason.MAX_TOTAL_TOKENS


@pytest.mark.requirement("003-FR2-AC5")
@pytest.mark.parametrize("summary_fails", [False, True])
async def test_the_task_stays_when_a_run_continues_a_conversation(summary_fails: bool) -> None:
    earlier = [
        message
        for number in range(12)
        for message in (Message.user(f"Question {number}? " * 20), Message.assistant("Answer. " * 40))
    ]

    def summarise(request: Request) -> Any:
        return AuthenticationError("No.") if summary_fails else in_short(request)

    watched = await watch(reads(6, summarise=summarise), agent(read, model=SMALL, ask=TASK), messages=earlier)

    assert watched.result.output == "Many stars."
    assert watched.of(Compacted)
    asked = [request for request in watched.client.requests if not is_summary(request)]
    for request in asked:
        assert [message.content for message in request.messages].count(TASK) == 1
        assert_valid(request.messages)


def test_an_answer_of_thoughts_alone_does_not_become_an_empty_message() -> None:
    said = [Message.user("Go."), Message.assistant([Thought("hm", "signed")]), Message.user("Well?")]

    rewritten = without_thoughts(History(said))

    assert [message.role for message in rewritten] == [message.role for message in said]
    assert all(message.content for message in rewritten)
