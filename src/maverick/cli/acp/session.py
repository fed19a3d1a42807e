"""One session of an editor: a conversation in a folder, whose prompts are journaled runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp import schema
from acp.helpers import update_agent_message_text, update_agent_thought_text
from acp.interfaces import Client
from msgspec import structs

from maverick.agents.conversations import (
    Conversation,
    FolderConversations,
    is_elsewhere,
    messages_of,
    messages_to_continue,
    result_so_far,
    unheard_by,
)
from maverick.agents.discovery import DiscoveredAgent
from maverick.agents.named_tools import names_coding_tools
from maverick.agents.running import agent_executor
from maverick.agents.skills import Skills, load_skills
from maverick.cli.acp.content import Said, history_of, title_of
from maverick.cli.acp.permission import EditorApprover
from maverick.cli.acp.tool_calls import call_key
from maverick.cli.acp.updates import Update, UpdateMapper, readable
from maverick.cli.agent_lookup import explain_stand_in, who_answers
from maverick.cli.run_options import RunOptions
from maverick.cli.trust import ignored_in
from maverick.config.loading import load_config
from maverick.config.mcp_server import HandedServer, group_of
from maverick.exceptions import InvalidInputError, InvalidToolError, RunChangedError, RunNotFoundError
from maverick.journal import Journal
from maverick.loop import AgentDefinition, AgentResult
from maverick.loop.events import AgentActivityEvent
from maverick.loop.fingerprint import Fingerprint
from maverick.model import Message, ModelInfo, ToolContext, model_info
from maverick.providers.catalog import open_client
from maverick.providers.resolve import ResolvedModel
from maverick.runtime import AbortSignal, AgentExecutor
from maverick.runtime.arguments import checked_run_id
from maverick.runtime.replay import check_unchanged, load_beginning
from maverick.telemetry import log
from maverick.tools.permissions import ModeSwitch

_OUTPUT_EVERY = 0.2
"""Seconds between two updates with the output of a command."""
_AGAIN = 0.05
"""Seconds until a run that has not begun yet is spoken to again."""
_ELSEWHERE = "This conversation is in progress in another window or terminal. Wait for it, or stop it there."
_INTERRUPTED = "This conversation was interrupted here. Your next message continues it."


@dataclass(frozen=True)
class Served:
    """What ``maverick acp`` was started with."""

    source: str | None
    """The agent as it was named."""
    found: DiscoveredAgent
    journal: Journal
    options: RunOptions
    """What the options of the command change about the agent."""


@dataclass
class _Turn:
    """A prompt that is being worked on, by a task of the session: it ends well also if the connection is lost."""

    run_id: str
    signal: AbortSignal = field(default_factory=AbortSignal)
    task: asyncio.Task[AgentResult[Any]] = field(init=False)


class EditorSession:
    """A conversation that an editor shows."""

    def __init__(
        self,
        served: Served,
        client: Client,
        conversation: Conversation,
        folder: Path,
        servers: Sequence[HandedServer] = (),
        *,
        shows_forms: bool = False,
    ) -> None:
        self.served = served
        self.conversation = conversation
        self.folder = folder
        self.mode = ModeSwitch(served.options.mode)
        self.model = served.options.model
        """The ``provider:model`` that was chosen, if one was."""
        self.effort: str | None = served.options.settings.get("effort")
        self.skills: Skills | None = load_skills(folder) if names_coding_tools(self._own) else None
        """What it can be told to use by name, as ``/name``."""
        self._client = client
        # What the folder's own file says counts as far as the user has trusted it.
        self._config = load_config(cwd=folder)
        self._handed = servers
        self._updates = UpdateMapper(folder)
        self._outgoing: asyncio.Queue[Update] = asyncio.Queue()
        self._announced = asyncio.Event()
        self._lifetime = AsyncExitStack()
        self._executor: AgentExecutor | None = None
        self._servers: list[str] = []
        self._turn: _Turn | None = None
        self._approver = EditorApprover(
            client,
            conversation.id,
            folder,
            shows_forms=shows_forms,
            tell=self.tell,
            told=self.told,
            cancel=self.cancel,
        )
        self._late: set[str] = set()
        self._replayed: dict[str, int] = {}  # by run of another process that has not ended: its events told

    @property
    def id(self) -> str:
        """Its id: that of the conversation."""
        return self.conversation.id

    # Its life -----------------------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Connect what it works with."""
        sending = asyncio.create_task(self._send())
        self._lifetime.callback(sending.cancel)
        for notice in filter(None, (explain_stand_in(self._answering()), ignored_in(self.folder))):
            self._note(notice)
        self._executor = await self._lifetime.enter_async_context(
            agent_executor(
                structs.replace(self.served.found, agent=self.definition()),
                self._config,
                self.served.journal,
                mode=self.mode,
                approve=self._approver.approve,
                on_output=self._show_output,
                on_remark=self._note,
                cwd=self.folder,
                servers=self._handed,
            )
        )
        registry = self._executor.options["tool_registry"]
        for server in self._handed:
            try:
                if registry is not None and registry.find(group_of(server.name)):
                    self._servers.append(server.name)
            except InvalidToolError:  # it could not be connected, which was remarked
                continue

    async def aclose(self) -> None:
        """Stop its run, which can be resumed, and let go of what it works with."""
        if self._turn is not None:
            self._turn.signal.abort("the session was closed")
            await asyncio.wait([self._turn.task])
        await self._lifetime.aclose()

    # What it is made of -------------------------------------------------------------------------------------------

    @property
    def _own(self) -> AgentDefinition[Any]:
        definition = self.served.found.definition
        assert definition is not None  # noqa: S101 - the command has made sure
        return definition

    def _answering(self) -> ResolvedModel | None:
        return who_answers(self.served.found, self._own, self.model, self._config.agent)

    def definition(self) -> AgentDefinition[Any]:
        """The agent, on the model that answers and with the tools that it has here."""
        answering, options = self._answering(), self.served.options
        settings = {**options.settings, **({"effort": self.effort} if self.effort else {})}
        changes = RunOptions(
            self.model, mcp=(*options.mcp, *self._servers), settings=settings, limits=options.limits
        )
        return changes.applied_to(self._own, None if answering is None else answering.model)

    def model_info(self) -> tuple[str, ModelInfo] | None:
        """The model that answers, and what is known of it; ``None`` if the agent's module brings its own."""
        if (answering := self._answering()) is None:
            return None
        return answering.model, model_info(open_client(answering), answering.model)

    @property
    def handed(self) -> list[HandedServer]:
        """The editor's MCP servers, without those that could not be connected."""
        return [server for server in self._handed if server.name in self._servers]

    @property
    def cost_usd(self) -> float:
        """What its runs have cost here, as far as that is known."""
        return self._updates.cost_usd

    # Prompts ------------------------------------------------------------------------------------------------------

    async def prompt(self, said: Said) -> AgentResult[Any]:
        """Answer a prompt, and tell the editor what happens on the way.

        While another prompt is being answered, the agent hears this one before its next turn, and both end together.
        """
        while (turn := self._turn) is not None:
            try:
                await self.served.journal.say(turn.run_id, said)
            except (InvalidInputError, RunNotFoundError):  # it has not begun yet, or has just ended
                await asyncio.wait([turn.task], timeout=_AGAIN)
            else:
                break
        else:
            self._turn = turn = _Turn(checked_run_id(None))
            turn.task = asyncio.create_task(self._answer(turn, said))
        await asyncio.wait([turn.task])
        return turn.task.result()

    def cancel(self) -> None:
        """Stop the run, if there is one; what there is of its answer is kept."""
        if self._turn is not None:
            self._turn.signal.abort("cancelled in the editor")

    async def _answer(self, turn: _Turn, said: Said) -> AgentResult[Any]:
        executor, journal = self._executor, self.served.journal
        assert executor is not None  # noqa: S101 - it was opened
        try:
            await self.catch_up()
            runs = self.conversation.runs
            definition = self.definition()
            known = self.model_info()
            self._updates.context_window = definition.model_config.context_window or (
                None if known is None else known[1].context_window
            )
            before = await messages_to_continue(journal, runs[-1]) if runs else ()
            if before is None:  # its process has died, or it waits
                before = await self._carried_over(runs[-1], executor.fingerprint(definition))
            if before is None:
                turn.run_id = runs[-1]
                self._replayed.clear()  # from here on it happens here
                await journal.say(turn.run_id, said)
                run = executor.resume(turn.run_id, definition, signal=turn.signal, on_activity=self._hear)
            else:
                self._remember(self.conversation.continued_by(turn.run_id), said)
                run = executor.execute(
                    definition,
                    inputs={"prompt": said},
                    messages=before,
                    run_id=turn.run_id,
                    trace_id=self.id,
                    signal=turn.signal,
                    on_activity=self._hear,
                )
            return await run
        finally:
            self._turn = None
            await self.told()

    async def _carried_over(self, run_id: str, agent: Fingerprint) -> tuple[Message, ...] | None:
        """What was said and done in a run that was cut off, if its agent has changed; ``None`` if it can be resumed."""
        journal = self.served.journal
        if await is_elsewhere(journal, run_id):
            raise InvalidInputError(_ELSEWHERE, field="session")
        try:
            check_unchanged(await load_beginning(journal, run_id), agent, accept_changes=False)
        except RunChangedError as error:
            self.remark(
                f"The agent is not what it was when it was interrupted: {'; '.join(error.changes)}. It continues from what "
                "was said and done until then.\n\n"
            )
            return tuple((await result_so_far(journal, run_id)).messages)
        return None

    def forget_last(self) -> None:
        """Leave out the last run of the conversation: by the protocol, what was refused is not part of it."""
        self._remember(structs.replace(self.conversation, runs=self.conversation.runs[:-1]), "")

    def _remember(self, conversation: Conversation, said: Said) -> None:
        if not self.conversation.runs:
            self.tell(schema.SessionInfoUpdate(session_update="session_info_update", title=title_of(said)))
        self.conversation = conversation
        FolderConversations(self.folder).remember(conversation)

    # What the editor is told --------------------------------------------------------------------------------------

    def tell(self, *updates: Update) -> None:
        """Send something to the editor, after what was sent before."""
        for update in updates:
            self._outgoing.put_nowait(update)

    async def told(self) -> None:
        """Wait until everything was sent."""
        await self._outgoing.join()

    def remark(self, text: str) -> None:
        """Say something that is no part of the conversation."""
        self.tell(update_agent_message_text(text))

    def _note(self, text: str) -> None:
        self.tell(update_agent_thought_text(f"{text}\n"))

    async def replay(self) -> None:
        """Tell the editor what was said and done so far."""
        for run_id in self.conversation.runs:
            await self._replay(run_id, is_first=run_id == self.conversation.runs[0])
        for run_id in self._replayed:
            self.remark(_ELSEWHERE if await is_elsewhere(self.served.journal, run_id) else _INTERRUPTED)
        await self._outgoing.join()

    async def catch_up(self) -> None:
        """Tell the editor what was said and done elsewhere since, in another window or a terminal."""
        known = self.conversation.runs
        self.conversation = FolderConversations(self.folder).latest(self.conversation)
        for run_id in self.conversation.runs:
            if run_id not in known or run_id in self._replayed:
                await self._replay(run_id)

    async def _replay(self, run_id: str, *, is_first: bool = False) -> None:
        """Tell the editor what was said and done in a run, after what it was told of it before."""
        assert self._executor is not None  # noqa: S101 - it was opened
        journal, count = self.served.journal, 0
        if not (told := self._replayed.pop(run_id, 0)):
            start = await load_beginning(journal, run_id)
            self.tell(*history_of(start.messages if is_first else start.messages[start.earlier :]))
        try:
            async for event in self._executor.replay(run_id, self.definition()):
                count += 1
                if count > told:
                    self.tell(*self._updates.updates_of(event, replayed=True))
        except InvalidInputError as error:  # the run no longer follows from the agent
            self.remark(f"The agent has changed, so the rest of this run cannot be shown: {error}")
        self.tell(*self._updates.closed())
        if await messages_of(journal, run_id) is None:
            self._replayed[run_id] = count
        else:
            self.tell(*history_of(await unheard_by(journal, run_id)))

    def _hear(self, event: AgentActivityEvent) -> None:
        self.tell(*self._updates.updates_of(event))

    def _show_output(self, context: ToolContext, output: str) -> None:
        key = call_key(context.run_id, context.call_id)
        self._updates.output(key, output)
        if key not in self._late:
            self._late.add(key)
            asyncio.get_running_loop().call_later(_OUTPUT_EVERY, self._flush_output, key)

    def _flush_output(self, key: str) -> None:
        self._late.discard(key)
        if (update := self._updates.shown_output(key)) is not None:
            self.tell(update)

    def announce(self) -> None:
        """Note that the editor knows the session: what was to be told waits until then."""
        self._announced.set()

    async def _send(self) -> None:
        await self._announced.wait()
        while True:
            update = await self._outgoing.get()
            try:
                await self._client.session_update(self.id, readable(update))
            except ConnectionError:  # the editor is gone, and with it the one who would read it
                pass
            except Exception as error:  # noqa: BLE001 - what cannot be sent must not keep the rest from being sent
                log(logging.WARNING, "acp_update_failed", {"session": self.id, "error": type(error).__name__})
            finally:
                self._outgoing.task_done()
