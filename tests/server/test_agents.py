"""Any agent can be served: in the same API, streams and approvals as the task chat."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from maverick import (
    AgentDefinition,
    AgentExecutor,
    Input,
    InputConfig,
    ModelConfig,
    OutputConfig,
    PromptConfig,
    SqliteJournal,
    ToolConfig,
    ToolContext,
    define_agent,
    tool,
)
from maverick.model import LLMClient, Role
from maverick.server import ServedAgent
from maverick.testing import ScriptedClient, call, reply
from server.chat_server import ChatServer, Person, SlowModel

SENT: list[tuple[str, str | None]] = []


class Report(BaseModel):
    summary: str
    cities: list[str]


@tool(effect="pure")
async def get_weather(city: str) -> str:
    """Today's weather in a city."""
    return f"sunny in {city}"


@tool(approval=True)
async def send_mail(to: str, body: str, ctx: ToolContext) -> str:
    """Send an e-mail."""
    SENT.append((f"{to}: {body}", ctx.user_id))
    return "sent"


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    SENT.clear()


reporter = AgentDefinition(
    name="reporter",
    description="Writes a weather report.",
    prompt_config=PromptConfig(
        system_prompt="You write for ${audience}.", initial_messages=["Report on ${cities}."]
    ),
    tool_config=ToolConfig(tools=[get_weather]),
    output_config=OutputConfig(output_name="report", schema=Report),
)
clerk = AgentDefinition(
    name="clerk",
    description="Writes letters and sends them.",
    prompt_config=PromptConfig(system_prompt="You are a clerk."),
    tool_config=ToolConfig(tools=[get_weather, send_mail]),
)
MAIL = call("send_mail", to="bob@example.org", body="Hello Bob")


@asynccontextmanager
async def serving(
    folder: Path, client: LLMClient, *, limits: Any = None, agents: Any = (), **options: Any
) -> AsyncIterator[ChatServer]:
    """A server with two agents."""
    async with (
        SqliteJournal(folder / "runs.db") as journal,
        ChatServer(
            folder / "chat.db",
            agents=agents or (clerk, reporter),
            journal=journal,
            executor=AgentExecutor(client, **options),
            limits=limits,
        ) as server,
    ):
        yield server


async def begun(person: Person, message: str = "Write to Bob.") -> Any:
    """An answer that waits for a decision."""
    answer = await person.say(message)
    assert answer["status"] == "waiting"
    return answer.body


@pytest.mark.requirement("SERVER-AGENTS")
async def test_the_agents_are_listed_with_what_they_want(tmp_path: Path) -> None:
    no_key = AgentDefinition(
        name="no-key", description="Has no key.", model_config=ModelConfig(model="claude:claude-sonnet-5-5")
    )
    async with (
        SqliteJournal(tmp_path / "runs.db") as journal,
        ChatServer(tmp_path / "chat.db", agents=(clerk, reporter, no_key), journal=journal) as server,
    ):
        listed = (await server.person("ana").get("/api/agents"))["agents"]
        refused = await server.person(None).get("/api/agents")
        tasks = await server.person("ana").get("/api/tasks")

    assert [agent["name"] for agent in listed] == ["clerk", "reporter", "no-key"]
    assert [(agent["takes_words"], agent["typed"]) for agent in listed[:2]] == [(True, False), (False, True)]
    assert [(one["name"], one["type"], one["required"]) for one in listed[1]["inputs"]] == [
        ("audience", "string", True),
        ("cities", "string", True),
    ]
    assert "ANTHROPIC_API_KEY" in listed[2]["problem"]
    assert (refused.status, tasks.status) == (401, 404)


@pytest.mark.requirement("SERVER-AGENTS")
async def test_a_form_has_its_defaults_and_can_be_sent_again_with_other_values(tmp_path: Path) -> None:
    inputs = InputConfig({"text": str, "days": Input(int, default=3), "formal": Input(bool, default=True)})
    prompts = PromptConfig(initial_messages=["${text} ${days} ${formal}"])
    translator = AgentDefinition(
        name="translator", description="Translates.", prompt_config=prompts, input_config=inputs
    )
    client = ScriptedClient([reply("Bonjour."), reply("Salut.")])
    async with (
        SqliteJournal(tmp_path / "runs.db") as journal,
        ChatServer(
            tmp_path / "chat.db", agents=(translator,), journal=journal, executor=AgentExecutor(client)
        ) as server,
    ):
        ana = server.person("ana")
        listed = (await ana.get("/api/agents"))["agents"][0]["inputs"]
        first = await ana.post("/api/chat", {"message": "Hi", "inputs": {"days": 3, "formal": True}})
        again = {"conversation_id": first["conversation_id"], "replaces": first["user_message_id"]}
        await ana.post("/api/chat", {**again, "message": "Hey", "inputs": {"days": 4, "formal": False}})
        kept = await ana.get(f"/api/conversations/{first['conversation_id']}")

    assert [(one["name"], one["default"]) for one in listed] == [("days", 3), ("formal", True)]
    assert [one.messages[-1].content for one in client.requests] == ["Hi 3 True", "Hey 4 False"]
    assert (kept["inputs"], len(kept["messages"])) == ({"days": 4, "formal": False}, 2)


@pytest.mark.requirement("SERVER-AGENTS", "P1")
async def test_a_conversation_goes_on_from_all_that_was_said_and_done(tmp_path: Path) -> None:
    client = ScriptedClient(
        [call("get_weather", city="Brest"), reply("Sunny."), reply("Take a hat."), reply("As I said.")]
    )
    async with serving(tmp_path, client) as server:
        ana = server.person("ana")
        first = await ana.say("How is Brest?")
        second = await ana.say("And what ${now}?", first["conversation_id"])
        edited = await ana.post(
            "/api/chat",
            {
                "message": "Then?",
                "conversation_id": first["conversation_id"],
                "replaces": second["user_message_id"],
            },
        )
        kept = await ana.get(f"/api/conversations/{first['conversation_id']}")

    assert [first["response"], second["response"], edited["response"]] == [
        "Sunny.",
        "Take a hat.",
        "As I said.",
    ]
    assert first["tool_calls"][0]["result"] == {"success": True, "data": "sunny in Brest"}
    before, after = client.requests[1], client.requests[2]
    assert after.messages[: len(before.messages)] == before.messages  # the prefix rule
    assert [message.role for message in after.messages] == [
        Role.USER,
        Role.ASSISTANT,
        Role.TOOL_RESULT,
        Role.ASSISTANT,
        Role.USER,
    ]
    assert after.messages[-1].content == "And what ${now}?"
    assert [message.content for message in client.requests[3].messages[-2:]] == ["Sunny.", "Then?"]
    assert (kept["agent"], len(kept["messages"])) == ("clerk", 4)


@pytest.mark.requirement("SERVER-AGENTS")
async def test_an_agent_with_inputs_is_given_them_once_and_answers_with_its_type(tmp_path: Path) -> None:
    written = Report(summary="Sunny.", cities=["Brest"])
    report = written.model_dump()
    client = ScriptedClient([reply(written.model_dump_json())] * 2)
    async with serving(tmp_path, client) as server:
        ana = server.person("ana")
        words_only = await ana.post("/api/chat", {"agent": "reporter", "message": "hello"})
        missing = await ana.post("/api/chat", {"agent": "reporter", "inputs": {"audience": "sailors"}})
        unknown = await ana.post("/api/chat", {"agent": "reporters", "message": "hello"})
        answer = await ana.post(
            "/api/chat", {"agent": "reporter", "inputs": {"audience": "sailors", "cities": "Brest"}}
        )
        later = await ana.say("Now Quimper.", answer["conversation_id"])
        other = await ana.post(
            "/api/chat",
            {"agent": "clerk", "message": "hello", "conversation_id": answer["conversation_id"]},
        )
        again = await ana.post(
            "/api/chat", {"inputs": {"audience": "all"}, "conversation_id": answer["conversation_id"]}
        )
        shown = await ana.get(f"/api/conversations/{answer['conversation_id']}")

    assert [one.status for one in (words_only, missing, unknown, other, again)] == [422] * 5
    assert "audience, cities" in words_only.body["error"]["message"]
    assert "cities" in missing.body["error"]["message"]
    assert "Did you mean 'reporter'" in unknown.body["error"]["message"]
    assert (answer["output"], later["output"]) == (report, report)
    assert client.requests[0].system.startswith("You write for sailors.")
    assert client.requests[1].system == client.requests[0].system
    assert client.requests[0].messages[-1].content == "Report on Brest."
    assert client.requests[1].messages[-1].content == "Now Quimper."
    assert shown["messages"][0]["content"] == "audience: sailors\ncities: Brest"
    assert shown["messages"][1]["output"] == report


@pytest.mark.requirement("SERVER-AGENTS", "SERVER-APPROVALS", "P7")
async def test_a_tool_waits_for_the_user_and_the_same_answer_goes_on(tmp_path: Path) -> None:
    client = ScriptedClient([call("get_weather", city="Brest"), MAIL, reply("It is sent.")])
    async with serving(tmp_path, client) as server:
        ana = server.person("ana")
        waiting = await begun(ana)
        approval = waiting["approval"]
        conversation = f"/api/conversations/{waiting['conversation_id']}"
        asked = await ana.get(conversation)
        busy = await ana.say("Hurry up.", waiting["conversation_id"])
        listed = (await ana.get("/api/approvals"))["approvals"]
        before = list(SENT)
        done = await ana.post(f"/api/approvals/{approval['id']}/approve")
        again = await ana.post(f"/api/approvals/{approval['id']}/approve")
        late = await ana.post(f"/api/approvals/{approval['id']}/deny")
        kept = await ana.get(conversation)

    assert (approval["tool_name"], approval["agent"]) == ("send_mail", "clerk")
    assert approval["arguments"] == {"to": "bob@example.org", "body": "Hello Bob"}
    assert (asked["approval"], asked["running"]) == (approval, None)
    assert [call["tool_name"] for call in asked["messages"][-1]["tool_calls"]] == ["get_weather"]
    assert ([one["id"] for one in listed], busy.code, before) == ([approval["id"]], "waiting", [])
    assert (done["status"], done["response"], done["run_id"]) == (
        "complete",
        "It is sent.",
        waiting["run_id"],
    )
    assert SENT == [("bob@example.org: Hello Bob", "user_ana")]
    assert (again.body, late.code) == (done.body, "decided")
    assert [(said["role"], said["content"]) for said in kept["messages"]] == [
        ("user", "Write to Bob."),
        ("assistant", "It is sent."),
    ]
    assert [call["tool_name"] for call in kept["messages"][-1]["tool_calls"]] == ["get_weather", "send_mail"]


@pytest.mark.requirement("SERVER-AGENTS", "SERVER-APPROVALS", "P7")
async def test_a_call_is_made_with_the_arguments_that_were_agreed_to(tmp_path: Path) -> None:
    async with serving(tmp_path, ScriptedClient([MAIL, reply("It is sent.")])) as server:
        ana = server.person("ana")
        path = f"/api/approvals/{(await begun(ana))['approval']['id']}/approve"
        wrong = await ana.post(path, {"arguments": {"to": 5}})
        answer = await ana.post(path, {"arguments": {"to": "eve@example.org", "body": "Hello Eve"}})

    assert (wrong.status, answer["response"]) == (422, "It is sent.")
    assert SENT == [("eve@example.org: Hello Eve", "user_ana")]


@pytest.mark.requirement("SERVER-AGENTS", "SERVER-APPROVALS")
async def test_a_denial_tells_the_model_why(tmp_path: Path) -> None:
    client = ScriptedClient([MAIL, reply("Then I will not.")])
    async with serving(tmp_path, client) as server:
        ana = server.person("ana")
        waiting = await begun(ana)
        answer = await ana.post(
            f"/api/approvals/{waiting['approval']['id']}/deny", {"reason": "Bob has moved."}
        )

    assert (answer["status"], answer["response"], SENT) == ("complete", "Then I will not.", [])
    assert "Bob has moved." in client.requests[1].messages[-1].content


@pytest.mark.requirement("SERVER-AGENTS", "SERVER-APPROVALS", "SERVER-ISOLATION", "P7")
async def test_another_user_decides_only_if_the_agent_allows_it(tmp_path: Path) -> None:
    client = ScriptedClient([MAIL, reply("It is sent.")])

    def may_approve(_: object, by: str) -> bool:
        return by == "user_boss"

    async with serving(tmp_path, client, may_approve=may_approve) as server:
        ana, bob, boss = (server.person(name) for name in ("ana", "bob", "boss"))
        waiting = await begun(ana)
        path = f"/api/approvals/{waiting['approval']['id']}/approve"
        seen = [(await person.get("/api/approvals"))["approvals"] for person in (ana, bob, boss)]
        shown = await ana.get(f"/api/conversations/{waiting['conversation_id']}")
        refused = [(await person.post(path)).status for person in (ana, bob)]
        decided = await boss.post(path)
        answer = await ana.get(f"/api/runs/{waiting['run_id']}")
        others = [
            (await boss.get(f"/api/{what}")).status
            for what in (f"runs/{waiting['run_id']}", f"conversations/{waiting['conversation_id']}")
        ]

    assert [len(approvals) for approvals in seen] == [0, 0, 1]
    assert (seen[2][0]["user_id"], seen[2][0]["arguments"]["to"]) == ("user_ana", "bob@example.org")
    assert shown["approval"]["may_decide"] is False
    assert (refused, decided.body, answer["response"]) == ([403, 404], {"status": "decided"}, "It is sent.")
    assert others == [404, 404]


@pytest.mark.requirement("SERVER-AGENTS", "SERVER-ISOLATION")
async def test_users_of_an_agent_never_meet(tmp_path: Path) -> None:
    client = ScriptedClient([MAIL, reply("It is sent."), reply("Hello Bob.")])
    async with serving(tmp_path, client) as server:
        ana, bob = server.person("ana"), server.person("bob")
        waiting = await begun(ana)
        run, conversation = waiting["run_id"], waiting["conversation_id"]
        approval = f"/api/approvals/{waiting['approval']['id']}"
        tries = [
            await bob.get(f"/api/runs/{run}"),
            await bob.get(f"/api/runs/{run}/events"),
            await bob.post(f"/api/runs/{run}/stop"),
            await bob.post(f"{approval}/approve"),
            await bob.post(f"{approval}/deny"),
            await bob.say("hello", conversation),
            await bob.get(f"/api/conversations/{conversation}/export"),
        ]
        assert (await bob.get("/api/approvals"))["approvals"] == []
        done = await ana.post(f"{approval}/approve")
        own = await bob.say("hello")

    assert [one.status for one in tries] == [404] * 7
    assert (done["response"], own["response"]) == ("It is sent.", "Hello Bob.")
    assert [message.content for message in client.requests[-1].messages] == ["hello"]


@pytest.mark.requirement("SERVER-AGENTS")
@pytest.mark.parametrize("how", ["stop", "delete"])
async def test_an_answer_that_waits_can_be_stopped(tmp_path: Path, how: str) -> None:
    client = ScriptedClient([MAIL, reply("On we go.")])
    async with serving(tmp_path, client) as server:
        ana = server.person("ana")
        waiting = await begun(ana)
        if how == "stop":
            stopped = await ana.post(f"/api/runs/{waiting['run_id']}/stop")
            assert (stopped["status"], SENT) == ("stopped", [])
            too_late = await ana.post(f"/api/approvals/{waiting['approval']['id']}/approve")
            assert (too_late.status, too_late.code) == (409, "ended")
            later = await ana.say("Never mind.", waiting["conversation_id"])
            assert later["response"] == "On we go."
        else:
            gone = await ana.ask("DELETE", f"/api/conversations/{waiting['conversation_id']}")
            late = await ana.post(f"/api/approvals/{waiting['approval']['id']}/approve")
            assert (gone.status, late.status) == (204, 404)

        assert (await ana.get("/api/approvals"))["approvals"] == []
        assert SENT == []


@pytest.mark.requirement("SERVER-AGENTS", "SERVER-STREAM")
async def test_a_stream_goes_on_after_a_decision_from_the_last_event(tmp_path: Path) -> None:
    client = ScriptedClient([MAIL, reply("It is sent.")])
    async with serving(tmp_path, client) as server:
        ana = server.person("ana")
        asked = [event async for event in ana.follow("Write to Bob.")]
        run = asked[-1].data["run_id"]
        path = f"/api/approvals/{asked[-1].data['approval']['id']}/approve"
        went_on = [event async for event in ana.events("POST", path)]
        last = asked[-1].id
        seen = [event async for event in ana.events("GET", f"/api/runs/{run}/events", after=last)]

    assert [event.name for event in asked] == ["start", "tool_start", "approval", "done"]
    assert asked[1].data["arguments"] == {"to": "bob@example.org", "body": "Hello Bob"}
    names = list(dict.fromkeys(event.name for event in went_on))
    assert names == ["start", "tool_start", "tool_end", "text", "done"]
    assert went_on[0].data["goes_on"] is True
    assert (asked[-1].data["status"], went_on[-1].data["status"]) == ("waiting", "complete")
    assert [event.id for event in seen] == [event.id for event in went_on]


@pytest.mark.requirement("SERVER-AGENTS", "P2")
async def test_a_decision_made_elsewhere_is_found_by_the_next_server(tmp_path: Path) -> None:
    async with serving(tmp_path, ScriptedClient([MAIL])) as server:
        waiting = await begun(server.person("ana"))
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        await journal.approve(waiting["approval"]["id"], by="user_ana")

    async with serving(tmp_path, ScriptedClient([reply("It is sent.")])) as server:
        answer = await server.person("ana").get(f"/api/runs/{waiting['run_id']}")

    assert (answer["response"], len(SENT)) == ("It is sent.", 1)


@pytest.mark.requirement("SERVER-AGENTS", "P1", "P10")
@pytest.mark.parametrize("decided", ["here", "elsewhere"])
async def test_an_answer_whose_agent_has_changed_fails_with_what_it_did_and_the_next_one_knows_it(
    tmp_path: Path, decided: str
) -> None:
    async with serving(tmp_path, ScriptedClient([call("get_weather", city="Brest"), MAIL])) as server:
        waiting = await begun(server.person("ana"))
    client, approval = ScriptedClient([reply("As you know, it is sunny.")]), waiting["approval"]["id"]
    changed = replace(clerk, prompt_config=PromptConfig(system_prompt="You are a polite clerk."))
    async with serving(tmp_path, client, agents=(changed, reporter)) as server:
        ana = server.person("ana")
        if decided == "here":
            failed = await ana.post(f"/api/approvals/{approval}/approve")
        else:
            async with SqliteJournal(tmp_path / "runs.db") as journal:
                await journal.approve(approval, by="user_ana")
            failed = await ana.get(f"/api/runs/{waiting['run_id']}")
        kept = await ana.get(f"/api/conversations/{waiting['conversation_id']}")
        later = await ana.say("Go on.", waiting["conversation_id"])

    assert (failed["status"], later["status"], SENT) == ("failed", "complete", [])
    assert "was changed" in failed["reason"]
    assert "is kept: get_weather." in failed["reason"]
    made = [(one["tool_name"], one["result"]["success"]) for one in failed["tool_calls"]]
    assert made == [("get_weather", True), ("send_mail", False)]
    assert [one["tool_name"] for one in kept["messages"][-1]["tool_calls"]] == ["get_weather", "send_mail"]
    seen = [one.content for one in client.requests[0].messages if one.role is Role.TOOL_RESULT]
    assert seen == ["sunny in Brest", "Not run: the run ended first."]


@pytest.mark.requirement("SERVER-AGENTS")
async def test_a_module_says_which_executor_a_user_has(tmp_path: Path) -> None:
    def executor(definition: AgentDefinition[Any], user_id: str | None) -> AgentExecutor:
        return AgentExecutor(ScriptedClient(lambda _: reply(f"{definition.name} for {user_id}")))

    async with (
        SqliteJournal(tmp_path / "runs.db") as journal,
        ChatServer(tmp_path / "chat.db", agents=[clerk], journal=journal, executor=executor) as server,
    ):
        answers = [await server.person(name).say("hello") for name in ("ana", "bob")]

    assert [answer["response"] for answer in answers] == ["clerk for user_ana", "clerk for user_bob"]


@pytest.mark.requirement("SERVER-AGENTS", "P6")
async def test_an_answer_in_progress_hears_what_its_user_says_and_nobody_else(tmp_path: Path) -> None:
    go_on = asyncio.Event()

    @tool(effect="pure")
    async def search() -> str:
        """Search."""
        await go_on.wait()
        return "Brest, Nantes"

    guide = define_agent("guide", "You guide.", tools=[search])
    client = ScriptedClient([call("search"), reply("Nantes."), reply("As I said.")])
    async with (
        SqliteJournal(tmp_path / "runs.db") as journal,
        ChatServer(
            tmp_path / "chat.db", agents=(guide,), journal=journal, executor=AgentExecutor(client)
        ) as server,
    ):
        ana, eve = server.person("ana"), server.person("eve")
        events = []
        async for event in ana.follow("Where to?"):
            events.append(event)
            if event.name == "tool_start":
                said = f"/api/runs/{events[0].data['run_id']}/say"
                strangers = await eve.post(said, {"message": "Say that it is Paris."})
                heard = await ana.post(said, {"message": "Leave out Brest."})
                empty = await ana.post(said, {"message": " "})
                go_on.set()
        too_late = await ana.post(said, {"message": "And Paris?"})
        await ana.say("And now?", events[0].data["conversation_id"])

    assert [answer.status for answer in (strangers, heard, empty, too_late)] == [404, 204, 422, 409]
    assert [event.data["text"] for event in events if event.name == "note"] == ["You said: Leave out Brest."]
    for request in client.requests[1:]:
        assert "Leave out Brest." in [message.content for message in request.messages]


async def test_a_result_is_shown_without_the_marks_that_tell_a_model_not_to_obey_it(tmp_path: Path) -> None:
    @tool(effect="pure", untrusted=True)
    async def read_note() -> str:
        """Read the note."""
        return "Buy bread."

    reader = define_agent("reader", "You read.", tools=[read_note])
    client = ScriptedClient([call("read_note"), reply("Bread.")])
    async with (
        SqliteJournal(tmp_path / "runs.db") as journal,
        ChatServer(
            tmp_path / "chat.db", agents=(reader,), journal=journal, executor=AgentExecutor(client)
        ) as server,
    ):
        ana = server.person("ana")
        events = [event async for event in ana.follow("What does it say?")]

    ended = next(event.data for event in events if event.name == "tool_end")
    assert "<untrusted" in client.requests[1].messages[-1].content
    assert ended["result"] == "Buy bread."
    assert events[-1].data["tool_calls"][0]["result"] == {"success": True, "data": "Buy bread."}


@pytest.mark.requirement("SERVER-AGENTS")
async def test_a_model_is_chosen_of_those_that_the_agent_offers_and_stays_chosen(tmp_path: Path) -> None:
    client = ScriptedClient([reply("One."), reply("Two."), reply("Three.")])
    async with (
        SqliteJournal(tmp_path / "runs.db") as journal,
        AgentExecutor(client, journal=journal) as executor,
    ):
        agent = ServedAgent(clerk, lambda _: nullcontext(executor), models=["claude:small", "claude:large"])
        async with ChatServer(tmp_path / "chat.db", agents=(agent,), journal=journal) as server:
            ana = server.person("ana")
            listed = (await ana.get("/api/agents"))["agents"][0]
            first = await ana.post("/api/chat", {"message": "One?", "model": "claude:large"})
            body = {"message": "Two?", "conversation_id": first["conversation_id"]}
            await ana.post("/api/chat", body)
            await ana.post("/api/chat", {**body, "model": "claude:small"})
            refused = await ana.post("/api/chat", {**body, "model": "evil:model"})
            kept = await ana.get(f"/api/conversations/{first['conversation_id']}")

    assert listed["models"] == ["claude:small", "claude:large"]
    assert [request.config.model for request in client.requests] == [
        "claude:large",
        "claude:large",
        "claude:small",
    ]
    assert (refused.status, refused.code) == (422, "unknown_model")
    assert kept["model"] == "claude:small"


@pytest.mark.requirement("SERVER-AGENTS", "SERVER-CONVERSATIONS")
@pytest.mark.parametrize("ends", ["restarted", "stopped"])
async def test_what_is_said_to_an_answer_is_kept_in_its_place_whatever_becomes_of_the_answer(
    tmp_path: Path, ends: str
) -> None:
    guide = define_agent("guide", "You guide.")
    slow = SlowModel("To Brest.")
    async with serving(tmp_path, slow, agents=(guide,)) as server:
        ana = server.person("ana")
        following = ana.follow("Where to?")
        begun = (await anext(following)).data
        await slow.asked()
        path = f"/api/conversations/{begun['conversation_id']}"
        run = f"/api/runs/{begun['run_id']}"
        said = await ana.post(f"{run}/say", {"message": "Leave out Brest."})
        queued = (await ana.get(path))["queued"]
        if ends == "stopped":
            await ana.post(f"{run}/stop")
    client = ScriptedClient([reply("Nantes, then."), reply("By train.")])
    async with serving(tmp_path, client, agents=(guide,)) as server:
        ana = server.person("ana")
        events = [event async for event in ana.events("GET", f"{run}/events")]
        kept = await ana.get(path)
        exported = await ana.get(f"{path}/export?format=markdown")
        await ana.say("How?", begun["conversation_id"])

    assert (said.status, queued, kept["queued"]) == (204, ["Leave out Brest."], [])
    parts = [(part["type"], part["text"]) for part in kept["messages"][-1]["parts"]]
    assert "**You, meanwhile:** Leave out Brest." in exported.body
    assert [message.content for message in client.requests[-1].messages].count("Leave out Brest.") == 1
    if ends == "stopped":
        assert (parts, events[-1].data["status"]) == ([("said", "Leave out Brest.")], "stopped")
    else:
        assert parts == [("said", "Leave out Brest."), ("text", "Nantes, then.")]
        assert "restarted" in events[1].data["text"]
