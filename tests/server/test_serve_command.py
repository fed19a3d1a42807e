"""``maverick serve``, in a process of its own."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import stat
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from canary import CANARY, lookout
from maverick.cli.main import main
from server.chat_server import PATIENCE, Person
from warm_start import Maverick

CREDENTIALS = {"name": "ana", "password": CANARY}


class Served:
    """A server process, and where it answers."""

    def __init__(self, process: Maverick, url: str, line: str) -> None:
        self.process = process
        self.url = url
        self.line = line

    async def end(self, how: signal.Signals) -> int:
        self.process.send_signal(how)
        return await asyncio.to_thread(self.process.wait, PATIENCE)


@asynccontextmanager
async def serving(home: Path, *options: str) -> AsyncIterator[Served]:
    environ = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    process = Maverick(
        *("serve", "--no-browser", "--port", "0", *options),
        cwd=home,
        env={**environ, "HOME": str(home), "PYTHONWARNINGS": "error"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(PATIENCE * 2):
            line = (await asyncio.to_thread(process.stdout.readline)).decode()
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert found is not None, (line, await asyncio.to_thread(process.stderr.read))
        yield Served(process, found[0], line)
    finally:
        process.kill()
        lookout.look("the output of a server", process.communicate())


@pytest.mark.requirement("SERVER-COMMAND", "SERVER-REVIVE")
async def test_a_server_that_is_killed_mid_answer_is_followed_by_one_that_completes_it(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, "--signup") as first:
        async with aiohttp.ClientSession(first.url) as http:
            token = (await Person(http).post("/api/signup", CREDENTIALS))["token"]
        headers = {"Authorization": f"Bearer {token}"}
        async with aiohttp.ClientSession(first.url, headers=headers) as http:
            ana = Person(http)
            seen = []
            async for event in ana.follow("add buy milk tomorrow"):
                seen.append(event)
                if event.name == "text":
                    await first.end(signal.SIGKILL)
                    break

    async with serving(tmp_path) as second, aiohttp.ClientSession(second.url, headers=headers) as http:
        ana = Person(http)
        path = f"/api/runs/{seen[0].data['run_id']}/events"
        rest = [event async for event in ana.events("GET", path, after=seen[-1].id)]
        tasks = (await ana.get("/api/tasks"))["tasks"]
        page = await ana.get("/")
        left = await second.end(signal.SIGINT)

    assert rest[-1].data["response"].startswith("Got it! Added 'buy milk' to your list. Anything else?")
    assert [task["title"] for task in tasks] == ["buy milk"]
    assert "<title>Maverick</title>" in page.body
    assert left in (0, 130, -signal.SIGINT)
    assert stat.S_IMODE((tmp_path / ".maverick" / "server.key").stat().st_mode) == 0o600


@pytest.mark.requirement("SERVER-COMMAND")
def test_a_sign_in_service_needs_an_audience(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    assert main(["serve", "--oidc-issuer", "https://login.example", "--no-browser"]) == 2
    assert "--oidc-audience" in capsys.readouterr().err


CLERK = '''
from maverick import AgentDefinition, AgentExecutor, ToolConfig, tool
from maverick.testing import ScriptedClient, call, reply


@tool(approval=True)
async def send_mail(to: str) -> str:
    """Send an e-mail."""
    with open("sent.txt", "a") as file:
        file.write(to)
    return "sent"


clerk = AgentDefinition(
    name="clerk", description="Sends letters.", tool_config=ToolConfig(tools=[send_mail])
)


def answer(request):
    has_result = any(message.tool_call_id for message in request.messages)
    return reply("It is sent.") if has_result else call("send_mail", to="bob")


def executor(definition, user_id):
    return AgentExecutor(ScriptedClient(answer))
'''
REPORTER = '---\nname: reporter\ndescription: Writes reports.\nmodel: "offline:"\n---\nYou write reports.\n'


@pytest.mark.requirement("SERVER-COMMAND", "SERVER-AGENTS", "P7")
async def test_agents_of_ones_own_are_served_and_a_decision_survives_a_kill(tmp_path: Path) -> None:
    (tmp_path / "clerk.py").write_text(CLERK)
    (tmp_path / "reporter.md").write_text(REPORTER)
    async with serving(tmp_path, "clerk.py", "reporter.md", "--signup") as first:
        async with aiohttp.ClientSession(first.url) as http:
            token = (await Person(http).post("/api/signup", CREDENTIALS))["token"]
        headers = {"Authorization": f"Bearer {token}"}
        async with aiohttp.ClientSession(first.url, headers=headers) as http:
            ana = Person(http)
            listed = (await ana.get("/api/agents"))["agents"]
            asked = await ana.say("Write to Bob.")
            await first.end(signal.SIGKILL)

    async with (
        serving(tmp_path, "clerk.py", "reporter.md") as second,
        aiohttp.ClientSession(second.url, headers=headers) as http,
    ):
        ana = Person(http)
        waiting = (await ana.get("/api/approvals"))["approvals"]
        unsent = (tmp_path / "sent.txt").exists()
        answer = await ana.post(f"/api/approvals/{waiting[0]['id']}/approve")

    assert [(agent["name"], agent["problem"]) for agent in listed] == [("clerk", ""), ("reporter", "")]
    assert (asked["status"], unsent) == ("waiting", False)
    assert (answer["response"], (tmp_path / "sent.txt").read_text()) == ("It is sent.", "bob")


@pytest.mark.requirement("SERVER-COMMAND")
def test_an_agent_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    for source in ("missing.py", "missing.md", "nobody", "missing_module:agent"):
        assert main(["serve", source, "--no-browser"]) == 2
        assert source.partition(":")[0] in capsys.readouterr().err


def token_in(link: Path) -> str:
    assert stat.S_IMODE(link.stat().st_mode) == 0o600
    return link.read_text().partition("#token=")[2].partition('"')[0]


@pytest.mark.requirement("SERVER-LOCAL")
async def test_the_printed_address_signs_its_user_in_once_with_the_tasks_of_the_chat(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    chat = Maverick(
        "chat",
        cwd=tmp_path,
        env={**environ, "HOME": str(tmp_path), "PYTHONWARNINGS": "error"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    await asyncio.to_thread(chat.communicate, b"add buy milk\n", PATIENCE * 2)

    async with serving(tmp_path) as served, aiohttp.ClientSession(served.url) as http:
        assert served.process.stdout is not None
        link = Path(served.line.partition("file://")[2].strip().removesuffix(")"))
        token = token_in(link)
        person = Person(http)
        first = await person.post("/api/local-session", {"token": token})
        async with asyncio.timeout(PATIENCE):
            line = (await asyncio.to_thread(served.process.stdout.readline)).decode()
        token_in_next = token_in(link) != token
        again = await person.post("/api/local-session", {"token": token})
        stranger = await person.post("/api/signup", CREDENTIALS)
        tasks = await person.get("/api/tasks", headers={"Authorization": f"Bearer {first['token']}"})
        await served.end(signal.SIGTERM)
        assert served.process.stderr is not None
        assert token.encode() not in await asyncio.to_thread(served.process.stderr.read)

    assert [task["title"] for task in tasks["tasks"]] == ["buy milk"]
    assert again.status == 401
    assert stranger.status == 404, "another user of the machine could use the agents"
    assert "token=" not in served.line + line, "others may read what is written to a log"
    assert link.name in line
    assert token_in_next


@pytest.mark.requirement("SERVER-LOCAL")
async def test_a_server_for_others_prints_no_token_and_takes_none(tmp_path: Path) -> None:
    async with (
        serving(tmp_path, "--allowed-host", "chat.example.org") as served,
        aiohttp.ClientSession(served.url) as http,
    ):
        refused = await Person(http).post("/api/local-session", {"token": "x"})

    assert "token" not in served.line
    assert refused.status == 404
