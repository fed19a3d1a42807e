"""Each example runs offline and shows what it is there to show."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
from fastapi.testclient import TestClient

from docs.documents import ROOT, run_module
from maverick import AgentExecutor, Image, SqliteJournal
from maverick.exceptions import ApprovalError, ServerError
from maverick.model import Request, Role, Usage
from maverick.testing import ScriptedClient, TurnLike, call, calls, reply
from media_files import png
from warm_start import Program

EXAMPLES = ROOT / "examples"

pytestmark = pytest.mark.requirement("F-EXAMPLES")

PROGRAMS = {
    "hello": ["42", "2 turns"],
    "limits_and_abort": ["max_turns: ", "max_tool_calls: ", "timeout: ", "aborted: ", "seen enough"],
    "own_agent": ["Maverick", "1 turn, 42 tokens"],
    "custom_client": ["(attempt 2 in 0.05 s)", "LAND AHEAD!", "11 tokens for $0.000032"],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_without_a_model_runs_as_it_is(name: str, tmp_path: Path) -> None:
    ran = run_module(name, cwd=tmp_path, home=EXAMPLES)

    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    for expected in PROGRAMS[name]:
        assert expected in ran.stdout


async def test_extraction_asks_again_until_the_total_is_right() -> None:
    wrong = {"number": "R-7", "due": "2026-12-01", "items": [{"name": "tea", "price": 4.5}], "total": 5}
    client = ScriptedClient([reply(json.dumps(wrong)), reply(json.dumps(wrong | {"total": 4.5}))])

    invoice = await load("extraction").main("Invoice R-7 …", client)

    assert invoice.total == 4.5
    assert "The total is not the sum of the items." in client.requests[1].messages[-1].content


async def test_rag_reads_the_pages_of_its_tenant_only() -> None:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE pages USING fts5 (tenant, page, text)")
    database.execute("INSERT INTO pages VALUES ('acme', '12', 'Leave is 30 days.')")
    database.execute("INSERT INTO pages VALUES ('other', '9', 'Leave is 10 days.')")
    rag = load("rag")
    client = ScriptedClient([call("search", query="leave"), reply("30 days (page 12).")])

    answer = await rag.main("How long is the leave?", rag.Library(database, "acme"), client)

    assert answer == "30 days (page 12)."
    assert client.requests[1].messages[-1].content == '["12: Leave is 30 days."]'
    database.close()


def test_agents_are_part_of_an_application_and_of_its_sign_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "made-up")
    client = ScriptedClient([call("send_mail", to="bob", body="Hello"), reply("It is sent.")])
    app = load("embedded_server").application(SqliteJournal(tmp_path / "runs.db"), client)
    at = "/assistant/api"
    headers = {"Cookie": "session=a-session-of-ana"}

    with TestClient(app, base_url="http://localhost") as http:
        page, script = http.get("/assistant/").text, http.get("/assistant/app.js")
        nobody = http.get(f"{at}/conversations").status_code
        other_site = http.post(
            f"{at}/chat", json={"message": "hello"}, headers={**headers, "Origin": "https://evil.example"}
        )
        asked = http.post(f"{at}/chat", json={"message": "Write to Bob."}, headers=headers).json()
        decision = f"{at}/approvals/{asked['approval']['id']}/approve"
        not_ana = http.post(decision, headers=headers).status_code
        boss = http.post(decision, headers={"Cookie": "session=a-session-of-the-boss"}).json()
        answer = http.get(f"{at}/runs/{asked['run_id']}", headers=headers).json()
        large = http.post(f"{at}/chat", content=b"x" * 400_000, headers=headers).json()["error"]["code"]

    assert "<title>Maverick</title>" in page
    assert 'src="app.js"' in page
    assert (script.status_code, nobody, other_site.status_code) == (200, 401, 403)
    assert (asked["status"], not_ana, boss) == ("waiting", 403, {"status": "decided"})
    assert (answer["response"], large) == ("It is sent.", "invalid")
    fds = Path("/proc/self/fd")
    assert not [fd for fd in fds.glob("*") if str(tmp_path) in os.path.realpath(fd)]  # all is closed


def test_the_endpoint_streams_text_and_tool_calls() -> None:
    example = load("fastapi_streaming")
    client = ScriptedClient([call("get_weather", city="Brest"), reply("Rain.", chunks=["Ra", "in."])])
    example.app.dependency_overrides[example.get_executor] = lambda: AgentExecutor(client)

    answer = TestClient(example.app).post("/ask", json={"question": "Weather in Brest?"})

    assert answer.text == (
        'event: tool\ndata: "get_weather"\n\nevent: text\ndata: "Ra"\n\nevent: text\ndata: "in."\n\n'
        "event: done\ndata: null\n\n"
    )


def test_another_person_approves_the_next_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, "-c", _ASK, str(EXAMPLES)], check=True, capture_output=True, text=True, timeout=60
    )
    example = load("approval")

    asyncio.run(example.main("list"))
    waiting = capsys.readouterr().out.split()
    with pytest.raises(ApprovalError):
        asyncio.run(example.main("approve", waiting[0], "ana"))
    client = ScriptedClient([reply("Your money is on its way.")])
    asyncio.run(example.main("approve", waiting[0], "bea", client=client))

    assert asked.stdout.split()[0] == "awaiting_approval"
    assert waiting[1:3] == ["ana", "refund"]
    assert capsys.readouterr().out == "Your money is on its way.\n"


_ASK = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
import approval
from maverick.testing import ScriptedClient, call
asyncio.run(approval.main("ask", "Refund order 7.", client=ScriptedClient([call("refund", order=7, euros=4.5)])))
"""


async def test_subagents_share_one_budget(capsys: pytest.CaptureFixture[str]) -> None:
    def answer(request: Request) -> TurnLike:
        if request.messages[-1].role is Role.TOOL_RESULT:
            return reply("Here is what I found.")
        if request.tools[0].name == "researcher":
            return calls(call("researcher", topic="tides"), call("researcher", topic="winds"))
        return call("look_up", topic="tides")

    answer_text = await load("subagents").main("The sea", ScriptedClient(answer))

    shown = capsys.readouterr().out
    assert answer_text == "Here is what I found."
    assert "editor calls researcher {'topic': 'tides'}" in shown
    assert shown.count("editor/researcher ends: complete") == 2
    assert "60 tokens" not in shown  # of the editor alone


def test_fifty_jobs_survive_four_kills(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    (tmp_path / "fifty_jobs.py").write_text(_JOBS, encoding="utf-8")
    env = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{EXAMPLES}", "PYTHONWARNINGS": "error"}

    for kill in range(1, 5):
        worker = Program("fifty_jobs", str(path), env=env)
        _wait_for(lambda filed=8 * kill: len(_filed(path)) >= filed)
        worker.kill()
        worker.wait()
    finished = Program("fifty_jobs", str(path), env=env, stdout=subprocess.PIPE, text=True)

    assert finished.communicate(timeout=120)[0] == "50 of 50 reports are filed.\n"
    assert sorted(_filed(path)) == list(range(50))


_JOBS = """
import asyncio, sys
import jobs
from maverick.model import Role
from maverick.testing import ScriptedClient, call, reply

slots = asyncio.Semaphore(4)

async def answer(request):
    async with slots:
        await asyncio.sleep(0.02)
    if request.messages[-1].role is Role.TOOL_RESULT:
        return reply("Done.")
    return call("file_report", customer=int(request.messages[0].content.split()[1]), text="A good one.")

asyncio.run(jobs.main(sys.argv[1], ScriptedClient(answer)))
"""


def _filed(path: Path) -> list[int]:
    if not path.exists():
        return []
    database = sqlite3.connect(path, timeout=30)
    try:
        return [customer for (customer,) in database.execute("SELECT customer FROM reports")]
    except sqlite3.OperationalError:  # there is no table yet
        return []
    finally:
        database.close()


def _wait_for(condition: object) -> None:
    assert callable(condition)
    deadline = time.monotonic() + 200
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


async def test_a_chat_goes_on_where_its_table_ends(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "chat.db")
    client = ScriptedClient(lambda request: reply(f"{len(request.messages)} messages"))
    chats = load("chat_database")

    answers = [
        await chats.Chat(database, client).answer(user, "home", "Hello.")
        for user in ("ana", "ana", "ben", "ana")
    ]

    assert answers == ["1 messages", "3 messages", "1 messages", "5 messages"]
    database.close()


async def test_the_second_provider_answers_and_the_cost_is_capped(capsys: pytest.CaptureFixture[str]) -> None:
    first = ScriptedClient(lambda _: ServerError("Overloaded."))
    second = ScriptedClient(lambda _: reply("Yes.", usage=Usage(10, 5, cost_usd=0.001)))

    await load("fallback").main(["Is it open?", "Is it far?"], [first, second])

    assert capsys.readouterr().out.count("($0.0010): Yes.\n") == 2


async def test_mcp_tools_are_held_to_permissions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def refuse(question: str) -> str:
        asked.append(question)
        return "n"

    monkeypatch.setattr("builtins.input", refuse)
    server = tmp_path / "server.py"
    server.write_text(_FILES_SERVER)
    script = [
        calls(call("files_read", name="a"), call("files_write", name="a"), call("files_delete", name="a")),
        reply("I could only read it."),
    ]

    answer = await load("mcp_permissions").main(
        "Tidy up.", [sys.executable, str(server)], ScriptedClient(script)
    )

    assert answer == "I could only read it."
    assert capsys.readouterr().out.split() == [
        *("files_read:", "finished"),
        *("files_write:", "denied"),
        *("files_delete:", "denied"),
    ]
    assert len(asked) == 1


_FILES_SERVER = """
from mcp.server import MCPServer

server = MCPServer("files")
for verb in ("read", "write", "delete"):

    def act(name: str, verb: str = verb) -> str:
        return f"{verb} {name}"

    server.add_tool(act, name=verb, description=f"{verb.title()} a file.")
server.run()
"""


async def test_an_image_and_the_settings_of_a_model_are_sent(tmp_path: Path) -> None:
    picture = tmp_path / "shelf.png"
    picture.write_bytes(png(8, 8))
    client = ScriptedClient([reply('{"products": ["tea"], "gaps": 2}')])

    shelf = await load("vision").main(str(picture), client)

    assert shelf.gaps == 2
    [message] = client.requests[0].messages
    assert any(isinstance(part, Image) for part in message.parts)
    sent = client.requests[0].config
    assert (sent.thinking, sent.effort, sent.cache, sent.max_tokens) == ("adaptive", "high", "1h", 8000)


async def test_a_migrated_loop_goes_on_with_the_old_conversation() -> None:
    kept = [
        {"role": "user", "content": "How many screws?"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "count_stock", "input": {"item": "screws"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "8"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Eight."}]},
    ]
    client = ScriptedClient([call("order", item="screws", number=100), reply("Ordered.")])

    assert await load("migrated_loop").main("Order a hundred more.", kept, client) == "Ordered."
    assert [message.role for message in client.requests[0].messages] == [
        *(Role.USER, Role.ASSISTANT, Role.TOOL_RESULT, Role.ASSISTANT, Role.USER)
    ]


def test_the_tests_of_an_agent_pass() -> None:
    tests = [each for name, each in vars(load("test_weather_agent")).items() if name.startswith("test_")]

    for each in tests:
        each()

    assert len(tests) == 3


def test_no_example_is_left_out() -> None:
    tested = Path(__file__).read_text(encoding="utf-8")

    for path in EXAMPLES.glob("*.py"):
        assert (
            f'"{path.stem}": [' in tested
            or f'load("{path.stem}")' in tested
            or f"import {path.stem}\n" in tested
        )


def load(name: str) -> ModuleType:
    """The module that an example is."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where Pydantic looks for the types of its models
    spec.loader.exec_module(module)
    return module
