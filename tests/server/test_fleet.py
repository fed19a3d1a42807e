"""Servers whose answers the workers of a fleet make: any number of either, and none that is needed."""

from __future__ import annotations

import asyncio
import re
import subprocess
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Self

import aiohttp
import pytest
from aiohttp import web

from canary import CANARY, lookout
from cli.command import environment
from maverick import AgentDefinition, AgentExecutor
from maverick.chat import AgentRunner, Database, MCPToolServer
from maverick.chat.phrases import unbacked
from maverick.fleet import Fleet
from maverick.fleet.store import FleetStore
from maverick.fleet.worker import Worker
from maverick.journal import PostgresJournal
from maverick.model import LLMClient
from maverick.server import ServedAgent, ServerLimits
from maverick.server.agents import Agents
from maverick.server.answer_maker import AnswerMaker
from maverick.server.answer_store import AnswerStore
from maverick.server.answerers import AgentAnswerer, TaskChat
from maverick.server.fleet_answers import chat_drive, fleet_name
from maverick.server.limits import AdmissionQueue
from maverick.testing import ScriptedClient, call, reply
from server.chat_server import LINES, PATIENCE, ChatServer, Event, Person, SlowModel
from server.test_agents import MAIL, SENT, clerk
from temporal import connected, running_server
from warm_start import Maverick
from wire.openai_answers import DONE, sse


class ChatFleet:
    """A fleet that answers in the chat, with servers and workers as a test wants them."""

    def __init__(self, stack: AsyncExitStack, temporal: str, url: str) -> None:
        self._stack = stack
        self._temporal = temporal
        self._url = url
        self._queue = f"test-{uuid.uuid4().hex[:8]}"

    async def server(self, *agents: AgentDefinition[Any]) -> ChatServer:
        """A server of the fleet, with the task chat or with agents."""
        made = ChatServer(self._url, fleet=await self._connect(), agents=agents)
        return await self._stack.enter_async_context(made)

    @asynccontextmanager
    async def worker(self, client: LLMClient, *served: AgentDefinition[Any]) -> AsyncIterator[Worker]:
        """A worker of the fleet, which leaves at the end."""
        database = Database(self._url)
        async with await self._connect() as fleet:
            runner = AgentRunner(
                database.session, MCPToolServer(database.session), client=client, journal=fleet.journal
            )
            executor = AgentExecutor(client)
            answerers = [
                AgentAnswerer(ServedAgent.made(agent, fleet.journal, executor), fleet.journal)
                for agent in served
            ]
            agents = Agents([TaskChat(runner), *answerers])
            maker = AnswerMaker(AnswerStore(database.session, ServerLimits(), agents), AdmissionQueue(8))
            drive = chat_drive(maker)
            worker = Worker(
                fleet,
                dict.fromkeys(map(fleet_name, (TaskChat.name, *(agent.name for agent in served))), drive),
            )
            task = asyncio.create_task(worker.run())
            try:
                yield worker
            finally:
                worker.stop()
                await asyncio.wait_for(task, PATIENCE)
                await maker.aclose()
                await runner.aclose()
                database.close()

    async def _connect(self) -> Fleet:
        journal = PostgresJournal(self._url)
        return await Fleet.connect(temporal=self._temporal, journal=journal, queue=self._queue)


@pytest.fixture
async def fleet(temporal_server: str, postgres_url: str) -> AsyncIterator[ChatFleet]:
    async with AsyncExitStack() as stack:
        yield ChatFleet(stack, temporal_server, postgres_url)


def shown(events: list[Event]) -> str:
    """The text that a client has on its screen: an answer that begins again is shown anew."""
    text = ""
    for event in events:
        text = "" if event.name == "start" else text + event.data.get("text", "")
    return text


async def until_said(events: AsyncIterator[Event], lines: int) -> list[Event]:
    """Read a stream until so many lines were said."""
    seen: list[Event] = []
    async with asyncio.timeout(PATIENCE):
        async for event in events:
            seen.append(event)
            if shown(seen) == "".join(LINES[:lines]).rstrip():
                break
    return seen


async def rest(person: Person, seen: list[Event]) -> list[Event]:
    path = f"/api/runs/{seen[0].data['run_id']}/events"
    return [event async for event in person.events("GET", path, after=seen[-1].id)]


@pytest.mark.requirement("SERVER-FLEET", "SERVER-AGENTS", "SERVER-APPROVALS", "P7")
async def test_an_agent_of_a_fleet_waits_for_a_decision_and_goes_on_after_it(fleet: ChatFleet) -> None:
    SENT.clear()
    first, second = await fleet.server(clerk), await fleet.server(clerk)
    ana, elsewhere, bob = first.person("ana"), second.person("ana"), second.person("bob")
    model = ScriptedClient(
        [call("get_weather", city="Brest"), MAIL, reply("It is sent."), reply("You are welcome.")]
    )

    async with fleet.worker(model, clerk):
        asked = [event async for event in ana.follow("Write to Bob.")]
        body = asked[-1].data
        path = f"/api/approvals/{body['approval']['id']}/approve"
        refused = await bob.post(path)
        went_on = [event async for event in elsewhere.events("POST", path)]
        seen = await rest(ana, asked)
        later = await elsewhere.say("Thank you.", body["conversation_id"])

    assert list(dict.fromkeys(event.name for event in asked)) == [
        "start",
        "tool_start",
        "tool_end",
        "approval",
        "done",
    ]
    assert (body["status"], refused.status, SENT) == (
        "waiting",
        404,
        [("bob@example.org: Hello Bob", "user_ana")],
    )
    assert (went_on[-1].data["status"], went_on[-1].data["run_id"]) == ("complete", body["run_id"])
    assert (shown(went_on), seen[-1].data["response"]) == ("It is sent.", "It is sent.")
    assert [event.id for event in seen][-1] == went_on[-1].id
    assert [one["tool_name"] for one in went_on[-1].data["tool_calls"]] == ["get_weather", "send_mail"]
    assert later["response"] == "You are welcome."


@pytest.mark.requirement("SERVER-FLEET")
async def test_an_answer_goes_on_at_another_server_where_the_first_one_stopped(fleet: ChatFleet) -> None:
    first, second, model = await fleet.server(), await fleet.server(), SlowModel(*LINES)

    async with fleet.worker(model):
        model.let(2)
        seen = await until_said(first.person("ana").follow("hello"), 2)
        ana = second.person("ana")
        await until_said(ana.events("GET", f"/api/runs/{seen[0].data['run_id']}/events"), 2)
        await first.app.state.service.aclose()
        model.let()
        left = await rest(ana, seen)

    assert "start" not in [event.name for event in left]
    assert shown([*seen, *left]) == unbacked("".join(LINES))
    assert (left[-1].data["status"], left[-1].data["response"]) == ("complete", unbacked("".join(LINES)))
    conversation = await ana.get(f"/api/conversations/{seen[0].data['conversation_id']}")
    assert [message["content"] for message in conversation["messages"]] == ["hello", unbacked("".join(LINES))]


@pytest.mark.requirement("SERVER-FLEET", "SERVER-STOP")
@pytest.mark.parametrize("begun", [True, False])
async def test_an_answer_of_a_worker_is_stopped_at_any_server_also_before_it_has_begun(
    begun: bool, fleet: ChatFleet
) -> None:
    first, second, model = await fleet.server(), await fleet.server(), SlowModel(*LINES)
    ana = first.person("ana")

    async with AsyncExitStack() as stack:
        if begun:
            await stack.enter_async_context(fleet.worker(model))
            model.let(2)
        seen = await until_said(ana.follow("hello"), 2 if begun else 0)
        stopped = await second.person("ana").post(f"/api/runs/{seen[0].data['run_id']}/stop")
        left = await rest(ana, seen)
        again = ana.follow("and now?", seen[0].data["conversation_id"])
        accepted = await anext(again)

    said = unbacked("".join(LINES[:2]).rstrip()) if begun else ""
    assert (stopped["status"], stopped["response"]) == ("stopped", said)
    assert left[-1].data == stopped.body
    assert accepted.name == "start"


@pytest.mark.requirement("SERVER-FLEET", "SERVER-OPERATIONS")
async def test_a_server_of_a_fleet_is_ready_only_while_temporal_can_be_reached(postgres_url: str) -> None:
    with running_server() as (address, temporal):
        await connected(address)
        fleet = await Fleet.connect(temporal=address, journal=PostgresJournal(postgres_url))
        async with ChatServer(postgres_url, fleet=fleet) as server:
            before = await server.person(None).get("/ready")
            temporal.kill()
            temporal.wait()
            for _ in range(PATIENCE):
                after = await server.person(None).get("/ready")
                if after.status != 200:
                    break
                await asyncio.sleep(1)  # that it was reachable is believed for a moment

    assert (before.status, after.status, after.code) == (200, 503, "unavailable")


class PacedModel:
    """A model on the wire that says line after line to whoever asks, each when it is let."""

    def __init__(self) -> None:
        self.url = ""
        self.asked = 0
        self._allowed = asyncio.Semaphore(0)

    def let(self, lines: int) -> None:
        for _ in range(lines):
            self._allowed.release()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Self]:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._answer)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
            yield self
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for line in LINES:
            await self._allowed.acquire()
            await response.write(sse({"choices": [{"index": 0, "delta": {"content": line}}]}))
        await response.write(sse({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}))
        await response.write(DONE)
        return response


@asynccontextmanager
async def command(home: Path, settings: dict[str, str], *words: str) -> AsyncIterator[Maverick]:
    """A command of Maverick in a process of its own, until the end or a kill."""
    process = Maverick(
        *words,
        cwd=home,
        env=environment(home, **settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        lookout.look("the output of a command", process.communicate())


async def url_of(server: Maverick) -> str:
    assert server.stdout is not None
    async with asyncio.timeout(2 * PATIENCE):
        line = await asyncio.to_thread(server.stdout.readline)
    return str(re.findall(r"http://[^ ]+", line.decode())[0])


@pytest.mark.requirement("SERVER-FLEET", "SERVER-COMMAND")
async def test_an_answer_whose_worker_and_server_are_killed_is_there_once_and_so_are_its_words(
    tmp_path: Path, temporal_server: str, postgres_url: str
) -> None:
    settings = {
        "MAVERICK_TEMPORAL": temporal_server,
        "MAVERICK_TEMPORAL_QUEUE": f"test-{uuid.uuid4().hex[:8]}",
        "MAVERICK_JOURNAL": postgres_url,
        "MAVERICK_SERVER_SECRET": CANARY,
    }
    serve = ("serve", "--no-browser", "--port", "0", "--signup")
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(PacedModel().serving())
        answering = {
            **settings,
            "MAVERICK_AGENT_MODEL": "openai-chat:paced",
            "MAVERICK_AGENT_BASE_URL": model.url,
            "MAVERICK_AGENT_API_KEY": "made-up",
        }
        servers = [await stack.enter_async_context(command(tmp_path, settings, *serve)) for _ in range(2)]
        workers = [await stack.enter_async_context(command(tmp_path, answering, "worker")) for _ in range(2)]
        urls = [await url_of(server) for server in servers]
        async with aiohttp.ClientSession(urls[0]) as http:
            token = (await Person(http).post("/api/signup", {"name": "ana", "password": CANARY}))["token"]
        headers = {"Authorization": f"Bearer {token}"}
        first, second = [
            Person(await stack.enter_async_context(aiohttp.ClientSession(url, headers=headers)))
            for url in urls
        ]

        journal = await stack.enter_async_context(aclosing(PostgresJournal(postgres_url)))
        async with asyncio.timeout(2 * PATIENCE):
            while len(await journal.database.fetch("SELECT FROM maverick.fleet_workers")) < len(workers):  # noqa: ASYNC110 - other processes register
                await asyncio.sleep(0.1)

        model.let(2)
        seen = await until_said(first.follow("hello"), 2)
        driven = await FleetStore(journal).get(seen[0].data["run_id"])
        assert driven is not None
        for process in (servers[0], *workers):
            if process is servers[0] or f"-{process.pid}-" in str(driven.worker):
                process.kill()
        model.let(2 * len(LINES))
        left = await rest(second, seen)
        conversation = await second.get(f"/api/conversations/{seen[0].data['conversation_id']}")

    assert model.asked == 2
    assert shown([*seen, *left]) == unbacked("".join(LINES))
    assert [message["content"] for message in conversation["messages"]] == ["hello", unbacked("".join(LINES))]
