"""The screen: what keys, slash commands and prompts do to the conversations on it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import cached_property, partial
from typing import Any, ClassVar

from textual.actions import parse
from textual.app import SystemCommand
from textual.binding import BindingType
from textual.events import Event, Key, MouseDown, Paste
from textual.markup import escape
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, TextArea
from typing_extensions import override

from maverick.exceptions import MaverickError, describe_unknown
from maverick.model import Part
from maverick.tui.approval import ApprovalDialog
from maverick.tui.choices import Chooser
from maverick.tui.completion import Completer, missing_mentions, read_mentions
from maverick.tui.conversation_app import GRACE, ConversationApp
from maverick.tui.dialogs import ForkDialog, HelpDialog
from maverick.tui.keys import ALIASES, ALWAYS, COMMANDS, TYPED, bindings
from maverick.tui.plain_text import one_line
from maverick.tui.prompt import PromptBox
from maverick.tui.session import PROMPT, Session

__all__ = ["GRACE", "MaverickApp"]

_MCP = "mcp__"
"""What the names of MCP servers' prompts begin with."""
_TWICE = 3.0
"""Seconds within which a second Ctrl-C quits, if nothing else is pressed meanwhile."""
_OF_THE_SCREEN = {
    parse(key.action)[1] for key in (*ALWAYS, *TYPED) if key.slash != "quit" and "app." not in key.action
}
"""What the keys do that do nothing while a dialog is open."""
_IMPOSSIBLE = {
    "stop": "Nothing is in progress here.",
    "resume": "There is nothing to resume here.",
    "approve": "No tool call is waiting for approval.",
    "fork": "There is no run to fork yet.",
}


class MaverickApp(ConversationApp):
    """Agents, conversations and their runs, at the keyboard."""

    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = bindings(ALWAYS)

    _interrupted_at = -_TWICE

    @cached_property
    def _chooser(self) -> Chooser:
        return Chooser(self, self._backend, lambda: self.session, self._begin, self._follow_folder)

    @override
    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """What the command palette has: the slash commands, and Textual's choice of colours."""
        for name, key in COMMANDS.items():
            yield SystemCommand(f"/{name}", key.description, partial(self._run_slash, name, ""))
        for name, offer in self._completions.completer.for_agent.items():
            yield SystemCommand(f"/{name}", escape(offer.description), partial(self._write, offer.text))
        yield SystemCommand("Theme", "change the colours", self.action_change_theme)

    @override
    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether an action is possible now: what is not is neither offered nor done."""
        if action in _OF_THE_SCREEN and isinstance(self.screen, ModalScreen):
            return action == "interrupt" and not isinstance(self.screen, ApprovalDialog)
        possible = {
            "stop": self.session.is_busy,
            "resume": self.session.model.can_resume,
            "approve": self.session.is_asking,
            "fork": bool(self.session.run_id),
        }
        return possible.get(action, True)

    async def on_prompt_box_sent(self, message: PromptBox.Sent) -> None:
        """Do what the prompt says: a command of the screen, a command of the user's own, or a message to the agent."""
        name, _, argument = message.text.partition(" ")
        if name.startswith("/") and "/" not in name[1:] and not self._is_for_agent(name[1:]):
            await self._run_slash(name[1:], argument.strip())
            return
        session = self.session
        if message.text == "!":
            return
        if message.text.startswith("!"):
            self._sent(message.text)
            self._do(session, lambda: session.run_command(message.text[1:].strip()))
        elif session.is_live:
            await self._say(session, message.text)
        elif not await self._asks_for_inputs():
            self._sent(message.text)
            self._do(session, lambda: self._send(session, message.text))

    async def action_new(self) -> None:
        """Start a new conversation with the same agent."""
        await self._begin(self.session.agent, self.session.origin)

    async def action_choose(self, what: str, wanted: str = "") -> None:
        """Choose the agent, the model, the effort, the mode or the folder."""
        if what == "folder" and any(session.is_busy for session in self._sessions):
            self.notify("A run is in progress in this folder. Stop it first (Esc).", severity="warning")
            return
        await getattr(self._chooser, what)(wanted)
        self.draw()

    @override
    async def on_event(self, event: Event) -> None:
        """See every key and paste first, in the order in which they came.

        Only the same key right before it makes a second Ctrl-C. What can only be typed at the prompt moves the focus there
        before it is passed on, so that everything that is typed takes the same way, and none of it overtakes the rest.
        """
        if not event.is_forwarded:
            if isinstance(event, Paste | MouseDown) or (isinstance(event, Key) and event.key != "ctrl+c"):
                self._interrupted_at = -_TWICE
            if self._is_for_prompt(event):
                self.screen.set_focus(self._prompt)
        await super().on_event(event)

    def _is_for_prompt(self, event: Event) -> bool:
        """Whether an event is text that no part of the screen but the prompt takes. Space folds tool calls, too."""
        if isinstance(event, Key):
            is_text = event.is_printable and event.key != "space"
        else:
            is_text = isinstance(event, Paste)
        return (
            is_text
            and not isinstance(self.focused, Input | TextArea)
            and not isinstance(self.screen, ModalScreen)
        )

    def action_leave(self) -> None:
        """Go from the search to what it has found, and from anywhere else to the prompt."""
        (self._view if self._search.display else self._prompt).focus()
        self._search.close()

    async def action_stop(self) -> None:
        """Stop what is shown; what the agent has not heard yet is put back into the prompt."""
        self.session.stop()
        try:
            taken = await self.session.take_back()
        except MaverickError as error:
            self.notify(one_line(str(error)), severity="error", markup=False)
            return
        for words in taken:
            self._prompt.move_cursor(self._prompt.document.end)
            self._prompt.insert(f"\n{words}" if self._prompt.text else words)

    async def action_interrupt(self) -> None:
        """Stop the run, or clear the prompt; the second time in a row, quit."""
        if self._clock() - self._interrupted_at < _TWICE:
            await self.action_quit()
            return
        self._interrupted_at = self._clock()
        self._prompt.clear()
        if self.session.is_busy:
            await self.action_stop()
        self.notify("Press Ctrl-C again to quit.", timeout=_TWICE)

    def action_resume(self, how: str = "") -> None:
        """Resume the run that is shown; ``anyway`` if its agent has changed."""
        session = self.session
        self._do(session, lambda: session.resume(accept_changes=how == "anyway"))

    def action_approve(self) -> None:
        """Ask again about a tool call that was put off."""
        self._do(self.session, self.session.decide)

    async def action_fork(self) -> None:
        """Fork the run at the turn under the cursor."""
        session, block = self.session, self._view.block
        if block is None or not block.run_id:
            return
        source, turn = block.run_id, max(block.turn, 1)
        prompt = session.prompt_of(source) if turn == 1 else ""

        def fork(edited: str | None) -> None:
            if edited is not None:
                forked = self._new_session(session.agent, session.origin)
                self._show(forked)
                edit = edited if edited and edited != prompt else None
                self._do(forked, lambda: forked.fork(turn, edit, source))

        await self.push_screen(ForkDialog(source, turn, prompt), fork)

    def action_search(self, wanted: str = "") -> None:
        """Search the conversation."""
        self._search.open(wanted)

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
        """Show or hide the conversations."""
        self._sidebar.display = not self._sidebar.display
        (self._sidebar if self._sidebar.display else self._prompt).focus()

    async def action_reload(self) -> None:
        """Reload agents and conversations."""
        self._show_problems()
        await self._load_conversations()

    async def action_help(self) -> None:
        """Show the keys and commands."""
        await self.push_screen(HelpDialog())

    async def action_quit(self) -> None:
        """Quit. Runs are stopped first, and can be resumed."""
        self.stopped = await self._stop_all()
        self.exit()

    async def _run_slash(self, name: str, argument: str) -> None:
        """Run a slash command; one that there is not stays at the prompt."""
        if (key := COMMANDS.get(ALIASES.get(name, name))) is None:
            self.notify(describe_unknown("command", name, list(COMMANDS)), severity="warning", markup=False)
            return
        self._prompt.clear()
        namespace, action, parameters = parse(key.action)
        given = (*parameters, argument) if argument and key.takes else parameters
        if not await self.run_action((namespace, action, given)):
            self.notify(_IMPOSSIBLE.get(action, "That is not possible now."), severity="warning")

    def _follow_folder(self) -> None:
        self._completions.completer = Completer(self._backend.folder)
        self._load_prompts()
        self._show_problems()

    def _write(self, text: str) -> None:
        """Begin the prompt with a text, for the user to go on."""
        self._prompt.clear()
        self._prompt.insert(text)
        self._prompt.focus()

    def _is_for_agent(self, name: str) -> bool:
        """Whether a slash command is a skill or the prompt of an MCP server, not one of the TUI's own."""
        if name in COMMANDS or name in ALIASES:
            return False
        return name.startswith(_MCP) or name in self._completions.completer.skills.by_name

    async def _content(self, prompt: str) -> str | list[str | Part]:
        """What the agent is told: the prompt with the files it mentions, or what its slash command stands for."""
        name, _, rest = prompt.partition(" ")
        if name.startswith(f"/{_MCP}"):
            from maverick.tools.mcp import expand_prompt  # here, since it brings MCP with it

            return await expand_prompt(prompt, self._backend.folder)
        if name.startswith("/") and self._is_for_agent(name[1:]):
            skills = self._completions.completer.skills
            if not skills.by_name[name[1:]].is_offered:  # the model cannot read it by itself
                words = await self._with_files(rest)
                if isinstance(words, str):
                    return skills.followed(name[1:], words)
                return [skills.followed(name[1:]), *words]
            prompt = f"Use the skill {name[1:]}: {rest}".rstrip(": ")
        return await self._with_files(prompt)

    async def _with_files(self, prompt: str) -> str | list[str | Part]:
        """The prompt with the files it mentions; the user is told of those that are not there."""
        folder = self._backend.folder
        for name in await asyncio.to_thread(missing_mentions, prompt, folder):
            told = f"There is no file {one_line(name)}, so its name is sent as text."
            self.notify(told, severity="warning", markup=False)
        return await asyncio.to_thread(read_mentions, prompt, folder)

    def _sent(self, text: str) -> None:
        self._view.action_end()
        self._prompt.remember(text)
        self._prompt.clear()

    async def _send(self, session: Session, prompt: str) -> None:
        """Send a prompt; if no run was started, it is put back to be sent again."""
        run_id = session.run_id
        try:
            await session.start({PROMPT: await self._content(prompt)})
        except MaverickError:
            if session.run_id == run_id and not self._prompt.text:
                self._prompt.insert(prompt)
            raise

    async def _say(self, session: Session, text: str) -> None:
        """Say something to the run in progress; what it cannot hear stays in the prompt."""
        try:
            await session.say(await self._content(text))
        except MaverickError as error:
            self.notify(one_line(str(error)), severity="warning", markup=False)
            return
        self._sent(text)
        self.draw()
