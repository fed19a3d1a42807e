"""A desk to try the screen at: a few agents, a scripted model, and a journal in memory with runs whose times are fixed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from maverick import (
    AgentDefinition,
    AgentExecutor,
    InputConfig,
    ModelConfig,
    PromptConfig,
    RunConfig,
    ToolConfig,
    tool,
)
from maverick.agents import AgentContext, AgentResult
from maverick.agents.discovery import DiscoveredAgent, Origin
from maverick.config.model_settings import Effort
from maverick.exceptions import AgentNotFoundError, InvalidInputError
from maverick.journal import Journal, MemoryJournal, RunRecord, RunStatus
from maverick.journal.codec import encode_entry
from maverick.loop import Input
from maverick.loop.entries import (
    ApprovalDecided,
    Entry,
    Interrupted,
    ModelCalled,
    ModelReplied,
    RunStarted,
    ToolFinished,
    ToolsStarted,
)
from maverick.loop.events import AgentActivityEvent
from maverick.loop.limits import Limits
from maverick.loop.result import TerminateReason, ToolOutcome
from maverick.model import Message, ModelInfo, Price, Response, Text, Thought, ToolCall, Usage
from maverick.providers.scripted import Script
from maverick.runtime.approver import Approver
from maverick.testing import ScriptedClient
from maverick.tools.mcp import ServerPrompt, list_prompts
from maverick.tui.app import MaverickApp
from maverick.tui.backend import Choice, OnOutput, PreparedAgent

NOW = 1_800_000_000.0
INFO = ModelInfo(context_window=8_000, price=Price(3, 15))
PATIENCE = 30
"""Seconds until a test gives up; a busy machine is slow."""
DIFF = """\
--- greet.py
+++ greet.py
@@ -1,3 +1,3 @@
 def greet(name):
-    return "Hi " + name
+    return f"Hello, {name}!"

"""


@tool(effect="pure")
async def look(path: str) -> str:
    """Look at a file."""
    return f"1\tthe content of {path}"


@tool(approval=True)
async def edit(path: str, old: str, new: str) -> str:
    """Replace a piece of a file."""
    return DIFF


@tool
async def ring(name: str) -> str:
    """Ring somebody up, who never answers."""
    await asyncio.Event().wait()
    return f"talked to {name}"


def _agent(name: str, description: str, **options: Any) -> AgentDefinition:
    settings: dict[str, Any] = {
        "model_config": ModelConfig(model="scripted:small"),
        "run_config": RunConfig(max_turns=20, max_total_tokens=50_000, retry_delay=0.001),
        "tool_config": ToolConfig(tools=[look, edit, ring]),
    }
    return AgentDefinition(name, description, **settings | options)


editor = _agent("editor", "Edits files.")
reporter = _agent(
    "reporter",
    "Reports on the weather.",
    prompt_config=PromptConfig(initial_messages=["Report on ${cities} in ${days} days."]),
    input_config=InputConfig({"cities": Input(str, "where"), "days": Input(int, "how many", 3)}),
)


class Greeter:
    """Greets people."""

    async def execute(self, context: AgentContext) -> AgentResult[Any]:
        raise NotImplementedError


class Desk:
    """The backend of a test.

    Args:
        script: What the model says.
    """

    def __init__(self, script: Script = (), *, remark: str = "", journal: Journal | None = None) -> None:
        self.journal = MemoryJournal() if journal is None else journal
        self.model: str | None = None
        self.effort: Effort | None = None
        self.mode: str | None = None
        self.folder = Path("/home/ana/project")
        self.user = "ana"
        self.client = ScriptedClient(script, info=INFO)
        self.found: list[DiscoveredAgent] = [
            DiscoveredAgent("editor", editor, Origin.PROJECT, "editor.md"),
            DiscoveredAgent("greeter", Greeter, Origin.REGISTERED, "greeter.py"),
            DiscoveredAgent("reporter", reporter, Origin.HOME, "reporter.md"),
        ]
        self.remark = remark
        self.unreadable: list[str] = []
        self.live: list[AgentActivityEvent] = []
        """What a fleet does with the runs that are opened."""
        self.servers: Sequence[str] = ()
        """The MCP servers of the folder whose prompts are offered."""

    async def events(self, run_id: str, seen: int) -> AsyncGenerator[AgentActivityEvent, None]:
        for event in self.live:
            yield event

    def move_to(self, folder: Path) -> str:
        if not folder.is_dir():
            raise InvalidInputError(f"{folder} is not a folder.", field="folder")
        self.folder = folder.resolve()
        return ""

    def models(self) -> Sequence[Choice]:
        return [
            Choice("scripted:small", "8,000 tokens, $3 in, $15 out"),
            Choice("scripted:large", "200,000 tokens, $5 in, $25 out"),
            Choice("claude:claude-opus", "", "There is no key for Claude. Set ANTHROPIC_API_KEY."),
        ]

    def agents(self) -> Sequence[DiscoveredAgent]:
        return self.found

    def problems(self) -> Sequence[str]:
        return self.unreadable

    async def server_prompts(self) -> Sequence[ServerPrompt]:
        return await list_prompts(self.servers) if self.servers else ()

    def prepare(self, name: str, trace_id: str = "") -> PreparedAgent:
        found = next((one for one in self.found if one.name == name), None)
        if found is None:
            raise AgentNotFoundError(agent_name=name, available_agents=[one.name for one in self.found])
        if found.definition is None:
            raise InvalidInputError(f"The agent {name!r} is a class.", field="agent")
        own = found.definition
        if self.model is not None and not self.model.startswith(("scripted:", "local:")):
            raise InvalidInputError(f"{self.model!r} names no provider.", field="model")
        changed = replace(own.model_config, model=self.model or own.model_config.model, effort=self.effort)
        return PreparedAgent(replace(own, model_config=changed), 8_000, self.remark, self.mode or "ask")

    def continue_conversation(self, agent: str, trace_id: str, run_id: str, origin: str = "") -> None:
        pass

    @asynccontextmanager
    async def executor(
        self, definition: AgentDefinition[Any], approve: Approver | None, on_output: OnOutput | None
    ) -> AsyncIterator[AgentExecutor]:
        yield AgentExecutor(self.client, journal=self.journal, approve=approve)

    def app(self, agent: str = "editor") -> MaverickApp:
        """The screen, at a fixed time and with ids that can be told."""
        return MaverickApp(self, agent, clock=lambda: NOW, new_id=ids().__next__, grace=0)


def ids() -> Iterator[str]:
    """Ids that can be told."""
    return (f"run_{number}" for number in count(1))


async def eventually(condition: Callable[[], object]) -> None:
    """Wait for something to come true."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.01)


async def until(pilot: Pilot[Any], condition: Callable[[], object]) -> None:
    """Wait for something to come true, and for the screen to show it."""
    await eventually(condition)
    app = pilot.app
    assert isinstance(app, MaverickApp)
    app.draw()
    await pilot.pause()


def kept_entries(run_id: str = "kept", began: float = NOW - 3_700) -> list[Entry]:
    """A run that looked at a file, edited it and said so, with fixed times."""
    calls = [ToolCall("call_1", "look", {"path": "greet.py"})]
    edits = [
        ToolCall("call_2", "edit", {"path": "greet.py", "old": '"Hi " + name', "new": 'f"Hello, {name}!"'})
    ]
    usage = Usage(900, 60, cost_usd=0.0042)
    return [
        RunStarted(
            at=began,
            run_id=run_id,
            trace_id="trace",
            agent=("editor",),
            system="",
            messages=(Message.user("Greet people more warmly."),),
            head=1,
            limits=Limits(turns=20, tokens=50_000, cost_usd=0.5),
            info=INFO,
        ),
        ModelCalled(at=began + 0.1, turn=1),
        ModelReplied(
            at=began + 1,
            response=Response(
                [Thought("Where is the greeting?"), Text("I look at the file first."), *calls], usage=usage
            ),
        ),
        ToolsStarted(at=began + 1, turn=1),
        ToolFinished(
            at=began + 1.2,
            index=0,
            outcome=ToolOutcome.FINISHED,
            content='1\tdef greet(name):\n2\t    return "Hi " + name\n',
            duration_ms=12,
        ),
        ModelCalled(at=began + 1.3, turn=2),
        ModelReplied(at=began + 2, response=Response([Text("Now I change it."), *edits], usage=usage)),
        ApprovalDecided(at=began + 8, index=0, approved=True, by="ana"),
        ToolsStarted(at=began + 9, turn=2),
        ToolFinished(at=began + 9, index=0, outcome=ToolOutcome.FINISHED, content=DIFF, duration_ms=34),
        ModelCalled(at=began + 9.1, turn=3),
        ModelReplied(
            at=began + 10,
            response=Response("It now says “Hello, …!”, which is warmer than “Hi”.", usage=usage),
        ),
    ]


async def keep(
    journal: Journal,
    entries: Sequence[Entry],
    status: RunStatus = RunStatus.COMPLETE,
    reason: str = "complete",
) -> None:
    """Put a run into a journal as it is."""
    start = entries[0]
    assert isinstance(start, RunStarted)
    record = RunRecord(
        run_id=start.run_id,
        agent="editor",
        status=status,
        created_at=start.at,
        updated_at=entries[-1].at,
        entries=len(entries),
        reason=reason,
    )
    await journal.create(record, [encode_entry(entry) for entry in entries])


async def fill(journal: Journal) -> None:
    """Keep runs of every kind."""
    await keep(journal, kept_entries())
    await keep(journal, kept_entries("left", NOW - 90_000)[:4], RunStatus.RUNNING, "")
    stopped = kept_entries("stopped", NOW - 200_000)[:2]
    cut = Interrupted(at=stopped[-1].at + 2, reason=TerminateReason.ABORTED, partial_text="I look at the")
    await keep(journal, [*stopped, cut], RunStatus.STOPPED, "aborted")
