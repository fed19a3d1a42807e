"""Clients nobody here wrote, reading our two other streams to the end."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from maverick.testing import ScriptedClient, TurnLike, call, reply
from server.chat_server import PATIENCE, ChatServer, Person
from server.npm_packages import npm_folder
from server.test_agents import MAIL, SENT, serving

HERE = Path(__file__).parent


async def play(script: str, folder: Path, server: ChatServer, *, approve: bool) -> dict[str, Any]:
    """Run a script of a client with Node against the server, as Ana."""
    token = (server.person("ana").http.headers["Authorization"]).removeprefix("Bearer ")
    scenario = json.dumps({"url": server.url, "token": token, "approve": approve})
    process = await asyncio.create_subprocess_exec(
        "node",
        "--input-type=module",
        cwd=folder,
        env={**os.environ, "SCENARIO": scenario},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE * 2):
        told, complained = await process.communicate((HERE / script).read_bytes())
    assert process.returncode == 0, complained.decode()
    answer: dict[str, Any] = json.loads(told.decode().splitlines()[-1])
    return answer


async def titles(person: Person) -> list[str]:
    return [task["title"] for task in (await person.get("/api/tasks"))["tasks"]]


@pytest.mark.requirement("SERVER-AG-UI")
@pytest.mark.parametrize("approve", [True, False], ids=["approved", "denied"])
async def test_the_ag_ui_client_reads_tool_calls_and_resumes_an_interrupt(
    server: ChatServer, ana: Person, approve: bool
) -> None:
    seen = await play("ag_ui_client.mjs", npm_folder("@ag-ui/client"), server, approve=approve)

    added, asked, decided = (run["types"] for run in seen["seen"])
    assert added[:4] == ["RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"]
    assert added[-1] == asked[-1] == decided[-1] == "RUN_FINISHED"
    assert "TOOL_CALL_RESULT" in asked
    assert (
        seen["interrupt"]["message"]
        == "Do you really want to delete 'buy milk'? Reply 'yes delete' to confirm."
    )
    assert seen["messages"][-1]["role"] == "assistant"
    assert "Got it! Added 'buy milk' to your list. Anything else?" in [
        said.get("content") for said in seen["messages"]
    ]
    assert await titles(ana) == ([] if approve else ["buy milk"])


@pytest.mark.requirement("SERVER-AI-SDK")
@pytest.mark.parametrize("approve", [True, False], ids=["approved", "denied"])
async def test_the_ai_sdk_reads_tool_calls_and_answers_an_approval_request(
    server: ChatServer, ana: Person, approve: bool
) -> None:
    seen = await play("ai_sdk_client.mjs", npm_folder("ai"), server, approve=approve)

    assert (seen["failures"], seen["status"]) == ([], "ready")
    first, last = seen["messages"][1], seen["messages"][-1]
    states = [(part["type"], part["state"]) for part in first["parts"] if "state" in part]
    assert states == [("dynamic-tool", "output-available"), ("text", "done")]
    assert [part["state"] for part in seen["asking"] if part["type"] == "dynamic-tool"] == [
        "approval-requested"
    ]
    decided = next(part for part in last["parts"] if part["type"] == "dynamic-tool")
    assert decided["state"] == ("output-available" if approve else "output-denied")
    assert last["parts"][-1]["type"] == "text"
    assert await titles(ana) == ([] if approve else ["buy milk"])


@pytest.mark.requirement("SERVER-AG-UI", "SERVER-AI-SDK")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/ag-ui", {"threadId": "t", "runId": "r", "messages": []}),
        ("/api/ag-ui", {"threadId": "t", "runId": "r", "messages": [{"role": "user", "content": "a\0b"}]}),
        (
            "/api/ai-sdk",
            {"id": "c", "messages": [{"role": "assistant", "parts": [{"type": "text", "text": "x"}]}]},
        ),
        ("/api/ai-sdk", {"id": "c", "messages": [{"role": "user", "parts": []}]}),
    ],
)
async def test_a_request_without_anything_to_answer_is_refused(
    ana: Person, path: str, body: dict[str, Any]
) -> None:
    refused = await ana.post(path, body)

    assert refused.status == 422


@pytest.mark.requirement("SERVER-AG-UI", "SERVER-STREAM")
async def test_a_client_comes_back_to_the_stream_of_another_form(ana: Person) -> None:
    whole = [
        event
        async for event in ana.events("POST", "/api/chat?format=ag-ui", {"message": "Add task buy milk"})
    ]
    run_id = whole[0].data["runId"]
    seen = whole[4]

    rest = [
        event async for event in ana.events("GET", f"/api/runs/{run_id}/events?format=ag-ui", after=seen.id)
    ]

    assert seen.id is not None
    assert rest == whole[5:]


@pytest.mark.requirement("SERVER-AI-SDK", "SERVER-STREAM")
async def test_the_stream_of_the_ai_sdk_says_what_it_is(ana: Person) -> None:
    async with ana.http.post("/api/chat?format=ai-sdk", json={"message": "hello"}) as response:
        told = await response.text()

    assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert told.rstrip().endswith("data: [DONE]")


@pytest.mark.requirement("SERVER-AG-UI", "SERVER-AI-SDK", "SERVER-AGENTS")
async def test_clients_approve_and_deny_the_tools_of_any_agent(tmp_path: Path) -> None:
    SENT.clear()
    script: list[TurnLike] = [call("get_weather", city="Brest"), reply("Sunny."), MAIL, reply("All is done.")]
    async with serving(tmp_path, ScriptedClient(script * 2)) as server:
        ag_ui = await play("ag_ui_client.mjs", npm_folder("@ag-ui/client"), server, approve=True)
        ai_sdk = await play("ai_sdk_client.mjs", npm_folder("ai"), server, approve=False)

    told, asked, decided = (run["types"] for run in ag_ui["seen"])
    assert (told[0], asked[-1], decided[-1]) == ("RUN_STARTED", "RUN_FINISHED", "RUN_FINISHED")
    assert "TOOL_CALL_START" in asked
    assert ag_ui["interrupt"]["toolCallId"]
    assert ag_ui["messages"][-1]["content"] == "All is done."
    assert (ai_sdk["failures"], ai_sdk["status"]) == ([], "ready")
    assert [part["state"] for part in ai_sdk["asking"] if part["type"] == "dynamic-tool"] == [
        "approval-requested"
    ]
    last = ai_sdk["messages"][-1]["parts"]
    assert next(part["state"] for part in last if part["type"] == "dynamic-tool") == "output-denied"
    assert (last[-1]["type"], last[-1]["text"]) == ("text", "All is done.")
    assert len(SENT) == 1
