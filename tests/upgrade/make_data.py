"""Makes the files of ``tests/data/VERSION``: ``python make_data.py FOLDER``, with the code of that version on the path.

It uses public names only. Each step is a process of its own, since some of them kill themselves.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import aiohttp
import uvicorn

from maverick import AbortSignal, AgentExecutor
from maverick.chat import AgentRunner, Database, MCPToolServer
from maverick.exceptions import NetworkError, RateLimitError
from maverick.journal import SqliteJournal
from maverick.model import Message, ModelInfo, Price, Request
from maverick.server import TokenSigner, client_protocol, create_app
from maverick.testing import RecordingClient, ScriptedClient, Turn, call, calls, fail, reply
from maverick.tools import Permissions
from upgrade.agents import PASSWORD, Says, by_turn, clerk, coder, manager, reader, reading, reporter

Step: TypeAlias = Callable[[Path], Coroutine[Any, Any, None]]

KEY = "sk-live-0123456789abcdef"
"""What no file may hold."""
TASK = {"boss": "Ana", "prompt": "the usual"}


def die(write: str, number: int, *, before: bool = False) -> Callable[[str, bool], None]:
    """Kill this process at the write of that name and number."""
    left = number

    def on_write(name: str, is_before: bool) -> None:
        nonlocal left
        if (name, is_before) == (write, before):
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    return on_write


@asynccontextmanager
async def executing(
    folder: Path, *turns: Says, **options: Any
) -> AsyncIterator[tuple[AgentExecutor, SqliteJournal]]:
    async with SqliteJournal(folder / "runs.db") as journal:
        yield AgentExecutor(ScriptedClient(by_turn(*turns)), journal=journal, **options), journal


# The journal ----------------------------------------------------------------------------------------------------

ORDER = call("order", item="tea", count=2, price=1.5, to={"street": "Rue"}, size="large", notes=["soon"])


async def finished(folder: Path) -> None:
    """A run of three turns, with an odd text in it, and a fork of it."""
    looked = calls(call("look", what="door \ud800"), call("count_up", name="doors"), text="I look.")
    async with executing(folder, looked, ORDER, reply("All done.", thinking="So.")) as (executor, _):
        await executor.execute(clerk, inputs=TASK, run_id="finished")
        await executor.fork("finished", clerk, turn=2, edit="Only look, please.", new_run_id="forked")


async def typed(folder: Path) -> None:
    """A run that had to mend its answer, which is of a declared type."""
    good = reply('{"summary": "Sunny.", "cities": ["Brest"]}')
    async with executing(folder, reply("Sunny!"), good) as (executor, _):
        await executor.execute(reporter, inputs={"prompt": "Report."}, run_id="typed")


async def failed(folder: Path) -> None:
    """A run whose model fails for good."""
    slow = RateLimitError("Slow down.", retry_after=0.01, status=429, request_id="req_1")
    async with SqliteJournal(folder / "runs.db") as journal:
        client = ScriptedClient([fail(slow), *[fail(NetworkError("No network."))] * 3])
        await AgentExecutor(client, journal=journal).execute(clerk, inputs=TASK, run_id="failed")


async def aborted(folder: Path) -> None:
    """A run that a person stops."""
    stop = AbortSignal()
    async with executing(folder, call("look", what="door"), reply("Never said.")) as (executor, _):
        async for event in executor.stream(clerk, inputs=TASK, run_id="aborted", signal=stop):
            if event.type == "tool_call_end":
                stop.abort("enough")


async def denied(folder: Path) -> None:
    """A run whose executor forbids a call."""
    permissions = Permissions("ask", allow=["*"], deny=["send(to=bob)"])
    script = (call("send", to="bob"), reply("I may not."))
    async with executing(folder, *script, permissions=permissions) as (executor, _):
        await executor.execute(clerk, inputs=TASK, run_id="denied")


async def killed(folder: Path) -> None:
    """A run that is killed after it began to send a letter."""
    async with executing(folder, call("look", what="door"), call("send", to="ana"), reply("Sent.")) as (
        executor,
        journal,
    ):
        journal.on_write = die("ToolsStarted", 2)
        await executor.execute(clerk, inputs=TASK, run_id="killed")


async def killed_again(folder: Path) -> None:
    """A run that is killed, resumed, and killed again."""
    script = (call("look", what="door"), call("look", what="window"), reply("Looked."))
    async with executing(folder, *script) as (executor, journal):
        with suppress(RuntimeError):
            journal.on_write = _fail_at("ModelCalled", 2)
            await executor.execute(clerk, inputs=TASK, run_id="killed-again")
        journal.on_write = die("ModelCalled", 2)
        await executor.resume("killed-again", clerk)


async def waiting(folder: Path) -> None:
    """A run that waits for Ana's decision, and one whose decision has been made and not been used yet."""
    async with executing(folder, call("shred", what="letters"), reply("Gone.")) as (executor, journal):
        await executor.execute(clerk, inputs=TASK, run_id="waiting", user_id="ana")
        await executor.execute(clerk, inputs=TASK, run_id="approved", user_id="ana")
        await executor.execute(clerk, inputs=TASK, run_id="shredded", user_id="ana")
        await journal.approve("approved:1:0", by="ana")
        await journal.approve("shredded:1:0", by="ana")
        await executor.resume("shredded", clerk)


async def managed(folder: Path) -> None:
    """A run with a subagent."""
    async with SqliteJournal(folder / "runs.db") as journal:
        client = ScriptedClient(_managing)
        await AgentExecutor(client, journal=journal).execute(
            manager, inputs={"prompt": "Report and send."}, run_id="managed"
        )


async def managing(folder: Path) -> None:
    """A run that is killed while its subagent works."""
    async with SqliteJournal(folder / "runs.db") as journal:
        journal.on_write = die("ModelCalled", 3)  # the second of the subagent
        client = ScriptedClient(_managing)
        await AgentExecutor(client, journal=journal).execute(
            manager, inputs={"prompt": "Report and send."}, run_id="managing"
        )


def _managing(request: Request) -> Says:
    if any(tool.name == "reporter" for tool in request.tools):
        return by_turn(call("reporter", prompt="Brest?"), call("send", to="ana"), reply("Sent."))(request)
    return by_turn(call("look", what="sky"), reply('{"summary": "Sunny.", "cities": ["Brest"]}'))(request)


async def coding(folder: Path) -> None:
    """A run with the tools of Maverick itself that is killed between two turns."""
    workspace = folder / "workspace"
    workspace.mkdir()
    script = (
        call("write_file", path="a.txt", content="tea"),
        call("read_file", path="a.txt"),
        reply("Done."),
    )
    async with executing(folder, *script) as (executor, journal):
        journal.on_write = die("ModelCalled", 3)
        await executor.execute(coder(workspace), inputs={"prompt": "Write."}, run_id="coding")


async def condensed(folder: Path) -> None:
    """Runs that are condensed several times, with thoughts and without, and are killed in the middle, or not."""
    for run_id, thinks, kill_at in (
        ("thought", True, 0),
        ("thought-cut", True, 5),
        ("thought-cut-later", True, 8),
        ("thoughtless", False, 0),
        ("thoughtless-cut", False, 6),
    ):
        async with SqliteJournal(folder / "condensed.db") as journal:
            client = ScriptedClient(reading(8, thinks=thinks))
            if kill_at:
                journal.on_write = _fail_at("ModelCalled", kill_at)
            with suppress(RuntimeError):
                await AgentExecutor(client, journal=journal).execute(
                    reader, inputs={"prompt": "Read."}, run_id=run_id
                )


def _fail_at(write: str, number: int) -> Callable[[str, bool], None]:
    left = number

    def on_write(name: str, is_before: bool) -> None:
        nonlocal left
        if name == write and is_before:
            left -= 1
            if not left:
                raise RuntimeError(name)

    return on_write


# The cassette ---------------------------------------------------------------------------------------------------


async def recorded(folder: Path) -> None:
    """A run of an agent; and requests of which one is streamed, one fails, one is left, and all tell a secret."""
    info = ModelInfo(context_window=200_000, price=Price(3, 15))
    model = by_turn(call("look", what="door"), reply("A door."))
    client = RecordingClient(ScriptedClient(model, info=info), folder / "cassette.json")
    await AgentExecutor(client).execute(clerk, inputs=TASK)

    def speak(request: Request) -> Turn:
        match request.messages[0].content:
            case "fail":
                return fail(RateLimitError(f"The key {KEY} is over its limit.", retry_after=2.5, status=429))
            case "break":
                return fail(NetworkError("Cut."), after="Once upon")
            case "stream":
                return reply("Once upon a time", chunks=["Once", " upon", " a time"], thinking="A story.")
        return reply(f"Your key is {KEY}.")

    client = RecordingClient(ScriptedClient(speak), folder / "cassette.json", existing="append")
    await client.run(Request([Message.user(f"My key is {KEY}.")]))
    with suppress(RateLimitError):
        await client.run(Request([Message.user("fail")]))
    for text in ("stream", "break"):
        with suppress(NetworkError):
            async for _ in client.stream(Request([Message.user(text)])):
                pass
    left = client.stream(Request([Message.user("left")]))
    await anext(left)
    await left.aclose()  # type: ignore[attr-defined]


# The chat -------------------------------------------------------------------------------------------------------


async def chatted(folder: Path) -> None:
    """Two users, their conversations, a question that is open, and an answer that is killed in the middle."""
    database = Database(folder / "chat.db")
    journal = SqliteJournal(folder / "chat_runs.db")
    runner = AgentRunner(database.session, MCPToolServer(database.session), journal=journal)
    signer = TokenSigner(secrets.token_bytes(48))
    app = create_app(runner, database, verifier=signer, signup=True)
    server = uvicorn.Server(uvicorn.Config(app, http=client_protocol(), port=0, log_level="error"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        assert not serving.done()
        await asyncio.sleep(0.01)
    url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    async with aiohttp.ClientSession(url) as http:
        ana = await _sign_up(http, "ana")
        bob = await _sign_up(http, "bob")
        shopping = await _say(http, ana, "Add task buy milk", key="milk")
        await _say(http, ana, "Add task call Bob with high priority", shopping)
        await _say(http, ana, "Show my tasks", shopping)
        letters = await _say(http, bob, "Add task write a letter")
        await _say(http, ana, "Delete the task buy milk")
        journal.on_write = die("ToolsStarted", 1)
        await _say(http, bob, "Add task post the letter", letters, key="post")


async def _sign_up(http: aiohttp.ClientSession, name: str) -> dict[str, str]:
    async with http.post("/api/signup", json={"name": name, "password": PASSWORD}) as answer:
        return {"Authorization": f"Bearer {(await answer.json())['token']}"}


async def _say(
    http: aiohttp.ClientSession, user: dict[str, str], message: str, conversation: str = "", key: str = ""
) -> str:
    headers = user | ({"Idempotency-Key": key} if key else {})
    body = {"message": message} | ({"conversation_id": conversation} if conversation else {})
    async with http.post("/api/chat", json=body, headers=headers) as answer:
        assert answer.status == 200, await answer.text()
        return str((await answer.json())["conversation_id"])


# All of it ------------------------------------------------------------------------------------------------------

STEPS: dict[str, Step] = {
    step.__name__: step
    for step in (
        *(finished, typed, failed, aborted, denied, killed, killed_again, waiting, managed, managing, coding),
        condensed,
        *(recorded, chatted),
    )
}
DIE = ("killed", "killed_again", "managing", "coding", "chatted")


def main(folder: Path) -> None:
    """Take all steps, and leave each database in one file."""
    for name in STEPS:
        print(name, flush=True)  # noqa: T201 - for whoever runs it
        status = subprocess.run([sys.executable, __file__, str(folder), name], check=False).returncode  # noqa: S603
        assert status == (-signal.SIGKILL if name in DIE else 0), status
    for database in folder.glob("*.db"):
        connection = sqlite3.connect(database, isolation_level=None)
        if database.name == "chat.db":  # a question stays open for minutes, and tests answer it years later
            connection.execute("UPDATE confirmations SET expires_at = '2999-01-01 00:00:00.000000'")
        connection.execute("VACUUM")
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.close()


if __name__ == "__main__":
    place = Path(sys.argv[1]).absolute()
    if len(sys.argv) > 2:
        asyncio.run(STEPS[sys.argv[2]](place))
    else:
        main(place)
