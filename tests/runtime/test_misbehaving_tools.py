"""However a tool misbehaves, its call gets exactly one result, the run goes on, and no process is left."""

from __future__ import annotations

import asyncio
import io
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from maverick import TerminateReason, tool
from maverick.loop import ToolOutcome
from maverick.model import Tool
from maverick.processes import run_program
from maverick.providers.scripted import Script
from maverick.testing import call, calls
from maverick.tools import FunctionTool, Workspace, coding_tools
from programs import needs_sandbox
from runtime.misbehaviour import KINDS, LEFTOVERS, RELEASE
from scenario import agent, assert_valid, results_in, run

PATIENCE = 60


@pytest.fixture(autouse=True)
def _tidy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tools may spoil the folder of these tests, and leave things behind."""
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    RELEASE.clear()
    yield
    RELEASE.set()
    while LEFTOVERS:
        left = LEFTOVERS.pop()
        if isinstance(left, Path):
            os.chdir(left)
        elif asyncio.iscoroutine(left):
            left.close()
        elif isinstance(left, asyncio.Future) and not left.get_loop().is_closed():
            left.cancel()


def children() -> set[int]:
    """The processes we have started, and theirs, that are still running; also those that got away to another parent."""
    parents: dict[int, list[int]] = {}
    found: set[int] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[:2]
            if b"sleep\000360" in (folder / "cmdline").read_bytes():
                found.add(int(folder.name))
        except (OSError, ValueError):
            continue
        if state != "Z":
            parents.setdefault(int(parent), []).append(int(folder.name))
    waiting = [os.getpid()]
    while waiting:
        inner = parents.get(waiting.pop(), [])
        found.update(inner)
        waiting += inner
    return found


async def no_more_children_than(before: set[int]) -> bool:
    """Whether nothing new runs, after as long as it takes the system to notice."""
    for _ in range(1000):
        if children() <= before:
            return True
        await asyncio.sleep(0.01)
    return False


@tool
async def work() -> str:
    """Work."""
    return "worked"


def forms() -> Iterator[Any]:
    for name, kind in KINDS.items():
        for form in ("awaited", "blocking"):
            if hasattr(kind, form):
                yield pytest.param(name, form, id=f"{name}-{form}")
        if kind.command:
            yield pytest.param(name, "command", id=f"{name}-command")
            yield pytest.param(name, "sandbox", id=f"{name}-sandbox", marks=needs_sandbox)


def made(name: str, form: str, folder: Path) -> tuple[Tool, dict[str, Any]]:
    """The tool that misbehaves, and what the model calls it with."""
    seconds = 0.3 if KINDS[name].hangs else 30.0
    if form in ("awaited", "blocking"):
        return FunctionTool(getattr(KINDS[name](), form), name="misbehave", timeout=seconds), {}
    tools = {made.name: made for made in coding_tools(Workspace(folder), sandbox=form == "sandbox")}
    return tools["shell"], {"command": KINDS[name].command, "seconds": seconds}


@pytest.mark.requirement("C-MISBEHAVE", "P3", "P4")
@pytest.mark.parametrize(("name", "form"), list(forms()))
async def test_however_a_tool_misbehaves_its_call_gets_one_result_and_the_run_goes_on(
    name: str, form: str, tmp_path: Path
) -> None:
    bad, arguments = made(name, form, tmp_path)
    await run_program(["true"], lambda _: True)  # from the first program on, there is a supervisor
    before = children()

    script: Script = [calls(call(bad.name, **arguments), call("work")), call("work"), "Done."]
    with redirect_stdout(io.StringIO()):  # a tool may close it
        async with asyncio.timeout(PATIENCE):
            result = await run(script, agent(bad, work))

    assert (result.terminate_reason, result.output) == (TerminateReason.COMPLETE, "Done.")
    assert len(result.tool_calls) == 3
    assert len(results_in(result.messages)) == 3
    assert [record.outcome for record in result.tool_calls[1:]] == [ToolOutcome.FINISHED] * 2
    fails = KINDS[name].fails and form in ("awaited", "blocking")
    assert result.tool_calls[0].outcome is (ToolOutcome.FAILED if fails else ToolOutcome.FINISHED)
    assert len(result.tool_calls[0].result) <= 60_000
    assert_valid(result.messages)
    RELEASE.set()
    assert await no_more_children_than(before)
