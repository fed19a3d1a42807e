"""Attacks on a server of agents: by many requests for approval, by odd ids, by an agent or a login that is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi import HTTPException, Request
from fastapi.testclient import TestClient

from maverick import (
    AgentDefinition,
    AgentExecutor,
    Hooks,
    Refuse,
    SqliteJournal,
    ToolContext,
    define_agent,
    tool,
)
from maverick.exceptions import InvalidInputError
from maverick.journal import Approval
from maverick.model import LLMClient, Role
from maverick.model import Request as ModelCall
from maverick.server import ServerLimits, create_app
from maverick.testing import ScriptedClient, call, reply
from server.chat_server import ChatServer, Person


@tool(approval=True)
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


CLERK = define_agent("clerk", tools=[pay])
READER = define_agent("reader")


def paying() -> LLMClient:
    """A model that pays for whatever it is asked, and then says so."""
    return ScriptedClient(
        lambda request: (
            reply("Done.")
            if any(message.role is Role.TOOL_RESULT for message in request.messages)
            else call("pay", amount=len(request.messages[-1].content))
        )
    )


@asynccontextmanager
async def serving(
    folder: Path,
    *agents: AgentDefinition[Any],
    limits: ServerLimits | None = None,
    executor: AgentExecutor | Callable[[AgentDefinition[Any], str | None], AgentExecutor] | None = None,
) -> AsyncIterator[ChatServer]:
    async with (
        SqliteJournal(folder / "runs.db") as journal,
        ChatServer(
            folder / "chat.db",
            agents=agents or (CLERK,),
            journal=journal,
            executor=executor or AgentExecutor(paying()),
            limits=limits,
        ) as server,
    ):
        yield server


async def approve(person: Person, waiting: Any, **body: Any) -> Any:
    return await person.post(f"/api/approvals/{waiting['approval']['id']}/approve", body)


@pytest.mark.requirement("SERVER-LIMITS")
async def test_answers_that_wait_are_limited_and_so_is_going_on_with_them(tmp_path: Path) -> None:
    limits = ServerLimits(undecided=2, spend_usd_per_day=1.0, answer_usd=0.6)
    broke = ServerLimits(spend_usd_per_day=0.5, answer_usd=0.6)

    async with serving(tmp_path, limits=limits) as server:
        ana = server.person("ana")
        waiting = [await ana.say("Pay.") for _ in range(2)]
        third = await ana.say("Pay.")
    async with serving(tmp_path, limits=broke) as server:
        ana = server.person("ana")
        refused = await approve(ana, waiting[0])
        stopped = await ana.post(f"/api/runs/{waiting[1]['run_id']}/stop")
    async with serving(tmp_path, limits=limits) as server:
        answer = await approve(server.person("ana"), waiting[0])

    assert (third.status, refused.status) == (429, 429)
    assert (stopped["status"], answer["status"], answer["response"]) == ("stopped", "complete", "Done.")


@pytest.mark.requirement("SERVER-APPROVALS", "SERVER-ISOLATION")
async def test_the_requests_of_one_user_do_not_hide_those_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maverick.server.approvals._MOST_SHOWN", 4)

    def may_approve(approval: Approval, by: str) -> bool:
        return by == "user_boss" and approval.user_id != "user_carl"

    broken: list[str] = []

    def executor(_: AgentDefinition[Any], user_id: str | None) -> AgentExecutor:
        if user_id in broken:
            raise KeyError("no database for this user")
        return AgentExecutor(paying(), may_approve=None if user_id is None else may_approve)

    async with serving(tmp_path, executor=executor) as server:
        for name in ("eve", "eve", "eve", "eve", "eve", "carl", "dora", "ana"):
            await server.person(name).say("Pay.")
        broken.append("user_dora")
        shown = (await server.person("boss").get("/api/approvals"))["approvals"]
        own = await server.person("dora").get("/api/approvals")

    assert sorted(one["user_id"] for one in shown) == ["user_ana", "user_eve", "user_eve", "user_eve"]
    assert (own.status, own["approvals"]) == (200, [])


@pytest.mark.requirement("SERVER-APPROVALS")
async def test_the_request_of_a_subagent_is_decided_over_http(tmp_path: Path) -> None:
    boss = define_agent("boss", tools=[CLERK.as_tool()])
    client = ScriptedClient(
        [call("clerk", prompt="Pay."), call("pay", amount=5), reply("Paid."), reply("All done.")]
    )

    async with serving(tmp_path, boss, executor=AgentExecutor(client)) as server:
        ana = server.person("ana")
        waiting = await ana.say("Have it paid.")
        answer = await approve(ana, waiting)

    assert "/" in waiting["approval"]["id"]
    assert (answer.status, answer["response"]) == (200, "All done.")


@pytest.mark.requirement("SERVER-APPROVALS")
async def test_an_answer_of_an_agent_that_is_gone_blocks_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        waiting = [await server.person("ana").say("Pay.") for _ in range(2)]
    async with serving(tmp_path, READER) as server:
        ana = server.person("ana")
        listed = await ana.get("/api/approvals")
        stopped = await ana.post(f"/api/runs/{waiting[0]['run_id']}/stop")
        deleted = await ana.ask("DELETE", f"/api/conversations/{waiting[1]['conversation_id']}")
        late = await approve(ana, waiting[0])

    assert (listed.status, listed["approvals"]) == (200, [])
    assert "does not have the agent" in stopped["reason"]
    assert (deleted.status, late.status) == (204, 404)


@pytest.mark.requirement("SERVER-APPROVALS")
async def test_looking_at_an_answer_on_a_server_without_its_agent_ends_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        waiting = await server.person("ana").say("Pay.")
    async with serving(tmp_path, READER) as server:
        ana = server.person("ana")
        await ana.get(f"/api/conversations/{waiting['conversation_id']}")
        looked = await ana.get(f"/api/runs/{waiting['run_id']}")
        said = await ana.say("Well?", waiting["conversation_id"])
    async with serving(tmp_path) as server:
        ana = server.person("ana")
        found = await ana.get(f"/api/conversations/{waiting['conversation_id']}")
        answer = await approve(ana, waiting)

    assert (looked["status"], "does not have its agent" in looked["reason"]) == ("waiting", True)
    assert (said.status, found["approval"]["id"]) == (409, waiting["approval"]["id"])
    assert (answer["status"], answer["response"]) == ("complete", "Done.")


@pytest.mark.requirement("SERVER-APPROVALS")
async def test_an_answer_in_progress_is_left_to_a_server_that_has_its_agent(tmp_path: Path) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_: ModelCall) -> Any:
        begun.set()
        await go_on.wait()
        return reply("Read.")

    executor = AgentExecutor(ScriptedClient(slow))
    async with serving(tmp_path, executor=executor) as server, serving(tmp_path, READER) as other:
        asking = asyncio.create_task(server.person("ana").say("Read."))
        await begun.wait()
        [running] = [
            one["running"] for one in (await other.person("ana").get("/api/conversations"))["conversations"]
        ]
        looking = asyncio.create_task(other.person("ana").get(f"/api/runs/{running}"))
        await asyncio.wait([looking], timeout=1.5)  # it looks at once, and again after a second
        go_on.set()
        answers = [await asking, await looking]

    assert [(one["status"], one["response"]) for one in answers] == [("complete", "Read.")] * 2


@pytest.mark.requirement("SERVER-APPROVALS", "P7")
async def test_arguments_that_the_rule_does_not_allow_are_refused_and_the_request_waits_on(
    tmp_path: Path,
) -> None:
    executor = AgentExecutor(paying(), may_approve=lambda approval, _: approval.arguments["amount"] < 10)
    async with serving(tmp_path, executor=executor) as server:
        ana = server.person("ana")
        waiting = await ana.say("Pay.")
        refused = await approve(ana, waiting, arguments={"amount": 70})
        done = await approve(ana, waiting, arguments={"amount": 7})

    assert (refused.status, refused.code, done.status) == (403, "not_allowed", 200)


@pytest.mark.requirement("SERVER-APPROVALS", "P7")
async def test_a_decision_is_the_same_only_with_the_same_arguments(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        waiting = await server.person("ana").say("Pay.")
    async with serving(tmp_path) as server:
        ana = server.person("ana")
        unfit = await approve(ana, waiting, arguments={"amount": "much"})
        first = await approve(ana, waiting, arguments={"amount": 7})
        again = await approve(ana, waiting, arguments={"amount": 7})
        others = [await approve(ana, waiting, arguments={"amount": 8}), await approve(ana, waiting)]

    assert (unfit.status, first.status) == (422, 200)
    assert first["tool_calls"][0]["result"] == {"success": True, "data": "paid 7"}
    assert (again.body, [other.status for other in others]) == (first.body, [409, 409])


@pytest.mark.requirement("SERVER-AGENTS")
async def test_a_user_is_told_why_a_hook_refuses_and_a_tool_was_denied(tmp_path: Path) -> None:
    class NoSecrets(Hooks):
        def before_model(self, request: ModelCall, context: ToolContext[Any]) -> Refuse | None:
            return Refuse("No secrets here.") if "secret" in request.messages[-1].content else None

    async with serving(tmp_path, executor=AgentExecutor(paying(), hooks=[NoSecrets()])) as server:
        ana = server.person("ana")
        refused = await ana.say("A secret.")
        waiting = await ana.say("Pay.")
        denied = await ana.post(
            f"/api/approvals/{waiting['approval']['id']}/deny", {"reason": "It is too much."}
        )

    assert (refused["status"], refused["reason"]) == ("failed", "No secrets here.")
    assert "It is too much." in denied["tool_calls"][0]["result"]["error"]["message"]


@pytest.mark.requirement("SERVER-AGENTS")
async def test_what_is_said_to_an_answer_is_in_the_conversation(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        ana = server.person("ana")
        waiting = await ana.say("Pay.")
        await ana.post(f"/api/runs/{waiting['run_id']}/say", {"message": "And hurry."})
        answer = await approve(ana, waiting)
        kept = (await ana.get(f"/api/conversations/{waiting['conversation_id']}"))["messages"]

    assert answer["user_message_id"] == waiting["user_message_id"]
    assert [(one["role"], one["content"]) for one in kept] == [("user", "Pay."), ("assistant", "Done.")]
    assert [part["text"] for part in kept[1]["parts"] if part["type"] == "said"] == ["And hurry."]


def _raises(_: Request) -> str:
    raise KeyError("X-User")


def _refuses(_: Request) -> str:
    raise HTTPException(401)


@pytest.mark.requirement("SERVER-AGENTS")
@pytest.mark.parametrize(("authenticate", "status"), [(_raises, 503), (lambda _: 5, 503), (_refuses, 401)])
def test_an_authentication_that_fails_lets_no_one_in(tmp_path: Path, authenticate: Any, status: int) -> None:
    app = create_app(agents=[READER], journal=SqliteJournal(tmp_path / "runs.db"), authenticate=authenticate)

    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as http:
        answer = http.get("/api/agents")
        elsewhere = http.get("/api/agents", headers={"Host": "evil.example"})

    assert (answer.status_code, "X-User" in answer.text) == (status, False)
    assert (elsewhere.status_code, "create_app(allowed_hosts=" in elsewhere.text) == (421, True)


@pytest.mark.requirement("P7")
def test_a_rule_on_who_may_decide_that_is_asynchronous_is_refused() -> None:
    async def may_approve(approval: Approval, by: str) -> bool:
        return by == "boss"

    with pytest.raises(InvalidInputError, match="ordinary function"):
        AgentExecutor(may_approve=may_approve)  # type: ignore[arg-type]
