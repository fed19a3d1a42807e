"""The page in a browser, as a person uses it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, ConsoleMessage, Locator, Page, Request, expect

from server.chat_server import PATIENCE, ChatServer

SCREENSHOTS = os.environ.get("SCREENSHOTS")
"""A folder for pictures of the page, if somebody wants to look at them."""

expect.set_options(timeout=PATIENCE * 1000)


class Window:
    """One tab.

    Args:
        page: The tab.
        url: Where the server is.
    """

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.errors: list[str] = []
        """What went wrong in the page's scripts, and what it wanted to load from elsewhere."""
        page.set_default_timeout(PATIENCE * 1000)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._hear)
        page.on("request", self._see)

    @classmethod
    async def open(cls, context: BrowserContext, server: ChatServer, name: str | None) -> Self:
        """The empty tab, or another one, with the page; with a name, somebody is signed in."""
        if name is not None:
            token = server.person(name).http.headers["Authorization"].removeprefix("Bearer ")
            cookie = {"name": server.cookie, "value": token, "url": server.url, "sameSite": "Strict"}
            await context.add_cookies([{**cookie, "httpOnly": True}])  # type: ignore[typeddict-item]  # as it has it
        empty = [page for page in context.pages if page.url == "about:blank"]
        window = cls(empty[0] if empty else await context.new_page(), server.url)
        await window.page.goto(server.url)
        await expect(window.page.locator("#sign-in" if name is None else "#app")).to_be_visible()
        return window

    async def say(self, text: str) -> None:
        """Type something and send it."""
        await self.page.fill("#composer-text", text)
        await self.page.press("#composer-text", "Enter")

    async def talk(self, text: str) -> None:
        """Say something and wait for the whole answer."""
        before = await self.answers.count()
        await self.say(text)
        await expect(self.answers).to_have_count(before + 1)
        await expect(self.page.locator("#send")).to_be_visible()

    @property
    def answers(self) -> Locator:
        return self.page.locator(".message.assistant")

    @property
    def tasks(self) -> Locator:
        return self.page.locator("#task-list section .task-title")

    async def shoot(self, name: str) -> None:
        """Keep a picture of the page, where they are wanted."""
        if SCREENSHOTS:
            await self.page.screenshot(path=Path(SCREENSHOTS, f"{name}.png"))

    def _hear(self, message: ConsoleMessage) -> None:
        # A refusal of the server is shown to the user, and logged by the browser in any case.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.errors.append(message.text)

    def _see(self, request: Request) -> None:
        if urlsplit(request.url).netloc != urlsplit(self.url).netloc:
            self.errors.append(f"loads {request.url}")
