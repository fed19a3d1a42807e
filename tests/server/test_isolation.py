"""Every route of the OpenAPI document, with what belongs to somebody else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from maverick.providers.scripted import TurnLike
from maverick.server import Principal, ServerLimits, TokenSigner
from maverick.testing import ScriptedClient, call, reply
from server.chat_server import SECRET, ChatServer, Person

OPEN = {"/api/about", "/api/signup", "/api/login", "/api/local-session", "/api/logout", "/health", "/ready"}
"""What anybody may ask for."""
BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("PATCH", "/api/conversations/{conversation_id}"): {"title": "mine now"},
    ("PATCH", "/api/tasks/{task_id}"): {"title": "mine now", "completed": True},
    ("POST", "/api/runs/{run_id}/say"): {"message": "mine now"},
}


def routes(schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every method and path of a document."""
    for path, methods in schema["paths"].items():
        for method in methods:
            yield method.upper(), path


async def everything(person: Person) -> list[Any]:
    """All that a user has."""
    conversations = (await person.get("/api/conversations"))["conversations"]
    whole = [(await person.get(f"/api/conversations/{found['id']}")).body for found in conversations]
    return [whole, (await person.get("/api/tasks")).body, (await person.get("/api/approvals")).body]


async def owned(person: Person) -> dict[str, str]:
    """Something of every kind that has an id."""
    answer = await person.say("Add task buy milk")
    asked = await person.say("delete buy milk", answer["conversation_id"])
    return {
        "conversation_id": answer["conversation_id"],
        "run_id": answer["run_id"],
        "approval_id": asked["approval"]["id"],
        "task_id": str((await person.get("/api/tasks"))["tasks"][0]["id"]),
    }


@pytest.mark.requirement("SERVER-ISOLATION", "P6")
async def test_no_route_gives_or_changes_anything_of_another_user(server: ChatServer, ana: Person) -> None:
    ids = await owned(ana)
    schema = (await ana.get("/openapi.json")).body
    roles = {
        "another user": server.person("bob"),
        "nobody": server.person(None),
        "a user whose time is up": server.bearer(
            TokenSigner(SECRET, lifetime=-60).issue(Principal("user_ana", "ana"))
        ),
        "a forger": server.bearer(
            TokenSigner(b"some other secret of good length").issue(Principal("user_ana", "ana"))
        ),
    }
    before = await everything(ana)
    tried = 0

    for method, path in routes(schema):
        names = re.findall(r"{(\w+)}", path)
        if not names:
            continue
        for role, person in roles.items():
            answer = await person.ask(method, path.format(**ids), BODIES.get((method, path)))
            tried += 1

            assert answer.status == (404 if role == "another user" else 401), (role, method, path, answer)
            assert "milk" not in str(answer.body)

    assert tried >= 4 * 12
    assert await everything(ana) == before


@pytest.mark.requirement("SERVER-ISOLATION")
async def test_every_route_but_a_few_wants_to_know_who_asks(server: ChatServer, ana: Person) -> None:
    schema = (await ana.get("/openapi.json")).body
    nobody = server.person(None)

    answers = {
        (method, path): (await nobody.ask(method, re.sub(r"{\w+}", "1", path), {})).status
        for method, path in routes(schema)
        if path not in OPEN
    }

    assert set(answers.values()) == {401}


@pytest.mark.requirement("SERVER-ISOLATION")
async def test_an_id_in_a_body_reaches_nothing_of_another_user(server: ChatServer, ana: Person) -> None:
    ids = await owned(ana)
    message = (await ana.get(f"/api/conversations/{ids['conversation_id']}"))["messages"][0]["id"]
    bob, before = server.person("bob"), await everything(ana)

    own = (await bob.say("hello"))["conversation_id"]
    refused = [
        await bob.say("hello", ids["conversation_id"]),
        await bob.post("/api/chat", {"message": "x", "conversation_id": own, "replaces": message}),
        await bob.post(
            "/api/ag-ui",
            {
                "threadId": "t",
                "runId": "r",
                "resume": [{"interruptId": ids["approval_id"], "status": "resolved"}],
            },
        ),
        await bob.post(
            "/api/ai-sdk",
            {
                "id": "c",
                "messages": [
                    {
                        "role": "assistant",
                        "parts": [
                            {
                                "type": "dynamic-tool",
                                "state": "approval-responded",
                                "approval": {"id": ids["approval_id"], "approved": True},
                            }
                        ],
                    }
                ],
            },
        ),
    ]

    assert [answer.status for answer in refused] == [404, 404, 404, 404]
    assert await everything(ana) == before


@pytest.mark.requirement("SERVER-ISOLATION")
async def test_two_users_with_the_same_thread_have_two_conversations(server: ChatServer, ana: Person) -> None:
    bob = server.person("bob")
    body = {
        "threadId": "shared",
        "runId": "r1",
        "messages": [{"role": "user", "content": "Add task buy milk"}],
    }

    for person in (ana, bob):
        async for _ in person.events("POST", "/api/ag-ui", body):
            pass

    for person in (ana, bob):
        assert len((await person.get("/api/conversations/shared"))["messages"]) == 2
        assert len((await person.get("/api/tasks"))["tasks"]) == 1


@pytest.mark.requirement("SERVER-ISOLATION")
async def test_undo_undoes_ones_own_change(server: ChatServer, ana: Person) -> None:
    bob = server.person("bob")
    await bob.post("/api/tasks", {"title": "bread"})
    await ana.post("/api/tasks", {"title": "milk"})

    await bob.post("/api/undo")

    assert len((await ana.get("/api/tasks"))["tasks"]) == 1
    assert (await bob.get("/api/tasks"))["tasks"] == []


@pytest.mark.requirement("SERVER-ISOLATION")
async def test_it_holds_on_postgres_too(postgres_url: str) -> None:
    turns: list[TurnLike] = [call("list_tasks"), reply("Here they are.")]
    limits = ServerLimits(spend_usd_per_day=1)
    async with ChatServer(postgres_url, client=ScriptedClient(turns), limits=limits) as server:
        ana, bob = server.person("ana"), server.person("bob")
        task = await ana.post("/api/tasks", {"title": "milk"})
        answer = await bob.say("show me everything")

        refused = await bob.get(f"/api/tasks/{task['id']}")

        assert refused.status == 404
        assert answer["tool_calls"][0]["result"]["data"]["tasks"] == []
        assert (await ana.get(f"/api/runs/{answer['run_id']}")).status == 404
