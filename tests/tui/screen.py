"""The screen while a test uses it: keys are pressed, and what is shown is looked at."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot
from textual.widgets import OptionList

from maverick.providers.scripted import Script
from maverick.testing import call
from maverick.tui.app import MaverickApp
from maverick.tui.block import ToolUse, Words
from maverick.tui.conversation import Status
from maverick.tui.conversation_view import ConversationView
from maverick.tui.panels import KeyLine
from maverick.tui.prompt import PromptBox
from tui.desk import Desk, fill, until

EDIT = call("edit", path="a.py", old="x", new="y")


class Screen:
    """The screen while a test uses it."""

    def __init__(self, desk: Desk, app: MaverickApp, pilot: Pilot[Any]) -> None:
        self.desk = desk
        self.app = app
        self._pilot = pilot

    @property
    def view(self) -> ConversationView:
        return self.app.screen_stack[0].query_one(ConversationView)

    @property
    def prompt(self) -> PromptBox:
        return self.app.screen_stack[0].query_one(PromptBox)

    @property
    def status(self) -> Status:
        return self.app.session.model.status

    def said(self) -> list[str]:
        return [block.text for block in self.app.session.model.blocks if isinstance(block, Words)]

    def remarks(self) -> str:
        return "\n".join(block.text for block in self.app.session.model.blocks)

    def tools(self) -> list[ToolUse]:
        return [block for block in self.app.session.model.blocks if isinstance(block, ToolUse)]

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)

    async def send(self, text: str) -> None:
        """Write a prompt and send it."""
        self.prompt.focus()
        self.prompt.insert(text)
        await self.press("enter")

    async def until(self, condition: Callable[[], object]) -> None:
        await until(self._pilot, condition)

    async def open(self, place: int = 0) -> None:
        """Open a run of the list, and go to the conversation."""
        sidebar = self.app.query_one("#sidebar", OptionList)
        sidebar.display = True
        sidebar.focus()
        await self.press("home", *["down"] * place, "enter")
        await self.until(lambda: self.app.session.run_id)
        await self.until(lambda: self.app.session.model.blocks)
        self.view.focus()
        await self._pilot.pause()

    async def click(self, line: int) -> None:
        await self._pilot.click(ConversationView, offset=(5, line))

    async def click_key(self, label: str) -> None:
        """Click on a key of the line at the bottom, or behind them all if there is none of that name."""
        line = self.app.query_one(KeyLine).render().plain
        await self._pilot.click(KeyLine, offset=(line.index(label) if label in line else len(line), 0))


@asynccontextmanager
async def screen(
    script: Script = (), agent: str = "editor", *, kept: bool = False, servers: Sequence[str] = ()
) -> AsyncIterator[Screen]:
    desk = Desk(script)
    desk.servers = servers
    if kept:
        await fill(desk.journal)
    app = desk.app(agent)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        yield Screen(desk, app, pilot)
