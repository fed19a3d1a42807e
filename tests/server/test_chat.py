"""Messages and their answers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from leaping_clock import LeapingClock
from maverick.chat.phrases import OUT_OF_TIME, unbacked
from maverick.loop import RunConfig
from maverick.model import Request, Usage
from maverick.providers.scripted import TurnLike
from maverick.server import ServerLimits
from maverick.testing import ScriptedClient, call, reply
from server.chat_server import PATIENCE, ChatServer, Person, SlowModel


async def titles(person: Person) -> list[str]:
    return [task["title"] for task in (await person.get("/api/tasks"))["tasks"]]


@pytest.mark.requirement("SERVER-CHAT")
async def test_a_message_is_answered_and_done(ana: Person) -> None:
    answer = await ana.say("Add task buy milk")

    assert answer["response"] == "Got it! Added 'buy milk' to your list. Anything else?"
    assert answer["status"] == "complete"
    assert [made["tool_name"] for made in answer["tool_calls"]] == ["add_task"]
    assert await titles(ana) == ["buy milk"]


@pytest.mark.requirement("SERVER-CHAT")
async def test_the_conversation_goes_on(ana: Person) -> None:
    first = await ana.say("Add task buy milk")
    second = await ana.say("delete buy milk", first["conversation_id"])
    await ana.say("yes delete", second["conversation_id"])

    kept = await ana.get(f"/api/conversations/{first['conversation_id']}")

    assert [message["role"] for message in kept["messages"]] == ["user", "assistant"] * 3
    assert await titles(ana) == []


@pytest.mark.requirement("SERVER-CHAT")
async def test_a_conversation_that_is_not_there_is_not_made(ana: Person) -> None:
    answer = await ana.say("hello", "not-there")

    assert (answer.status, answer.code) == (404, "not_found")
    assert (await ana.get("/api/conversations"))["conversations"] == []


@pytest.mark.requirement("SERVER-ONE-WRITER")
async def test_the_second_of_two_writers_is_refused_and_history_never_forks(tmp_path: Path) -> None:
    model = SlowModel("one ", "two")
    async with ChatServer(tmp_path / "chat.db", client=model) as server:
        ana = server.person("ana")
        model.let(2)
        conversation = (await ana.say("hello"))["conversation_id"]
        await model.asked()

        async with asyncio.TaskGroup() as group:
            first = group.create_task(ana.say("hello again", conversation))
            await model.asked()
            second = await ana.say("second", conversation)
            model.let()
        kept = await ana.get(f"/api/conversations/{conversation}")

    assert (second.status, second.code) == (409, "busy")
    assert first.result()["response"] == unbacked("one two")
    assert [message["content"] for message in kept["messages"]] == [
        "hello",
        unbacked("one two"),
        "hello again",
        unbacked("one two"),
    ]


@pytest.mark.requirement("SERVER-IDEMPOTENT")
async def test_a_request_that_is_sent_again_acts_once_and_is_answered_the_same(ana: Person) -> None:
    answers = [await ana.say("Add task buy milk", headers={"Idempotency-Key": "k1"}) for _ in range(3)]

    assert answers[0].body == answers[1].body == answers[2].body
    assert await titles(ana) == ["buy milk"]


@pytest.mark.requirement("SERVER-IDEMPOTENT")
async def test_a_request_that_comes_many_times_at_once_acts_once(ana: Person) -> None:
    key = {"Idempotency-Key": "k1"}

    answers = await asyncio.gather(*(ana.say("Add task buy milk", headers=key) for _ in range(4)))

    assert {answer["run_id"] for answer in answers} == {answers[0]["run_id"]}
    assert await titles(ana) == ["buy milk"]


@pytest.mark.requirement("SERVER-IDEMPOTENT")
async def test_a_key_is_good_for_one_request(ana: Person) -> None:
    await ana.say("Add task buy milk", headers={"Idempotency-Key": "k1"})

    other = await ana.say("Add task buy bread", headers={"Idempotency-Key": "k1"})

    assert (other.status, other.code) == (422, "key_reused")
    assert await titles(ana) == ["buy milk"]


@pytest.mark.requirement("SERVER-IDEMPOTENT")
async def test_two_users_may_use_the_same_key(server: ChatServer, ana: Person) -> None:
    bob = server.person("bob")

    await ana.say("Add task buy milk", headers={"Idempotency-Key": "k1"})
    await bob.say("Add task buy bread", headers={"Idempotency-Key": "k1"})

    assert (await titles(ana), await titles(bob)) == (["buy milk"], ["buy bread"])


@pytest.mark.requirement("SERVER-REWIND")
async def test_an_earlier_message_is_edited_and_sent_again(ana: Person) -> None:
    first = await ana.say("Add task buy milk")
    conversation = first["conversation_id"]
    await ana.say("hello", conversation)

    body = {
        "message": "Add task buy bread",
        "conversation_id": conversation,
        "replaces": first["user_message_id"],
    }
    await ana.post("/api/chat", body)
    kept = await ana.get(f"/api/conversations/{conversation}")

    assert [message["content"] for message in kept["messages"]] == [
        "Add task buy bread",
        "Got it! Added 'buy bread' to your list. Anything else?",
    ]


@pytest.mark.requirement("SERVER-REWIND")
async def test_only_ones_own_words_in_this_conversation_are_replaced(ana: Person) -> None:
    first = await ana.say("hello")
    other = await ana.say("hello")

    refused = [
        await ana.post(
            "/api/chat", {"message": "x", "conversation_id": first["conversation_id"], "replaces": message}
        )
        for message in (first["message_id"], other["user_message_id"], 10**9)
    ]
    kept = await ana.get(f"/api/conversations/{first['conversation_id']}")

    assert [answer.status for answer in refused] == [404, 404, 404]
    assert len(kept["messages"]) == 2
    assert kept["running"] is None


@pytest.mark.requirement("SERVER-LIMITS")
async def test_a_user_spends_no_more_than_a_day_allows(tmp_path: Path) -> None:
    usage = Usage(input_tokens=10_000, output_tokens=0, cost_usd=0.01)
    client = ScriptedClient(lambda _: reply("hi", usage=usage))
    limits = ServerLimits(spend_usd_per_day=0.03, answer_usd=0.01)
    async with ChatServer(tmp_path / "chat.db", client=client, limits=limits) as server:
        ana, bob = server.person("ana"), server.person("bob")

        answers = [await ana.say("hello") for _ in range(4)]
        other = await bob.say("hello")

    assert [answer.status for answer in answers] == [200, 200, 200, 429]
    assert other.status == 200


@pytest.mark.requirement("SERVER-LIMITS")
async def test_a_user_who_asks_too_often_has_to_wait_and_others_do_not(tmp_path: Path) -> None:
    async with ChatServer(tmp_path / "chat.db", limits=ServerLimits(requests_per_minute=3)) as server:
        ana, bob = server.person("ana"), server.person("bob")

        answers = [await ana.get("/api/tasks") for _ in range(4)]
        other = await bob.get("/api/tasks")

    assert [answer.status for answer in answers] == [200, 200, 200, 429]
    assert int(answers[-1].headers["Retry-After"]) >= 1
    assert other.status == 200


@pytest.mark.requirement("SERVER-LIMITS")
async def test_a_user_has_so_many_answers_in_the_making(tmp_path: Path) -> None:
    model = SlowModel("hello")
    async with ChatServer(tmp_path / "chat.db", client=model, limits=ServerLimits(answers=2)) as server:
        ana = server.person("ana")

        async with asyncio.TaskGroup() as group:
            running = [group.create_task(ana.say("hello")) for _ in range(2)]
            await model.asked(2)
            refused = await ana.say("hello")
            model.let()
        later = await ana.say("hello")

    assert refused.status == 429
    assert [task.result().status for task in running] == [200, 200]
    assert later.status == 200


@pytest.mark.requirement("SERVER-CHAT")
async def test_a_model_that_fails_is_told_in_friendly_words(tmp_path: Path) -> None:
    client = ScriptedClient(lambda _: RuntimeError("secret detail"))
    async with ChatServer(tmp_path / "chat.db", client=client) as server:
        answer = await server.person("ana").say("hello")

    assert answer["status"] == "failed"
    assert "secret" not in str(answer.body)
    assert "trouble" in answer["response"]


@pytest.mark.requirement("SERVER-CHAT")
async def test_a_model_that_says_nothing_for_people_has_a_reason_and_a_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = ScriptedClient([reply('{"success": true}')])
    async with ChatServer(tmp_path / "chat.db", client=client) as server:
        answer = await server.person("ana").say("hello")

    assert answer["status"] == "failed"
    assert answer["reason"] == "I'm having a bit of trouble right now. Please try again."
    assert "nothing that the model said may be shown" in caplog.text


@pytest.mark.requirement("SERVER-CHAT")
async def test_tools_act_for_the_user_of_the_token_whatever_the_model_says(tmp_path: Path) -> None:
    turns: list[TurnLike] = [
        call("add_task", title="milk", user_id="user_bob"),
        call("add_task", title="milk"),
        reply("ok"),
    ]
    async with ChatServer(tmp_path / "chat.db", client=ScriptedClient(turns)) as server:
        ana, bob = server.person("ana"), server.person("bob")

        await ana.say("add milk")

        assert (await titles(ana), await titles(bob)) == (["milk"], [])


@pytest.mark.requirement("SERVER-IDEMPOTENT", "004-TIMEOUT")
async def test_an_answer_that_takes_too_long_tells_what_was_done_and_is_the_same_when_it_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = LeapingClock(monkeypatch)

    def answer(request: Request) -> Any:
        if not request.messages[-1].tool_call_id:
            return call("add_task", title="buy milk")
        clock.leap(PATIENCE * 2 / 3)
        return reply("late", delay=60)

    limits = RunConfig(timeout_ms=PATIENCE * 500)
    async with ChatServer(tmp_path / "chat.db", client=ScriptedClient(answer), run_config=limits) as server:
        ana = server.person("ana")
        first, again = [await ana.say("add buy milk", headers={"Idempotency-Key": "once"}) for _ in range(2)]
        added = await titles(ana)

    assert again.body == first.body
    assert first["status"] == "failed"
    assert first["response"] == f"Got it! Added 'buy milk' to your list. Anything else?\n{OUT_OF_TIME}"
    assert [made["tool_name"] for made in first["tool_calls"]] == ["add_task"]
    assert added == ["buy milk"]
