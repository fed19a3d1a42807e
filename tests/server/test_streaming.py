"""Answers as they are made: followed, left, found again, stopped, and survived."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from itertools import chain, repeat
from pathlib import Path

import pytest

from maverick.chat.phrases import unbacked
from maverick.exceptions import StreamingError
from maverick.journal import SqliteJournal
from maverick.model import Request, Response, StreamItem
from maverick.providers.client import Client
from maverick.server import ServerLimits
from maverick.testing import ScriptedClient, call, fail, reply
from server.chat_server import LINES, PATIENCE, ChatServer, Event, Person, SlowModel


def words(events: list[Event]) -> str:
    return "".join(event.data["text"] for event in events if event.name == "text")


async def read(person: Person, run_id: str, after: int | None = None) -> list[Event]:
    return [event async for event in person.events("GET", f"/api/runs/{run_id}/events", after=after)]


@pytest.mark.requirement("SERVER-STREAM")
async def test_an_answer_is_streamed_with_numbered_events(ana: Person) -> None:
    events = [event async for event in ana.follow("Add task buy milk")]

    assert [event.id for event in events] == list(range(1, len(events) + 1))
    assert [event.name for event in events if event.name != "text"] == [
        "start",
        "tool_start",
        "tool_end",
        "done",
    ]
    assert words(events) == events[-1].data["response"]
    assert events[1].data["arguments"] == {"title": "buy milk"}
    assert events[2].data["result"]["data"]["title"] == "buy milk"


@pytest.mark.requirement("SERVER-STREAM", "004-Q-IDS")
async def test_the_thinking_of_the_task_chat_is_streamed_in_plain_words(tmp_path: Path) -> None:
    client = ScriptedClient([reply("Good morning!", thinking="Let me see. I must use the db id 17.")])
    async with ChatServer(tmp_path / "chat.db", client=client) as server:
        events = [event async for event in server.person("ana").follow("hello")]

    assert [event.data["text"].strip() for event in events if event.name == "thinking"] == ["Let me see."]
    assert words(events) == "Good morning!"


@pytest.mark.requirement("SERVER-STREAM")
@pytest.mark.parametrize("seen", [1, 2, 3])
async def test_a_client_that_comes_back_mid_stream_misses_nothing_and_sees_nothing_twice(
    tmp_path: Path, seen: int
) -> None:
    model = SlowModel(*LINES)
    async with ChatServer(tmp_path / "chat.db", client=model) as server:
        ana = server.person("ana")
        model.let(seen - 1)
        before: list[Event] = []
        async with aclosing(ana.follow("hello")) as stream:  # type: ignore[type-var]  # a generator, as written
            async for event in stream:
                before.append(event)
                if len(before) == seen:
                    break
        run_id = before[0].data["run_id"]

        model.let()
        after = await read(ana, run_id, before[-1].id)

    everything = [*before, *after]
    assert [event.id for event in everything] == list(range(1, 7))
    assert words(everything) == unbacked("".join(LINES))


@pytest.mark.requirement("SERVER-STREAM")
async def test_any_number_of_readers_see_the_same(tmp_path: Path) -> None:
    model = SlowModel(*LINES[:2])
    async with ChatServer(tmp_path / "chat.db", client=model) as server:
        ana = server.person("ana")
        asking = asyncio.create_task(ana.say("hello"))
        await model.asked()
        conversation = (await ana.get("/api/conversations"))["conversations"][0]
        readers = [asyncio.create_task(read(ana, conversation["running"])) for _ in range(3)]
        model.let()

        seen = await asyncio.gather(*readers)
        await asking

    assert seen[0] == seen[1] == seen[2]
    assert words(seen[0]) == unbacked("".join(LINES[:2]).strip())


@pytest.mark.requirement("SERVER-STREAM")
async def test_a_stream_that_is_over_is_not_asked_for_again(ana: Person) -> None:
    events = [event async for event in ana.follow("Add task buy milk")]
    run_id = events[0].data["run_id"]

    answer = await ana.get(f"/api/runs/{run_id}/events", headers={"Last-Event-ID": str(events[-1].id)})

    assert answer.status == 204


@pytest.mark.requirement("SERVER-STREAM")
async def test_an_answer_of_long_ago_still_has_its_last_event(tmp_path: Path) -> None:
    async with ChatServer(tmp_path / "chat.db") as server:
        events = [event async for event in server.person("ana").follow("Add task buy milk")]
        run_id = events[0].data["run_id"]
    async with ChatServer(tmp_path / "chat.db") as server:
        ana = server.person("ana")

        kept = await read(ana, run_id, after=3)
        over = await ana.get(f"/api/runs/{run_id}/events", headers={"Last-Event-ID": str(events[-1].id)})

    assert kept == events[-1:]
    assert over.status == 204


@pytest.mark.requirement("SERVER-STREAM")
async def test_words_stay_when_the_model_is_asked_again(tmp_path: Path) -> None:
    turns = [
        fail(StreamingError("cut"), after="It is a fine morning. How do you"),
        reply("It is a fine morning. How can I help?"),
    ]
    async with ChatServer(tmp_path / "chat.db", client=ScriptedClient(turns)) as server:
        events = [event async for event in server.person("ana").follow("hello")]

    assert words(events) == events[-1].data["response"] == unbacked("It is a fine morning. How can I help?")


@pytest.mark.requirement("SERVER-DISCONNECT")
async def test_leaving_the_stream_does_not_stop_the_answer(tmp_path: Path) -> None:
    model = SlowModel(*LINES[:2])
    async with ChatServer(tmp_path / "chat.db", client=model) as server:
        ana = server.person("ana")
        model.let(1)
        async with aclosing(ana.follow("hello")) as stream:  # type: ignore[type-var]  # a generator, as written
            started = await anext(stream)
        model.let()

        answer = await ana.get(f"/api/runs/{started.data['run_id']}")

    assert (answer["status"], answer["response"]) == ("complete", unbacked("".join(LINES[:2]).strip()))


@pytest.mark.requirement("SERVER-STOP")
async def test_an_answer_that_is_stopped_keeps_what_there_is_of_it(tmp_path: Path) -> None:
    model = SlowModel(*LINES)
    async with ChatServer(tmp_path / "chat.db", client=model) as server:
        ana = server.person("ana")
        model.let(2)
        events: list[Event] = []
        async for event in ana.follow("hello"):
            events.append(event)
            if len(events) == 3:
                stopped = await ana.post(f"/api/runs/{events[0].data['run_id']}/stop")
        conversation = await ana.get(f"/api/conversations/{stopped['conversation_id']}")

    assert (stopped["status"], stopped["response"]) == ("stopped", unbacked("".join(LINES[:2]).strip()))
    assert events[-1].data == stopped.body
    assert [message["content"] for message in conversation["messages"]] == ["hello", stopped["response"]]
    assert conversation["running"] is None


@pytest.mark.requirement("SERVER-STOP")
async def test_stopping_an_answer_that_is_over_changes_nothing(ana: Person) -> None:
    answer = await ana.say("Add task buy milk")

    stopped = await ana.post(f"/api/runs/{answer['run_id']}/stop")

    assert stopped.body == answer.body


@pytest.mark.requirement("SERVER-STOP")
async def test_deleting_a_conversation_stops_its_answer_and_it_stays_deleted(tmp_path: Path) -> None:
    model = SlowModel(*LINES[:2])
    async with ChatServer(tmp_path / "chat.db", client=model) as server:
        ana = server.person("ana")
        asking = asyncio.create_task(ana.say("hello"))
        await model.asked()
        conversation = (await ana.get("/api/conversations"))["conversations"][0]["id"]

        deleted = await ana.ask("DELETE", f"/api/conversations/{conversation}")
        answer = await asking

        assert (deleted.status, answer["status"]) == (204, "stopped")
        assert (await ana.get("/api/conversations"))["conversations"] == []


class Relay(Client):
    """A model that takes one turn, and then is another one.

    Args:
        first: Takes the first turn.
        then: Takes all others.
    """

    def __init__(self, first: Client, then: Client) -> None:
        self._clients = chain([first], repeat(then))

    async def run(self, request: Request) -> Response:
        return await next(self._clients).run(request)

    def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        return next(self._clients).stream(request)


@pytest.mark.requirement("SERVER-REVIVE")
async def test_an_answer_whose_server_is_gone_is_made_by_the_next_one_and_acts_once(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "runs.db")
    stuck = SlowModel("never")
    first = Relay(ScriptedClient([call("add_task", title="buy milk")]), stuck)

    async with ChatServer(tmp_path / "chat.db", client=first, journal=journal) as server:
        ana = server.person("ana")
        async with aclosing(ana.follow("add milk")) as stream:  # type: ignore[type-var]  # a generator, as written
            started = await anext(stream)
            await stuck.asked()
    async with ChatServer(
        tmp_path / "chat.db", client=ScriptedClient([reply("Added it.")]), journal=journal
    ) as server:
        ana = server.person("ana")

        events = await read(ana, started.data["run_id"], after=3)
        tasks = await ana.get("/api/tasks")
    await journal.aclose()

    assert events[0].name == "start"
    assert (events[-1].data["status"], events[-1].data["response"]) == (
        "complete",
        "Got it! Added 'buy milk' to your list. Anything else?",
    )
    assert all(event.id > 3 for event in events if event.id is not None)
    assert [task["title"] for task in tasks["tasks"]] == ["buy milk"]


@pytest.mark.requirement("SERVER-REVIVE", "SERVER-ONE-WRITER")
async def test_a_conversation_whose_server_is_gone_takes_the_next_question(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "runs.db")
    stuck = SlowModel("never")
    async with ChatServer(tmp_path / "chat.db", client=stuck, journal=journal) as server:
        asking = asyncio.create_task(server.person("ana").say("hello"))
        await stuck.asked()
        asking.cancel()
    async with ChatServer(
        tmp_path / "chat.db", client=ScriptedClient([reply("How can I help?")]), journal=journal
    ) as server:
        ana = server.person("ana")
        left = (await ana.get("/api/conversations"))["conversations"][0]

        answer = await ana.say("hello?", left["id"])
        former = await ana.get(f"/api/runs/{left['running']}")
        conversation = await ana.get(f"/api/conversations/{left['id']}")
    await journal.aclose()

    assert (answer["status"], former["status"], conversation["running"]) == ("complete", "failed", None)
    assert [said["content"] for said in conversation["messages"]] == ["hello", "hello?", "How can I help?"]


@pytest.mark.requirement("SERVER-ONE-WRITER", "JOURNAL-FENCE")
async def test_an_answer_whose_run_somebody_else_has_claimed_is_given_once(tmp_path: Path) -> None:
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        model = SlowModel(*LINES)
        async with ChatServer(tmp_path / "chat.db", client=model, journal=journal) as server:
            ana = server.person("ana")
            model.let(2)
            events: list[Event] = []
            async for event in ana.follow("hello"):
                events.append(event)
                if len(events) == 3:
                    kept = await journal.get(events[0].data["run_id"])
                    await journal.claim(kept.run_id)
                    model.let()
            conversation = await ana.get(f"/api/conversations/{events[-1].data['conversation_id']}")

    ids = [event.id or 0 for event in events]
    assert (kept.user_id, ids) == ("user_ana", sorted(set(ids)))
    assert [event.name for event in events].count("start") == 2
    assert [said["content"] for said in conversation["messages"]] == ["hello", unbacked("".join(LINES))]


@pytest.mark.requirement("SERVER-LIMITS")
async def test_a_user_has_so_many_streams_open(tmp_path: Path) -> None:
    async with ChatServer(tmp_path / "chat.db", limits=ServerLimits(streams=2)) as server:
        ana, bob = server.person("ana"), server.person("bob")
        async with ana.http.get("/api/updates") as one, ana.http.get("/api/updates") as two:
            refused = await ana.get("/api/updates")
            async with bob.http.get("/api/updates") as other:
                statuses = (one.status, two.status, refused.status, other.status)
        async with asyncio.timeout(PATIENCE):
            while (await ana.get("/metrics")).body.count("maverick_streams_open 0") == 0:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        async with ana.http.get("/api/updates") as later:
            assert later.status == 200

    assert statuses == (200, 200, 429, 200)


@pytest.mark.requirement("SERVER-UPDATES")
async def test_every_page_of_a_user_hears_of_changes_and_nobody_elses_does(server: ChatServer) -> None:
    ana, bob = server.person("ana"), server.person("bob")
    heard: dict[str, list[str]] = {"ana": [], "bob": []}

    async def listen(name: str, person: Person, ready: asyncio.Event) -> None:
        async for event in person.events("GET", "/api/updates"):
            heard[name].append(event.name)
            ready.set()
            if event.name == "tasks":
                return

    ready = [asyncio.Event(), asyncio.Event()]
    listening = [
        asyncio.create_task(listen(name, person, event))
        for (name, person), event in zip((("ana", ana), ("bob", bob)), ready, strict=True)
    ]
    async with asyncio.timeout(PATIENCE):
        for event in ready:
            await event.wait()
        await ana.post("/api/tasks", {"title": "milk"})
        await listening[0]
    listening[1].cancel()

    assert heard == {"ana": ["ready", "tasks"], "bob": ["ready"]}
