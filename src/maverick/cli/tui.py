"""Opens the screen with the user's agents, settings and journal, and afterwards names the runs that were stopped."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from msgspec import structs

from maverick.agents.conversations import FolderConversations, agent_of_conversation, new_conversation
from maverick.agents.discovery import DiscoveredAgent, Origin
from maverick.agents.running import agent_executor, mode_of
from maverick.cli.agent_lookup import discovery, explain_stand_in, look_up, named_file, runnable, who_answers
from maverick.cli.exit_codes import SIGNALLED, SUCCESS
from maverick.cli.models import current_models
from maverick.cli.run_options import RunOptions
from maverick.cli.runs.console import Console, deciding_user
from maverick.cli.runs.in_fleet import events_in_fleet, state_in_fleet
from maverick.cli.screen import Screen
from maverick.cli.settings import load_settings
from maverick.cli.stop_signals import ENDING, HANGUP
from maverick.cli.trust import ignored_in
from maverick.config import MaverickConfig, load_config
from maverick.config.model_settings import Effort
from maverick.exceptions import ConfigError, InvalidInputError, MaverickError
from maverick.journal import Journal
from maverick.journal.opening import open_journal
from maverick.loop import AgentDefinition
from maverick.loop.events import AgentActivityEvent
from maverick.model import ModelInfo, model_info
from maverick.model.client import check_settings
from maverick.providers.catalog import open_client
from maverick.providers.resolve import key_variable, resolve
from maverick.runtime import AgentExecutor
from maverick.runtime.approver import Approver
from maverick.tools.permissions import Mode, ModeSwitch
from maverick.tui.app import MaverickApp
from maverick.tui.backend import Choice, OnOutput, PreparedAgent

if TYPE_CHECKING:  # it brings MCP with it
    from maverick.tools.mcp import ServerPrompt


def open_screen(options: argparse.Namespace) -> int:
    """Show the screen until the user quits."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb":
        problem = "`maverick tui` needs a terminal. Elsewhere, use `maverick run` and `maverick runs`."
        raise InvalidInputError(problem, field="terminal")
    return asyncio.run(_show(options, load_settings(asks=True, for_agents=True)))


async def _show(options: argparse.Namespace, config: MaverickConfig) -> int:
    named = look_up(options.agent, config)
    # Errors in the model, the MCP servers and the journal are easier to read before the screen opens.
    if (definition := named.runnable(config)) is not None:
        who_answers(named, definition, options.model, config.agent)
    if options.mcp:
        from maverick.config.mcp_servers import load_mcp_servers  # here, since most users have none

        known = load_mcp_servers()
        for name in options.mcp:
            known.find(name)
    async with open_journal(options.journal or config.journal.get_secret_value()) as journal:
        await journal.list_runs(limit=1)
        wanted = {"model": options.model, "mode": options.mode, "mcp": options.mcp}
        backend = CommandLineBackend(config, journal, named, source=options.agent, **wanted)
        app = MaverickApp(backend, named.name)
        signals = _quit_on_signals(app)
        await app.run_async()
        if app.failure is not None:
            raise app.failure
        if HANGUP and HANGUP in signals:
            return SIGNALLED + HANGUP  # the terminal is gone
        screen = Screen.of_process(interactive=True)
        console = Console(journal, screen, named_journal=options.journal)
        for session in app.stopped:
            command = console.command(
                "resume", session.run_id, *backend.resume_options(session.agent, session.origin)
            )
            screen.remark(f"{session.run_id} was stopped. Resume it with: {command}")
    return SIGNALLED + signals[0] if signals else SUCCESS


def _quit_on_signals(app: MaverickApp) -> list[signal.Signals]:
    """Quit when the process is told to end, or its connection is lost; the list has the signals that came."""
    received: list[signal.Signals] = []

    def leave(number: signal.Signals) -> None:
        received.append(number)
        app.call_later(app.action_quit)

    with suppress(NotImplementedError):  # event loops on Windows have no signals
        for number in ENDING:
            asyncio.get_running_loop().add_signal_handler(number, leave, number)
    return received


class CommandLineBackend:
    """The user's own agents, settings and journal.

    ``source`` is what the agent was named by on the command line: its name, or its file.
    """

    def __init__(
        self,
        config: MaverickConfig,
        journal: Journal,
        named: DiscoveredAgent,
        *,
        source: str | None = None,
        model: str | None = None,
        mode: str | None = None,
        mcp: Sequence[str] = (),
    ) -> None:
        self.journal = journal
        self.model = model
        self.effort: Effort | None = None
        self._mode = mode
        self._switches = WeakSet[ModeSwitch]()
        """The modes of the runs in progress."""
        self._config = config
        self._named = named
        self._source = source
        self._began_in = Path.cwd()
        self._mcp = mcp
        self._problems: list[str] = []
        self._found: dict[str, DiscoveredAgent] = {}
        self._in_files: dict[Path, DiscoveredAgent] = {}
        """Agents that conversations were begun with, by their files, each of which is loaded once."""

    @property
    def user(self) -> str:
        """The user's name, for approvals."""
        return deciding_user()

    @property
    def mode(self) -> str | None:
        """What agents may do without asking; runs in progress follow a change with their next tool call."""
        return self._mode

    @mode.setter
    def mode(self, mode: str | None) -> None:
        self._mode = mode
        if mode is not None:
            for switch in self._switches:
                switch.mode = Mode.named(mode)

    async def events(self, run_id: str, seen: int) -> AsyncGenerator[AgentActivityEvent, None]:
        """The events of a run that a fleet drives, after so many of its entries; none of any other run."""
        if await state_in_fleet(self.journal, run_id) in (None, "ended"):
            return
        async with aclosing(events_in_fleet(self.journal, run_id, seen)) as events:
            async for event in events:
                yield event

    @property
    def folder(self) -> Path:
        """The folder that agents work in."""
        return Path.cwd()

    def move_to(self, folder: Path) -> str:
        """Work in another folder from now on; returns what the user should know about it."""
        before = Path.cwd()
        try:
            os.chdir(folder)
        except OSError as error:
            problem = f"{folder} cannot be worked in: {error.strerror}."
            raise InvalidInputError(problem, field="folder") from error
        try:
            self._config = load_config()
        except ConfigError:
            os.chdir(before)
            raise
        return ignored_in(Path.cwd())

    def models(self) -> Sequence[Choice]:
        """The models that can answer, those without a key with the reason."""
        found = [Choice("offline:", "for trying things out"), *map(self._as_choice, current_models())]
        return sorted(found, key=lambda choice: bool(choice.problem))

    def _as_choice(self, found: tuple[str, ModelInfo]) -> Choice:
        name, info = found
        window = f"{info.context_window:,} tokens" if info.context_window else ""
        price = f"${info.price.input:g} in, ${info.price.output:g} out" if info.price else ""
        about = ", ".join(filter(None, (window, price)))
        try:
            resolve(self._config.agent, wanted=name).check()
        except MaverickError:
            return Choice(name, about, f"no {key_variable(name.partition(':')[0])}")
        return Choice(name, about)

    def agents(self) -> Sequence[DiscoveredAgent]:
        """All agents, sorted by name."""
        found = discovery(self._config)
        agents = {agent.name: agent for agent in found.all()} | {self._named.name: self._named}
        self._problems = [str(problem) for problem in found.problems]
        return [agents[name] for name in sorted(agents)]

    def problems(self) -> Sequence[str]:
        """What went wrong when agents were last looked for."""
        return self._problems

    async def server_prompts(self) -> Sequence[ServerPrompt]:
        """The prompts of the MCP servers of the command; the servers are connected to for that."""
        if not self._mcp:
            return ()
        await asyncio.to_thread(import_module, "maverick.tools.mcp")  # takes a while, and the user types
        from maverick.tools.mcp import list_prompts

        return await list_prompts(self._mcp, self.folder)

    def prepare(self, name: str, trace_id: str = "") -> PreparedAgent:
        """The agent with a name, or that of a conversation, on the model that answers here: if none is set, the offline one."""
        found = self._find(name, trace_id)
        own = runnable(found, self._config)
        answering = who_answers(found, own, self.model, self._config.agent)
        definition = self._changes.applied_to(own, None if answering is None else answering.model)
        self._found[definition.name] = found
        window = definition.model_config.context_window
        if answering is not None:
            info = model_info(open_client(answering), answering.model)
            check_settings(definition.model_config.request_config, info, answering.model)
            window = window or info.context_window
        mode = mode_of(found, definition, self.mode)
        shown = "default" if self.mode is None and mode is Mode.YOLO else mode.value
        return PreparedAgent(definition, window, explain_stand_in(answering), shown)

    def _find(self, name: str, trace_id: str) -> DiscoveredAgent:
        if name == self._named.name:
            return self._named
        if (source := agent_of_conversation(trace_id)) is None:
            return look_up(name, self._config)
        place = Path(source).absolute()
        if place not in self._in_files:
            self._in_files[place] = look_up(source, self._config)
        return self._in_files[place]

    @property
    def _changes(self) -> RunOptions:
        settings = {} if self.effort is None else {"effort": self.effort}
        return RunOptions(model=self.model, mode=self.mode, mcp=self._mcp, settings=settings)

    def resume_options(self, name: str, trace_id: str = "") -> list[str]:
        """The options after ``maverick runs resume ID`` for a run of an agent that was started here."""
        source = self._source if name == self._named.name else agent_of_conversation(trace_id)
        return self._changes.words(named_file(source))

    def continue_conversation(self, agent: str, trace_id: str, run_id: str, origin: str = "") -> None:
        """Remember a run as the next one of a conversation of the folder, with the agent as the user named it."""
        if agent != self._named.name:
            source: str | None = agent_of_conversation(origin or trace_id) or agent
        elif named_file(self._source) is None:
            source = self._source
        else:
            source = str(self._began_in / str(self._source))  # the user may have moved to another folder
        here = FolderConversations()
        conversation = here.latest(structs.replace(new_conversation(source), id=trace_id))
        here.remember(conversation.continued_by(run_id))

    def executor(
        self, definition: AgentDefinition[Any], approve: Approver | None, on_output: OnOutput | None
    ) -> AbstractAsyncContextManager[AgentExecutor]:
        """An executor for an agent, for the length of an ``async with`` block."""
        found = self._found.get(definition.name)
        if found is None:  # it is gone, and its runs are only shown
            found = DiscoveredAgent(definition.name, definition, Origin.REGISTERED, "")
        switch = ModeSwitch(self._mode)
        self._switches.add(switch)
        return agent_executor(
            structs.replace(found, agent=definition),
            self._config,
            self.journal,
            mode=switch,
            approve=approve,
            on_output=on_output,
        )
