"""The screen: wires keys and lists to conversations, and draws what has changed a few dozen times a second."""

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
from maverick.tui.approval_dialog import Answer, ApprovalDialog
from maverick.tui.conversation import Status
from maverick.tui.conversation_view import ConversationView
from maverick.tui.figures import age
from maverick.tui.fork_dialog import ForkDialog
from maverick.tui.gauge_line import GaugeLine
from maverick.tui.help_overlay import HelpOverlay
from maverick.tui.inputs_dialog import InputsDialog
from maverick.tui.keys import ANYWHERE, bindings
from maverick.tui.plain_text import one_line
from maverick.tui.prompt_box import PromptBox
from maverick.tui.question import Question
from maverick.tui.run_list import RunList
from maverick.tui.search_bar import SearchBar
from maverick.tui.session import Session, new_run_id
from maverick.tui.sidebar import Sidebar
from maverick.tui.status_line import StatusLine
from maverick.tui.terminal_driver import TerminalDriver
from maverick.tui.workload import Workload, complain
from maverick.tui.workplace import Workplace

FRAME = 1 / 30
"""Seconds between two looks at what has changed: whatever came in between is drawn at once."""
_LOOK = 2.0
"""Seconds between two looks at the journal, where other processes write too."""
GRACE = 0.5
"""Seconds in which a question that has just appeared takes no answer."""
PROMPT = "prompt"


class MaverickApp(App[None]):
    """Agents, runs and a live conversation.

    Args:
        workplace: What it works with.
        agent: The agent to begin with.
        clock: The time, in seconds since the epoch.
        new_id: Makes the ids of runs.
        grace: For how many seconds a question takes no answer, since a person may be typing when it appears.
    """

    CSS_PATH = "maverick.tcss"
    TITLE = "maverick"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = bindings(ANYWHERE)
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (70, "-narrow"), (100, "-wide")]  # noqa: RUF012 - as Textual declares it
    VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-high")]  # noqa: RUF012 - as Textual declares it

    def __init__(
        self,
        workplace: Workplace,
        agent: str,
        *,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = new_run_id,
        grace: float = GRACE,
    ) -> None:
        super().__init__(driver_class=TerminalDriver)
        self.stopped: list[Session] = []
        """The conversations whose run was stopped because the person left."""
        self._workplace = workplace
        self._clock = clock
        self._new_id = new_id
        self._grace = grace
        self._runs = RunList(workplace.journal)
        self._trouble = ""
        """Why the runs could not be read when they were last looked at."""
        self._sessions: list[Session] = []
        self._session = self._begin(agent)
        self._workload = Workload(clock, self._look_at_runs)
        self._asking = asyncio.Lock()
        self._status = StatusLine(id="status")
        self._sidebar = Sidebar(id="sidebar")
        self._view = ConversationView(id="conversation")
        self._search = SearchBar(id="search")
        self._prompt = PromptBox(
            id="prompt", placeholder="What is to be done? Enter sends, F1 shows all keys"
        )
        self._gauge = GaugeLine(id="gauge")

    @property
    def failure(self) -> Exception | None:
        """The mistake in the program that ended it, if one did."""
        return self._exception

    @property
    def session(self) -> Session:
        """The conversation that is looked at."""
        return self._session

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
        """Show what there is, and begin to look for changes."""
        self._search.close()
        self._list_agents()
        await self._look_at_runs()
        self._prompt.focus()
        self._show(self._session)
        self.app_resume_signal.subscribe(
            self, lambda _: self.refresh(layout=True)
        )  # the shell has written over it
        self.set_interval(FRAME, self.draw)
        self.set_interval(_LOOK, self._look_at_runs)

    async def on_unmount(self) -> None:
        """End what is at work, if the screen was closed in another way than by the person."""
        await self._workload.drop()

    # What the person does -----------------------------------------------------------------------------------------

    async def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Begin with an agent, or open a run."""
        chosen = event.option.id or ""
        if event.option_list.id == "agents":
            await self.action_new()
        else:
            self._open(chosen)

    async def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Read older runs when the person has come to the end of the list."""
        listed = event.option_list
        if listed.id == "runs" and event.option_index == listed.option_count - 1 and self._runs.reach_back():
            await self._look_at_runs()

    async def on_prompt_box_sent(self, message: PromptBox.Sent) -> None:
        """Send the prompt to the agent, if it takes one."""
        session = self._session
        if session.is_live:
            self.bell()
            return
        if await self._asks_for_inputs():
            return
        message.box.clear()
        self._workload.begin(session, lambda: self._start(session, message.text))

    def on_search_bar_changed(self, message: SearchBar.Changed) -> None:
        """Search for what is written."""
        self._view.search(message.wanted)

    def on_search_bar_moved(self, message: SearchBar.Moved) -> None:
        """Go to another place that has what is searched for."""
        self._view.find_next(message.step)

    def on_conversation_view_searched(self, message: ConversationView.Searched) -> None:
        """Say where the cursor is."""
        self._search.tell(message.place, message.places)

    async def action_new(self) -> None:
        """Begin a new conversation with the agent that is chosen in the list."""
        self._show(self._begin(self._sidebar.chosen_agent or self._session.agent))
        self._prompt.focus()
        await self._asks_for_inputs()

    def action_write(self) -> None:
        """Go to the prompt."""
        self._prompt.focus()

    def action_leave(self) -> None:
        """Leave the prompt or the search for the conversation."""
        self._search.close()
        self._view.focus()

    def action_stop(self) -> None:
        """Stop the run that is looked at."""
        if self._session.is_live:
            self._session.stop()
        else:
            self.notify("Nothing runs here. Ctrl-Q leaves.", timeout=3)

    def action_resume(self) -> None:
        """Go on with the run that is looked at."""
        self._workload.begin(self._session, self._session.resume)

    def action_resume_changed(self) -> None:
        """Go on with the run although its agent has changed."""
        session = self._session
        self._workload.begin(session, lambda: session.resume(accept_changes=True))

    def action_decide(self) -> None:
        """Be asked again what was put off."""
        self._workload.begin(self._session, self._session.decide)

    async def action_fork(self) -> None:
        """Run again from the turn at the cursor."""
        session, block = self._session, self._view.block
        if block is None or not block.run_id:
            complain(session, "There is no run to fork yet.")
            return
        source, turn = block.run_id, max(block.turn, 1)

        def begin(words: str | None) -> None:
            if words is not None:
                forked = self._begin(session.agent)
                self._show(forked)
                edit = words if words and words != said else None
                self._workload.begin(forked, lambda: forked.fork(turn, edit, source))

        said = session.said_in(source) if turn == 1 else ""
        await self.push_screen(ForkDialog(source, turn, said), begin)

    def action_search(self) -> None:
        """Search the conversation."""
        self._search.open()

    def action_fold_all(self) -> None:
        """Fold or unfold all tool calls."""
        self._view.fold_all()

    def action_thoughts(self) -> None:
        """Show or hide the model's thinking."""
        self._view.thoughts = not self._view.thoughts
        self._view.draw()

    def action_copy(self) -> None:
        """Copy what is at the cursor; terminals hand that on, over SSH too."""
        block = self._view.block
        if block is not None:
            self.copy_to_clipboard(block.text)
            self.notify("Copied.", timeout=2)

    def action_sidebar(self) -> None:
        """Show or hide agents and runs."""
        self._sidebar.display = not self._sidebar.display

    async def action_look_again(self) -> None:
        """Look for agents and runs again."""
        self._list_agents()
        await self._look_at_runs()

    async def action_help(self) -> None:
        """Show all keys."""
        await self.push_screen(HelpOverlay())

    async def action_quit(self) -> None:
        """Leave; what runs is stopped first, and can be resumed."""
        self.stopped = await self._workload.stop()
        self.exit()

    # How ----------------------------------------------------------------------------------------------------------

    def _begin(self, agent: str) -> Session:
        """A new conversation."""

        async def ask(question: Question) -> bool | None:
            return await self._ask(session, question)

        session = Session(self._workplace, agent, ask, self._new_id)
        self._sessions.append(session)
        return session

    def _show(self, session: Session) -> None:
        """Look at a conversation; those that nothing happens in any more are forgotten."""
        self._session = session
        self._sessions = [one for one in self._sessions if one is session or one.is_live]
        self.draw()

    def _open(self, run_id: str) -> None:
        """Look at a run that is kept; one that goes on here is looked at as it goes on."""
        known = next((one for one in self._sessions if one.run_id == run_id), None)
        record = next(one for one in self._runs.records if one.run_id == run_id)
        session = known or self._begin(record.agent.partition("/")[0])
        self._show(session)
        self._view.focus()
        if known is None:
            self._workload.begin(session, lambda: session.open(run_id))

    async def _asks_for_inputs(self) -> bool:
        """Ask for what the agent needs, if a prompt is not enough; says whether it is not."""
        session = self._session
        found = next((one for one in self._workplace.agents() if one.name == session.agent), None)
        declared = None if found is None or found.definition is None else found.definition.inputs
        if declared is None or set(declared) == {PROMPT}:
            return False

        def begin(inputs: Mapping[str, Any] | None) -> None:
            if inputs is not None:
                self._workload.begin(session, lambda: session.start(inputs))

        await self.push_screen(InputsDialog(session.agent, declared), begin)
        return True

    async def _start(self, session: Session, words: str) -> None:
        """Send words to the agent; if nothing began, they are there to be sent again."""
        run_id = session.run_id
        try:
            await session.start({PROMPT: words})
        except MaverickError:
            if session.run_id == run_id and not self._prompt.text:
                self._prompt.text = words
            raise

    async def _ask(self, session: Session, question: Question) -> bool | None:
        """Ask the person, over everything else; when the run is stopped meanwhile, the question goes away."""
        answered: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        dialog = ApprovalDialog(question, self._grace)

        def take(answer: Answer | None) -> None:
            if not answered.done():
                answered.set_result(answer)

        async with self._asking:  # one question at a time, whichever conversation it is from
            await self.push_screen(dialog, take)
            try:
                answer = await answered
            except asyncio.CancelledError:
                _ = dialog.dismiss(None)
                raise
        if answer is Answer.STOP:
            session.stop()
        return {Answer.APPROVE: True, Answer.DENY: False}.get(answer) if answer else None

    def _list_agents(self) -> None:
        agents = self._workplace.agents()
        self._sidebar.show_agents(agents, self._session.agent)
        for problem in self._workplace.problems():
            complain(self._session, problem)

    async def _look_at_runs(self) -> None:
        try:
            await self._runs.look()
        except MaverickError as error:
            if str(error) != self._trouble:  # once, not at every look
                self.notify(one_line(str(error)), severity="error")
            self._trouble = str(error)
            return
        self._trouble = ""
        runs = self._runs
        if not (self._sidebar.is_attached and self._sidebar.children) or self._is_stuck():
            return  # the screen closes, or can not be drawn
        self._sidebar.show_runs(runs.records, runs.titles, self._session.run_id, self._clock())
        self._follow()

    def _follow(self) -> None:
        """Read on in a run that another process works on."""
        session = self._session
        record = next((one for one in self._runs.records if one.run_id == session.run_id), None)
        left = not session.is_live and session.model.status is Status.LEFT
        if record is not None and left and record.entries > session.entries:
            self._workload.begin(session, lambda: session.open(record.run_id))

    def _is_stuck(self) -> bool:
        """Whether the terminal takes nothing at the moment: what runs goes on, and is drawn when it does again."""
        return isinstance(self._driver, TerminalDriver) and self._driver.is_stuck

    def draw(self) -> None:
        """Draw what has changed."""
        session, model = self._session, self._session.model
        if not self._view.is_attached or self._is_stuck():  # the screen opens or closes, or can not be drawn
            return
        self._view.show(model)
        self._view.draw()
        since = age(self._clock() - session.began_at) if model.status is Status.RUNNING else ""
        self._status.show(one_line(session.agent), one_line(session.model_name), model.status, since)
        self._gauge.show(model.gauge)

    def _fatal_error(self) -> None:
        # Textual would print where it happened, with the values of all variables, over the terminal. Whoever started
        # the screen says it in a line.
        self._close_messages_no_wait()
