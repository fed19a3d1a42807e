"""Two servers on one database: whatever one of them is asked about an answer of the other is true."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from maverick.chat import Database
from maverick.chat.migrations import migrate
from maverick.chat.phrases import unbacked
from maverick.server.answer import AnswerBody, AnswerJob, AnswerStatus, Question, Reply
from maverick.server.answer_store import later_event
from maverick.server.errors import RequestRefusedError
from maverick.server.tables import SERVER
from server.chat_server import LINES, PATIENCE, ChatServer, Event, Person, SlowModel, answer_store


@dataclass
class Pair:
    """Two servers; one of them makes an answer, of which two lines are said so far."""

    model: SlowModel
    asker: Person
    answer: asyncio.Task[list[Event]]
    run_id: str
    conversation_id: str
    other: ChatServer
    elsewhere: Person


@pytest.fixture
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The database they share."""
    if request.param == "sqlite":
        return str(tmp_path / "chat.db")
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
async def pair(location: str) -> AsyncIterator[Pair]:
    async with AsyncExitStack() as stack:
        model = SlowModel(*LINES)
        first = await stack.enter_async_context(ChatServer(location, client=model))
        second = await stack.enter_async_context(ChatServer(location, client=SlowModel("never")))
        ana, two_lines_said, seen = first.person("ana"), asyncio.Event(), list[Event]()

        async def follow() -> list[Event]:
            async for event in ana.follow("hello"):
                seen.append(event)
                if len(seen) == 3:
                    two_lines_said.set()
            return seen

        model.let(2)
        answer = asyncio.create_task(follow())
        async with asyncio.timeout(PATIENCE):
            await two_lines_said.wait()
        started = seen[0].data
        ids = (started["run_id"], started["conversation_id"])
        yield Pair(model, ana, answer, *ids, second, second.person("ana"))
        answer.cancel()


both = pytest.mark.parametrize("location", ["sqlite", "postgres"], indirect=True)
sqlite = pytest.mark.parametrize("location", ["sqlite"], indirect=True)


@pytest.mark.requirement("SERVER-STOP")
@both
async def test_an_answer_can_be_stopped_at_another_server_than_the_one_that_makes_it(pair: Pair) -> None:
    stopped = await pair.elsewhere.post(f"/api/runs/{pair.run_id}/stop")

    events = await pair.answer
    assert (stopped["status"], stopped["response"]) == ("stopped", unbacked("".join(LINES[:2]).strip()))
    assert events[-1].data == stopped.body


@pytest.mark.requirement("SERVER-STOP")
@sqlite
@pytest.mark.parametrize("known", [True, False])
async def test_a_conversation_that_is_deleted_at_another_server_is_not_answered_any_further(
    known: bool, pair: Pair
) -> None:
    if known:
        await pair.other.app.state.service.answers.find("user_ana", pair.run_id)

    deleted = await pair.elsewhere.ask("DELETE", f"/api/conversations/{pair.conversation_id}")

    events = await pair.answer
    assert deleted.status == 204
    assert events[-1].data["status"] == "stopped"
    assert (await pair.asker.get("/api/conversations"))["conversations"] == []


@pytest.mark.requirement("SERVER-STREAM")
@sqlite
async def test_an_answer_that_another_server_makes_is_given_once_it_is_over(pair: Pair) -> None:
    asking = asyncio.create_task(pair.elsewhere.get(f"/api/runs/{pair.run_id}"))
    pair.model.let()

    answer = await asking

    assert (answer["status"], answer["response"]) == ("complete", unbacked("".join(LINES)))


@pytest.mark.requirement("SERVER-STREAM")
@sqlite
async def test_whoever_waits_at_a_server_that_shuts_down_is_told_to_ask_again(pair: Pair) -> None:
    service = pair.other.app.state.service.answers
    answers = [
        await service.find("user_ana", pair.run_id),
        await service.start("user_ana", Question("hello")),
    ]

    await service.aclose()

    for answer in answers:
        with pytest.raises(RequestRefusedError, match="Ask for the answer again") as refused:
            async with asyncio.timeout(PATIENCE):
                await answer.body()
        assert refused.value.status == 503


@pytest.mark.requirement("SERVER-REVIVE")
@both
def test_an_answer_that_was_asked_for_last_year_can_be_saved(location: str) -> None:
    database = Database(location)
    migrate(database.engine, SERVER)
    store = answer_store(database)
    asked = store.admit("ana", Question("hello"), None)
    assert isinstance(asked, AnswerJob)
    number = later_event(asked.asked_at - timedelta(days=365))
    said = Reply(status=AnswerStatus.COMPLETE, response="Hello!")

    store.save(asked, said, number)

    record, answer = store.get("ana", asked.record.run_id)
    assert isinstance(answer, AnswerBody)
    assert (record.last_event, answer.response) == (number, "Hello!")
    database.close()
