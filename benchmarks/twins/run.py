"""Runs the twins offline, with models that follow a script: ``python benchmarks/twins/run.py``.

Names of programs run only those. It needs an environment of its own, with ``pydantic-ai-slim[anthropic,openai,mcp,dbos]``, ``fastapi``, ``httpx``,
``aiolimiter`` and ``pytest-recording``. The test with a cassette is not run: recording one takes a key.
"""

from __future__ import annotations

import asyncio
import builtins
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ |= {"ANTHROPIC_API_KEY": "unused", "OPENAI_API_KEY": "unused"}

import pydantic_ai
from pydantic_ai import ModelHTTPError, ModelMessage, ModelResponse, TextPart, ToolCallPart, models
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

models.ALLOW_MODEL_REQUESTS = False
TWINS = Path(__file__).parent
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc000000301010"
    "0c9fe92ef0000000049454e44ae426082"
)
_SERVER = """
from mcp.server import MCPServer

server = MCPServer("files")
for verb in ("read", "write", "delete"):

    def act(name: str, verb: str = verb) -> str:
        return f"{verb} {name}"

    server.add_tool(act, name=verb, description=f"{verb.title()} a file.")
server.run()
"""


def scripted(*turns: Any) -> FunctionModel:
    remaining = iter(turns)

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        turn = next(remaining)
        return ModelResponse(parts=turn if isinstance(turn, list) else [turn])

    return FunctionModel(answer)


def after_tools(messages: list[ModelMessage]) -> bool:
    return messages[-1].parts[-1].part_kind == "tool-return"


async def extraction() -> None:
    import extraction

    wrong = {"number": "R-7", "due": "2026-12-01", "items": [{"name": "tea", "price": 4.5}], "total": 5}
    turns = [ToolCallPart("final_result", wrong), ToolCallPart("final_result", wrong | {"total": 4.5})]
    with extraction.reader.override(model=scripted(*turns)):
        assert (await extraction.main("Invoice R-7")).total == 4.5


async def rag() -> None:
    import rag

    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE pages USING fts5 (tenant, page, text)")
    turns = [ToolCallPart("search", {"query": "leave"}), TextPart("30 days.")]
    with rag.librarian.override(model=scripted(*turns)):
        assert await rag.main("How long is the leave?", rag.Library(database, "acme")) == "30 days."


async def fastapi_streaming() -> None:
    import fastapi_streaming

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        if after_tools(messages):
            yield "Ra"
            yield "in."
        else:
            yield {0: DeltaToolCall("get_weather", '{"city": "Brest"}', tool_call_id="c1")}

    with fastapi_streaming.reporter.override(model=FunctionModel(stream_function=stream)):
        answer = "".join([piece async for piece in fastapi_streaming.events("Weather in Brest?")])
    assert "get_weather" in answer
    assert answer.endswith("event: done\ndata: null\n\n")


async def approval() -> None:
    import approval

    with approval.clerk.override(model=scripted(ToolCallPart("refund", {"order": 7, "euros": 4.5}, "c1"))):
        await approval.main("ask", "Refund order 7.")
    await approval.main("list")
    with approval.clerk.override(model=scripted(TextPart("Your money is on its way."))):
        await approval.main("approve", "c1", "bea")


async def subagents() -> None:
    import subagents

    async def edit(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        if after_tools(messages):
            yield "Here is what I found."
        else:
            yield {0: DeltaToolCall("research", '{"topic": "tides"}', tool_call_id="c1")}

    async def look(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        if after_tools(messages):
            yield "Facts."
        else:
            yield {0: DeltaToolCall("look_up", '{"topic": "tides"}', tool_call_id="c2")}

    with (
        subagents.editor.override(model=FunctionModel(stream_function=edit)),
        subagents.researcher.override(model=FunctionModel(stream_function=look)),
    ):
        assert await subagents.main("The sea") == "Here is what I found."


async def jobs() -> None:
    program = [sys.executable, __file__, "worker", "jobs.db"]
    for kill in range(1, 5):
        worker = subprocess.Popen(program)
        while len(_filed()) < 8 * kill and worker.poll() is None:
            time.sleep(0.02)
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
    subprocess.run(program, check=True)
    assert sorted(_filed()) == list(range(50))


def worker() -> None:
    del sys.argv[1]
    slots = asyncio.Semaphore(4)

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        async with slots:
            await asyncio.sleep(0.02)
        if after_tools(messages):
            return ModelResponse(parts=[TextPart("Done.")])
        customer = int(messages[0].parts[-1].content.split()[1])
        return ModelResponse(
            parts=[ToolCallPart("file_report", {"customer": customer, "text": "A good one."})]
        )

    original = pydantic_ai.Agent  # a durable agent's model cannot be overridden later
    pydantic_ai.Agent = lambda _, **options: original(FunctionModel(answer), **options)
    import jobs

    asyncio.run(jobs.main())


def _filed() -> list[int]:
    try:
        with sqlite3.connect("jobs.db.reports", timeout=30) as database:
            return [customer for (customer,) in database.execute("SELECT customer FROM reports")]
    except sqlite3.OperationalError:
        return []


async def chat_database() -> None:
    import chat_database

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[TextPart(f"{len(messages)} messages")])

    chat = chat_database.Chat(sqlite3.connect(":memory:"))
    with chat_database.assistant.override(model=FunctionModel(answer)):
        assert [await chat.answer("ana", "home", "Hello.") for _ in range(2)] == ["1 messages", "3 messages"]


async def test_weather_agent() -> None:
    shutil.copy(TWINS / "test_weather_agent.py", ".")  # away from the settings of this project
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-k", "not temperature", "test_weather_agent.py"], check=True
    )


async def fallback() -> None:
    import fallback

    def overloaded(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise ModelHTTPError(529, "first")

    both = fallback.FallbackModel(FunctionModel(overloaded), scripted(TextPart("Yes."), TextPart("No.")))
    with fallback.support.override(model=both):
        await fallback.main(["Is it open?", "Is it far?"])


async def mcp_permissions() -> None:
    import mcp_permissions

    Path("server.py").write_text(_SERVER)
    turns = [
        [ToolCallPart("files_read", {"name": "a"}), ToolCallPart("files_write", {"name": "a"})],
        TextPart("I could only read it."),
    ]
    with mcp_permissions.archivist.override(model=scripted(*turns)):
        await mcp_permissions.main("Tidy up.", [sys.executable, "server.py"])


async def vision() -> None:
    import vision

    Path("shelf.png").write_bytes(PICTURE)
    with vision.stocktaker.override(
        model=scripted(ToolCallPart("final_result", {"products": ["tea"], "gaps": 2}))
    ):
        assert (await vision.main("shelf.png")).gaps == 2


async def migrated_loop() -> None:
    import migrated_loop

    kept = [
        {"role": "user", "content": "How many screws?"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "count_stock", "input": {"item": "screws"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "8"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Eight."}]},
    ]
    turns = [ToolCallPart("order", {"item": "screws", "number": 100}), TextPart("Ordered.")]
    with migrated_loop.clerk.override(model=scripted(*turns)):
        assert await migrated_loop.main("Order more.", json.loads(json.dumps(kept))) == "Ordered."


TWELVE: list[Callable[[], Any]] = [
    *(extraction, rag, fastapi_streaming, approval, subagents, jobs, chat_database, test_weather_agent),
    *(fallback, mcp_permissions, vision, migrated_loop),
]


def main() -> None:
    os.chdir(tempfile.mkdtemp())
    builtins.input = lambda _: "n"
    for program in [each for each in TWELVE if not sys.argv[1:] or each.__name__ in sys.argv[1:]]:
        asyncio.run(program())
        print(f"ok: {program.__name__}")
    print(f"pydantic-ai-slim {version('pydantic-ai-slim')}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        worker()
    else:
        main()
