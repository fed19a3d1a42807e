"""The screen: connects keys and lists to conversations, and redraws what has changed 30 times a second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Footer, OptionList

from maverick.exceptions import MaverickError
from maverick.runtime import ApprovalAnswer
from maverick.tui.approval import ask_user
from maverick.tui.backend import Backend
from maverick.tui.conversation import Status
from maverick.tui.conversation_view import ConversationView
from maverick.tui.dialogs import ForkDialog, HelpDialog, InputsDialog
from maverick.tui.gauge import age
from maverick.tui.keys import ANYWHERE, bindings
from maverick.tui.plain_text import one_line
from maverick.tui.prompt import PromptBox, SearchBar
from maverick.tui.session import Question, Session, SessionTasks, new_run_id, show_error
from maverick.tui.sidebar import RunList, Sidebar
from maverick.tui.status_line import GaugeLine, StatusLine
from maverick.tui.terminal_driver import TerminalDriver

_FRAME = 1 / 30
"""Seconds between two drawings of what has changed."""
_RELOAD = 2.0
"""Seconds between two reads of the journal, which other processes write to as well."""
GRACE = 0.5
"""Seconds for which a question that has just appeared takes no answer."""
_PROMPT = "prompt"


class MaverickApp(App[None]):
    """Agents, runs and a live conversation.

    Args:
        backend: Where agents, the journal and executors come from.
        agent: The agent to begin with.
        clock: The time, in seconds since the epoch.
        new_id: Makes the ids of runs.
        grace: For how many seconds a question takes no answer, since the user may be typing when it appears.
    """

    CSS_PATH = "maverick.tcss"
    TITLE = "maverick"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = bindings(ANYWHERE)
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (70, "-narrow"), (100, "-wide")]  # noqa: RUF012 - as Textual declares it
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
        self._runs = RunList(backend.journal)
        self._journal_error = ""
        """Why the runs could not be read the last time."""
        self._sessions: list[Session] = []
        self.session = self._new_session(agent)
        """The conversation that is shown."""
        self._tasks = SessionTasks(clock, self._load_runs)
        self._asking = asyncio.Lock()
        self._status = StatusLine(id="status")
        self._sidebar = Sidebar(id="sidebar")
        self._view = ConversationView(id="conversation")
        self._search = SearchBar(id="search")
        self._prompt = PromptBox(id="prompt", placeholder="Type a prompt. Enter sends it, F1 lists the keys.")
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
                yield self._view
                yield self._search
                yield self._prompt
        yield self._gauge
        yield Footer(compact=True)

    async def on_mount(self) -> None:
        """Show agents and runs, and begin to watch for changes."""
        self._search.close()
        self._load_agents()
        await self._load_runs()
        self._prompt.focus()
        self._show(self.session)
        # After Ctrl-Z and fg, the shell has written over the screen.
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))
        self.set_interval(_FRAME, self.draw)
        self.set_interval(_RELOAD, self._load_runs)

    async def on_unmount(self) -> None:
        """Cancel what is left when the screen was closed in another way than by quitting."""
        await self._tasks.cancel()

    async def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Begin a conversation with an agent, or open a run."""
        if event.option_list.id == "agents":
            await self.action_new()
        else:
            self._open(event.option.id or "")

    async def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Load older runs at the end of the list."""
        listed = event.option_list
        if listed.id == "runs" and event.option_index == listed.option_count - 1 and self._runs.extend():
            await self._load_runs()

    async def on_prompt_box_sent(self, message: PromptBox.Sent) -> None:
        """Send the prompt to the agent, if it takes one."""
        session = self.session
        if session.is_live:
            await self._say(session, message)
            return
        if await self._asks_for_inputs():
            return
        message.box.clear()
        self._tasks.start(session, lambda: self._send(session, message.text))

    def on_search_bar_changed(self, message: SearchBar.Changed) -> None:
        """Search for the new text."""
        self._view.search(message.wanted)

    def on_search_bar_moved(self, message: SearchBar.Moved) -> None:
        """Go to another match."""
        self._view.find_next(message.step)

    def on_conversation_view_searched(self, message: ConversationView.Searched) -> None:
        """Show the number of matches."""
        self._search.show_matches(message.match, message.matches)

    async def action_new(self) -> None:
        """Start a new conversation with the selected agent."""
        self._show(self._new_session(self._sidebar.selected_agent or self.session.agent))
        self._prompt.focus()
        await self._asks_for_inputs()

    def action_write(self) -> None:
        """Go to the prompt."""
        self._prompt.focus()

    def action_leave(self) -> None:
        """Leave the prompt or the search."""
        self._search.close()
        self._view.focus()

    def action_stop(self) -> None:
        """Stop the run that is shown."""
        if self.session.is_live:
            self.session.stop()
        else:
            self.notify("No run is in progress here. Ctrl-Q quits.", timeout=3)

    def action_resume(self) -> None:
        """Resume the run that is shown."""
        self._tasks.start(self.session, self.session.resume)

    def action_resume_changed(self) -> None:
        """Resume the run even though its agent has changed."""
        session = self.session
        self._tasks.start(session, lambda: session.resume(accept_changes=True))

    def action_decide(self) -> None:
        """Ask again about a tool call that was put off."""
        self._tasks.start(self.session, self.session.decide)

    async def action_fork(self) -> None:
        """Fork the run at the turn under the cursor."""
        session, block = self.session, self._view.block
        if block is None or not block.run_id:
            show_error(session, "There is no run to fork yet.")
            return
        source, turn = block.run_id, max(block.turn, 1)
        prompt = session.prompt_of(source) if turn == 1 else ""

        def fork(edited: str | None) -> None:
            if edited is not None:
                forked = self._new_session(session.agent)
                self._show(forked)
                edit = edited if edited and edited != prompt else None
                self._tasks.start(forked, lambda: forked.fork(turn, edit, source))

        await self.push_screen(ForkDialog(source, turn, prompt), fork)

    def action_search(self) -> None:
        """Search the conversation."""
        self._search.open()

    def action_fold_all(self) -> None:
        """Collapse or expand all tool calls."""
        self._view.fold_all()

    def action_thinking(self) -> None:
        """Show or hide the model's thinking."""
        self._view.thinking = not self._view.thinking
        self._view.draw()

    def action_copy(self) -> None:
        """Copy the message or tool call under the cursor; terminals pass that on, over SSH too."""
        block = self._view.block
        if block is not None:
            self.copy_to_clipboard(block.text)
            self.notify("Copied.", timeout=2)

    def action_sidebar(self) -> None:
        """Show or hide the sidebar."""
        self._sidebar.display = not self._sidebar.display

    async def action_reload(self) -> None:
        """Reload the lists of agents and runs."""
        self._load_agents()
        await self._load_runs()

    async def action_help(self) -> None:
        """Show the keys."""
        await self.push_screen(HelpDialog())

    async def action_quit(self) -> None:
        """Quit. Runs are stopped first, and can be resumed."""
        self.stopped = await self._tasks.stop()
        self.exit()

    def _new_session(self, agent: str) -> Session:
        async def ask(question: Question) -> ApprovalAnswer | None:
            return await self._ask(session, question)

        session = Session(self._backend, agent, ask, self._new_id)
        self._sessions.append(session)
        return session

    def _show(self, session: Session) -> None:
        """Show a conversation, and forget those that are neither shown nor live."""
        self.session = session
        self._sessions = [one for one in self._sessions if one is session or one.is_live]
        self.draw()

    def _open(self, run_id: str) -> None:
        """Show a run of the list; one that is live here is shown live."""
        known = next((one for one in self._sessions if one.run_id == run_id), None)
        record = self._runs.find(run_id)
        session = known or self._new_session(record.agent.partition("/")[0] if record else self.session.agent)
        self._show(session)
        self._view.focus()
        if known is None:
            self._tasks.start(session, lambda: session.open(run_id))

    async def _asks_for_inputs(self) -> bool:
        """Ask for the agent's inputs, if it takes more than a prompt; says whether it does."""
        session = self.session
        found = next((one for one in self._backend.agents() if one.name == session.agent), None)
        declared = None if found is None else found.inputs
        if declared is None or set(declared) == {_PROMPT}:
            return False

        def start(inputs: Mapping[str, Any] | None) -> None:
            if inputs is not None:
                self._tasks.start(session, lambda: session.start(inputs))

        await self.push_screen(InputsDialog(session.agent, declared), start)
        return True

    async def _send(self, session: Session, prompt: str) -> None:
        """Send a prompt; if no run was started, it is put back to be sent again."""
        run_id = session.run_id
        try:
            await session.start({_PROMPT: prompt})
        except MaverickError:
            if session.run_id == run_id and not self._prompt.text:
                self._prompt.text = prompt
            raise

    async def _say(self, session: Session, message: PromptBox.Sent) -> None:
        """Say something to the run in progress; what it cannot hear stays in the prompt."""
        try:
            await session.say(message.text)
        except MaverickError as error:
            self.notify(one_line(str(error)), severity="warning")
            return
        message.box.clear()
        self.draw()

    async def _ask(self, session: Session, question: Question) -> ApprovalAnswer | None:
        """Ask about a tool call; the dialogs close when the run is stopped meanwhile."""
        async with self._asking:  # one question at a time, whichever conversation it is from
            return await ask_user(self, question, self._grace, session.stop)

    def _load_agents(self) -> None:
        self._sidebar.show_agents(self._backend.agents(), self.session.agent)
        for problem in self._backend.problems():
            show_error(self.session, problem)

    async def _load_runs(self) -> None:
        try:
            await self._runs.load()
        except MaverickError as error:
            if str(error) != self._journal_error:  # shown once, not every two seconds
                self.notify(one_line(str(error)), severity="error")
            self._journal_error = str(error)
            return
        self._journal_error = ""
        if not (self._sidebar.is_attached and self._sidebar.children) or self._is_stuck():
            return
        self._sidebar.show_runs(self._runs, self.session.run_id, self._clock())
        self._follow()

    def _follow(self) -> None:
        """Read on in a run that another process works on."""
        session = self.session
        record = self._runs.find(session.run_id)
        left = not session.is_live and session.model.status is Status.LEFT
        if record is not None and left and record.entries > session.entries:
            self._tasks.start(session, lambda: session.open(record.run_id))

    def _is_stuck(self) -> bool:
        """Whether the terminal takes nothing at the moment: runs go on, and are drawn when it does again."""
        return isinstance(self._driver, TerminalDriver) and self._driver.is_stuck

    def draw(self) -> None:
        """Draw what has changed."""
        session, model = self.session, self.session.model
        if not self._view.is_attached or self._is_stuck():  # the screen opens or closes, or cannot be drawn
            return
        self._view.show(model)
        self._view.draw()
        since = age(self._clock() - session.began_at) if model.status is Status.RUNNING else ""
        self._status.show(one_line(session.agent), one_line(session.model_name), model.status, since)
        self._gauge.show(model.gauge)

    def _fatal_error(self) -> None:
        # Textual would print the traceback with the values of all variables. Whoever started the screen reports the
        # error in a line.
        self._close_messages_no_wait()
