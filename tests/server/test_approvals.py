"""What a user has to confirm."""

from __future__ import annotations

import pytest

from server.chat_server import ChatServer, Person


async def asked(person: Person) -> str:
    """The id of a question, asked about a task that is there."""
    conversation = (await person.say("Add task buy milk"))["conversation_id"]
    answer = await person.say("delete buy milk", conversation)
    approval_id: str = answer["approval"]["id"]
    return approval_id


async def tasks(person: Person) -> list[str]:
    return [task["title"] for task in (await person.get("/api/tasks"))["tasks"]]


@pytest.mark.requirement("SERVER-APPROVALS", "P7")
async def test_a_question_is_listed_and_in_its_conversation(ana: Person) -> None:
    approval = await asked(ana)

    listed = (await ana.get("/api/approvals"))["approvals"]
    conversation = await ana.get(f"/api/conversations/{listed[0]['conversation_id']}")

    assert [question["id"] for question in listed] == [approval]
    assert conversation["approval"] == listed[0]
    assert listed[0]["user_id"] is None
    assert listed[0]["question"] == "Do you really want to delete 'buy milk'? Reply 'yes delete' to confirm."
    assert await tasks(ana) == ["buy milk"]


@pytest.mark.requirement("SERVER-APPROVALS")
async def test_approving_does_it_and_says_so(ana: Person) -> None:
    approval = await asked(ana)

    answer = await ana.post(f"/api/approvals/{approval}/approve")

    assert answer["response"] == "I've removed 'buy milk' from your tasks."
    assert await tasks(ana) == []
    assert (await ana.get("/api/approvals"))["approvals"] == []


@pytest.mark.requirement("SERVER-APPROVALS")
async def test_denying_leaves_everything_as_it_is(ana: Person) -> None:
    approval = await asked(ana)

    answer = await ana.post(f"/api/approvals/{approval}/deny")

    assert answer["status"] == "complete"
    assert await tasks(ana) == ["buy milk"]
    assert (await ana.get("/api/approvals"))["approvals"] == []


@pytest.mark.requirement("SERVER-APPROVALS", "P7")
@pytest.mark.parametrize(
    ("first", "second"), [("approve", "approve"), ("deny", "approve"), ("approve", "deny")]
)
async def test_a_question_is_decided_once(ana: Person, first: str, second: str) -> None:
    approval = await asked(ana)
    await ana.post(f"/api/approvals/{approval}/{first}")
    await ana.say("Add task buy milk")

    again = await ana.post(f"/api/approvals/{approval}/{second}")

    assert (again.status, again.code) == (404, "not_found")
    assert "buy milk" in await tasks(ana)


@pytest.mark.requirement("SERVER-APPROVALS", "SERVER-IDEMPOTENT")
async def test_a_decision_that_is_sent_again_gets_the_same_answer(ana: Person) -> None:
    approval = await asked(ana)

    answers = [
        await ana.post(f"/api/approvals/{approval}/approve", headers={"Idempotency-Key": "once"})
        for _ in range(2)
    ]

    assert answers[0].body == answers[1].body


@pytest.mark.requirement("SERVER-APPROVALS", "SERVER-ISOLATION")
async def test_nobody_decides_for_somebody_else(server: ChatServer, ana: Person) -> None:
    approval = await asked(ana)
    bob = server.person("bob")

    refused = [await bob.post(f"/api/approvals/{approval}/{decision}") for decision in ("approve", "deny")]

    assert [answer.status for answer in refused] == [404, 404]
    assert len((await ana.get("/api/approvals"))["approvals"]) == 1
    assert (await bob.get("/api/conversations"))["conversations"] == []


@pytest.mark.requirement("SERVER-APPROVALS")
async def test_a_question_goes_with_its_conversation(ana: Person) -> None:
    approval = await asked(ana)
    conversation = (await ana.get("/api/approvals"))["approvals"][0]["conversation_id"]
    await ana.ask("DELETE", f"/api/conversations/{conversation}")

    late = await ana.post(f"/api/approvals/{approval}/approve")

    assert late.status == 404
    assert (await ana.get("/api/approvals"))["approvals"] == []
    assert await tasks(ana) == ["buy milk"]


@pytest.mark.requirement("SERVER-APPROVALS")
async def test_a_question_is_withdrawn_when_the_user_speaks_of_something_else(ana: Person) -> None:
    approval = await asked(ana)
    conversation = (await ana.get("/api/approvals"))["approvals"][0]["conversation_id"]
    await ana.say("show my tasks", conversation)

    late = await ana.post(f"/api/approvals/{approval}/approve")

    assert late.status == 404
    assert await tasks(ana) == ["buy milk"]
