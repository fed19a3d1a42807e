"""A real server on this machine, people who use it, and models whose every word is a test's to give."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import aiohttp
import pytest
import uvicorn

from canary import CANARY
from chat_database import prepared
from maverick.chat import AgentRunner, Database, MCPToolServer
from maverick.chat.prompt import CHAT_LIMITS
from maverick.journal import Journal
from maverick.loop import AgentDefinition, RunConfig
from maverick.model import LLMClient, Request, Response, StreamItem, TextDelta
from maverick.providers.client import Client
from maverick.runtime import AgentExecutor
from maverick.server import (
    ConnectionLimits,
    Principal,
    ServedAgent,
    ServerLimits,
    TokenSigner,
    Verifier,
    accounts,
    client_protocol,
    create_app,
)
from maverick.server.agents import Agents
from maverick.server.answer_store import AnswerStore
from maverick.server.answerers import TaskChat
from maverick.server.served_agent import MakeExecutor

if TYPE_CHECKING:
    from maverick.fleet import Fleet

PATIENCE = 30
"""Seconds that anything may take on a busy machine."""
SECRET = CANARY.encode()
LINES = ("This is line one.\n", "This is line two.\n", "This is line three.\n", "This is line four.")
"""What a model may say, each a sentence that is over when it is said."""


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash passwords at next to no cost: most of what signing in takes. What it really costs has a test of its own."""
    cost = f"{accounts._N},{accounts._R},{accounts._P}$"
    monkeypatch.setattr(accounts, "_NO_PASSWORD", accounts._NO_PASSWORD.replace(cost, f"2,{accounts._R},1$"))
    monkeypatch.setattr(accounts, "_N", 2)
    monkeypatch.setattr(accounts, "_P", 1)


def answer_store(database: Database) -> AnswerStore:
    """The answers of a server that has the task chat."""
    runner = AgentRunner(database.session, MCPToolServer(database.session))
    return AnswerStore(database.session, ServerLimits(), Agents([TaskChat(runner)]))


class ChatServer:
    """A server that is up for as long as the context is.

    Args:
        location: The database.
        client: The model; by default the offline one.
        limits: How much a user may ask for.
        journal: Where runs are kept.
        verifier: Proves who users are.
        metrics_token: What a collector of metrics proves itself with.
        run_config: How much an answer may take.
        allowed_hosts: The names it may be called by.
        connections: How patient it is with slow clients.
        fleet: The fleet whose workers answer.
        agents: Agents that are served in place of the task chat.
        executor: What runs them.
        with_tasks: Whether the task chat is served, too.
    """

    def __init__(
        self,
        location: Path | str,
        *,
        client: LLMClient | None = None,
        limits: ServerLimits | None = None,
        journal: Journal | None = None,
        verifier: Verifier | None = None,
        metrics_token: str | None = None,
        run_config: RunConfig = CHAT_LIMITS,
        allowed_hosts: Sequence[str] = (),
        connections: ConnectionLimits | None = None,
        fleet: Fleet | None = None,
        agents: Sequence[AgentDefinition[Any] | ServedAgent] = (),
        executor: AgentExecutor | MakeExecutor | None = None,
        with_tasks: bool = False,
    ) -> None:
        self._protocol = client_protocol(connections)
        self.database = Database(prepared(location))
        self.signer = TokenSigner(SECRET)
        runner = AgentRunner(
            self.database.session,
            MCPToolServer(self.database.session),
            client=client,
            journal=journal,
            limits=run_config,
        )
        self.app = create_app(
            None if agents and not with_tasks else runner,
            self.database,
            agents=agents,
            journal=journal,
            executor=executor,
            verifier=verifier or self.signer,
            signup=True,
            limits=limits,
            metrics_token=metrics_token,
            allowed_hosts=allowed_hosts,
            fleet=fleet,
        )
        self._people: list[Person] = []

    @property
    def cookie(self) -> str:
        """The name of a browser's cookie, which is of this port."""
        return f"maverick_session_{self.url.rpartition(':')[2]}"

    async def __aenter__(self) -> Self:
        config = uvicorn.Config(
            self.app,
            http=self._protocol,
            port=0,
            log_level="error",
            lifespan="on",
            timeout_graceful_shutdown=1,
            server_header=False,
        )
        self._server = uvicorn.Server(config)
        self._serving = asyncio.create_task(self._server.serve())
        async with asyncio.timeout(PATIENCE):
            while not self._server.started:
                assert not self._serving.done(), "the server did not start"
                await asyncio.sleep(0.005)
        self.url = f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for person in self._people:
            await person.http.close()
        await self.app.state.service.aclose()
        self._server.should_exit = True
        await self._serving
        self.database.close()

    def person(self, name: str | None) -> Person:
        """Somebody who is signed in; or nobody, without a name."""
        token = None if name is None else self.signer.issue(Principal(f"user_{name}", name))
        return self.bearer(token)

    def bearer(self, token: str | None) -> Person:
        """Whoever has a token."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        timeout = aiohttp.ClientTimeout(total=PATIENCE)
        person = Person(aiohttp.ClientSession(self.url, headers=headers, timeout=timeout))
        self._people.append(person)
        return person


@dataclass(frozen=True)
class Answered:
    """What the server answered."""

    status: int
    body: Any
    headers: Any

    def __getitem__(self, name: str) -> Any:
        assert self.status < 300, (self.status, self.body)
        return self.body[name]

    @property
    def code(self) -> str:
        """The code of a refusal."""
        code: str = self.body["error"]["code"]
        return code


@dataclass(frozen=True)
class Event:
    """A server-sent event."""

    id: int | None
    name: str
    data: Any


class Person:
    """A user at their client."""

    def __init__(self, http: aiohttp.ClientSession) -> None:
        self.http = http

    async def ask(self, method: str, path: str, body: Any = None, **options: Any) -> Answered:
        """Make a request and read what comes back."""
        if body is not None:
            options["json"] = body
        async with self.http.request(method, path, **options) as response:
            raw = await response.read()
            text = raw.decode()
            is_json = response.content_type == "application/json"
            return Answered(response.status, json.loads(text) if is_json and text else text, response.headers)

    async def get(self, path: str, **options: Any) -> Answered:
        return await self.ask("GET", path, **options)

    async def post(self, path: str, body: Any = None, **options: Any) -> Answered:
        return await self.ask("POST", path, body, **options)

    async def say(self, message: str, conversation_id: str | None = None, **options: Any) -> Answered:
        """Say something, and wait for the whole answer."""
        return await self.post(
            "/api/chat", {"message": message, "conversation_id": conversation_id}, **options
        )

    async def events(
        self, method: str, path: str, body: Any = None, *, after: int | None = None, **headers: str
    ) -> AsyncIterator[Event]:
        """Read a stream of events, as they come."""
        headers = {"Accept": "text/event-stream", **headers}
        if after is not None:
            headers["Last-Event-ID"] = str(after)
        options: dict[str, Any] = {} if body is None else {"json": body}
        async with self.http.request(method, path, headers=headers, **options) as response:
            assert response.status == 200, (response.status, await response.text())
            async for event in read_events(response.content):
                yield event

    async def follow(self, message: str, conversation_id: str | None = None) -> AsyncIterator[Event]:
        """Say something, and read the answer as it comes."""
        body = {"message": message, "conversation_id": conversation_id}
        async for event in self.events("POST", "/api/chat", body):
            yield event


async def read_events(content: aiohttp.StreamReader) -> AsyncIterator[Event]:
    fields: dict[str, str] = {}
    async for raw in content:
        line = raw.decode().rstrip("\n")
        if not line:
            if "data" in fields:
                data = fields["data"] if fields["data"] == "[DONE]" else json.loads(fields["data"])
                yield Event(int(fields["id"]) if "id" in fields else None, fields.get("event", ""), data)
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value


class SlowModel(Client):
    """A model that says the same words to everybody, each when it is let.

    Args:
        words: What it says.
    """

    def __init__(self, *words: str) -> None:
        self.words = words
        self._asked = asyncio.Semaphore(0)
        self._allowed = asyncio.Semaphore(0)

    async def asked(self, times: int = 1) -> None:
        """Wait until it is asked so many times more."""
        async with asyncio.timeout(PATIENCE):
            for _ in range(times):
                await self._asked.acquire()

    def let(self, count: int = 1000) -> None:
        """Let it say so many words."""
        for _ in range(count):
            self._allowed.release()

    async def run(self, request: Request) -> Response:
        return [item async for item in self.stream(request) if isinstance(item, Response)][-1]

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        self._asked.release()
        for word in self.words:
            await self._allowed.acquire()
            yield TextDelta(word)
        yield Response("".join(self.words))
