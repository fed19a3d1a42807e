"""What the screen is made of and shows: conversations, the one that is shown, and the lists around it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from contextvars import Context, copy_context
from pathlib import Path
from typing import Any

from textual import work
from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import OptionList

from maverick.exceptions import MaverickError
from maverick.journal import RunStatus
from maverick.journal.conversations import ConversationList
from maverick.runtime.arguments import new_run_id
from maverick.runtime.consent import Grants
from maverick.tui.approval import ask_user
from maverick.tui.backend import Backend
from maverick.tui.block import LineStyle
from maverick.tui.completion import Completer
from maverick.tui.conversation import Status
from maverick.tui.conversation_view import ConversationView
from maverick.tui.dialogs import InputsDialog
from maverick.tui.figures import age
from maverick.tui.panels import GaugeLine, KeyLine, Sidebar, StatusLine, Welcome
from maverick.tui.plain_text import one_line
from maverick.tui.prompt import Completions, PromptBox, SearchBar
from maverick.tui.questions import Answer, Question
from maverick.tui.session import NOTE, PROMPT, Session
from maverick.tui.terminal_driver import TerminalDriver

_FRAME = 1 / 30
"""Seconds between two drawings of what has changed."""
_RELOAD = 2.0
"""Seconds between two reads of the journal, which other processes write to as well."""
_STOP_TIMEOUT = 5.0
"""Seconds that runs have to end when the user quits."""
GRACE = 0.7
"""Seconds for which no key was pressed before one that answers a question."""


class ConversationApp(App[None]):
    """Agents, conversations and their runs.

    A key answers a question only after ``grace`` seconds without one, since the user may be typing when it appears.
    """

    CSS_PATH = "maverick.tcss"
    TITLE = "maverick"
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (70, "-narrow"), (110, "-wide")]  # noqa: RUF012 - as Textual declares it
    VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-high")]  # noqa: RUF012 - as Textual declares it

    def __init__(
        self,
        backend: Backend,
        agent: str,
        *,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = new_run_id,
        grace: float = GRACE,
    ) -> None:
        super().__init__(driver_class=TerminalDriver)
        self.stopped: list[Session] = []
        """The conversations whose run was stopped because the user quit."""
        self._backend = backend
        self._clock = clock
        self._new_id = new_id
        self._grace = grace
        self._listed = ConversationList(backend.journal)
        self._journal_error = ""
        """Why the conversations could not be read the last time."""
        self._grants: dict[Path, Grants] = {}
        self._sessions: list[Session] = []
        self.session = self._new_session(agent)
        """The conversation that is shown."""
        self._tasks: dict[asyncio.Task[None], Session] = {}
        """What conversations are doing."""
        self._reading = set[Session]()
        """Those whose run is being read."""
        self._watch: asyncio.Task[None] | None = None
        """What tells how a fleet continues the run that is shown."""
        self._asking = asyncio.Lock()
        self._mounted_in = Context()
        """The context variables of the screen, among them Textual's app."""
        self._state: object = None
        self._status = StatusLine(id="status")
        self._sidebar = Sidebar(id="sidebar", compact=True)
        self._welcome = Welcome(id="welcome")
        self._view = ConversationView(id="conversation")
        self._search = SearchBar(id="search")
        self._completions = Completions(Completer(backend.folder), id="completions")
        self._prompt = PromptBox(
            id="prompt",
            placeholder="Type a prompt. / lists commands, @ attaches a file, ! runs a command.",
            completions=self._completions,
        )
        self._gauge = GaugeLine(id="gauge")

    @property
    def failure(self) -> Exception | None:
        """The bug that ended the program, if one did."""
        return self._exception

    def compose(self) -> ComposeResult:
        """The parts of the screen."""
        yield self._status
        with Horizontal(id="body"):
            yield self._sidebar
            with Vertical(id="main"):
                with Vertical(id="talk"):
                    yield self._welcome
                    yield self._view
                yield self._search
                yield self._completions
                yield self._prompt
        yield self._gauge
        yield KeyLine()

    async def on_mount(self) -> None:
        """Show the conversations, and begin to watch for changes."""
        self._mounted_in = copy_context()
        self._search.close()
        self._show_problems()
        await self._load_conversations()
        self._prompt.sent = [prompt.partition(NOTE)[0] for prompt in self._listed.prompts]
        self._prompt.focus()
        self._show(self.session)
        self._load_prompts()
        # After Ctrl-Z and fg, the shell has written over the screen.
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))
        self.set_interval(_FRAME, self.draw)
        self.set_interval(_RELOAD, self._load_conversations)

    async def on_unmount(self) -> None:
        """Cancel what is left when the screen was closed in another way than by quitting."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Open a conversation."""
        if event.option_list is self._sidebar:
            self._open(event.option.id or "")
            if not self.screen.has_class("-wide"):
                self._sidebar.display = False

    async def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Load older conversations at the end of the list."""
        at_end = event.option_index == event.option_list.option_count - 1
        if event.option_list is self._sidebar and at_end and self._listed.extend():
            await self._load_conversations()

    def on_search_bar_changed(self, message: SearchBar.Changed) -> None:
        """Search for the new text."""
        self._view.search(message.wanted)

    def on_search_bar_moved(self, message: SearchBar.Moved) -> None:
        """Go to another match."""
        self._view.find_next(message.step)

    def on_conversation_view_searched(self, message: ConversationView.Searched) -> None:
        """Show the number of matches."""
        self._search.show_matches(message.match, message.matches)

    def _do(self, session: Session, work: Callable[[], Awaitable[None]]) -> None:
        """Do something with a conversation, in a task of its own; an error is shown there."""
        session.began_at = self._clock()
        task = asyncio.create_task(self._done(session, work))
        self._tasks[task] = session
        task.add_done_callback(self._tasks.pop)

    async def _done(self, session: Session, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except MaverickError as error:
            _show_error(session, str(error))
        except Exception as error:  # noqa: BLE001 - a bug is shown too, and the screen stays
            _show_error(session, f"Internal error: {type(error).__name__}: {error}")
        await self._load_conversations()

    async def _stop_all(self) -> list[Session]:
        """Stop runs and cancel the rest; returns the conversations whose run can be resumed."""
        self._stop_watching()
        live = [session for session in self._tasks.values() if session.is_live]
        for task, session in self._tasks.items():
            if session.is_busy:
                session.stop()
            else:
                task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_STOP_TIMEOUT)
        return [session for session in live if session.model.can_resume]

    def _new_session(self, agent: str, origin: str = "") -> Session:
        async def ask(question: Question) -> Answer | None:
            return await self._ask(session, question)

        session = Session(self._backend, agent, ask, self._grants_here, self._new_id, origin)
        self._sessions.append(session)
        return session

    def _show(self, session: Session) -> None:
        """Show a conversation, and forget those that are neither shown nor live."""
        if session is not self.session:
            self._stop_watching()
        self.session = session
        self._sessions = [one for one in self._sessions if one is session or one.is_busy]
        session.look()
        self.draw()

    async def _begin(self, agent: str, origin: str = "") -> None:
        """Start a conversation with an agent."""
        self._show(self._new_session(agent, origin))
        self._prompt.focus()
        await self._asks_for_inputs()

    def _open(self, run_id: str) -> None:
        """Show a conversation of the list; one that is live here is shown live."""
        known = next((one for one in self._sessions if one.run_id == run_id), None)
        record = self._listed.find(run_id)
        agent = record.agent.partition("/")[0] if record else self.session.agent
        session = known or self._new_session(agent, self._listed.trace_of(run_id))
        self._show(session)
        self._prompt.focus()
        if known is None:
            self._do(session, lambda: self._read(session, run_id))

    async def _read(self, session: Session, run_id: str) -> None:
        """Show a run from the journal; if a fleet drives it, as it continues, while it is what is shown."""
        self._reading.add(session)
        try:
            await session.open(run_id, self._listed.earlier_runs(run_id))
        finally:
            self._reading.discard(session)
        model = session.model
        if model.status is not Status.LEFT or self.session is not session:
            return
        watch = self._watch = asyncio.current_task()
        try:
            async with aclosing(self._backend.events(run_id, session.entries)) as events:
                async for event in events:
                    if session.model is not model or session.is_live:
                        return
                    model.tell(event)
        finally:
            if not session.is_live:
                model.leave()
            if self._watch is watch:
                self._watch = None

    def _stop_watching(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    async def _asks_for_inputs(self) -> bool:
        """Ask for the agent's inputs, if it takes more than a prompt; says whether it does."""
        session = self.session
        found = next((one for one in self._backend.agents() if one.name == session.agent), None)
        declared = None if found is None else found.inputs
        if declared is None or set(declared) == {PROMPT}:
            return False

        def start(inputs: Mapping[str, Any] | None) -> None:
            if inputs is not None:
                self._do(session, lambda: session.start(inputs))

        await self.push_screen(InputsDialog(session.agent, declared), start)
        return True

    def _grants_here(self) -> Grants:
        """What the user has allowed in this folder, in all conversations."""
        folder = self._backend.folder
        if folder not in self._grants:
            self._grants[folder] = Grants(folder)
        return self._grants[folder]

    async def _ask(self, session: Session, question: Question) -> Answer | None:
        """Ask about a tool call; the dialogs close when the run is stopped meanwhile."""
        async with self._asking:  # one question at a time, whichever conversation it is from
            asking = ask_user(self, question, self._grace, session.stop)
            # The question of an MCP server comes from its connection, which has none of the screen's context variables.
            return await asyncio.create_task(asking, context=self._mounted_in)

    def _show_problems(self) -> None:
        self._backend.agents()
        for problem in self._backend.problems():
            _show_error(self.session, problem)

    async def _load_conversations(self) -> None:
        try:
            await self._listed.load()
        except MaverickError as error:
            if str(error) != self._journal_error:  # shown once, not every two seconds
                self.notify(one_line(str(error)), severity="error", markup=False)
            self._journal_error = str(error)
            return
        self._journal_error = ""
        if not self._sidebar.is_attached or self._is_stuck():
            return
        self._sidebar.show(self._listed, self.session.run_id, self._clock())
        self._follow()

    @work(exclusive=True)
    async def _load_prompts(self) -> None:
        """Offer the prompts of MCP servers as commands, as soon as the servers have told them."""
        completer = self._completions.completer
        try:
            completer.prompts = await self._backend.server_prompts()
        except MaverickError as error:
            self.notify(one_line(str(error)), severity="warning", markup=False)

    def _follow(self) -> None:
        """Read on in a run that another process works on."""
        session = self.session
        record = self._listed.find(session.run_id)
        if record is None or session.is_live or session in self._reading:
            return
        if self._watch is not None:
            goes_on = record.status is RunStatus.WAITING  # a fleet tells nothing that would end the watch
        else:
            goes_on = session.model.status is Status.LEFT and record.entries > session.entries
        if goes_on:
            self._stop_watching()
            self._do(session, lambda: self._read(session, record.run_id))

    def _is_stuck(self) -> bool:
        """Whether the terminal takes nothing at the moment: runs continue, and are drawn when it does again."""
        return isinstance(self._driver, TerminalDriver) and self._driver.is_stuck

    def draw(self) -> None:
        """Draw what has changed."""
        session, model = self.session, self.session.model
        if not self._view.is_attached or self._is_stuck():  # the screen opens or closes, or cannot be drawn
            return
        self._welcome.show(session, self._backend)
        self._view.show(model)
        self._view.draw()
        since = age(self._clock() - session.began_at) if model.status is Status.RUNNING else ""
        effort = self._backend.effort or ""
        self._status.show(one_line(session.agent), one_line(session.model_name), effort, model.status, since)
        self._gauge.show(session.mode, self._backend.folder, model.gauge)
        state = (session.is_busy, model.can_resume, session.is_asking, model.run_id)
        if state != self._state:
            self._state = state
            self.refresh_bindings()

    def _fatal_error(self) -> None:
        # Textual would print the traceback with the values of all variables. Whoever started the screen reports the
        # error in a line.
        self._close_messages_no_wait()


def _show_error(session: Session, text: str) -> None:
    session.model.remark(one_line(text), LineStyle.BAD)
