"""Tools that block the event loop or hold the interpreter: they are named while they do, or ended in time."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from attacks import slow_tools
from maverick import AgentDefinition, AgentExecutor, ToolConfig, tool
from maverick.exceptions import InvalidToolError
from maverick.model import ToolContext
from maverick.telemetry import FIELDS, logger
from maverick.testing import ScriptedClient, call, calls, reply
from maverick.tools import Workspace
from maverick.tools.coding.search import Search

PATIENCE = 60


class Notes(logging.Handler):
    """The warnings that were given, and what was going on then."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.blocked: list[dict[str, Any]] = []
        self.heard = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, FIELDS, {}).get("event") == "tool_blocks_event_loop":
            self.blocked.append(getattr(record, FIELDS))
            self.heard.set()


@pytest.fixture
def notes() -> Iterator[Notes]:
    handler = Notes()
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


def worker(*tools: Any) -> AgentDefinition:
    return AgentDefinition(name="worker", description="Works.", tool_config=ToolConfig(tools=tools))


@pytest.mark.requirement("ATTACK-BLOCKING")
async def test_a_tool_that_blocks_the_event_loop_is_named_while_it_does(notes: Notes) -> None:
    was_told: list[bool] = []

    @tool(effect="pure")
    async def hog() -> str:
        """Block."""
        was_told.append(notes.heard.wait(PATIENCE))
        return "done"

    @tool(effect="pure")
    async def bystander() -> str:
        """Wait politely."""
        await asyncio.sleep(0)
        return "done"

    client = ScriptedClient([calls(call("bystander"), call("hog")), reply("Done.")])
    result = await AgentExecutor(client).execute(worker(hog, bystander), inputs={"prompt": "Go."})

    assert result.success
    assert was_told == [True]
    assert {note["tool"] for note in notes.blocked} == {"hog"}
    assert notes.blocked[0]["run_id"]
    assert notes.blocked[0]["seconds"] >= 1


@pytest.mark.requirement("ATTACK-BLOCKING")
async def test_a_tool_that_holds_the_interpreter_is_named_as_soon_as_it_lets_go(notes: Notes) -> None:
    @tool(effect="pure")
    def hold() -> str:
        """Hold the global lock."""
        text, taken = "a" * 20 + "!", 0.0
        while taken < 1.6:
            began, text = time.monotonic(), f"a{text}"
            re.search("(a+)+$", text)  # the lock is not let go within it
            taken = time.monotonic() - began
        return "done"

    result = await AgentExecutor(ScriptedClient([call("hold"), reply("Done.")])).execute(
        worker(hold), inputs={"prompt": "Go."}
    )

    assert result.success
    async with asyncio.timeout(PATIENCE):
        # Another test's tool may be named late.
        while "hold" not in {note["tool"] for note in notes.blocked}:  # noqa: ASYNC110 - of another thread
            await asyncio.sleep(0.05)


@pytest.mark.requirement("ATTACK-BLOCKING")
async def test_tools_that_wait_politely_are_not_named_and_have_one_thread_among_them(notes: Notes) -> None:
    @tool(effect="pure")
    async def nap() -> str:
        """Wait."""
        await asyncio.sleep(1.5)
        return "done"

    @tool(effect="pure")
    def work() -> str:
        """Block a thread."""
        time.sleep(1.5)
        return "done"

    client = ScriptedClient([calls(call("nap"), call("work"), call("nap")), reply("Done.")])
    await AgentExecutor(client).execute(worker(nap, work), inputs={"prompt": "Go."})

    watching = [thread for thread in threading.enumerate() if thread.name == "maverick-watchdog"]
    # Another test's tool may be named late.
    assert not {"nap", "work"} & {note["tool"] for note in notes.blocked}
    assert len(watching) == 1


@pytest.mark.requirement("ATTACK-BLOCKING", "P4")
async def test_a_function_in_a_process_is_ended_when_its_time_is_up_whatever_it_does(notes: Notes) -> None:
    client = ScriptedClient([call("search_forever", text="a" * 60 + "!"), reply("It took too long.")])

    async with asyncio.timeout(PATIENCE):
        result = await AgentExecutor(client).execute(
            worker(slow_tools.search_forever), inputs={"prompt": "Search."}
        )

    assert result.success
    assert "stopped after 1 seconds" in result.tool_calls[0].result
    assert "search_forever" not in {note["tool"] for note in notes.blocked}


@pytest.mark.requirement("ATTACK-BLOCKING", "F-TOOL-SCHEMA")
async def test_a_function_in_a_process_takes_and_returns_json(capfd: pytest.CaptureFixture[str]) -> None:
    client = ScriptedClient(
        [
            call("describe", place={"name": "Attic", "floor": "3"}, times=2),
            call("describe", place={"floor": 3}),
            reply("Done."),
        ]
    )

    result = await AgentExecutor(client).execute(worker(slow_tools.describe), inputs={"prompt": "Go."})

    first, second = (record.result for record in result.tool_calls)
    place = '{"name":"Attic","floor":3}'
    assert first.startswith(f'{{"places":[{place},{place}],"pid":')
    assert "The arguments do not fit describe: place.name" in second
    assert "not the answer" not in capfd.readouterr().out


@pytest.mark.requirement("ATTACK-BLOCKING")
@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("tool", "The flight is full."),
        ("value", "ValueError: It is wrong."),
        ("die", "The process of the tool fail ended without an answer, with exit code 134."),
    ],
)
async def test_what_goes_wrong_in_the_process_is_told_to_the_model(how: str, words: str) -> None:
    client = ScriptedClient([call("fail", how=how), reply("Done.")])

    result = await AgentExecutor(client).execute(worker(slow_tools.fail), inputs={"prompt": "Go."})

    assert result.tool_calls[0].result == words


@pytest.mark.requirement("ATTACK-BLOCKING", "P4")
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the process group is ended")
async def test_what_a_function_in_a_process_has_started_ends_with_it(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    running = asyncio.ensure_future(slow_tools.start_and_wait.execute({"mark": str(mark)}))
    async with asyncio.timeout(PATIENCE):
        while not mark.exists() or not mark.read_text(encoding="utf-8"):  # noqa: ASYNC110 - a file of another process
            await asyncio.sleep(0.02)

        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

        while Path("/proc", mark.read_text(encoding="utf-8")).exists():  # noqa: ASYNC110, ASYNC240 - the same
            await asyncio.sleep(0.02)


def takes_context(context: ToolContext) -> str:
    """Take the context."""
    return context.run_id


class Local:
    def greet(self) -> str:
        """Greet."""
        return "hello"


def yields() -> Iterator[str]:
    """Yield pieces."""
    yield "piece"


@pytest.mark.requirement("ATTACK-BLOCKING")
def test_a_function_that_cannot_run_in_a_process_is_refused_when_the_tool_is_made() -> None:
    def inner() -> str:
        """Be local."""
        return "x"

    started = FunctionType(inner.__code__, {"__name__": "__main__"}, "started")
    started.__qualname__ = "started"
    for function, words in (
        (takes_context, "it takes a ToolContext"),
        (inner, "it is not at the top of its module"),
        (yields, "it is a generator"),
        (started, "Move it into a module that can be imported"),
        (Local().greet, "it is not a function"),
    ):
        with pytest.raises(InvalidToolError, match=words):
            tool(process=True, name="refused", description="Refused.")(function)


@pytest.mark.requirement("ATTACK-BLOCKING", "C-SEARCH")
async def test_our_own_search_runs_in_a_process_that_ends_with_its_call(
    tmp_path: Path, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trap.txt").write_text("a" * 60 + "!\n", encoding="utf-8")
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    search = tool(effect="pure", timeout=2, name="grep")(Search(Workspace(tmp_path)).grep)
    client = ScriptedClient([call("grep", pattern="(a+)+$"), reply("It took too long.")])

    async with asyncio.timeout(PATIENCE):
        result = await AgentExecutor(client).execute(worker(search), inputs={"prompt": "Search."})

    assert "stopped after 2 seconds" in result.tool_calls[0].result
    assert "grep" not in {note["tool"] for note in notes.blocked}
